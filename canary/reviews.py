"""A person's judgement of suspensions and would-suspends, and what it says of the canary (rule C17)."""

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from canary import enforcement, telling
from canary.domain import suspension as rules
from canary.models import Review, Suspension
from incidents.domain.actions import Action


@transaction.atomic
def judge(suspension_pk: int, judgement: Review, *, user: AbstractBaseUser | None, reason: str = "") -> None:
    """Store a judgement of a suspension or shadow.

    An open one judged a false positive is lifted; a closed one leaves the ladder as if it had never been (C15).
    """
    held = Suspension.objects.select_related("endpoint").get(pk=suspension_pk)
    actor = user.get_username() if user else "command line"
    enforcement.advance_model(held.endpoint.model_id)  # what has reached its end is not open any more
    step = enforcement.begin(held.endpoint.model_id, actor=actor)
    held.refresh_from_db(fields=["ended_at", "ends_at"])
    is_false = judgement == Review.FALSE_POSITIVE
    words = reason.strip() or "no further reason given"
    if is_false and held.ended_at is None and held.ends_at > step.now:
        outcome = rules.lift(
            step.before,
            held.endpoint.tag,
            step.policy,
            at=step.now,
            is_false_positive=True,
            reason=f"review: {words}",
        )
        enforcement.commit(step, outcome)
    Suspension.objects.filter(pk=held.pk).update(judgement=judgement, judged_by=user, judged_at=step.now)
    telling.human(
        step,
        Action.REVIEW,
        "C17",
        f"The suspension of {held.started_at:%Y-%m-%d %H:%M} UTC was judged {judgement}: {words}",
        inputs={"suspension": held.pk, "judgement": str(judgement)},
        endpoint=held.endpoint.tag,
    )
