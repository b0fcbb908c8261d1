"""What the admin pages of all apps share: read-only model pages, and actions that ask for a reason first.

Words shown in pages come from providers too: everything here goes through Django's escaping.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _ModelAdmin = admin.ModelAdmin

# An action asks once for all chosen rows; more than this nobody has looked at.
MOST_CHOSEN = 100


class ModelPage(_ModelAdmin):
    """A model's pages under our templates: buttons of the object's own actions stand above the form."""

    list_per_page = 50
    show_full_result_count = False
    # name of an action → words on its button; shown to whoever may run the action on this object
    object_actions: Mapping[str, str] = {}
    change_form_template = "admin/routewarden/change_form.html"

    def has_named_permission(self, request: HttpRequest, name: str) -> bool:
        """Whether the user has the permission `app.codename`."""
        return bool(getattr(request.user, "has_perm")(name))  # noqa: B009  AnonymousUser has it too

    def offered_actions(self, request: HttpRequest, row: Model) -> list[tuple[str, str]]:
        """Name and words of the actions this user may run on `row` from its own page."""
        allowed = self.get_actions(request)
        return [(name, words) for name, words in self.object_actions.items() if name in allowed]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The object's page with the buttons of its actions."""
        row = self.get_object(request, object_id)
        offered = self.offered_actions(request, row) if row is not None else []
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "offered_actions": offered})


class ReadOnlyPage(ModelPage):
    """Pages for rows the machine writes: seen by whoever may view them, changed by nobody."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never."""
        return False


class ReasonForm(forms.Form):
    """Why somebody does it: kept in the decision log."""

    reason = forms.CharField(max_length=500, widget=forms.Textarea(attrs={"rows": 3, "autofocus": True}))


@dataclass(frozen=True, kw_only=True)
class AskedAction:
    """An action on chosen rows that first asks something on a page of its own.

    `apply` is called once a row with the form's cleaned data and the user; an exception of `refusals` is
    shown as its sentence, and the row stays chosen with everything typed.
    """

    name: str
    title: str
    consequence: str
    button: str
    done: str
    apply: Callable[[Any, Mapping[str, Any], Any], object]
    refusals: tuple[type[Exception], ...]
    form_class: type[forms.Form] = ReasonForm


def ask_and_apply(
    page: ModelPage, request: HttpRequest, rows: QuerySet[Any], action: AskedAction
) -> HttpResponse | None:
    """Show the action's page, or apply it to each row; None (back to the list) once all are done."""
    chosen = list(rows[: MOST_CHOSEN + 1])
    if len(chosen) > MOST_CHOSEN:
        page.message_user(request, f"Choose at most {MOST_CHOSEN} at a time.", messages.ERROR)
        return None
    is_answer = "apply" in request.POST
    form = action.form_class(request.POST if is_answer else None)
    if is_answer and form.is_valid():
        chosen = _apply(page, request, chosen, action, form)
        if not chosen:
            return None
    return TemplateResponse(
        request,
        "admin/routewarden/ask.html",
        {
            **page.admin_site.each_context(request),
            "title": action.title,
            "action": action,
            "form": form,
            "rows": chosen,
            "opts": page.opts,
            "media": page.media + form.media,
            "checkbox_name": ACTION_CHECKBOX_NAME,
        },
    )


def _apply(
    page: ModelPage, request: HttpRequest, chosen: list[Any], action: AskedAction, form: forms.Form
) -> list[Any]:
    """Apply to each row, say how many changed, and give back the rows that were refused."""
    refused = []
    for row in chosen:
        try:
            action.apply(row, form.cleaned_data, request.user)
        except action.refusals as error:
            refused.append(row)
            form.add_error(None, f"{row}: {error}")
    if count := len(chosen) - len(refused):
        page.message_user(request, action.done.format(count=count), messages.SUCCESS)
    return refused


def pretty_json(value: Any) -> SafeString:
    """`value` as indented JSON in a block, escaped; a dash when there is nothing."""
    if not value:
        return format_html("{}", "–")
    return format_html('<pre class="rw-block">{}</pre>', json.dumps(value, indent=2, ensure_ascii=False))


def badge(kind: str, words: str) -> SafeString:
    """A state in words with its sign; `kind` is one of pass, fail, warn, idle, info (static/routewarden/theme.css)."""
    return format_html('<span class="rw-badge rw-{}">{}</span>', kind, words)


def moment(at: Any) -> SafeString:
    """A time as `2026-01-31 12:00:05` UTC, or a dash; the machine-readable time is in the element."""
    if at is None:
        return format_html("{}", "–")
    return format_html('<time datetime="{}">{}</time>', at.isoformat(), f"{at:%Y-%m-%d %H:%M:%S}")
