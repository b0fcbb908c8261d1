"""The counter every process watches: raised in each transaction that changes what a request must carry (R3)."""

from django.db import connection
from django.db.models import F

from routing.models import SnapshotVersion


def bump_version() -> None:
    """Raise the version in the caller's transaction.

    Call it last: the row stays locked until the commit, and locks are taken models first, version last.
    """
    if not SnapshotVersion.objects.filter(pk=1).update(version=F("version") + 1):
        SnapshotVersion.objects.create(pk=1, version=1)


def current_version() -> int:
    """The version as committed."""
    return SnapshotVersion.objects.filter(pk=1).values_list("version", flat=True).first() or 0


def require_transaction(what: str) -> None:
    """Raise RuntimeError unless inside a transaction: `what` must not be half done."""
    if not connection.in_atomic_block:
        raise RuntimeError(f"{what} belongs in the transaction of its decision.")


def lock_version() -> int:
    """The version, which stays as it is until the transaction ends. Taken after all locks of models."""
    require_transaction("The version's lock")
    row = SnapshotVersion.objects.select_for_update().filter(pk=1).first()
    return row.version if row else 0
