"""Pages of the canary that are not a model's list or form: the fleet, and the switch of a model's mode."""

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse

from canary import enforcement, selectors
from canary.admin.forms import ModeForm
from canary.domain.statistics import FEWEST_JUDGEMENTS, FalsePositiveShare
from config.admin_pages import FormPage, ModelPage, render_form_page
from routing.clock import database_now
from routing.domain.modes import Mode
from routing.models import RoutedModel

REFRESH_S = 5


def fleet_context(request: HttpRequest) -> dict[str, Any]:
    """What the first page shows; nothing of the fleet for an account without a role."""
    context: dict[str, Any] = {"refresh_s": REFRESH_S}
    if request.user.has_perm("routing.view_routedmodel"):
        context["fleet"] = selectors.fleet(database_now())
    return context


def fleet_parts(request: HttpRequest) -> HttpResponse:
    """The part of the first page that is fetched again and again.

    A page whose login ran out is told so, and keeps what it shows.
    """
    if not admin.site.has_permission(request):
        if request.headers.get("HX-Request"):
            return HttpResponse("You are logged out.", status=401, content_type="text/plain")
        return HttpResponseRedirect(f"{reverse('admin:login')}?next={reverse('admin:index')}")
    return TemplateResponse(request, "admin/routewarden/fleet.html", fleet_context(request))


def switch_mode(request: HttpRequest, model_page: ModelPage, pk: int) -> HttpResponse:
    """The page that switches a model's mode, with what that does and what people judged so far (C17)."""
    model = get_object_or_404(RoutedModel, pk=pk)
    form = ModeForm(request.POST or None, initial={"mode": model.mode})
    if request.method == "POST" and form.is_valid():
        mode = Mode(form.cleaned_data["mode"])
        enforcement.set_mode(pk, mode, actor=request.user.get_username(), reason=form.cleaned_data["reason"])
        messages.success(request, f"{model.slug} is in {mode} mode.")
        return HttpResponseRedirect(reverse("admin:routing_routedmodel_change", args=[pk]))
    active = selectors.active_suspensions(model, now=database_now())
    ends = (
        "A switch restarts every streak at zero and ends what lasts now, which switching back does not revive: "
        f"suspensions in force: {active.get(False, 0)}; would-suspends: {active.get(True, 0)}."
    )
    intro = (
        f"{model.slug} is in {model.mode} mode.",
        ends,
        share_in_words(selectors.review_share(model)),
    )
    page = FormPage(title="Switch mode", button="Switch", intro=intro)
    return render_form_page(request, model_page, form, page)


def share_in_words(share: FalsePositiveShare) -> str:
    """The share of false positives with its interval, none below so many judgements."""
    if share.share is None:
        return "Nobody has judged any of its suspensions or would-suspends yet."
    words = f"False positives: {share.false} of {share.judgements} judged, {share.share:.0%}"
    if share.interval is None:
        return f"{words}; no interval below {FEWEST_JUDGEMENTS} judgements."
    return f"{words}; with 95 % confidence {share.interval.low:.0%} to {share.interval.high:.0%}."
