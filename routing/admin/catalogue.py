"""Admin pages of what the catalogue and the requests left behind: all read-only but a gateway's name and address."""

from django.contrib import admin
from django.db.models import URLField
from django.http import HttpRequest
from django.utils.safestring import SafeString

from config.admin_pages import ModelPage, ReadOnlyPage, badge, moment, pretty_json
from routing.models import Attempt, Capability, Gateway, GivingWay, Provider


@admin.register(Gateway)
class GatewayAdmin(ModelPage):
    """The services models are reached through. Their keys stay in the environment."""

    list_display = ("name", "slug", "base_url")
    formfield_overrides = {URLField: {"assume_scheme": "https"}}
    readonly_fields = ("slug",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never: a gateway is code."""
        return False


@admin.register(Provider)
class ProviderAdmin(ReadOnlyPage):
    """Every provider ever seen."""

    list_display = ("slug", "display_name", "gateway", "first_seen", "last_seen")
    list_select_related = ("gateway",)
    search_fields = ("slug", "display_name")
    ordering = ("slug",)

    @admin.display(description="first seen", ordering="first_seen_at")
    def first_seen(self, row: Provider) -> SafeString:
        """When it appeared."""
        return moment(row.first_seen_at)

    @admin.display(description="last seen", ordering="last_seen_at")
    def last_seen(self, row: Provider) -> SafeString:
        """When it was last listed."""
        return moment(row.last_seen_at)


@admin.register(Capability)
class CapabilityAdmin(ReadOnlyPage):
    """What endpoints advertise or were measured to do, from day to day."""

    list_display = ("endpoint", "of_model", "source", "quantization", "context_length", "from_", "until")
    list_select_related = ("endpoint__model",)
    list_filter = ("source", "quantization")
    search_fields = ("endpoint__tag", "endpoint__model__slug")
    ordering = ("-valid_from", "-pk")

    @admin.display(description="model", ordering="endpoint__model__slug")
    def of_model(self, row: Capability) -> str:
        """The model it is about."""
        return row.endpoint.model.slug

    @admin.display(description="from", ordering="valid_from")
    def from_(self, row: Capability) -> SafeString:
        """Its first day."""
        return moment(row.valid_from)

    @admin.display(description="until", ordering="valid_until")
    def until(self, row: Capability) -> SafeString | str:
        """Its last day; the current one is open."""
        return moment(row.valid_until) if row.valid_until else "now"


@admin.register(GivingWay)
class GivingWayAdmin(ReadOnlyPage):
    """When an exclusion was left out of a model's requests because nothing else could serve."""

    list_display = ("exclusion", "model", "began", "ended")
    list_select_related = ("exclusion", "model")
    ordering = ("-since",)

    @admin.display(description="since", ordering="since")
    def began(self, row: GivingWay) -> SafeString:
        """Its beginning."""
        return moment(row.since)

    @admin.display(description="ended", ordering="ended_at")
    def ended(self, row: GivingWay) -> SafeString | str:
        """Its end."""
        return moment(row.ended_at) if row.ended_at else "lasts"


@admin.register(Attempt)
class AttemptAdmin(ReadOnlyPage):
    """Requests that were sent for callers, and who served them."""

    list_display = (
        "sent",
        "model_slug",
        "served_by",
        "provider_slug",
        "breach",
        "finish_reason",
        "operation_id",
    )
    list_filter = ("is_breach", "model_slug", "provider_slug")
    search_fields = ("operation_id", "generation_id", "model_slug", "provider_slug")
    ordering = ("-at",)
    exclude = ("sent_ignore",)
    readonly_fields = ("shown_ignore",)

    @admin.display(description="sent", ordering="at")
    def sent(self, row: Attempt) -> SafeString:
        """When."""
        return moment(row.at)

    @admin.display(description="list kept", ordering="is_breach")
    def breach(self, row: Attempt) -> SafeString:
        """Whether an excluded provider served it."""
        return badge("fail", "breach") if row.is_breach else badge("pass", "kept")

    @admin.display(description="sent ignore list")
    def shown_ignore(self, row: Attempt) -> SafeString:
        """The list that was sent."""
        return pretty_json(row.sent_ignore)
