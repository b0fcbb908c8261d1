"""A model is named author/name, as the gateway writes it."""

import pytest

from routing.domain.model_slugs import MAX_SLUG_LENGTH, checked_slug


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("qwen/qwen3-235b", "qwen/qwen3-235b"),
        ("  Meta-Llama/Llama-4 ", "meta-llama/llama-4"),
        ("deepseek/r1:free", "deepseek/r1:free"),
        ("~moonshot/kimi-latest", "~moonshot/kimi-latest"),
        pytest.param("a/" + "b" * (MAX_SLUG_LENGTH - 2), "a/" + "b" * (MAX_SLUG_LENGTH - 2), id="longest"),
    ],
)
def test_a_slug_is_stripped_and_lower_case(text: str, slug: str) -> None:
    assert checked_slug(text) == slug


@pytest.mark.parametrize(
    "text",
    [
        "",
        "qwen3",
        "a/b/c",
        "a b/c",
        "https://openrouter.ai/qwen/qwen3",
        "../etc",
        "a/",
        "/b",
        "a/b:",
        "a/b\x00",
    ],
)
def test_what_is_no_slug_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="like qwen/qwen3-235b"):
        checked_slug(text)


def test_a_slug_has_a_longest_length() -> None:
    with pytest.raises(ValueError, match="at most 200"):
        checked_slug("a/" + "b" * (MAX_SLUG_LENGTH - 1))
