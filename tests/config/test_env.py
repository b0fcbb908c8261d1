"""The typed reader: each type, each sentence, and the example that lists every variable."""

import dataclasses
import re
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import env

EXAMPLE = env.BASE_DIR / ".env.example"


def example() -> dict[str, str]:
    return dict(re.findall(r"^([A-Z_]+)=(.*)$", EXAMPLE.read_text(), flags=re.MULTILINE))


def test_the_example_names_every_variable_and_no_other() -> None:
    assert sorted(example()) == sorted(env.VARIABLES)


def test_the_example_gives_the_defaults() -> None:
    assert env.read(example()) == env.Environment()


def test_the_readme_names_every_variable_and_no_other() -> None:
    table = (env.BASE_DIR / "README.md").read_text().partition("## Configuration")[2].partition("\n## ")[0]
    first_cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert sorted(re.findall(r"`([A-Z_]+)`", " ".join(first_cells))) == sorted(env.VARIABLES)


def test_every_variable_becomes_a_setting() -> None:
    text = (env.BASE_DIR / "config" / "settings.py").read_text()
    assert [name for name in env.VARIABLES if f"ENV.{name.lower()}" not in text] == []


def test_nothing_set_gives_the_defaults() -> None:
    assert env.read({}) == env.Environment()


def test_a_blank_variable_counts_as_not_set() -> None:
    assert env.read({"TICK_S": "  "}).tick_s == 60.0


@pytest.mark.parametrize(
    ("name", "raw", "value"),
    [
        pytest.param("DEBUG", "YES", True, id="yes"),
        pytest.param("DEBUG", "off", False, id="off"),
        pytest.param("PROBE_CONCURRENCY", " 7 ", 7, id="whole number"),
        pytest.param("PROBE_CONCURRENCY", "1", 1, id="smallest above zero"),
        pytest.param("TICK_S", "0.5", 0.5, id="number"),
        pytest.param("HSTS_S", "0", 0, id="zero where it means none"),
        pytest.param("ALLOWED_HOSTS", "a.example, b.example,", ("a.example", "b.example"), id="list"),
        pytest.param("STATE_DIR", "/var/lib/../lib/rw", Path("/var/lib/rw"), id="path"),
        pytest.param("SITE_URL", "https://rw.example", "https://rw.example", id="text"),
    ],
)
def test_a_variable_is_read_in_the_type_of_its_default(name: str, raw: str, value: object) -> None:
    read = getattr(env.read({name: raw}), name.lower())
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("name", "raw", "sentence"),
    [
        ("DEBUG", "maybe", "DEBUG is 'maybe', which is not yes or no."),
        ("EVIDENCE_DAYS", "1.5", "EVIDENCE_DAYS is '1.5', which is not a whole number of at least zero."),
        ("EVIDENCE_DAYS", "-1", "EVIDENCE_DAYS is '-1', which is not a whole number of at least zero."),
        ("PROBE_CONCURRENCY", "0", "PROBE_CONCURRENCY is '0', which is not a whole number above zero."),
        ("TICK_S", "often", "TICK_S is 'often', which is not a number above zero."),
        ("TICK_S", "0", "TICK_S is '0', which is not a number above zero."),
        ("TICK_S", "nan", "TICK_S is 'nan', which is not a number above zero."),
        ("ROUND_SPREAD_S", "inf", "ROUND_SPREAD_S is 'inf', which is not a number of at least zero."),
        ("STATE_DIR", "/a\0b", "STATE_DIR is '/a\\x00b', which is not readable."),
    ],
)
def test_an_unreadable_variable_is_one_sentence_with_its_name(name: str, raw: str, sentence: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=re.escape(sentence)):
        env.read({name: raw})


def test_every_field_has_a_default_of_a_type_the_reader_knows() -> None:
    known = (bool, int, float, Path, tuple, str)
    assert all(isinstance(field.default, known) for field in dataclasses.fields(env.Environment))
