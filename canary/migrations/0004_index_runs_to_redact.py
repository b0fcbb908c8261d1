from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def is_postgres(editor: BaseDatabaseSchemaEditor) -> bool:
    return editor.connection.vendor == "postgresql"


class AddIndex(AddIndexConcurrently):
    """Concurrently on PostgreSQL, so that rounds go on meanwhile; at once on SQLite, which cannot."""

    def database_forwards(self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, *states: Any) -> None:
        parent = super() if is_postgres(schema_editor) else super(AddIndexConcurrently, self)
        parent.database_forwards(app_label, schema_editor, *states)

    def database_backwards(self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, *states: Any) -> None:
        parent = super() if is_postgres(schema_editor) else super(AddIndexConcurrently, self)
        parent.database_backwards(app_label, schema_editor, *states)


class RemoveIndex(RemoveIndexConcurrently):
    """Like `AddIndex`."""

    def database_forwards(self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, *states: Any) -> None:
        parent = super() if is_postgres(schema_editor) else super(RemoveIndexConcurrently, self)
        parent.database_forwards(app_label, schema_editor, *states)

    def database_backwards(self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, *states: Any) -> None:
        parent = super() if is_postgres(schema_editor) else super(RemoveIndexConcurrently, self)
        parent.database_backwards(app_label, schema_editor, *states)


class Migration(migrations.Migration):
    """The runs that still hold what a provider wrote are found by when they were done."""

    atomic = False

    dependencies = [
        ("canary", "0003_redacted_runs"),
    ]

    operations = [
        AddIndex(
            model_name="proberun",
            index=models.Index(
                condition=models.Q(("is_redacted", False)), fields=["done_at"], name="run_to_redact"
            ),
        ),
        RemoveIndex(model_name="proberun", name="run_with_text"),
    ]
