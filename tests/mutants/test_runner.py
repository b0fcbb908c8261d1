"""The mutation check tells noticed, surviving, outdated and broken entries apart, and leaves the tree as it was."""

import shutil
from pathlib import Path

import pytest

from tests.mutants.run import LISTED, ROOT, RULES, Fate, Mutant, attempt, read

SOURCE = "def is_due(gap):\n    return gap >= 24\n"
TEST = "from rules import is_due\n\ndef test_due():\n    assert is_due(25)\n    assert {edge}\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "rules.py").write_text(SOURCE)
    (tmp_path / "tests" / "mutants").mkdir(parents=True)
    shutil.copy(LISTED.with_name("domain.ini"), tmp_path / "tests" / "mutants")
    (tmp_path / "domain").mkdir()
    (tmp_path / "domain" / "test_edge.py").write_text(TEST.format(edge="is_due(24)"))
    (tmp_path / "domain" / "test_weak.py").write_text(TEST.format(edge="not is_due(1)"))
    return tmp_path


def mutant(*, new: str, old: str = "gap >= 24", test: str = "./domain/test_edge.py") -> Mutant:
    return Mutant(rule="C12", file="rules.py", old=old, new=new, tests=[test])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "fate"),
    [
        pytest.param(mutant(new="gap > 24"), Fate.NOTICED, id="a test at the edge notices"),
        pytest.param(
            mutant(new="gap > 24", test="./domain/test_weak.py"), Fate.SURVIVED, id="a weak test does not"
        ),
        pytest.param(mutant(old="gap >= 25", new="gap"), Fate.NOT_APPLICABLE, id="the code has changed"),
        pytest.param(mutant(old="gap", new="pause"), Fate.NOT_APPLICABLE, id="the place is not unique"),
        pytest.param(mutant(new="gap >=="), Fate.BROKEN, id="a change that cannot run proves nothing"),
        pytest.param(
            mutant(new="gap > 24", test="./domain/test_gone.py"), Fate.BROKEN, id="the test is gone"
        ),
    ],
)
def test_each_entry_meets_its_fate_and_the_tree_stays_as_it_was(
    tree: Path, changed: Mutant, fate: Fate
) -> None:
    assert changed.is_plain
    assert attempt(changed, tree) is fate
    assert (tree / "rules.py").read_text() == SOURCE


def test_every_listed_entry_names_a_rule_a_file_and_tests_that_exist() -> None:
    for listed in read(LISTED):
        assert listed.rule in RULES
        assert (ROOT / listed.file).is_file()
        assert listed.tests
        assert all((ROOT / test.partition("::")[0]).exists() for test in listed.tests)
