"""What the admin pages of all apps share: read-only model pages, form pages, actions that ask for a reason.

Words shown in pages come from providers too: everything here goes through Django's escaping.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME, AdminForm
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
NOTHING = "–"


class ModelPage(_ModelAdmin):
    """A model's pages under our templates: the buttons of an object's own actions stand above its form."""

    list_per_page = 50
    show_full_result_count = False
    change_form_template = "admin/routewarden/change_form.html"
    # Name of an action → words on its button.
    object_actions: Mapping[str, str] = {}

    def user_has(self, request: HttpRequest, permission: str) -> bool:
        """Whether the user holds the permission `app.codename`."""
        return request.user.has_perm(permission)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never: history outlives everything, and what stands in requests is lifted, not deleted."""
        return False

    def offered_actions(self, request: HttpRequest, row: Any) -> list[tuple[str, str]]:
        """Name and words of the actions this user may run on `row` from its own page."""
        allowed = self.get_actions(request)
        return [(name, words) for name, words in self.object_actions.items() if name in allowed]

    def object_links(self, request: HttpRequest, row: Any) -> list[tuple[str, str]]:
        """Address and words of further pages about `row` this user may open."""
        return []

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The list under its own name; "select one to view" says nothing."""
        title = str(self.opts.verbose_name_plural).capitalize()
        return super().changelist_view(request, {"title": title, **(extra_context or {})})

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The object's page with its buttons and links, and one way to save."""
        context: dict[str, Any] = {"show_save_and_add_another": False, "show_save_and_continue": False}
        row = self.get_object(request, object_id) if object_id else None
        if row is not None:
            context["offered_actions"] = self.offered_actions(request, row)
            context["object_links"] = self.object_links(request, row)
        return super().changeform_view(request, object_id, form_url, {**context, **(extra_context or {})})


class ReadOnlyPage(ModelPage):
    """Pages for rows the machine writes: seen by whoever may view them, changed by nobody."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never."""
        return False


class ReasonForm(forms.Form):
    """Why somebody does it: kept in the decision log."""

    reason = forms.CharField(max_length=500, widget=forms.Textarea(attrs={"rows": 3}))


@dataclass(frozen=True, kw_only=True)
class FormPage:
    """A page with one form: what it does in sentences, the words on its button, what it must send along."""

    title: str
    button: str
    intro: Sequence[str] = ()
    is_danger: bool = False
    rows: Sequence[Any] = ()
    hidden: Sequence[tuple[str, str]] = ()
    context: Mapping[str, Any] = field(default_factory=dict)


def render_form_page(
    request: HttpRequest, model_page: ModelPage, form: Any, page: FormPage
) -> TemplateResponse:
    """The page in the clothes of the admin site."""
    adminform = AdminForm(form, [(None, {"fields": list(form.fields)})], {}, model_admin=model_page)
    context = {
        **model_page.admin_site.each_context(request),
        "title": page.title,
        "page": page,
        "adminform": adminform,
        "errors": form.errors,
        "form": form,
        "opts": model_page.opts,
        "media": model_page.media + form.media,
        **page.context,
    }
    return TemplateResponse(request, "admin/routewarden/form_page.html", context)


@dataclass(frozen=True, kw_only=True)
class AskedAction:
    """An action on chosen rows that first asks something on a page of its own.

    `apply` is called once a row with the form's cleaned data and the user; an exception of `refusals` is
    shown as its sentence, and the row stays chosen with everything typed. `done` holds `{count}`.
    """

    name: str
    title: str
    button: str
    done: str
    apply: Callable[[Any, Mapping[str, Any], Any], object]
    refusals: tuple[type[Exception], ...] = (ValueError,)
    intro: Sequence[str] = ()
    is_danger: bool = False
    form_class: type[forms.Form] = ReasonForm


def ask_and_apply(
    model_page: ModelPage, request: HttpRequest, rows: QuerySet[Any], action: AskedAction
) -> HttpResponse | None:
    """Show the action's page, or apply it to each row; None (back to the list) once all are done."""
    chosen = list(rows[: MOST_CHOSEN + 1])
    if len(chosen) > MOST_CHOSEN:
        model_page.message_user(request, f"Choose at most {MOST_CHOSEN} at a time.", messages.ERROR)
        return None
    is_answer = "apply" in request.POST
    form = action.form_class(request.POST if is_answer else None)
    if is_answer and form.is_valid():
        chosen = _apply(model_page, request, chosen, action, form)
        if not chosen:
            return None
    page = FormPage(
        title=action.title,
        button=action.button,
        intro=action.intro,
        is_danger=action.is_danger,
        rows=chosen,
        hidden=[
            ("action", action.name),
            ("apply", "yes"),
            *((ACTION_CHECKBOX_NAME, str(row.pk)) for row in chosen),
        ],
    )
    return render_form_page(request, model_page, form, page)


def _apply(
    model_page: ModelPage, request: HttpRequest, chosen: list[Any], action: AskedAction, form: forms.Form
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
        model_page.message_user(request, action.done.format(count=count), messages.SUCCESS)
    return refused


def pretty_json(value: Any) -> SafeString:
    """`value` as indented JSON in a block, escaped; a dash when there is nothing."""
    if not value:
        return format_html("{}", NOTHING)
    return format_html('<pre class="rw-block">{}</pre>', json.dumps(value, indent=2, ensure_ascii=False))


def badge(kind: str, words: str) -> SafeString:
    """A state in words with its sign; `kind` is one of pass, fail, warn, idle, info (the theme draws the sign)."""
    return format_html('<span class="rw-badge rw-{}">{}</span>', kind, words)


def moment(at: datetime | None) -> SafeString:
    """A time as `2026-01-31 12:00:05` (UTC), machine-readable in the element; a dash when there is none."""
    if at is None:
        return format_html("{}", NOTHING)
    return format_html('<time datetime="{}">{}</time>', at.isoformat(), f"{at:%Y-%m-%d %H:%M:%S}")


def yes_no(value: bool) -> str:
    """A fact that is neither good nor bad: Django's icons would judge it."""
    return "yes" if value else "no"


def link(address: str, words: object) -> SafeString:
    """A link, its words escaped."""
    return format_html('<a href="{}">{}</a>', address, words)
