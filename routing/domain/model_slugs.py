"""How a model is named: `author/name`, with an optional `:variant`, as the gateway writes it."""

import re

MAX_SLUG_LENGTH = 200
_SLUG = re.compile(r"[a-z0-9~][a-z0-9_.~-]*/[a-z0-9_.~-]+(?::[a-z0-9_.-]+)?")


def checked_slug(text: str) -> str:
    """`text` as a model slug, stripped and lower-case. Raises ValueError with one sentence if it is none."""
    slug = text.strip().lower()
    if len(slug) > MAX_SLUG_LENGTH:
        raise ValueError(f"A model slug has at most {MAX_SLUG_LENGTH} characters, not {len(slug)}.")
    if not _SLUG.fullmatch(slug):
        raise ValueError(
            f"{slug!r} is not a model slug: write author/name as the gateway does, like qwen/qwen3-235b."
        )
    return slug
