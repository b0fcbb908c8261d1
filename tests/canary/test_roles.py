"""Three roles made at migrate, each holding the one before, with nothing beyond what they need."""

import pytest
from django.contrib.auth.models import Group, Permission
from django.core.management import call_command
from django.db import connection

from canary import roles

pytestmark = pytest.mark.django_db


def names(role: str) -> set[str]:
    """The permissions of a role, `app.codename`."""
    held = Group.objects.get(name=role).permissions.values_list("content_type__app_label", "codename")
    return {f"{app}.{codename}" for app, codename in held}


def test_the_viewer_views_everything_and_does_nothing() -> None:
    ours = Permission.objects.filter(content_type__app_label__in=roles.OUR_APPS, codename__startswith="view_")
    assert names("viewer") == {f"{one.content_type.app_label}.{one.codename}" for one in ours}
    assert len(names("viewer")) > 15


def test_the_operator_excludes_lifts_reviews_probes_and_sends_again() -> None:
    added = {"routing.exclude", "routing.lift", "routing.probe_now", "canary.review", "incidents.resend"}
    assert names("operator") - names("viewer") == added
    assert names("viewer") < names("operator")


def test_the_owner_sets_mode_policy_and_switch_and_watches_models() -> None:
    assert names("owner") - names("operator") == {
        "routing.set_mode", "routing.switch_enforcement", "routing.protect_endpoint", "routing.add_routedmodel",
        "routing.change_routedmodel",
    }  # fmt: skip
    assert names("operator") < names("owner")


def test_no_role_may_delete_anything_or_touch_people() -> None:
    assert not [name for name in names("owner") if ".delete_" in name or name.startswith("auth.")]


def test_migrating_again_changes_nothing_and_restores_what_was_taken_away() -> None:
    before = {role: names(role) for role in roles.ROLES}
    call_command("migrate", verbosity=0)
    assert {role: names(role) for role in roles.ROLES} == before
    Group.objects.get(name="operator").permissions.clear()
    Group.objects.get(name="viewer").permissions.add(Permission.objects.get(codename="add_user"))
    call_command("migrate", verbosity=0)
    assert {role: names(role) for role in roles.ROLES} == before
    assert Group.objects.count() == len(roles.ROLES)


def test_the_roles_come_with_their_permissions_on_a_database_that_has_none_yet() -> None:
    Permission.objects.all().delete()
    Group.objects.all().delete()
    roles.make_roles(connection.alias)
    assert "canary.review" in names("operator")
    assert "routing.set_mode" in names("owner")
