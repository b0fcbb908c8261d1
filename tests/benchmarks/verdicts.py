"""Measures the judges on ../shared/data and prints detection and false alarms: `python -m tests.benchmarks.verdicts`.

Clean rows must not fail, the others must; `one` and `word30` are reported only. Rows are split in two by a hash
of their text, because thresholds were looked at on the whole file: a figure that differs between the halves is
luck. Encoding faults and corrupt beginnings are made here from the clean rows.
"""

import argparse
import hashlib
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from routing.judges.beginnings import judge_beginning
from routing.judges.findings import Outcome
from routing.judges.integrity import judge_integrity
from routing.judges.language import judge_language
from routing.judges.refusal import find_refusal
from routing.judges.structured import parse_strictly

DATA = Path(__file__).parents[3] / "shared" / "data"
LABELS = ("clean", "whole", "half", "alt", "two", "clause", "one", "word30")
SOURCES = ("lingua", "ud", "tatoeba", "rp")
BARS = {"clean": 0.0, "whole": 1.0, "half": 0.98, "alt": 0.94, "two": 0.88, "clause": 0.85}

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One row of the language file with what the judge said and how long it took."""

    row: Row
    is_faulty: bool
    fault: str | None
    took_ms: float

    @property
    def label(self) -> str:
        """The label, marked when the pair has a language that is not judged."""
        return str(self.row["label"]) + ("*" if self.row.get("out_of_scope_pair") else "")

    @property
    def half(self) -> str:
        """Which half of the file the text falls into."""
        text = str(self.row["text"])
        return "AB"[hashlib.sha256(text.encode()).digest()[0] % 2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print all tables; 1 when a bar of the language table is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the JSON lines files")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take every Nth row only")
    options = parser.parse_args(arguments)
    path = options.data / "language_dev.jsonl"
    if not path.exists():
        print(f"{options.data} holds no language_dev.jsonl: nothing is measured.")
        return 0
    rows = list(_read(path))[:: options.every]
    judged = [_judge(row) for row in rows]
    clean = [row for row in rows if row["label"] == "clean"]
    is_met = print_languages(judged)
    print_pairs(judged)
    print_times(judged)
    print_integrity(clean)
    print_beginnings(clean)
    print_refusals(clean)
    print_structured(options.data / "json_inputs_dev.jsonl")
    return 0 if is_met else 1


def _read(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _judge(row: Row) -> Judged:
    started = time.perf_counter()
    finding = judge_language(row["text"], row["expected"])
    took_ms = (time.perf_counter() - started) * 1000
    fault = str(finding.fault) if finding.fault else None
    return Judged(row=row, is_faulty=finding.outcome is Outcome.FAULTY, fault=fault, took_ms=took_ms)


def rate(judged: Iterable[Judged]) -> str:
    """`failed/all (share)` of some rows, a dash for none."""
    results = [one.is_faulty for one in judged]
    return f"{sum(results)}/{len(results)} {sum(results) / len(results):.3f}" if results else "-"


def print_languages(judged: Sequence[Judged]) -> bool:
    """Failures by label, half and source against the bars; whether all bars are met."""
    print(
        "language: rows that fail, by label (* a language outside the judged ones; Malay cannot be told apart)"
    )
    print(
        f"{'label':8}{'all':>16}{'bar':>7}  {'half A':>16}{'half B':>16}  "
        + "".join(f"{s:>16}" for s in SOURCES)
    )
    is_met = True
    for label in [*LABELS, *(f"{label}*" for label in LABELS)]:
        rows = [one for one in judged if one.label == label]
        if not rows:
            continue
        bar = BARS.get(label)
        share = sum(one.is_faulty for one in rows) / len(rows)
        is_met &= bar is None or (share <= bar if label == "clean" else share >= bar)
        halves = "".join(f"{rate(one for one in rows if one.half == half):>16}" for half in "AB")
        by_source = "".join(f"{rate(one for one in rows if one.row['source'] == s):>16}" for s in SOURCES)
        print(
            f"{label:8}{rate(rows):>16}{'' if bar is None else format(bar, '.2f'):>7}  {halves}  {by_source}"
        )
    return is_met


def print_pairs(judged: Sequence[Judged]) -> None:
    """Each ordered pair by label, and each language's false alarms."""
    labels = LABELS[1:]
    print("\nby pair (expected > written)\n" + " " * 10 + "".join(f"{label:>9}" for label in labels))
    pairs = dict.fromkeys(
        (one.row["expected"], one.row["intruder"]) for one in judged if "intruder" in one.row
    )
    for expected, intruder in pairs:
        cells = [
            _counts(one for one in judged if _is_pair(one, expected, intruder) and one.row["label"] == label)
            for label in labels
        ]
        print(f"{expected} > {intruder:5}" + "".join(f"{cell:>9}" for cell in cells))
    clean = [one for one in judged if one.row["label"] == "clean"]
    alarms = Counter(one.row["expected"] for one in clean if one.is_faulty)
    unsure = Counter(one.row["expected"] for one in clean if one.fault and not one.is_faulty)
    print(f"clean: false alarms {dict(alarms) or 'none'}, inconclusive {dict(unsure) or 'none'}")


