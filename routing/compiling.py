"""From rows to the snapshot in force: the reviewed tier of the code is always in it."""

import logging
from dataclasses import replace
from datetime import datetime

from routing.builtin_exclusions import BuiltinFileError, builtin_entries
from routing.domain.exclusion_rows import ExclusionRow, Rows
from routing.domain.snapshot import Snapshot

logger = logging.getLogger(__name__)


def compiled(rows: Rows, now: datetime) -> Snapshot:
    """The snapshot of `rows` and of the reviewed tier."""
    return Snapshot(replace(rows, exclusions=(*builtin_rows(), *rows.exclusions)), now=now)


def builtin_rows() -> tuple[ExclusionRow, ...]:
    """The reviewed tier; one that cannot be read is an error in the log, not a backend that stands still."""
    try:
        return tuple(row for entry in builtin_entries() for row in entry.rows())
    except (BuiltinFileError, OSError) as error:
        logger.error("The reviewed exclusions are not in force: %s", error)  # noqa: TRY400  the sentence says it all
        return ()
