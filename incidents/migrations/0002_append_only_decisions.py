"""The decision log refuses UPDATE, DELETE and TRUNCATE from here on (rule C19)."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from incidents import append_only


def install(_apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Make the triggers."""
    append_only.install(schema_editor.connection)


def remove(_apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Drop the triggers."""
    append_only.remove(schema_editor.connection)


class Migration(migrations.Migration):
    """Triggers on the decision table."""

    dependencies = [("incidents", "0001_initial")]
    operations = [migrations.RunPython(install, remove)]