def _is_pair(one: Judged, expected: str, intruder: str) -> bool:
    return one.row["expected"] == expected and one.row.get("intruder") == intruder


def _counts(judged: Iterable[Judged]) -> str:
    results = [one.is_faulty for one in judged]
    return f"{sum(results)}/{len(results)}" if results else "-"


def print_times(judged: Sequence[Judged]) -> None:
    """Milliseconds an answer, the first (which loads the detectors) left out."""
    times = sorted(one.took_ms for one in judged[1:])
    if times:
        print(
            f"\ntime: median {times[len(times) // 2]:.1f} ms, 99 of 100 under {times[len(times) * 99 // 100]:.1f} ms"
        )


def _misread(page: str) -> Callable[[str], str]:
    return lambda text: text.encode().decode(page, errors="ignore")


DAMAGE: dict[str, Callable[[str], str]] = {
    "utf-8 as latin-1": _misread("latin-1"),
    "utf-8 as cp1252": _misread("cp1252"),
    "utf-8 as cp1251": _misread("cp1251"),
    "utf-8 as gb18030": _misread("gb18030"),
    "utf-8 as cp932": _misread("cp932"),
    "U+FFFD inside": lambda text: text[:20] + "\ufffd" + text[20:],
    "byte-level BPE": lambda text: text.replace(" ", "Ġ", 3) if " " in text else "Ġ" + text,
    "special token": lambda text: text + "<|im_end|>",
    "template token": lambda text: text[:30] + " [INST] " + text[30:],
    "repetition": lambda text: text + text[-30:] * 60,
}


def print_integrity(clean: Sequence[Row]) -> None:
    """Damage made from the clean rows, and the clean rows themselves."""
    sound = [row["text"] for row in clean if judge_integrity(row["text"]).outcome is Outcome.SOUND]
    print(f"\nintegrity: clean rows that are damaged as they are: {len(clean) - len(sound)}/{len(clean)}")
    for name, damage in DAMAGE.items():
        damaged = [made for text in sound if (made := damage(text)) != text and made.strip()]
        seen = sum(judge_integrity(text).outcome is Outcome.FAULTY for text in damaged)
        print(f"  {name:18}{seen}/{len(damaged)}")


PUNCTUATION = (
    ",",
    ".",
    ";",
    ":",
    ")",
    "]",
    "?",
    "!",
    ", ",
    ". ",
    "”",
    "»",
    "/",
    "|",
    "`",
    "、",
    "。",
    "，",
    "：",
    ".*",
    ',"',
    "!)",
)


def print_beginnings(clean: Sequence[Row]) -> None:
    """False alarms, and corruptions made from the clean rows, one answer at a time."""
    print("\nbeginnings, an answer at a time (unmeasured outside: the corruptions are our own)")
    rng = random.Random(8)
    words = [word for row in clean for word in row["text"].split() if 3 <= len(word) <= 12 and word.isalpha()]
    made: dict[str, Callable[[str], str]] = {
        "as it is": lambda text: text,
        "punctuation": lambda text: rng.choice(PUNCTUATION) + text,
        "one token": lambda text: (
            rng.choice(words).lower()[rng.randrange(2) :] + rng.choice(("", " ")) + text
        ),
    }
    for name, make in made.items():
        for kind, of_kind in (("role-play", True), ("other prose", False)):
            texts = [make(row["text"]) for row in clean if (row["source"] == "rp") is of_kind]
            seen = sum(judge_beginning(text).outcome is Outcome.FAULTY for text in texts)
            print(f"  {name:12}{kind:12}{seen}/{len(texts)}")


def print_refusals(clean: Sequence[Row]) -> None:
    """False alarms on every clean text and on each of its sentences."""
    sentences = {
        part.strip()
        for row in clean
        for part in row["text"].replace("。", "。. ").split(". ")
        if part.strip()
    }
    texts = sum(find_refusal(row["text"]).outcome is Outcome.FAULTY for row in clean)
    alone = sum(find_refusal(sentence).outcome is Outcome.FAULTY for sentence in sentences)
    print(f"\nrefusals: false alarms {texts}/{len(clean)} texts, {alone}/{len(sentences)} sentences alone")


def print_structured(path: Path) -> None:
    """Valid texts accepted and invalid ones rejected."""
    rows = list(_read(path)) if path.exists() else []
    right = sum(
        (parse_strictly(row["input"])[1].outcome is Outcome.SOUND) == (row["strict"] == "valid")
        for row in rows
    )
    print(f"structured output: {right}/{len(rows)} inputs parsed as they are labelled")


if __name__ == "__main__":
    sys.exit(main())
