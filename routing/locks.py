"""The one lock per model under which all decisions about it are taken (rule C14)."""

from routing.models import RoutedModel
from routing.versions import require_transaction


def lock_model(model_pk: int) -> RoutedModel:
    """The model's row, locked until the transaction ends. Raises `RoutedModel.DoesNotExist`.

    On SQLite the transaction itself is the lock: only one can write.
    """
    require_transaction("A model's lock")
    return (
        RoutedModel.objects.select_for_update(of=("self",), no_key=True)
        .select_related("gateway")
        .get(pk=model_pk)
    )


def lock_all_models() -> list[RoutedModel]:
    """Every model's row, locked in the order of their keys, so that nobody waits in a circle."""
    require_transaction("The models' locks")
    return list(
        RoutedModel.objects.select_for_update(of=("self",), no_key=True)
        .select_related("gateway")
        .order_by("pk")
    )
