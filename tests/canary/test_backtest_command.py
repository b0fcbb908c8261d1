"""`manage.py backtest` as a person calls it: exit codes, one clear sentence, nothing half-written."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from tests.canary.domain.recordings import event, lines, recorded, spoken

ROOT = Path(__file__).parents[2]
SUSPENDED = "\n".join(lines(recorded("x L- L-")))


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "rounds.jsonl"
    path.write_text(SUSPENDED, encoding="utf-8")
    return path


def written(*arguments: str) -> list[dict[str, Any]]:
    """The decisions the command writes."""
    out = io.StringIO()
    call_command("backtest", *arguments, stdout=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def refused(*arguments: str) -> str:
    """The sentence the command ends with, having written nothing."""
    out = io.StringIO()
    with pytest.raises(CommandError) as refusal:
        call_command("backtest", *arguments, stdout=out)
    assert out.getvalue() == ""
    return str(refusal.value)


def started(*arguments: str, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "manage.py", "backtest", *arguments],
        cwd=ROOT, input=stdin, capture_output=True, timeout=60, check=False, env={**os.environ, **environment},
    )  # fmt: skip


def test_decisions_are_written_one_json_object_a_line_with_or_without_json(recording: Path) -> None:
    plain, as_json = written("--input", str(recording)), written("--input", str(recording), "--json")
    assert plain == as_json
    assert spoken(plain) == ["1 suspend x"]


@pytest.mark.parametrize(
    ("mode", "enforced"),
    [("enforce", [True]), ("observe", [False]), ("off", [])],
    ids=["enforce", "observe", "off"],
)
def test_mode_is_enforce_unless_given(recording: Path, mode: str, enforced: list[bool]) -> None:
    assert [one["enforced"] for one in written("--input", str(recording), "--mode", mode)] == enforced
    assert written("--input", str(recording)) == written("--input", str(recording), "--mode", "enforce")


@pytest.mark.parametrize(
    ("words", "decided"),
    [
        pytest.param(["--policy", "rounds_to_suspend=1"], ["0 suspend x"], id="one value"),
        pytest.param(
            ["--policy", "rounds_to_suspend=1", "floor=3"],
            ["0 refuse x", "1 refuse x"],
            id="two after one flag",
        ),
        pytest.param(
            ["--policy", "rounds_to_suspend=1", "--policy", "floor=3"],
            ["0 refuse x", "1 refuse x"],
            id="two flags",
        ),
        pytest.param(["--policy", "max_gap=0.5"], [], id="a gap"),
        pytest.param(["--policy", "interval_s=7200"], [], id="an interval"),
        pytest.param(
            ["--policy", "interval_s=60", "max_gap=30"], ["0.1 blind", "1 suspend x"], id="a short interval"
        ),
        pytest.param(["--policy", "same_contract=true"], ["1 suspend x"], id="a switch"),
        pytest.param(["--policy", "max_share=0.3"], ["1 refuse x"], id="a share"),
        pytest.param(["--policy", "max_share=none"], ["1 suspend x"], id="no share"),
    ],
)
def test_policy_words_change_the_thresholds(recording: Path, words: list[str], decided: list[str]) -> None:
    assert spoken(written("--input", str(recording), *words)) == decided


def test_ladder_days_are_a_policy_word(recording: Path) -> None:
    (decision,) = written("--input", str(recording), "--policy", "ladder_days=2,4")
    assert (decision["level"], decision["until"][:10]) == (1, "2026-01-07")


@pytest.mark.parametrize(
    "words",
    [
        ["floor"],
        ["floor=two"],
        ["nothing=1"],
        ["interval_s=0"],
        ["interval_s=nan"],
        ["floor=2", "ladder_days=1e300"],
    ],
    ids=" ".join,
)
def test_a_bad_policy_word_is_one_sentence(recording: Path, words: list[str]) -> None:
    sentence = refused("--input", str(recording), "--policy", *words)
    assert sentence.endswith(".")
    assert "\n" not in sentence


@pytest.mark.parametrize("tail", ["not json", "{}", '{"event": "party"}'])
def test_a_bad_row_at_the_end_writes_nothing(recording: Path, tail: str) -> None:
    recording.write_text(f"{SUSPENDED}\n{tail}\n", encoding="utf-8")
    sentence = refused("--input", str(recording))
    assert sentence.startswith(f"Line {len(SUSPENDED.splitlines()) + 1} ")
    assert "\n" not in sentence


def test_a_missing_file_is_one_sentence_with_its_name(tmp_path: Path) -> None:
    assert "absent.jsonl" in refused("--input", str(tmp_path / "absent.jsonl"))


def test_a_folder_is_one_sentence(tmp_path: Path) -> None:
    assert str(tmp_path) in refused("--input", str(tmp_path))


def test_a_file_that_is_no_text_is_one_sentence(recording: Path) -> None:
    recording.write_bytes(b"\xff\xfe\x00\x01" * 100)
    assert "\n" not in refused("--input", str(recording))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("\ufeff" + SUSPENDED, id="a byte order mark"),
        pytest.param(SUSPENDED.replace("\n", "\r\n"), id="lines of another system"),
        pytest.param(SUSPENDED + "\n\n\n", id="empty lines at the end"),
        pytest.param(
            SUSPENDED.replace('"x"', '"x", "note": "a\u2028b\u0085c"'), id="line ends of Unicode in a text"
        ),
    ],
)
def test_files_of_all_kinds_of_editors_are_read(recording: Path, content: str) -> None:
    recording.write_bytes(content.encode())
    assert spoken(written("--input", str(recording))) == ["1 suspend x"]


def test_an_empty_file_decides_nothing(recording: Path) -> None:
    recording.write_bytes(b"")
    assert written("--input", str(recording)) == []


def test_input_is_required() -> None:
    with pytest.raises(CommandError, match="--input"):
        call_command("backtest")


def test_an_unknown_mode_is_refused(recording: Path) -> None:
    with pytest.raises(CommandError, match="banana"):
        call_command("backtest", "--input", str(recording), "--mode", "banana")


def test_it_reads_standard_input_and_needs_no_database_and_no_key() -> None:
    done = started(
        "--input", "-", "--json", stdin=SUSPENDED.encode(),
        DATABASE_URL="postgres://nobody@127.0.0.1:9/nothing", SECRET_KEY="", REDIS_URL="redis://127.0.0.1:9",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert spoken(json.loads(line) for line in done.stdout.splitlines()) == ["1 suspend x"]


def test_standard_input_may_begin_with_a_byte_order_mark() -> None:
    done = started("--input", "-", stdin=b"\xef\xbb\xbf" + SUSPENDED.encode())
    assert (done.returncode, done.stdout.count(b"\n")) == (0, 1)


def test_a_bad_row_ends_the_process_with_one_line_and_no_output() -> None:
    done = started("--input", "-", stdin=f"{SUSPENDED}\nnot json\n".encode())
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.count(b"\n") == 1
    assert b"Line 7 " in done.stderr


def test_half_a_character_is_refused_or_written_but_never_a_traceback() -> None:
    rows = [{**one, "endpoint": f"{one['endpoint']}\ud800"} for one in recorded("x L- L-")]
    done = started("--input", "-", stdin="\n".join(lines(rows)).encode())
    assert b"Traceback" not in done.stderr
    assert (done.returncode, done.stdout.count(b"\n")) in [(0, 1), (1, 0)]


def test_names_of_all_scripts_are_written_whatever_the_terminal_speaks() -> None:
    rows = [{**one, "model": "模型/é"} for one in recorded("x L- L-")]
    done = started("--input", "-", stdin="\n".join(lines(rows)).encode(), PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["model"] == "模型/é"


def test_the_same_file_gives_the_same_bytes_in_processes_with_other_hash_seeds() -> None:
    rows = lines(
        recorded(
            "x L-,S- S-,L- L- L+,S+ L+,S+\ny fr-,L- de-,L+ L- L- L-\nz L- L- L- L- L-", healthy="abcdef"
        ),
        event("mode", 5, mode="observe"),
    )
    outputs = {
        started("--input", "-", stdin="\n".join(rows).encode(), PYTHONHASHSEED=seed).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert outputs.pop().count(b"\n") >= 3
