"""`make mutants`: apply each change of mutants.toml to a copy of the tree and expect its tests to fail.

Fails when a changed program passes its tests, when a change can no longer be applied, when the unchanged
tests do not pass, or when a rule has no entry. `make mutants ARGS="C14 R1"` tries only those rules.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parent.parent.parent
LISTED = Path(__file__).with_name("mutants.toml")
RULES = tuple(f"C{number}" for number in range(22)) + tuple(f"R{number}" for number in range(1, 5))
PLAIN_FOLDERS = ("/domain/", "/judges/", "/probes/")
AT_ONCE = 2
LIMIT_S = 180  # for the tests of one mutant; one that loops for ever has been noticed
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "docs", "deploy", "*.sqlite3")
TESTS_FAILED = 1  # pytest's exit code; others mean that the tests did not run


class Fate(StrEnum):
    """What came of a mutant. Only `noticed` is good."""

    NOTICED = "noticed"
    SURVIVED = "SURVIVED"
    NOT_APPLICABLE = "NOT APPLICABLE"
    BROKEN = "BROKEN"


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A change of one file, exact and unique, and the tests that must notice it."""

    rule: str
    file: str
    old: str
    new: str
    tests: Sequence[str]

    @property
    def change(self) -> str:
        """What it changes, in one line."""
        old, new = self.old.strip().splitlines(), self.new.strip().splitlines()
        is_added = len(new) > len(old)
        return f"+ {new[-1].strip()}" if is_added else f"{old[0]} → {new[0] if new else '(nothing)'}"

    @property
    def is_plain(self) -> bool:
        """Whether its tests are about pure functions only, which run without Django."""
        return all(any(folder in test for folder in PLAIN_FOLDERS) for test in self.tests)


def main(rules: Sequence[str]) -> int:
    """Try the mutants of `rules`, or all. 0: every one was noticed and every rule has one."""
    started = time.monotonic()
    mutants = [mutant for mutant in read(LISTED) if not rules or mutant.rule in rules]
    with _copies(AT_ONCE) as copies:
        if not _tests_pass_unchanged(mutants, copies):
            return 1
        with ThreadPoolExecutor(AT_ONCE) as pool:
            fates = list(pool.map(lambda mutant: _try_and_say(mutant, copies), mutants))
    bad = [fate for fate in fates if fate is not Fate.NOTICED]
    missing = sorted(set(rules or RULES) - {mutant.rule for mutant in mutants}, key=_rule_order)
    if missing:
        print(f"Rules without a mutant: {', '.join(missing)}.")
    noticed = len(fates) - len(bad)
    print(
        f"mutants: {noticed} of {len(fates)} noticed, {len(missing)} rules without one, {_since(started)}",
        flush=True,
    )
    return 1 if bad or missing else 0


def read(file: Path) -> list[Mutant]:
    """The listed mutants. Raises `TypeError` or `KeyError` for an entry of the wrong shape."""
    return [Mutant(**entry) for entry in tomllib.loads(file.read_text())["mutants"]]


def attempt(mutant: Mutant, tree: Path) -> Fate:
    """Apply the change in `tree`, run its tests, take the change back."""
    target = tree / mutant.file
    original = target.read_text() if target.exists() else ""
    if original.count(mutant.old) != 1:
        return Fate.NOT_APPLICABLE
    target.write_text(original.replace(mutant.old, mutant.new))
    try:
        code = run_tests(mutant.tests, tree, is_plain=mutant.is_plain)
    finally:
        target.write_text(original)
    if code in (None, TESTS_FAILED):
        return Fate.NOTICED
    return Fate.SURVIVED if code == 0 else Fate.BROKEN


def run_tests(tests: Iterable[str], tree: Path, *, is_plain: bool) -> int | None:
    """The exit code of pytest; None when the tests had to be ended."""
    plain = ("-c", "tests/mutants/domain.ini", "--rootdir", ".")
    options = plain if is_plain else ("-p", "no:playwright", "-p", "no:randomly")
    # -B: Python would take a changed file of the same size and second for the compiled unchanged one.
    command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "--tb=no", *options, *tests]
    # hypothesis has a profile for CI: the same examples every time, and no limit that a busy machine breaks.
    surroundings = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "CI": "true"}
    if is_plain:
        surroundings["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    try:
        done = subprocess.run(
            command, cwd=tree, env=surroundings, capture_output=True, timeout=LIMIT_S, check=False, text=True
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode not in (0, TESTS_FAILED):
        print(done.stdout[-2000:], done.stderr[-2000:], flush=True)
    return done.returncode


def _tests_pass_unchanged(mutants: Sequence[Mutant], copies: "SimpleQueue[Path]") -> bool:
    """Run every named test once on the unchanged tree: a test that fails anyway notices nothing."""
    tree = copies.get()
    try:
        for is_plain in (True, False):
            tests = sorted({test for one in mutants if one.is_plain is is_plain for test in one.tests})
            if tests and run_tests(tests, tree, is_plain=is_plain) != 0:
                print(
                    f"The tests do not pass on the unchanged code; run: pytest {' '.join(tests)}", flush=True
                )
                return False
    finally:
        copies.put(tree)
    return True


def _try_and_say(mutant: Mutant, copies: "SimpleQueue[Path]") -> Fate:
    tree = copies.get()
    started = time.monotonic()
    try:
        fate = attempt(mutant, tree)
    finally:
        copies.put(tree)
    print(f"{mutant.rule:4} {fate:10} {_since(started):>7}  {mutant.file}: {mutant.change}", flush=True)
    return fate


@contextmanager
def _copies(count: int) -> Iterator["SimpleQueue[Path]"]:
    """Copies of the tree to change: never the working tree itself."""
    with tempfile.TemporaryDirectory(prefix="routewarden-mutants-") as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(count):
            tree = Path(folder) / str(number)
            shutil.copytree(ROOT, tree, ignore=LEFT_OUT)
            shutil.copy(ROOT / ".env.example", tree)
            copies.put(tree)
        yield copies


def _rule_order(rule: str) -> tuple[str, int]:
    return rule[0], int(rule[1:])


def _since(started: float) -> str:
    return f"{time.monotonic() - started:.1f} s"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
