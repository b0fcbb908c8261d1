"""What the commands share that run a round by hand, in their own process."""

from django.core.management.base import CommandError

from canary import rounds
from canary.models import Round, RoundStatus
from canary.planning import EVERYTHING, Selection
from routing.models import RoutedModel


def watched_model(slug: str) -> RoutedModel:
    """The model of that name. Raises `CommandError` when there is none."""
    model = RoutedModel.objects.filter(slug=slug).first()
    if model is None:
        raise CommandError(f"No model {slug} is watched; see `manage.py discover {slug} --watch`.")
    return model


def run_by_hand(model: RoutedModel, selection: Selection = EVERYTHING) -> Round:
    """A round asked for and carried out now. Raises `CommandError` while another one runs."""
    try:
        round_ = rounds.work_by_hand(model.pk, actor="command line", selection=selection)
    except rounds.RoundRunning as error:
        raise CommandError(str(error)) from error
    if round_ is None:
        raise CommandError("Another worker took the round; look for it in the admin.")
    return round_


def check_closed(round_: Round) -> None:
    """Raise `CommandError` with the round's own words unless it closed as it should."""
    if round_.status != RoundStatus.CLOSED:
        raise CommandError(f"The round ended as {round_.get_status_display()}: {round_.note}")
