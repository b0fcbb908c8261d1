"""The reviewed tier: a file in the code, strict, and shipped without accusing anyone."""

from datetime import UTC, date, datetime

import pytest

from routing.builtin_exclusions import FILE, BuiltinEntry, BuiltinFileError, builtin_entries, parse
from routing.domain.modes import Tier

GOOD = """
[[exclusion]]
entry = "Example/FP8"
models = ["Author/Model", "author/other"]
reason = "Seen."
reviewed = 2026-05-06

[[exclusion]]
entry = "example"
reason = "Seen."
reviewed = 2026-05-06
"""


def test_the_file_shipped_names_nobody() -> None:
    assert builtin_entries() == ()


def test_the_example_in_the_file_shipped_is_one_that_works() -> None:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    start = lines.index("# [[exclusion]]")
    (entry,) = parse("\n".join(line.removeprefix("# ") for line in lines[start:]))
    assert entry.models == ("author/model",)


def test_an_entry_is_one_row_for_each_model_or_one_for_all() -> None:
    one, other = parse(GOOD)
    assert one == BuiltinEntry(
        entry="example/fp8",
        models=("author/model", "author/other"),
        reason="Seen.",
        reviewed=date(2026, 5, 6),
    )
    assert [row.model for row in one.rows()] == ["author/model", "author/other"]
    (row,) = other.rows()
    assert (row.tier, row.model, row.ends_at, row.starts_at) == (
        Tier.BUILTIN,
        None,
        None,
        datetime(2026, 5, 6, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[[exclusion", "The builtin exclusions are not TOML"),
        ('other = "x"', r"hold \[\[exclusion\]\] tables and nothing else"),
        ('exclusion = "x"', r"hold \[\[exclusion\]\] tables and nothing else"),
        (GOOD + "entri = 1", "Builtin exclusion 2: it has the keys"),
        (GOOD.replace('"example"', "3"), "Builtin exclusion 2: it needs an entry"),
        (GOOD.replace('"example"', '"no name"'), "Builtin exclusion 2: 'no name' is not a provider slug"),
        (
            GOOD.replace('["Author/Model", "author/other"]', '"author/model"'),
            "Builtin exclusion 1: models is a list",
        ),
        (GOOD.replace("2026-05-06", '"today"'), "Builtin exclusion 1: reviewed is the day of the review"),
        (GOOD.replace("Seen.", " "), "Builtin exclusion 1: it needs a reason"),
    ],
)
def test_a_file_that_cannot_be_read_says_where(text: str, sentence: str) -> None:
    with pytest.raises(BuiltinFileError, match=sentence):
        parse(text)
