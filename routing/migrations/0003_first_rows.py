"""The rows that exist once: the first gateway, the enforcement switch and the snapshot's version."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def make_first_rows(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Make what is missing; what is there stays as it is."""
    apps.get_model("routing", "Gateway").objects.get_or_create(slug="openrouter", defaults={"name": "OpenRouter"})
    apps.get_model("routing", "EnforcementSwitch").objects.get_or_create(pk=1)
    apps.get_model("routing", "SnapshotVersion").objects.get_or_create(pk=1)


class Migration(migrations.Migration):
    dependencies = [("routing", "0002_give_way_episodes")]

    operations = [migrations.RunPython(make_first_rows, migrations.RunPython.noop)]
