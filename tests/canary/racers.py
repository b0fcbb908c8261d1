"""What the processes of a race do. Django is set up inside: these functions run in processes of their own."""

import os
from datetime import datetime
from multiprocessing.synchronize import Barrier
from uuid import UUID


def set_up(url: str) -> None:
    """Django in a process of its own."""
    os.environ["DATABASE_URL"] = url
    import django

    django.setup()


def close_rounds(url: str, round_pks: list[UUID], now: datetime, barrier: Barrier) -> None:
    """Close each round the moment the other process does: both endpoints `a` and `b` failed in it."""
    set_up(url)
    from canary import enforcement
    from canary.domain.pooling import Pooled
    from canary.domain.verdicts import Contract, Reason, Verdict
    from canary.models import Round

    for round_pk in round_pks:
        round_ = Round.objects.get(pk=round_pk)
        pooled = {}
        for endpoint in round_.model.endpoints.all():
            verdict = Verdict.FAIL if endpoint.tag in ("a", "b") else Verdict.PASS
            pooled[endpoint.pk] = Pooled(
                verdicts={Contract.LATENCY: verdict}, reasons={Contract.LATENCY: Reason.NO_TEXT_IN_LIMIT}
            )
        barrier.wait(timeout=60)
        enforcement.close_round(enforcement.ClosedRound(round_id=round_pk, pooled=pooled, languages={}))


def claim_slots(url: str, model_pks: list[int], now: datetime, barrier: Barrier) -> None:
    """Claim each model's present slot the moment the other process does, and take its round's lease."""
    set_up(url)
    from canary import rounds
    from canary.models import Round
    from routing.models import RoutedModel

    for model_pk in model_pks:
        model = RoutedModel.objects.get(pk=model_pk)
        barrier.wait(timeout=60)
        rounds.claim_due(model, now=now)
        barrier.wait(timeout=60)
        rounds._take(Round.objects.get(model=model).pk)
