"""`make test`: every suite in turn, each within its time budget; the last line sums them up as pytest would.

In CI (the variable CI is set) nothing may be missing: no Chromium or an unexplained skip is a failure.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tests.services import chromium

IN_CI = bool(os.environ.get("CI"))
# The only thing a test may do without: the material beside the project, absent in every clone.
MAY_BE_ABSENT = "../shared"


@dataclass(frozen=True, kw_only=True)
class Suite:
    """One run of pytest. `budget_s` is several times what it took on two cores; over it, the suite fails."""

    name: str
    arguments: Sequence[str]
    budget_s: int


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a suite: `counts` by pytest's words, and whether all of it may be called good."""

    counts: Counter[str]
    is_good: bool


WITHOUT_BROWSER = ("-p", "no:playwright")
IN_PARALLEL = (*WITHOUT_BROWSER, "-n", "logical", "--dist", "worksteal")
SUITES = (
    Suite(name="sqlite", arguments=("-m", "not browser and not processes", *IN_PARALLEL), budget_s=900),
    Suite(name="postgres", arguments=("--postgres", *IN_PARALLEL), budget_s=600),
    Suite(name="processes", arguments=("-m", "processes", *WITHOUT_BROWSER), budget_s=300),
    Suite(name="browser", arguments=("-m", "browser"), budget_s=240),
)


def main(arguments: Sequence[str]) -> int:
    """Run the suites named in `arguments`, or all. 0: all good."""
    unknown = set(arguments) - {suite.name for suite in SUITES}
    if unknown:
        print(f"No such suite: {', '.join(sorted(unknown))}; there are {', '.join(s.name for s in SUITES)}.")
        return 2
    started = time.monotonic()
    outcomes = [_run(suite) for suite in SUITES if not arguments or suite.name in arguments]
    total: Counter[str] = sum((outcome.counts for outcome in outcomes), Counter())
    is_good = all(outcome.is_good for outcome in outcomes)
    words = ", ".join(
        f"{total[word]} {word}"
        for word in ("failed", "passed", "skipped", "xfailed", "errors")
        if total[word]
    )
    print(f"===== {words or 'no tests ran'} in {time.monotonic() - started:.2f}s =====", flush=True)
    return 0 if is_good else 1


def _run(suite: Suite) -> Outcome:
    """Run one suite and say how long it took."""
    if suite.name == "browser" and chromium.find() is None:
        print("browser: not run, no Chromium found (apt install chromium)", flush=True)
        return Outcome(counts=Counter(), is_good=not IN_CI)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *suite.arguments]
        code = _run_within(command, suite.budget_s)
        counts, unexplained = _read(report)
    elapsed_s = time.monotonic() - started
    print(f"{suite.name}: {elapsed_s:.1f} s of {suite.budget_s} s", flush=True)
    if code is None:
        print(f"{suite.name}: over its time budget, ended")
    for reason in unexplained:
        print(f"{suite.name}: skipped without an accepted reason: {reason}")
    return Outcome(counts=counts, is_good=code == 0 and not (IN_CI and unexplained))


def _run_within(command: Sequence[str], budget_s: int) -> int | None:
    """Its exit code; None when it had to be ended."""
    with subprocess.Popen(command) as process:
        try:
            return process.wait(timeout=budget_s)
        except subprocess.TimeoutExpired:
            process.terminate()
            return None
        except KeyboardInterrupt:
            process.wait()
            raise


def _read(report: Path) -> tuple[Counter[str], Sequence[str]]:
    """Counts by pytest's words, and the reasons of skips that have no accepted one."""
    if not report.exists():
        return Counter(errors=1), ()
    root = ElementTree.parse(report).getroot()  # noqa: S314  pytest wrote it a moment ago
    counts: Counter[str] = Counter()
    for suite in root.iter("testsuite"):
        failed, errors, left = (int(suite.get(name, 0)) for name in ("failures", "errors", "skipped"))
        passed = int(suite.get("tests", 0)) - failed - errors - left
        counts.update(failed=failed, errors=errors, passed=passed)
    # pytest writes known failures as skips of another type.
    kinds = [(skip.get("type"), skip.get("message", "")) for skip in root.iter("skipped")]
    skipped = [reason for kind, reason in kinds if kind == "pytest.skip"]
    counts.update(skipped=len(skipped), xfailed=len(kinds) - len(skipped))
    return counts, [reason for reason in skipped if MAY_BE_ABSENT not in reason]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
