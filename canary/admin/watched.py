"""Admin pages of watched models: how they stand and their settings."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from canary import rounds, selectors, views, watching
from canary.admin.forms import NewModelForm, SettingsForm
from canary.templatetags.routewarden import mode_badge
from config.admin_pages import ModelPage, badge, link, moment, pretty_json
from routing.models import RoutedModel


@admin.register(RoutedModel)
class RoutedModelAdmin(ModelPage):
    """Adding one is all it takes to watch it. Its mode is switched on a page of its own."""

    list_display = ("slug", "mode_now", "serving", "interval_s", "budget_usd", "last_round", "gone")
    list_filter = ("mode", "is_gone", "gateway")
    list_select_related = ("standing",)
    search_fields = ("slug",)
    ordering = ("slug",)
    readonly_fields = ("mode_now", "discovered", "last_round", "gone", "open_episodes")
    actions = ("probe_now",)
    object_actions = {"probe_now": "Probe now"}

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """A new model is asked for with its estimated spend."""
        return super().get_form(
            request, obj, change, **{"form": SettingsForm if obj else NewModelForm, **kwargs}
        )

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """What the model is, how it stands, and its settings."""
        settings = ("interval_s", "budget_usd", "preferences", "policy", "contract_modes")
        if obj is None:
            return [(None, {"fields": ("gateway", "slug", *settings, "is_confirmed")})]
        state = (("mode_now", "gone"), ("last_round", "discovered"), "open_episodes")
        return [(None, {"fields": state}), ("Settings", {"fields": settings})]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Policy and modes belong to whoever may set the mode."""
        fixed = () if self.user_has(request, "routing.set_mode") else ("policy", "contract_modes")
        return (*self.readonly_fields, *fixed)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Through `canary.watching`, which logs it."""
        actor = request.user.get_username()
        if change:
            watching.change(obj.pk, form.settings, actor=actor)
        else:
            obj.pk = watching.watch(obj.gateway_id, obj.slug, form.settings, actor=actor).pk

    def get_urls(self) -> list[URLPattern]:
        """With the page that switches the mode."""
        mode = path(
            "<int:pk>/mode/", self.admin_site.admin_view(self.mode_view), name="routing_routedmodel_mode"
        )
        return [mode, *super().get_urls()]

    def mode_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Switch the mode, seeing what that does."""
        if not self.has_set_mode_permission(request):
            raise PermissionDenied
        return views.switch_mode(request, self, pk)

    def has_set_mode_permission(self, request: HttpRequest) -> bool:
        """Whoever may set mode and policy."""
        return self.user_has(request, "routing.set_mode")

    def has_probe_now_permission(self, request: HttpRequest) -> bool:
        """For the action below."""
        return self.user_has(request, "routing.probe_now")

    def object_links(self, request: HttpRequest, row: Any) -> list[tuple[str, str]]:
        """The model's endpoints, rounds and mode."""
        where = urlencode({"model__id__exact": row.pk})
        found = [
            (f"{reverse('admin:routing_endpoint_changelist')}?{where}", "Endpoints"),
            (f"{reverse('admin:canary_round_changelist')}?{where}", "Rounds"),
        ]
        if self.has_set_mode_permission(request):
            found.append((reverse("admin:routing_routedmodel_mode", args=[row.pk]), "Switch mode…"))
        return found

    @admin.action(description="Probe chosen models now (not scored)", permissions=["probe_now"])
    def probe_now(self, request: HttpRequest, rows: QuerySet[RoutedModel]) -> None:
        """A round by hand for each."""
        count = 0
        for row in rows:
            try:
                rounds.request_round(row.pk, actor=request.user.get_username())
            except rounds.RoundRunning as error:
                self.message_user(request, str(error), messages.WARNING)
            else:
                count += 1
        if count:
            self.message_user(
                request, f"Rounds asked for: {count}; the next tick starts them.", messages.SUCCESS
            )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """With the number of serving endpoints."""
        return selectors.with_serving_count(super().get_queryset(request))

    @admin.display(description="mode", ordering="mode")
    def mode_now(self, row: RoutedModel) -> SafeString:
        """The mode as a badge."""
        return mode_badge(row.mode)

    @admin.display(description="serving endpoints", ordering="serving_count")
    def serving(self, row: Any) -> SafeString:
        """How many endpoints serve it, as a link to them."""
        where = urlencode({"model__id__exact": row.pk, "is_serving__exact": 1})
        return link(f"{reverse('admin:routing_endpoint_changelist')}?{where}", row.serving_count)

    @admin.display(description="last round finished", ordering="standing__last_closed_at")
    def last_round(self, row: RoutedModel) -> SafeString:
        """When its last round finished."""
        anchors = getattr(row, "standing", None)
        return moment(anchors.last_closed_at if anchors else None)

    @admin.display(description="endpoints read", ordering="discovered_at")
    def discovered(self, row: RoutedModel) -> SafeString:
        """The last readable list."""
        return moment(row.discovered_at)

    @admin.display(description="at the gateway", ordering="is_gone")
    def gone(self, row: RoutedModel) -> SafeString:
        """Whether the gateway still has it."""
        return badge("fail", "gone") if row.is_gone else badge("pass", "there")

    @admin.display(description="episodes")
    def open_episodes(self, row: RoutedModel) -> SafeString | str:
        """What lasts now."""
        anchors = getattr(row, "standing", None)
        return pretty_json(anchors.episodes if anchors else None)
