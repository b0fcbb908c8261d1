"""The three roles, as groups made at every migrate: least privilege first, each holding the one before.

`migrate` makes permissions only after the last migration (in `post_migrate`), so a data migration would
find none on a fresh database; the receiver in `canary.apps` runs then, and this module makes sure itself
that the permissions of our apps exist. The groups are defined here: what is added to them by hand goes at
the next migrate; give people another group of their own for that.
"""

from django.apps import apps
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission
from django.db import transaction

OUR_APPS = ("routing", "canary", "incidents")
OPERATOR = frozenset(
    {"routing.exclude", "routing.lift", "routing.probe_now", "canary.review", "incidents.resend"}
)
OWNER = OPERATOR | {
    "routing.add_routedmodel",
    "routing.change_routedmodel",
    "routing.set_mode",
    "routing.switch_enforcement",
    "routing.protect_endpoint",
}
# Role → what it holds besides viewing everything.
ROLES = {"viewer": frozenset[str](), "operator": OPERATOR, "owner": OWNER}


def make_roles(using: str) -> None:
    """Make the groups and give each exactly its permissions; running it again changes nothing."""
    for label in OUR_APPS:
        create_permissions(apps.get_app_config(label), verbosity=0, interactive=False, using=using)
    known = {
        f"{app}.{codename}": pk
        for pk, app, codename in Permission.objects.using(using)
        .filter(content_type__app_label__in=OUR_APPS)
        .values_list("pk", "content_type__app_label", "codename")
    }
    views = {name for name in known if name.partition(".")[2].startswith("view_")}
    with transaction.atomic(using=using):
        for role, names in ROLES.items():
            group, _ = Group.objects.using(using).get_or_create(name=role)
            group.permissions.set(known[name] for name in views | names)
