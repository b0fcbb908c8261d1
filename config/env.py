"""The one typed reader of the environment. It fails loudly, with the variable's name.

Every variable the project reads is declared in `VARIABLES` and nowhere else; a test compares them with
`.env.example`.
"""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent
TRUE_WORDS = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS = frozenset({"0", "false", "no", "off", ""})


@dataclass(frozen=True, kw_only=True)
class Environment:
    """What the environment says. Field names are the variables' names in lower case; units in the names."""

    secret_key: str = ""
    debug: bool = False
    allowed_hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "[::1]")
    csrf_trusted_origins: tuple[str, ...] = ()
    secure_cookies: bool = False
    https_redirect: bool = False
    behind_proxy: bool = False
    hsts_s: int = 0
    database_url: str = ""
    redis_url: str = ""
    state_dir: Path = BASE_DIR / ".local"
    openrouter_api_key: str = ""
    openrouter_base_url: str = "https://openrouter.ai/api/v1"
    tick_s: float = 60.0
    probe_concurrency: int = 40
    round_spread_s: float = 60.0
    round_lease_s: float = 30.0
    store_evidence_text: bool = True
    evidence_days: int = 14
    email_url: str = ""
    mail_from: str = "routewarden@localhost"
    mail_to: tuple[str, ...] = ()
    site_url: str = "http://127.0.0.1:8000"
    log_level: str = "INFO"


# Zero would mean a loop without a pause, or no probe at all.
ABOVE_ZERO = frozenset({"TICK_S", "PROBE_CONCURRENCY", "ROUND_LEASE_S"})

VARIABLES = tuple(field.name.upper() for field in fields(Environment))


def read(source: Mapping[str, str] | None = None) -> Environment:
    """Read the environment. Raises `ImproperlyConfigured` naming the variable that cannot be read."""
    source = os.environ if source is None else source
    given: dict[str, Any] = {}
    for field in fields(Environment):
        raw = source.get(field.name.upper())
        if raw is not None and raw.strip():
            given[field.name] = _convert(field.name.upper(), raw.strip(), field.default)
    return Environment(**given)


def surroundings(*, keep_ours: bool, **ours: object) -> dict[str, str]:
    """The environment for a process of ours: this one's, with or without our own variables, and `ours` on top."""
    inherited = {name: value for name, value in os.environ.items() if keep_ours or name not in VARIABLES}
    return inherited | {name.upper(): str(value) for name, value in ours.items()}


def _convert(name: str, raw: str, default: object) -> object:
    """`raw` in the type of `default`."""
    try:
        match default:
            case bool():
                return _boolean(raw)
            case int() | float():
                return _number(name, type(default)(raw))
            case Path():
                return Path(raw).expanduser().resolve()
            case tuple():
                return tuple(part.strip() for part in raw.split(",") if part.strip())
            case _:
                return raw
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} is {raw!r}, which is not {_kind(name, default)}.") from error


def _boolean(raw: str) -> bool:
    word = raw.lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise ValueError(raw)


def _number(name: str, value: float) -> float:
    """`value`, if it is finite and not below what its variable allows."""
    if not math.isfinite(value) or value < 0 or (value == 0 and name in ABOVE_ZERO):
        raise ValueError(name)
    return value


def _kind(name: str, default: object) -> str:
    match default:
        case bool():
            return "yes or no"
        case int():
            kind = "a whole number"
        case float():
            kind = "a number"
        case _:
            return "readable"
    return f"{kind} above zero" if name in ABOVE_ZERO else f"{kind} of at least zero"
