"""The demo's parts come from the scenario the sandbox plays."""

from pathlib import Path

import pytest

from canary.demo.cast import Part, cast
from config.env import BASE_DIR
from routing.domain.modes import Mode

MIXING = """
[[models]]
id = "{name}"
[[models.endpoints]]
tag = "good"
[[models.endpoints]]
tag = "mixer"
faults = [{{ kind = "{kind}" }}]
"""


def test_the_shipped_scenario_has_an_enforcing_an_observing_model_and_a_control() -> None:
    enforcing, observing = cast(BASE_DIR / "sandbox" / "scenarios" / "demo.toml")
    assert (enforcing.mode, observing.mode) == (Mode.ENFORCE, Mode.OBSERVE)
    assert enforcing.mixing_tag == observing.mixing_tag, "the same host mixes in both"
    assert enforcing.control_tag or observing.control_tag


def test_the_first_model_enforces_and_the_second_observes(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text(
        MIXING.format(name="a/one", kind="mixed_languages")
        + MIXING.format(name="a/two", kind="mixed_languages")
    )
    assert cast(file) == (
        Part(slug="a/one", mode=Mode.ENFORCE, mixing_tag="mixer"),
        Part(slug="a/two", mode=Mode.OBSERVE, mixing_tag="mixer"),
    )


@pytest.mark.parametrize(
    ("kinds", "sentence"),
    [
        (["mixed_languages"], "has 1 models; the demo plays with two"),
        (["mixed_languages"] * 3, "has 3 models; the demo plays with two"),
        (["mixed_languages", "empty"], "has no endpoint that mixes languages in each model"),
        (["empty", "mixed_languages"], "has no endpoint that mixes languages in each model"),
    ],
)
def test_a_scenario_without_the_parts_is_refused(kinds: list[str], sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "other.toml"
    file.write_text(
        "".join(MIXING.format(name=f"a/{number}", kind=kind) for number, kind in enumerate(kinds))
    )
    with pytest.raises(ValueError, match=sentence):
        cast(file)
