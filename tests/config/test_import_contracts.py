"""Each import contract holds, and each is seen to fail when it is broken."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from config.env import BASE_DIR

PACKAGES = ("config", "routing", "canary", "incidents", "sandbox")
CONTRACTS = {
    contract["id"]: contract["name"]
    for contract in tomllib.loads((BASE_DIR / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
}

# Contract → where one forbidden line is added, and what the linter must say of it.
BREAKAGES = {
    "domain": ("routing/domain/modes.py", "import time", "routing.domain.modes imports time"),
    "models": ("routing/models.py", "import routing.clock", "routing.models imports routing.clock"),
    "gateways": ("routing/gateways/base.py", "import django.db", "routing.gateways.base imports django"),
    "judges": ("routing/judges/findings.py", "import httpx", "routing.judges.findings imports httpx"),
    "probes": ("canary/probes/base.py", "import canary.models", "canary.probes.base imports canary.models"),
    "selectors": ("canary/selectors.py", "import canary.rounds", "canary.selectors imports canary.rounds"),
    "tasks": ("canary/rounds.py", "import canary.tasks", "canary.rounds imports canary.tasks"),
    "pages": ("routing/clock.py", "import routing.management", "routing.clock imports routing.management"),
    "routing": (
        "routing/catalogue.py",
        "import incidents.models",
        "routing.catalogue imports incidents.models",
    ),
    "incidents": (
        "incidents/decisions.py",
        "import canary.selectors",
        "incidents.decisions imports canary.selectors",
    ),
    "incident-pages": (
        "incidents/admin.py",
        "import routing.models",
        "incidents.admin imports routing.models",
    ),
    "canary": ("canary/rounds.py", "import sandbox.app", "canary.rounds imports sandbox.app"),
    "sandbox": ("sandbox/app.py", "import routing.domain.modes", "sandbox.app imports routing.domain.modes"),
    "configuration": (
        "config/csp.py",
        "import canary.domain.policy",
        "config.csp imports canary.domain.policy",
    ),
    "site": ("config/admin_site.py", "import canary.rounds", "config.admin_site imports canary.rounds"),
    "environment": ("canary/rounds.py", "import config.env", "canary.rounds imports config.env"),
    "detectors": (
        "routing/service.py",
        "import routing.judges.language",
        "routing.service is not allowed to import routing.judges",
    ),
}


def lint(folder: Path) -> str:
    """What import-linter says of the tree in `folder`, in one line (it wraps)."""
    script = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"COLUMNS": "300"},
    )
    return re.sub(r"\s+", " ", done.stdout + done.stderr)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the linter says of a copy in which every contract is broken once."""
    folder = tmp_path_factory.mktemp("broken")
    for package in PACKAGES:
        shutil.copytree(BASE_DIR / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(BASE_DIR / "pyproject.toml", folder)
    (folder / "tests").mkdir()
    shutil.copy(BASE_DIR / "tests" / "import_contracts.py", folder / "tests")
    for path, line, _ in BREAKAGES.values():
        with (folder / path).open("a") as module:
            module.write(f"\n{line}\n")
    return lint(folder)


@pytest.mark.slow
def test_every_contract_holds() -> None:
    assert "Contracts: " in (said := lint(BASE_DIR))
    assert "BROKEN" not in said, said


def test_every_contract_has_its_breakage() -> None:
    assert BREAKAGES.keys() == CONTRACTS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_contract_fails_when_it_is_broken(contract: str, broken: str) -> None:
    assert f"{CONTRACTS[contract]} BROKEN" in broken
    assert BREAKAGES[contract][2] in broken


@pytest.mark.slow
def test_the_facade_loads_no_detector() -> None:
    script = (
        "import django, sys; django.setup(); import routing.service; "
        "print(*{'langdetect', 'py3langid', 'ftfy', 'numpy'}.intersection(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=BASE_DIR, capture_output=True, text=True, check=True
    )
    assert done.stdout == "\n"
