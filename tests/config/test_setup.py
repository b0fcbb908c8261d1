"""The set-up script: finds a Python, installs once, says in one line what is missing."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from config.env import BASE_DIR

TOOLS = ("sh", "dirname", "cksum", "cat", "rm", "mkdir", "ln", "chmod")
OLD_PYTHON = """#!/bin/sh
case "$2" in
    *version_info\\ \\<*) exit 1 ;;
    *) echo 3.9.2 ;;
esac
"""
SHIM_WITHOUT_PYTHON = "#!/bin/sh\necho 'pyenv: command not found' >&2\nexit 127\n"
PYTHON_WITHOUT_VENV = """#!/bin/sh
case "$2" in
    *ensurepip*) exit 1 ;;
    *) exit 0 ;;
esac
"""
# Notes what it is asked, makes a .venv that has this Python, and fails to install while `broken` exists.
UV = f"""#!/bin/sh
echo "$1 $2" >>uv.calls
case "$1" in
    venv) rm -rf .venv; mkdir -p .venv/bin; ln -s {sys.executable} .venv/bin/python ;;
    pip) [ ! -e broken ] ;;
esac
"""


class Machine:
    """A folder with the script, requirements, and a PATH with nothing but a few tools and what a test adds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "bin"
        self.path.mkdir()
        (folder / "scripts").mkdir()
        shutil.copy(BASE_DIR / "scripts" / "setup.sh", folder / "scripts")
        for name in ("requirements.txt", "requirements-local.txt", "requirements-dev.txt"):
            (folder / name).write_text("")
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found, tool
            (self.path / tool).symlink_to(found)

    def add(self, name: str, script: str) -> None:
        """Put a program on the PATH."""
        program = self.path / name
        program.write_text(script)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def set_up(self, extra: str = "local", **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the script."""
        surroundings = {"PATH": str(self.path), "HOME": str(self.folder), **variables}
        return subprocess.run(
            ["scripts/setup.sh", extra],
            cwd=self.folder,
            env=surroundings,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def calls(self) -> list[str]:
        """What uv was asked."""
        return (self.folder / "uv.calls").read_text().splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("programs", "sentence"),
    [
        pytest.param({}, "needs Python 3.11 or newer; found none.", id="no python"),
        pytest.param(
            {"python3": OLD_PYTHON}, "needs Python 3.11 or newer; found only python3 3.9.2.", id="an old one"
        ),
        pytest.param(
            {"python3.13": SHIM_WITHOUT_PYTHON},
            "needs Python 3.11 or newer; found none.",
            id="a shim with nothing behind it",
        ),
        pytest.param(
            {"python3.13": SHIM_WITHOUT_PYTHON, "python3": PYTHON_WITHOUT_VENV},
            "python3 cannot make virtual environments: apt install python3-venv (or install uv).",
            id="no venv module",
        ),
    ],
)
def test_a_missing_prerequisite_is_one_line_that_says_what_to_install(
    machine: Machine, programs: dict[str, str], sentence: str
) -> None:
    for name, script in programs.items():
        machine.add(name, script)
    done = machine.set_up()
    assert done.returncode == 1
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_it_is_done_once_and_again_when_requirements_change(machine: Machine) -> None:
    machine.add("uv", UV)
    assert machine.set_up().returncode == 0
    assert machine.calls == ["venv --quiet", "pip install"]
    assert machine.set_up().stdout == ""
    assert len(machine.calls) == 2
    (machine.folder / "requirements-local.txt").write_text("new==1\n")
    assert machine.set_up().returncode == 0
    assert machine.calls[2:] == ["pip install"], "an environment that works is kept"


def test_an_interrupted_install_is_done_again(machine: Machine) -> None:
    machine.add("uv", UV)
    (machine.folder / "broken").touch()
    failed = machine.set_up()
    assert failed.returncode == 1
    assert "could not be installed (see above); run the same command again." in failed.stderr
    (machine.folder / "broken").unlink()
    assert machine.set_up().returncode == 0
    assert machine.calls[-1] == "pip install"


def test_the_packages_for_tests_hold_those_for_the_demo(machine: Machine) -> None:
    machine.add("uv", UV)
    machine.set_up("dev")
    machine.set_up("local")
    assert machine.calls == ["venv --quiet", "pip install"]


def test_the_packages_for_the_demo_are_not_enough_for_tests(machine: Machine) -> None:
    machine.add("uv", UV)
    machine.set_up("local")
    machine.set_up("dev")
    assert machine.calls == ["venv --quiet", "pip install", "pip install"]


def test_an_environment_whose_python_is_gone_is_made_anew(machine: Machine) -> None:
    machine.add("uv", UV)
    machine.set_up()
    (machine.folder / ".venv" / "bin" / "python").unlink()
    assert machine.set_up().returncode == 0
    assert machine.calls == ["venv --quiet", "pip install"] * 2


def test_a_python_can_be_named(machine: Machine) -> None:
    machine.add("my-python", PYTHON_WITHOUT_VENV)
    assert "my-python cannot make virtual environments" in machine.set_up(PYTHON="my-python").stderr


def test_the_three_requirement_files_name_no_package_index() -> None:
    for name in ("requirements.txt", "requirements-local.txt", "requirements-dev.txt"):
        text = (BASE_DIR / name).read_text()
        assert "--hash=sha256:" in text
        assert "://" not in text, name
    assert os.access(BASE_DIR / "scripts" / "setup.sh", os.X_OK)
