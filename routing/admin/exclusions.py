"""Admin pages of exclusions and of the enforcement switch."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.safestring import SafeString

from config.admin_pages import (
    NOTHING,
    AskedAction,
    FormPage,
    ModelPage,
    ReadOnlyPage,
    ReasonForm,
    ask_and_apply,
    badge,
    moment,
    render_form_page,
    yes_no,
)
from routing import exclusions
from routing.admin.forms import ExclusionForm, first_values
from routing.builtin_exclusions import builtin_entries
from routing.clock import database_now
from routing.domain.modes import Tier
from routing.models import EnforcementSwitch, Exclusion
from routing.rows import open_exclusions
from routing.switch import SwitchError, resume_enforcement, stop_enforcement

TIER_KINDS = {Tier.BUILTIN: "idle", Tier.RUNTIME: "info", Tier.CANARY: "warn"}

LIFT = AskedAction(
    name="lift",
    title="Lift exclusions",
    button="Lift",
    done="Exclusions lifted: {count}.",
    intro=(
        "From the moment of lifting, requests may reach these again; every process knows within a second.",
    ),
    apply=lambda row, data, user: exclusions.lift_runtime(
        row.pk, reason=data["reason"], actor=user.get_username(), user=user, now=database_now()
    ),
)


class InForceFilter(admin.SimpleListFilter):
    """Exclusions in force, and those that have ended."""

    title = "in force"
    parameter_name = "in_force"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Two choices beside all."""
        return [("yes", "In force"), ("no", "Ended")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Rows as of now."""
        wanted = {"yes": True, "no": False}.get(self.value() or "")
        return queryset if wanted is None else queryset.filter(is_open=wanted)


@admin.register(Exclusion)
class ExclusionAdmin(ModelPage):
    """The runtime and canary tiers. Added here and lifted here; never changed."""

    list_display = ("entry", "tier_badge", "scope", "in_force", "until", "reason", "since", "created_by")
    list_filter = (InForceFilter, "tier", "model")
    list_select_related = ("model", "created_by")
    search_fields = ("entry", "reason")
    ordering = ("-created_at", "-pk")
    fields = (
        "entry", "tier_badge", "scope", "in_force", "reason", "contracts", "gives_way", "unmatched",
        ("since", "created_by"), "until", ("lifted", "lifted_by"), "lift_reason",
    )  # fmt: skip
    readonly_fields = (
        "entry", "tier_badge", "scope", "in_force", "reason", "contracts", "gives_way", "unmatched", "since",
        "created_by", "until", "lifted", "lifted_by", "lift_reason",
    )  # fmt: skip
    change_list_template = "admin/routewarden/exclusions.html"
    actions = ("lift",)
    object_actions = {"lift": "Lift…"}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """With `is_open`: in force as of now."""
        is_open = Q(pk__in=open_exclusions(database_now()).values("pk"))
        rows: QuerySet[Any] = super().get_queryset(request)
        annotated: QuerySet[Any] = rows.annotate(is_open=ExpressionWrapper(is_open, BooleanField()))
        return annotated

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Whoever may exclude."""
        return self.user_has(request, "routing.exclude")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never: an exclusion is lifted and another one added."""
        return False

    def has_lift_permission(self, request: HttpRequest) -> bool:
        """For the action below."""
        return self.user_has(request, "routing.lift")

    def offered_actions(self, request: HttpRequest, row: Any) -> list[tuple[str, str]]:
        """Only a runtime exclusion that has not ended can be lifted here."""
        can_be_lifted = row.tier == Tier.RUNTIME and row.is_open
        return super().offered_actions(request, row) if can_be_lifted else []

    @admin.action(description="Lift chosen runtime exclusions…", permissions=["lift"])
    def lift(self, request: HttpRequest, rows: QuerySet[Exclusion]) -> HttpResponse | None:
        """Ask why, then lift."""
        return ask_and_apply(self, request, rows, LIFT)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """With the builtin tier, which is code, above the table."""
        return super().changelist_view(request, {"builtin": builtin_entries(), **(extra_context or {})})

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Ask for an exclusion and add it; what is refused keeps everything typed."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = ExclusionForm(request.POST or None, initial=first_values(request.GET))
        if request.method == "POST" and form.is_valid() and (added := self._add(request, form)):
            return HttpResponseRedirect(reverse("admin:routing_exclusion_change", args=[added.pk]))
        intro = ("Every request carries it within a second, whatever library sends it.",)
        page = FormPage(title="Add exclusion", button="Exclude", intro=intro)
        return render_form_page(request, self, form, page)

    def _add(self, request: HttpRequest, form: ExclusionForm) -> Exclusion | None:
        now = database_now()
        asked = form.as_request(user=request.user, now=now)  # type: ignore[arg-type]  # staff are users
        try:
            warnings = exclusions.preview(asked, now=now)
            added = exclusions.add_runtime(asked, now=now)
        except exclusions.BadExclusion as error:
            form.refuse(error)
            return None
        self.message_user(request, f"Excluded: {added.entry}.", messages.SUCCESS)
        for warning in warnings:
            self.message_user(request, warning, messages.WARNING)
        return added

    @admin.display(description="tier", ordering="tier")
    def tier_badge(self, row: Exclusion) -> SafeString:
        """Who made it."""
        return badge(TIER_KINDS[Tier(row.tier)], row.tier)

    @admin.display(description="for", ordering="model")
    def scope(self, row: Exclusion) -> str:
        """The model, or all."""
        return row.model.slug if row.model else "all models"

    @admin.display(description="state")
    def in_force(self, row: Any) -> SafeString:
        """Whether requests carry it."""
        if row.is_open:
            return badge("fail", "in force")
        return badge("idle", "lifted" if row.lifted_at else "expired")

    @admin.display(description="since", ordering="created_at")
    def since(self, row: Exclusion) -> SafeString:
        """When it was added."""
        return moment(row.created_at)

    @admin.display(description="until", ordering="expires_at")
    def until(self, row: Exclusion) -> SafeString | str:
        """Its end."""
        return moment(row.expires_at) if row.expires_at else "lifted"

    @admin.display(description="lifted")
    def lifted(self, row: Exclusion) -> SafeString:
        """When it was lifted."""
        return moment(row.lifted_at)

    @admin.display(description="may give way")
    def gives_way(self, row: Exclusion) -> str:
        """Whether it is left out when nothing else could serve."""
        return yes_no(row.may_give_way)

    @admin.display(description="unmatched")
    def unmatched(self, row: Exclusion) -> str:
        """Whether no such name was ever seen."""
        return yes_no(row.is_unmatched)


@admin.register(EnforcementSwitch)
class EnforcementSwitchAdmin(ReadOnlyPage):
    """One page: how the switch stands, and the form that turns it."""

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The switch's page; turning it needs its own permission."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        may_turn = self.user_has(request, "routing.switch_enforcement")
        if request.method == "POST" and not may_turn:
            raise PermissionDenied
        switch = EnforcementSwitch.objects.filter(pk=1).first() or EnforcementSwitch()
        form = ReasonForm(request.POST or None)
        if request.method == "POST" and form.is_valid() and self._turn(request, form, switch):
            return HttpResponseRedirect(request.path)
        return render_form_page(request, self, form, _switch_page(switch, may_turn=may_turn))

    def _turn(self, request: HttpRequest, form: ReasonForm, switch: EnforcementSwitch) -> bool:
        """Turn it the way the person saw; somebody else may have been faster."""
        to_stopped = request.POST.get("turn") == "stop"
        turn = stop_enforcement if to_stopped else resume_enforcement
        try:
            turn(actor=request.user.get_username(), reason=form.cleaned_data["reason"], now=database_now())
        except SwitchError as error:
            form.add_error(None, str(error))
            return False
        words = "Enforcement is stopped everywhere." if to_stopped else "Enforcement is resumed."
        self.message_user(request, words, messages.WARNING if to_stopped else messages.SUCCESS)
        return True


def _switch_page(switch: EnforcementSwitch, *, may_turn: bool) -> FormPage:
    intro: tuple[str, ...]
    if switch.is_stopped:
        intro = (
            f"Enforcement is stopped since {_when(switch)} by {switch.changed_by}: {switch.reason}",
            "Resuming puts every suspension that has not ended back in force within a second.",
        )
        button, turn = "Resume enforcement", "resume"
    else:
        intro = (
            "Enforcement is running: what the canary suspends in models in enforce mode leaves all requests.",
            "Stopping takes every canary entry out of all requests within a second; decisions go on as shadows.",
            "Builtin and runtime exclusions stay.",
        )
        button, turn = "Stop all enforcement", "stop"
    return FormPage(
        title="Enforcement switch",
        button=button if may_turn else "",
        intro=intro,
        is_danger=turn == "stop",
        hidden=[("turn", turn)],
        context={"subtitle": "Stopped" if switch.is_stopped else "Running"},
    )


def _when(switch: EnforcementSwitch) -> str:
    return f"{switch.changed_at:%Y-%m-%d %H:%M:%S} UTC" if switch.changed_at else NOTHING
