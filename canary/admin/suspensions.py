"""Admin pages of suspensions and would-suspends, with what a person may do to them."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.safestring import SafeString

from canary import enforcement, reviews, selectors
from canary.admin.forms import LiftForm, ReviewForm
from canary.admin.rounds import runs_table
from canary.models import Review, Suspension
from canary.selectors.lines import pairs_in_words
from config.admin_pages import (
    NOTHING,
    AskedAction,
    ReadOnlyPage,
    ask_and_apply,
    badge,
    link,
    moment,
)
from routing.clock import database_now

REVIEW_KINDS = {"": "idle", "correct": "pass", "false positive": "fail", "unclear": "warn"}

LIFT = AskedAction(
    name="lift",
    title="Lift suspensions",
    button="Lift",
    done="Suspensions lifted: {count}.",
    intro=("The endpoint serves again at once, its streak at zero and its culprits cleared (C18).",),
    form_class=LiftForm,
    apply=lambda row, data, user: enforcement.lift_suspension(
        row.pk,
        actor=user.get_username(),
        reason=data["reason"],
        is_false_positive=data["is_false_positive"],
        not_before=database_now() + data["spare_days"] if data["spare_days"] else None,
    ),
)
REVIEW = AskedAction(
    name="review",
    title="Judge suspensions",
    button="Judge",
    done="Suspensions judged: {count}.",
    intro=("One odd answer proves nothing: look at the evidence, and reproduce before you decide.",),
    form_class=ReviewForm,
    apply=lambda row, data, user: reviews.judge(
        row.pk, Review(data["judgement"]), user=user, reason=data["reason"]
    ),
)


class StateFilter(admin.SimpleListFilter):
    """Active, shadow or past."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Three choices beside all."""
        return [("active", "In force"), ("shadow", "Would suspend"), ("past", "Past")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Suspension]) -> QuerySet[Suspension]:
        """Rows as of now."""
        return selectors.suspensions_in(self.value(), queryset, now=database_now())


@admin.register(Suspension)
class SuspensionAdmin(ReadOnlyPage):
    """Suspensions and would-suspends, with what a person may do to them."""

    list_display = ("endpoint", "of_model", "state", "caused_by", "level", "started", "ends", "judged")
    list_filter = (StateFilter, "judgement", "endpoint__model")
    list_select_related = ("endpoint__model",)
    search_fields = ("endpoint__tag", "endpoint__model__slug")
    ordering = ("-started_at", "-pk")
    fields = (
        ("endpoint_link", "of_model"), ("state", "level"), "caused_by", ("started", "ends", "ended", "end_kind"),
        "round_link", ("judged", "judged_by", "judged_on"), "failed_runs",
    )  # fmt: skip
    readonly_fields = (
        "endpoint_link", "of_model", "state", "caused_by", "started", "ends", "ended", "round_link", "judged",
        "judged_on", "failed_runs",
    )  # fmt: skip
    actions = ("lift", "review")
    object_actions = {"lift": "Lift…", "review": "Judge…"}

    def has_lift_permission(self, request: HttpRequest) -> bool:
        """For the action below."""
        return self.user_has(request, "routing.lift")

    def has_review_permission(self, request: HttpRequest) -> bool:
        """For the action below."""
        return self.user_has(request, "canary.review")

    def offered_actions(self, request: HttpRequest, row: Any) -> list[tuple[str, str]]:
        """What has ended cannot be lifted."""
        offered = super().offered_actions(request, row)
        return [one for one in offered if one[0] != "lift" or row.ended_at is None]

    @admin.action(description="Lift chosen suspensions…", permissions=["lift"])
    def lift(self, request: HttpRequest, rows: QuerySet[Suspension]) -> HttpResponse | None:
        """Ask why and whether it was a false positive, then lift."""
        return ask_and_apply(self, request, rows, LIFT)

    @admin.action(description="Judge chosen suspensions…", permissions=["review"])
    def review(self, request: HttpRequest, rows: QuerySet[Suspension]) -> HttpResponse | None:
        """Ask for the judgement."""
        return ask_and_apply(self, request, rows, REVIEW)

    @admin.display(description="model", ordering="endpoint__model__slug")
    def of_model(self, row: Suspension) -> str:
        """The model of the endpoint."""
        return row.endpoint.model.slug

    @admin.display(description="endpoint")
    def endpoint_link(self, row: Suspension) -> SafeString:
        """The endpoint's page."""
        return link(reverse("admin:routing_endpoint_change", args=[row.endpoint_id]), row.endpoint)

    @admin.display(description="state", ordering="ended_at")
    def state(self, row: Suspension) -> SafeString:
        """In force, shadow or past."""
        if row.ended_at is not None:
            return badge("idle", f"{'shadow ' if row.is_shadow else ''}{row.get_end_kind_display()}")
        return badge("warn", "would suspend") if row.is_shadow else badge("fail", "in force")

    @admin.display(description="failed")
    def caused_by(self, row: Suspension) -> str:
        """The culprits."""
        return pairs_in_words(row.culprits) or NOTHING

    @admin.display(description="since", ordering="started_at")
    def started(self, row: Suspension) -> SafeString:
        """Its start."""
        return moment(row.started_at)

    @admin.display(description="until", ordering="ends_at")
    def ends(self, row: Suspension) -> SafeString:
        """Its end by the ladder."""
        return moment(row.ends_at)

    @admin.display(description="ended", ordering="ended_at")
    def ended(self, row: Suspension) -> SafeString:
        """When it really ended."""
        return moment(row.ended_at)

    @admin.display(description="judged", ordering="judgement")
    def judged(self, row: Suspension) -> SafeString:
        """A person's judgement."""
        return badge(REVIEW_KINDS[row.judgement], row.get_judgement_display())

    @admin.display(description="judged at")
    def judged_on(self, row: Suspension) -> SafeString:
        """When it was judged."""
        return moment(row.judged_at)

    @admin.display(description="round")
    def round_link(self, row: Suspension) -> SafeString | str:
        """The round that caused it."""
        if row.round_id is None:
            return NOTHING
        return link(reverse("admin:canary_round_change", args=[row.round_id]), row.round_id)

    @admin.display(description="evidence")
    def failed_runs(self, row: Suspension) -> SafeString:
        """The failing probe runs of the round that caused it."""
        return runs_table(selectors.failed_runs_of(row))
