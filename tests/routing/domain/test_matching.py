"""How a list entry names endpoints, and how names are checked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.domain.matching import MAX_NAME_LENGTH, base_slug, matches, nearest, normalise, siblings

TAGS = (
    "fireworks",
    "fireworks/fast",
    "openai",
    "openai/flex",
    "google-vertex/us-east5",
    "google-vertex/flex",
)


@pytest.mark.parametrize(
    ("entry", "tag", "expected"),
    [
        pytest.param("deepinfra/fp8", "deepinfra/fp8", True, id="a full tag matches itself"),
        pytest.param("deepinfra/fp8", "deepinfra/fp4", False, id="and no other lane"),
        pytest.param("deepinfra/fp8", "deepinfra", False, id="nor the provider's plain lane"),
        pytest.param("deepinfra", "deepinfra", True, id="a base slug matches the tag that equals it"),
        pytest.param("deepinfra", "deepinfra/fp8", True, id="and every lane of the provider"),
        pytest.param("google-vertex", "google-vertex/us-east5", True, id="and every region"),
        pytest.param("fireworks", "fireworks/fast", True, id="fast is a plain variant"),
        pytest.param("openai", "openai/flex", False, id="but not the flex tier"),
        pytest.param("openai", "openai/priority", False, id="nor the priority tier"),
        pytest.param("google-vertex", "google-vertex/us-east5/flex", False, id="nor a region's tier"),
        pytest.param("openai/flex", "openai/flex", True, id="a tier is reached by its full name"),
        pytest.param("google-vertex/us-east5", "google-vertex/us-east5/flex", False, id="a tag is no prefix"),
        pytest.param("google", "google-vertex", False, id="a slug is no prefix either"),
        pytest.param("flex", "flex", True, id="a provider may be called like a tier"),
        pytest.param("", "deepinfra", False, id="nothing matches nothing"),
    ],
)
def test_an_entry_names_itself_and_a_base_slug_all_lanes_but_service_tiers(
    entry: str, tag: str, expected: bool
) -> None:
    assert matches(entry, tag) is expected


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("fireworks", ("fireworks/fast",)),
        ("fireworks/fast", ()),
        ("openai", ()),
        ("google-vertex/us-east5", ()),
    ],
)
def test_siblings_are_the_other_tags_that_a_pin_would_reach_too(tag: str, expected: tuple[str, ...]) -> None:
    assert siblings(tag, TAGS) == expected


@given(st.sampled_from(TAGS), st.lists(st.sampled_from(TAGS)))
def test_a_tag_is_never_its_own_sibling_and_all_siblings_share_its_provider(
    tag: str, tags: list[str]
) -> None:
    found = siblings(tag, tags)
    assert tag not in found
    assert {base_slug(other) for other in found} <= {base_slug(tag)}
    assert list(found) == sorted(set(found))


@pytest.mark.parametrize("name", ["DeepInfra/FP8", "  deepinfra/fp8\n"])
def test_names_are_lower_case_and_stripped(name: str) -> None:
    assert normalise(name) == "deepinfra/fp8"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "   ",
        "Google AI Studio",
        "a//b",
        "/a",
        "a/",
        "a\x00b",
        "дом",
        "a" * (MAX_NAME_LENGTH + 1),
        "-a",
        "a\nb",
    ],
)
def test_what_cannot_be_a_name_is_refused_with_one_sentence(name: str) -> None:
    with pytest.raises(ValueError, match=r"^[^\n\x00]+\.$"):
        normalise(name)


def test_a_name_of_the_greatest_length_is_a_name() -> None:
    assert normalise("a" * MAX_NAME_LENGTH) == "a" * MAX_NAME_LENGTH


def test_an_unknown_name_gets_the_nearest_known_ones() -> None:
    known = {"google-vertex", "google-ai-studio", "open-inference", "openai", "deepinfra"}
    assert nearest("OpenInference", known)[0] == "open-inference"
    assert nearest("google", known) == ("google-vertex",)
    assert nearest("zzz", known) == ()
    assert len(nearest("deepinfra", {f"deepinfra{n}" for n in range(9)})) == 3
