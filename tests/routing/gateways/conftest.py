"""What the adapter's tests share."""

from collections.abc import Callable
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parent / "samples"


@pytest.fixture
def anyio_backend() -> str:
    """The adapter runs on asyncio only."""
    return "asyncio"


@pytest.fixture
def sample() -> Callable[[str], str]:
    """The text of one sample file by its name."""
    return lambda name: (SAMPLES / name).read_text(encoding="utf-8")
