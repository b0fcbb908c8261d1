"""What must happen before Django reads its settings: a clean environment, and PostgreSQL when asked for.

Loaded by `-p tests.plugin` (pyproject.toml), because pytest-django reads the settings before any conftest.
`--postgres` runs the tests that use the database on a real PostgreSQL: the one of TEST_DATABASE_URL, else
one of our own. Without it they run on SQLite, and tests marked `postgres` are left out, which is said.
"""

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

DATABASE_FIXTURES = frozenset({"db", "transactional_db", "live_server", "live_stack", "_django_db_helper"})
LEFT_OUT = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--postgres`."""
    parser.addoption(
        "--postgres", action="store_true", help="run the database tests, and only them, on PostgreSQL"
    )


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, object, object]:
    """Make the surroundings before pytest-django looks at the settings."""
    if not is_worker():
        _clean_environment()
        if early_config.known_args_namespace.postgres:
            _provide_postgres()
    else:
        _give_worker_its_own_state()
    return (yield)


def is_worker() -> bool:
    """Whether this is one of pytest-xdist's processes, which inherit the environment the first one made."""
    return "PYTEST_XDIST_WORKER" in os.environ


def _clean_environment() -> None:
    """Remove what the developer's shell says to the project, so that tests mean the same everywhere.

    The names come from `.env.example`: importing `config` here would read the settings too early.
    """
    example = Path(__file__).parent.parent / ".env.example"
    for name in re.findall(r"^#?\s*([A-Z_]+)=", example.read_text(), flags=re.MULTILINE):
        os.environ.pop(name, None)
    state = tempfile.mkdtemp(prefix="routewarden-test-")
    atexit.register(shutil.rmtree, state, ignore_errors=True)
    os.environ.update(
        STATE_DIR=state, SECRET_KEY="only-for-tests-" + "x" * 40, DJANGO_SETTINGS_MODULE="config.settings"
    )


def _give_worker_its_own_state() -> None:
    state = Path(os.environ["STATE_DIR"]) / os.environ["PYTEST_XDIST_WORKER"]
    state.mkdir(exist_ok=True)
    os.environ["STATE_DIR"] = str(state)


def _provide_postgres() -> None:
    """Point DATABASE_URL at a server: first the variable, for the settings are read by the import below."""
    given = os.environ.get("TEST_DATABASE_URL")
    if given:
        os.environ["DATABASE_URL"] = given
        return
    folder = Path(tempfile.mkdtemp(prefix="routewarden-pg-", dir="/tmp"))
    os.environ["DATABASE_URL"] = f"postgres://postgres@/routewarden?host={folder}"
    from tests.services import postgres

    atexit.register(postgres.start(folder).stop)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests that belong to this run's database."""
    on_postgres = config.getoption("postgres")
    kept = [item for item in items if (_uses_database(item) if on_postgres else not _needs_postgres(item))]
    left_out = [item for item in items if item not in set(kept)]
    config.stash[LEFT_OUT] = 0 if on_postgres else len(left_out)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def _needs_postgres(item: pytest.Item) -> bool:
    return item.get_closest_marker("postgres") is not None


def _uses_database(item: pytest.Item) -> bool:
    if item.get_closest_marker("browser"):
        return False
    fixtures = DATABASE_FIXTURES.intersection(getattr(item, "fixturenames", ()))
    return bool(fixtures) or _needs_postgres(item) or item.get_closest_marker("django_db") is not None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was left out (under xdist the first process collects nothing and cannot say)."""
    left_out = config.stash.get(LEFT_OUT, 0)
    if left_out:
        terminalreporter.write_line(f"{left_out} tests need PostgreSQL; run them with --postgres.")
