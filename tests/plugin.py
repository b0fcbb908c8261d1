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

TRANSACTIONAL_FIXTURES = frozenset({"transactional_db", "live_server"})
DATABASE_FIXTURES = TRANSACTIONAL_FIXTURES | {"db"}
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


def pytest_itemcollected(item: pytest.Item) -> None:
    """Transactional tests find what `migrate` made (the switch, the roles), although the one before emptied it all."""
    marker = item.get_closest_marker("django_db")
    wanted = dict(marker.kwargs) if marker else {}
    if wanted.get("transaction") or TRANSACTIONAL_FIXTURES.intersection(getattr(item, "fixturenames", ())):
        wanted.update(transaction=True, serialized_rollback=True)
        item.add_marker(pytest.mark.django_db(**wanted), append=False)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests that belong to this run's database."""
    on_postgres = config.getoption("postgres")
    belongs = _belongs_on_postgres if on_postgres else _belongs_on_sqlite
    kept = [item for item in items if belongs(item)]
    left_out = [item for item in items if not belongs(item)]
    config.stash[LEFT_OUT] = 0 if on_postgres else len(left_out)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def _belongs_on_sqlite(item: pytest.Item) -> bool:
    return item.get_closest_marker("postgres") is None


def _belongs_on_postgres(item: pytest.Item) -> bool:
    """Tests that touch the database; those without one and those in a browser have had their turn."""
    marks = {mark.name for mark in item.iter_markers()}
    if marks & {"browser", "processes", "sqlite"}:
        return False
    return bool(
        marks & {"postgres", "django_db"} or DATABASE_FIXTURES.intersection(getattr(item, "fixturenames", ()))
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was left out (under xdist the first process collects nothing and cannot say)."""
    left_out = config.stash.get(LEFT_OUT, 0)
    if left_out:
        terminalreporter.write_line(f"{left_out} tests need PostgreSQL; run them with --postgres.")
