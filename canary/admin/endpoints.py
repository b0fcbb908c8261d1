"""Admin pages of endpoints: the state of each and why, its standing, its last rounds, and the marks on it."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from canary import selectors, watching
from canary.admin.forms import MarkForm
from canary.selectors.lines import lines_of, pairs_in_words
from canary.templatetags.routewarden import state_badge, tracker
from config.admin_pages import NOTHING, AskedAction, ReadOnlyPage, ask_and_apply, moment
from routing.clock import database_now
from routing.models import Endpoint

CHANGE_MARKS = AskedAction(
    name="change_marks",
    title="Change the marks of endpoints",
    button="Change",
    done="Endpoints marked: {count}.",
    intro=(
        "A protected endpoint is never suspended (C14). A control proves that the filtering probe bites (C6).",
    ),
    form_class=MarkForm,
    apply=lambda row, data, user: watching.mark(
        row.pk, data["mark"][0], is_on=data["mark"][1], actor=user.get_username(), reason=data["reason"]
    ),
)


def attach_lines(rows: Sequence[Any]) -> None:
    """Give each endpoint its `line`, all read at once."""
    lines = lines_of(rows, now=database_now(), is_stopped=selectors.switch().is_stopped)
    for row in rows:
        row.line = lines[row.pk]


class EndpointList(ChangeList):
    """A list that reads what stands around the endpoints of its page at once."""

    def get_results(self, request: HttpRequest) -> None:
        """One page of rows, each with its line."""
        super().get_results(request)
        self.result_list = list(self.result_list)
        attach_lines(self.result_list)


@admin.register(Endpoint)
class EndpointAdmin(ReadOnlyPage):
    """Every endpoint ever seen. Nothing is edited here; marks and exclusions are actions."""

    list_display = ("tag", "model", "state_and_why", "last_rounds", "ttft", "quantization", "marks")
    list_filter = ("is_serving", "is_protected", "is_control", "model")
    list_select_related = ("model", "provider", "standing")
    search_fields = ("tag", "model__slug")
    ordering = ("model__slug", "tag")
    fields = (
        ("tag", "model", "provider"), ("state", "until"), "why", ("streak", "culprits"), ("last_rounds", "ttft"),
        ("marks", "quantization"), ("is_serving", "gateway_status"), ("first_seen", "last_seen", "left"), "not_before",
    )  # fmt: skip
    readonly_fields = (
        "state", "until", "why", "streak", "culprits", "last_rounds", "ttft", "marks", "quantization", "first_seen",
        "last_seen", "left", "not_before",
    )  # fmt: skip
    actions = ("change_marks",)
    object_actions = {"change_marks": "Marks…"}

    def has_protect_permission(self, request: HttpRequest) -> bool:
        """For the action below."""
        return self.user_has(request, "routing.protect_endpoint")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[EndpointList]:
        """The list above."""
        return EndpointList

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """The endpoint with its line."""
        row = super().get_object(request, object_id, from_field)
        if row is not None:
            attach_lines([row])
        return row

    def object_links(self, request: HttpRequest, row: Any) -> list[tuple[str, str]]:
        """Its probe runs and suspensions; the form that excludes it."""
        where = urlencode({"endpoint__id__exact": row.pk})
        found = [
            (f"{reverse('admin:canary_proberun_changelist')}?{where}", "Probe runs"),
            (f"{reverse('admin:canary_suspension_changelist')}?{where}", "Suspensions"),
        ]
        if self.user_has(request, "routing.exclude"):
            entry = urlencode({"entry": row.tag, "model": row.model_id})
            found.append((f"{reverse('admin:routing_exclusion_add')}?{entry}", "Exclude…"))
        return found

    @admin.action(description="Change the marks of chosen endpoints…", permissions=["protect"])
    def change_marks(self, request: HttpRequest, rows: QuerySet[Endpoint]) -> HttpResponse | None:
        """Ask which and why."""
        return ask_and_apply(self, request, rows, CHANGE_MARKS)

    @admin.display(description="state")
    def state(self, row: Any) -> SafeString:
        """The one word."""
        return state_badge(row.line.state)

    @admin.display(description="state")
    def state_and_why(self, row: Any) -> SafeString:
        """The one word, its reason, and until when."""
        until = format_html(" until {}", moment(row.line.until)) if row.line.until else ""
        return format_html(
            '{} <span class="rw-why">{}{}</span>', state_badge(row.line.state), row.line.why, until
        )

    @admin.display(description="why")
    def why(self, row: Any) -> str:
        """The state's reason."""
        return str(row.line.why)

    @admin.display(description="until")
    def until(self, row: Any) -> SafeString:
        """When that ends by itself."""
        return moment(row.line.until)

    @admin.display(description="streak")
    def streak(self, row: Any) -> str:
        """Failing or clean rounds in a row."""
        standing = getattr(row, "standing", None)
        if standing is None or not (standing.failing_streak or standing.clean_streak):
            return NOTHING
        return (
            f"{standing.failing_streak} failing"
            if standing.failing_streak
            else f"{standing.clean_streak} clean"
        )

    @admin.display(description="culprits")
    def culprits(self, row: Any) -> str:
        """What failed in the present streak, or caused its suspension."""
        standing = getattr(row, "standing", None)
        pairs = [(one["contract"], one["language"]) for one in standing.culprits] if standing else []
        return pairs_in_words(pairs) or NOTHING

    @admin.display(description="last rounds")
    def last_rounds(self, row: Any) -> SafeString:
        """The tracker."""
        return tracker(row.line.marks, row.line.marks_in_words)

    @admin.display(description="first text")
    def ttft(self, row: Any) -> str:
        """Of the latency runs shown in the tracker."""
        return f"{row.line.ttft_ms:,.0f} ms" if row.line.ttft_ms is not None else NOTHING

    @admin.display(description="quantisation")
    def quantization(self, row: Any) -> str:
        """As advertised."""
        return row.line.quantization or NOTHING

    @admin.display(description="marks")
    def marks(self, row: Endpoint) -> str:
        """What people said of it."""
        words = {"protected": row.is_protected, "control": row.is_control, "not probed": not row.is_probed}
        return ", ".join(word for word, applies in words.items() if applies) or NOTHING

    @admin.display(description="first seen", ordering="first_seen_at")
    def first_seen(self, row: Endpoint) -> SafeString:
        """When it appeared."""
        return moment(row.first_seen_at)

    @admin.display(description="last seen", ordering="last_seen_at")
    def last_seen(self, row: Endpoint) -> SafeString:
        """When it was last listed."""
        return moment(row.last_seen_at)

    @admin.display(description="left", ordering="left_at")
    def left(self, row: Endpoint) -> SafeString:
        """When it stopped serving."""
        return moment(row.left_at)

    @admin.display(description="not suspended again before")
    def not_before(self, row: Any) -> SafeString:
        """As said at a lift."""
        standing = getattr(row, "standing", None)
        return moment(standing.not_before if standing else None)
