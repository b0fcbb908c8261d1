"""Admin pages of rounds and of single probe runs with their evidence: all read-only."""

from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString

from canary.models import EndpointRound, ProbeRun, Round
from canary.templatetags.routewarden import verdict_badge
from config.admin_pages import NOTHING, ReadOnlyPage, badge, moment, pretty_json

STATUS_KINDS = {"running": "info", "closed": "pass", "stopped": "fail", "skipped": "warn"}


@admin.register(Round)
class RoundAdmin(ReadOnlyPage):
    """Rounds: what each endpoint came to, and every run."""

    list_display = ("started", "model", "status_badge", "counted", "language", "weakened", "closed", "note")
    list_filter = ("status", "is_manual", "is_scored", "model", "started_at")
    list_select_related = ("model",)
    ordering = ("-started_at",)
    fields = (
        ("model", "status_badge", "counted"), ("started", "closed"), ("language", "weakened"), "note",
        "common_causes", "results", "runs",
    )  # fmt: skip
    readonly_fields = ("status_badge", "started", "closed", "counted", "weakened", "results", "runs")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Round]:
        """Each with `has_proof`: whether a control failed the filtering probe in it (C6)."""
        proofs = EndpointRound.objects.filter(
            round=OuterRef("pk"), endpoint__is_control=True, raw__filtering="fail"
        )
        rows: QuerySet[Round] = super().get_queryset(request).annotate(has_proof=Exists(proofs))
        return rows

    @admin.display(description="started", ordering="started_at")
    def started(self, row: Round) -> SafeString:
        """Its start by the database's clock."""
        return moment(row.started_at)

    @admin.display(description="closed", ordering="closed_at")
    def closed(self, row: Round) -> SafeString:
        """When it closed."""
        return moment(row.closed_at)

    @admin.display(description="status", ordering="status")
    def status_badge(self, row: Round) -> SafeString:
        """The status as a badge."""
        return badge(STATUS_KINDS[row.status], row.get_status_display())

    @admin.display(description="counted", ordering="is_scored")
    def counted(self, row: Round) -> SafeString:
        """Whether it counts under C12, and why not."""
        if row.is_scored:
            return badge("pass", "scored")
        return badge("idle", "by hand, not scored" if row.is_manual else "not scored")

    @admin.display(description="filtering probe", ordering="is_weakened")
    def weakened(self, row: Round) -> SafeString:
        """Whether a control passed (C6)."""
        if row.is_weakened:
            return badge("warn", "weakened")
        return badge("pass", "bites") if row.has_proof else badge("idle", "unproved")  # type: ignore[attr-defined]

    @admin.display(description="results")
    def results(self, row: Round) -> SafeString:
        """One line an endpoint: the result, and each contract's raw and effective verdict."""
        rows = EndpointRound.objects.filter(round=row).select_related("endpoint").order_by("endpoint__tag")
        return SafeString(render_to_string("admin/routewarden/round_results.html", {"rows": rows}))

    @admin.display(description="probe runs")
    def runs(self, row: Round) -> SafeString:
        """Every run."""
        runs = ProbeRun.objects.filter(round=row).select_related("endpoint")
        return runs_table(runs.order_by("endpoint__tag", "contract", "ordinal"))


def runs_table(runs: Any) -> SafeString:
    """The probe runs (endpoint selected) as a table that leads to each."""
    return SafeString(
        render_to_string("admin/routewarden/runs.html", {"runs": runs.defer("text", "evidence")})
    )


@admin.register(ProbeRun)
class ProbeRunAdmin(ReadOnlyPage):
    """Single runs with their evidence."""

    list_display = (
        "sent",
        "endpoint",
        "of_model",
        "contract",
        "language",
        "judged",
        "reason",
        "first_text",
        "cost_usd",
    )
    list_filter = ("contract", "verdict", "state", "round__model")
    list_select_related = ("endpoint", "round__model")
    search_fields = ("endpoint__tag", "generation_id", "served_by")
    ordering = ("-id",)
    fields = (
        ("round", "endpoint"), ("contract", "language", "ordinal"), ("judged", "reason", "http_status"),
        ("sent", "done"), ("first_text", "first_token", "total"),
        ("prompt_tokens", "completion_tokens", "cost_usd"), ("served_by", "generation_id"),
        ("prompt_id", "variant", "probe_version"), "shown_evidence", "shown_text",
    )  # fmt: skip
    readonly_fields = (
        "judged", "sent", "done", "first_text", "first_token", "total", "shown_evidence", "shown_text",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """The list does without the wide columns."""
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows.defer("text", "evidence")

    @admin.display(description="model", ordering="round__model__slug")
    def of_model(self, row: ProbeRun) -> str:
        """The model it was sent to."""
        return row.round.model.slug

    @admin.display(description="sent", ordering="sent_at")
    def sent(self, row: ProbeRun) -> SafeString:
        """When it was sent."""
        return moment(row.sent_at)

    @admin.display(description="done")
    def done(self, row: ProbeRun) -> SafeString:
        """When it was judged."""
        return moment(row.done_at)

    @admin.display(description="verdict", ordering="verdict")
    def judged(self, row: ProbeRun) -> SafeString:
        """The verdict, or the state without one."""
        return verdict_badge(row)

    @admin.display(description="first text", ordering="ttft_ms")
    def first_text(self, row: ProbeRun) -> str:
        """Time to the first answer text."""
        return _milliseconds(row.ttft_ms)

    @admin.display(description="first token of any kind")
    def first_token(self, row: ProbeRun) -> str:
        """Reasoning included."""
        return _milliseconds(row.first_token_ms)

    @admin.display(description="whole answer")
    def total(self, row: ProbeRun) -> str:
        """Time to its end."""
        return _milliseconds(row.total_ms)

    @admin.display(description="evidence")
    def shown_evidence(self, row: ProbeRun) -> SafeString:
        """What the judge saw."""
        return pretty_json(row.evidence)

    @admin.display(description="answer")
    def shown_text(self, row: ProbeRun) -> SafeString | str:
        """The answer, escaped; removed after some days, or never kept."""
        return format_html('<pre class="rw-block">{}</pre>', row.text) if row.text else "not kept"


def _milliseconds(value: float | None) -> str:
    return f"{value:,.0f} ms" if value is not None else NOTHING
