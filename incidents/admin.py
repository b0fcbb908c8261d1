"""Admin pages of the decision log (read-only) and of the outbox."""

from collections.abc import Mapping
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.admin_pages import ReadOnlyPage, badge, moment, pretty_json
from incidents import notifications
from incidents.models import Decision, Delivery, Notification

DELIVERY_KINDS: Mapping[str, str] = {
    Delivery.PENDING: "info",
    Delivery.SENT: "pass",
    Delivery.DEAD: "fail",
    Delivery.UNADDRESSED: "warn",
}
SEVERITY_KINDS: Mapping[str, str] = {"info": "idle", "warning": "warn", "severe": "fail"}


@admin.register(Decision)
class DecisionAdmin(ReadOnlyPage):
    """The log: filter, search, one page each. Nothing here changes anything."""

    list_display = ("id", "when", "what", "about", "rule", "effect", "reason", "actor")
    list_display_links = ("id", "when")
    list_filter = (
        ("action", admin.AllValuesFieldListFilter), "model_slug", "rule", "is_enforced", "mode", "at",
    )  # fmt: skip
    search_fields = ("model_slug", "endpoint_tag", "reason", "actor", "round_id")
    search_help_text = "Model, endpoint, reason, actor or round."
    ordering = ("-id",)
    fields = (
        ("id", "when", "recorded"), ("what", "rule", "effect", "mode"), ("model_slug", "endpoint_tag", "round_link"),
        ("level", "ends"), "actor", "reason", "shown_evidence", "shown_inputs", "shown_policy",
    )  # fmt: skip
    readonly_fields = (
        "when",
        "recorded",
        "what",
        "effect",
        "round_link",
        "ends",
        "shown_evidence",
        "shown_inputs",
        "shown_policy",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Decision]:
        """The list does without the wide columns; a single page loads them when it shows them."""
        return super().get_queryset(request).defer("inputs", "policy", "evidence")

    @admin.display(description="at", ordering="at")
    def when(self, row: Decision) -> SafeString:
        """Rule time."""
        return moment(row.at)

    @admin.display(description="recorded")
    def recorded(self, row: Decision) -> SafeString:
        """When the row was written."""
        return moment(row.recorded_at)

    @admin.display(description="about", ordering="endpoint_tag")
    def about(self, row: Decision) -> SafeString:
        """The endpoint and its model."""
        return format_html("<strong>{}</strong> {}", row.endpoint_tag, row.model_slug)

    @admin.display(description="until")
    def ends(self, row: Decision) -> SafeString:
        """The end of a suspension."""
        return moment(row.until)

    @admin.display(description="decision", ordering="action")
    def what(self, row: Decision) -> str:
        """The action in words."""
        return str(row.get_action_display())

    @admin.display(description="effect", ordering="is_enforced")
    def effect(self, row: Decision) -> SafeString:
        """Whether requests were changed by it."""
        return badge("info", "enforced") if row.is_enforced else badge("idle", "recorded only")

    @admin.display(description="round")
    def round_link(self, row: Decision) -> SafeString | str:
        """The round it was taken in, as a link."""
        if not row.round_id:
            return "–"
        return format_html(
            '<a href="{}">{}</a>', reverse("admin:canary_round_change", args=[row.round_id]), row.round_id
        )

    @admin.display(description="evidence")
    def shown_evidence(self, row: Decision) -> SafeString:
        """Pretty-printed."""
        return pretty_json(row.evidence)

    @admin.display(description="inputs")
    def shown_inputs(self, row: Decision) -> SafeString:
        """Pretty-printed."""
        return pretty_json(row.inputs)

    @admin.display(description="policy")
    def shown_policy(self, row: Decision) -> SafeString:
        """Pretty-printed."""
        return pretty_json(row.policy)


@admin.register(Notification)
class NotificationAdmin(ReadOnlyPage):
    """The outbox: what was told, what is on its way, what was given up."""

    list_display = ("created", "how_loud", "subject", "delivery", "attempts", "sent", "last_error")
    list_display_links = ("created", "subject")
    list_filter = ("status", "severity", "created_at")
    search_fields = ("subject", "body", "key")
    ordering = ("-id",)
    fields = (
        ("created", "how_loud"), "subject", "message", ("delivery", "attempts", "due", "sent"), "last_error", "key",
        "decision_link",
    )  # fmt: skip
    readonly_fields = ("created", "how_loud", "message", "delivery", "due", "sent", "decision_link")
    actions = ("send_again",)
    object_actions = {"send_again": "Send again"}

    def has_resend_permission(self, request: HttpRequest) -> bool:
        """For the action below."""
        return self.user_has(request, "incidents.resend")

    def offered_actions(self, request: HttpRequest, row: Any) -> list[tuple[str, str]]:
        """Only what was not delivered can be sent again."""
        offered = super().offered_actions(request, row)
        return offered if row.status in (Delivery.DEAD, Delivery.UNADDRESSED) else []

    @admin.action(description="Send again what was given up or had no channel", permissions=["resend"])
    def send_again(self, request: HttpRequest, rows: QuerySet[Notification]) -> None:
        """Back into the outbox."""
        count = notifications.resend(rows.values_list("pk", flat=True), now=timezone.now())
        level = messages.SUCCESS if count else messages.WARNING
        self.message_user(request, f"Put back into the outbox: {count} of {len(rows)}.", level)

    @admin.display(description="created", ordering="created_at")
    def created(self, row: Notification) -> SafeString:
        """When it was written."""
        return moment(row.created_at)

    @admin.display(description="due")
    def due(self, row: Notification) -> SafeString:
        """When it is tried next."""
        return moment(row.due_at)

    @admin.display(description="sent", ordering="sent_at")
    def sent(self, row: Notification) -> SafeString:
        """When it was sent."""
        return moment(row.sent_at)

    @admin.display(description="severity", ordering="severity")
    def how_loud(self, row: Notification) -> SafeString:
        """The severity as a badge."""
        return badge(SEVERITY_KINDS[row.severity], row.get_severity_display())

    @admin.display(description="delivery", ordering="status")
    def delivery(self, row: Notification) -> SafeString:
        """The status as a badge."""
        return badge(DELIVERY_KINDS[row.status], row.get_status_display())

    @admin.display(description="message")
    def message(self, row: Notification) -> SafeString:
        """The text as it is sent."""
        return format_html('<pre class="rw-block">{}</pre>', notifications.text_of(row))

    @admin.display(description="decision")
    def decision_link(self, row: Notification) -> SafeString | str:
        """The decision it tells, as a link."""
        if row.decision_id is None:
            return "–"
        return format_html('<a href="{}">{}</a>', notifications.permalink(row), row.decision)
