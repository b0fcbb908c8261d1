"""Whether a model's production preferences admit an endpoint, as far as the catalogue tells (Terms).

Data policy (`data_collection`, `zdr`) is the gateway's to apply: nothing in the catalogue says it, so it
admits everything here.
"""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from routing.domain.matching import matches

# The gateway's documentation: fp4 covers mxfp4 and nvfp4, fp8 covers mxfp8.
COVERED = {"fp4": frozenset({"fp4", "mxfp4", "nvfp4"}), "fp8": frozenset({"fp8", "mxfp8"})}
PER_MILLION = Decimal(1_000_000)


def is_admitted(
    preferences: Mapping[str, Any],
    *,
    tag: str,
    quantization: str,
    prompt_price: Decimal | None,
    completion_price: Decimal | None,
) -> bool:
    """Apply `only`, `ignore`, `quantizations` and `max_price` (USD per million tokens; prices USD per token)."""
    only = preferences.get("only") or []
    if only and not any(matches(str(entry).lower(), tag) for entry in only):
        return False
    if any(matches(str(entry).lower(), tag) for entry in preferences.get("ignore") or []):
        return False
    wanted = preferences.get("quantizations") or []
    if wanted and not any(quantization in COVERED.get(str(one), {str(one)}) for one in wanted):
        return False
    limits = preferences.get("max_price") or {}
    return _is_within(prompt_price, limits.get("prompt")) and _is_within(completion_price, limits.get("completion"))


def _is_within(price: Decimal | None, limit: Any) -> bool:
    """An unknown price is not held against an endpoint; an unreadable limit limits nothing."""
    if price is None or limit is None:
        return True
    try:
        return price * PER_MILLION <= Decimal(str(limit))
    except InvalidOperation:
        return True
