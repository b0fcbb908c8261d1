"""The last good snapshot on disk, for processes that start without database and Redis (rule R3)."""

import json
import logging
import os
import tempfile
from datetime import datetime
from pathlib import Path

from routing.domain.exclusion_rows import Rows
from routing.domain.snapshot_codec import SnapshotUnreadable, decode, encode

logger = logging.getLogger(__name__)

FILE_NAME = "snapshot.json"
MOST_BYTES = 64 * 1024 * 1024
"""A snapshot of 1,000 exclusions and 300 models is 0.5 MB; what is larger than this is not ours."""


class SnapshotFile:
    """One file, replaced as a whole, for its owner only. Failing is logged once an episode and harms nothing."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self._is_failing = False

    def load(self) -> tuple[Rows, datetime] | None:
        """The rows and when they were last confirmed; None when there is no readable file."""
        try:
            if self.path.stat().st_size > MOST_BYTES:
                raise SnapshotUnreadable("The snapshot is too large to be one.")
            return decode(json.loads(self.path.read_bytes()))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            logger.warning("The snapshot %s is left aside: %s", self.path.name, error)
            return None

    def save(self, rows: Rows, *, confirmed_at: datetime) -> bool:
        """Replace the file; a reader finds the old one or the new one, never half of one. False when it failed."""
        try:
            self._replace(json.dumps(encode(rows, confirmed_at=confirmed_at), separators=(",", ":")).encode())
        except OSError as error:
            if not self._is_failing:
                logger.warning("The snapshot cannot be kept on disk: %s", error)
            self._is_failing = True
            return False
        self._is_failing = False
        return True

    def _replace(self, content: bytes) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{FILE_NAME}.")  # made with mode 0600
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(name).replace(self.path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
