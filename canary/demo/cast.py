"""Who plays in the demo, read from the sandbox's scenario file: the sandbox itself is another process."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from routing.domain.modes import Mode

MIXING = "mixed_languages"
FILTERING = "filtering"


@dataclass(frozen=True, kw_only=True)
class Part:
    """One model of the demo, the endpoint that mixes languages in it, and the one known to filter, if any."""

    slug: str
    mode: Mode
    mixing_tag: str
    control_tag: str | None = None


def cast(scenario: Path) -> tuple[Part, Part]:
    """The enforcing model and the observing one. Raises ValueError for a scenario without their parts."""
    first, second = (
        Part(
            slug=model["id"],
            mode=mode,
            mixing_tag=_tag_with(model, MIXING) or "",
            control_tag=_tag_with(model, FILTERING),
        )
        for model, mode in zip(_models(scenario), (Mode.ENFORCE, Mode.OBSERVE), strict=True)
    )
    if not first.mixing_tag or not second.mixing_tag:
        raise ValueError(f"{scenario} has no endpoint that mixes languages in each model.")
    return first, second


def _models(scenario: Path) -> list[Mapping[str, Any]]:
    models: list[Mapping[str, Any]] = tomllib.loads(scenario.read_text())["models"]
    if len(models) != 2:
        raise ValueError(f"{scenario} has {len(models)} models; the demo plays with two.")
    return models


def _tag_with(model: Mapping[str, Any], kind: str) -> str | None:
    """The first endpoint with a fault of this kind."""
    for endpoint in model["endpoints"]:
        if any(fault["kind"] == kind for fault in endpoint.get("faults", ())):
            return str(endpoint["tag"])
    return None
