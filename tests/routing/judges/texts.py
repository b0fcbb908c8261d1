"""A paragraph of role-play in each judged language, and some that are not judged."""

import tomllib
from pathlib import Path
from typing import Any

_TABLE: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

PROSE: dict[str, str] = _TABLE["prose"]
MORE: dict[str, str] = _TABLE["more"]
OUTSIDE: dict[str, str] = _TABLE["outside"]
TRADITIONAL: str = _TABLE["traditional_chinese"]
MALAY: str = _TABLE["malay"]
