"""`make test` counts what pytest reports, ends a suite over its budget, and lets nothing be skipped unexplained."""

import sys
import time
from pathlib import Path

import pytest

from tests import run
from tests.services import chromium

REPORT = """<testsuites><testsuite failures="1" errors="1" skipped="3" tests="9">
<testcase><skipped type="pytest.skip" message="../shared is not beside the project"/></testcase>
<testcase><skipped type="pytest.skip" message="too slow"/></testcase>
<testcase><skipped type="pytest.xfail" message="known"/></testcase>
</testsuite></testsuites>"""


def test_a_report_is_counted_in_pytests_words_and_unexplained_skips_are_named(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(REPORT)
    counts, unexplained = run._read(tmp_path / "report.xml")
    assert counts == {"failed": 1, "errors": 1, "passed": 4, "skipped": 2, "xfailed": 1}
    assert unexplained == ["too slow"]


def test_a_suite_that_leaves_no_report_is_an_error(tmp_path: Path) -> None:
    assert run._read(tmp_path / "none.xml")[0] == {"errors": 1}


def test_a_suite_over_its_budget_is_ended() -> None:
    started = time.monotonic()
    assert run._run_within([sys.executable, "-c", "import time; time.sleep(60)"], budget_s=1) is None
    assert time.monotonic() - started < 30


def test_a_suite_within_its_budget_gives_its_code() -> None:
    assert run._run_within([sys.executable, "-c", "raise SystemExit(3)"], budget_s=30) == 3


@pytest.mark.parametrize("is_ci", [True, False])
def test_without_a_chromium_the_browser_suite_is_not_run_which_is_a_failure_in_ci_only(
    is_ci: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(chromium, "MAC_APPLICATIONS", ())
    monkeypatch.setattr(run, "IN_CI", is_ci)
    assert run.main(["browser"]) == int(is_ci)
    assert "browser: not run, no Chromium found (apt install chromium)" in capsys.readouterr().out


def test_a_suite_that_does_not_exist_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["sqlite", "oracle"]) == 2
    assert "No such suite: oracle; there are sqlite, postgres, processes, browser." in capsys.readouterr().out


def test_all_suites_together_stay_under_the_limit_of_ci() -> None:
    assert sum(suite.budget_s for suite in run.SUITES) <= 35 * 60
