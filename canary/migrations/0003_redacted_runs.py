from django.db import migrations, models


class Migration(migrations.Migration):
    """Which runs have lost what the provider wrote. The database fills in rows that older code writes."""

    dependencies = [
        ("canary", "0002_widen_prompt_variant"),
    ]

    operations = [
        migrations.AddField(
            model_name="proberun",
            name="is_redacted",
            field=models.BooleanField(
                default=False, db_default=False, help_text="What the provider wrote was removed after EVIDENCE_DAYS."
            ),
        ),
    ]
