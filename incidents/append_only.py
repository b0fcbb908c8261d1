"""The triggers that make the decision log append-only, on SQLite and PostgreSQL (rule C19).

They are made by a migration and made again after every `migrate`, because SQLite drops a table's triggers
silently when a later migration rebuilds the table. Nothing at run time switches them off.
"""

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper

TABLE = "incidents_decision"
REFUSAL = "The decision log is append-only."

# An INSERT OR REPLACE deletes the old row without firing SQLite's DELETE triggers: hence the third one.
_SQLITE = {
    "incidents_decision_no_update": f"BEFORE UPDATE ON {TABLE}",
    "incidents_decision_no_delete": f"BEFORE DELETE ON {TABLE}",
    "incidents_decision_no_replace": (
        f"BEFORE INSERT ON {TABLE} WHEN EXISTS (SELECT 1 FROM {TABLE} WHERE id = NEW.id)"  # noqa: S608  a constant
    ),
}
_POSTGRESQL_INSTALL = f"""
    CREATE OR REPLACE FUNCTION incidents_decision_refuse() RETURNS trigger LANGUAGE plpgsql AS $body$
    BEGIN
        RAISE EXCEPTION '{REFUSAL}' USING ERRCODE = 'integrity_constraint_violation', DETAIL = TG_OP;
    END
    $body$;
    DROP TRIGGER IF EXISTS incidents_decision_append_only ON {TABLE};
    CREATE TRIGGER incidents_decision_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {TABLE}
        FOR EACH STATEMENT EXECUTE FUNCTION incidents_decision_refuse();
"""
_POSTGRESQL_REMOVE = f"""
    DROP TRIGGER IF EXISTS incidents_decision_append_only ON {TABLE};
    DROP FUNCTION IF EXISTS incidents_decision_refuse();
"""


def install(connection: BaseDatabaseWrapper) -> None:
    """Make the triggers, whether or not they exist. Raises NotImplementedError on any other database."""
    _execute(connection, _statements(connection, is_wanted=True))


def remove(connection: BaseDatabaseWrapper) -> None:
    """Drop the triggers: for the reversed migration, and for tests that empty their database afterwards."""
    _execute(connection, _statements(connection, is_wanted=False))


def _statements(connection: BaseDatabaseWrapper, *, is_wanted: bool) -> list[str]:
    match connection.vendor:
        case "sqlite":
            drops = [f"DROP TRIGGER IF EXISTS {name}" for name in _SQLITE]
            creates = [
                f"CREATE TRIGGER {name} {when} BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
                for name, when in _SQLITE.items()
            ]
            return drops + creates if is_wanted else drops
        case "postgresql":
            return [_POSTGRESQL_INSTALL if is_wanted else _POSTGRESQL_REMOVE]
    raise NotImplementedError(f"The decision log cannot be made append-only on {connection.vendor}.")


def _execute(connection: BaseDatabaseWrapper, statements: list[str]) -> None:
    """Run them in one transaction, so that the log is never without its triggers in between."""
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
