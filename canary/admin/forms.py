"""Forms of the admin's canary pages."""

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django import forms

from canary import watching
from canary.estimate import Estimate, estimate
from canary.models import Review
from config.admin_pages import ReasonForm
from routing.domain.model_slugs import checked_slug
from routing.gateways.base import GatewayUnavailable, KeyRefused, ModelNotFound
from routing.models import Gateway, ModeChoices, RoutedModel

if TYPE_CHECKING:
    _ModelForm = forms.ModelForm[RoutedModel]
else:
    _ModelForm = forms.ModelForm

JSON_SETTINGS = ("preferences", "policy", "contract_modes")
SETTINGS = ("interval_s", "budget_usd", "preferences", "policy", "contract_modes")


class SettingsForm(_ModelForm):
    """A watched model's settings. What may not be edited by the user is kept as it stands."""

    class Meta:
        model = RoutedModel
        fields: tuple[str, ...] = SETTINGS
        labels = {"interval_s": "Interval, seconds", "budget_usd": "Budget a day, USD"}
        widgets = {name: forms.Textarea(attrs={"rows": 3, "cols": 60}) for name in JSON_SETTINGS}

    def clean(self) -> dict[str, Any]:
        """Check the settings together; each complaint stands beside its field."""
        data: dict[str, Any] = super().clean() or {}
        if not self.errors:
            try:
                self.settings = watching.checked(self._wanted(data))
            except watching.BadSetting as error:
                self.add_error(error.name if error.name in self.fields else None, str(error))
        return data

    def _wanted(self, data: Mapping[str, Any]) -> watching.Settings:
        values = {name: data.get(name, getattr(self.instance, name)) for name in SETTINGS}
        # An empty JSON field cleans to None.
        return watching.Settings(**{name: {} if value is None else value for name, value in values.items()})


class NewModelForm(SettingsForm):
    """A model to watch. Asked first for its estimated spend; the confirmation appears beside the estimate."""

    is_confirmed = forms.BooleanField(required=False, widget=forms.HiddenInput, label="Watch it")

    class Meta(SettingsForm.Meta):
        fields = ("gateway", "slug", *SETTINGS)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        gateways = list(Gateway.objects.all()[:2])
        if len(gateways) == 1:
            self.fields["gateway"].initial = gateways[0].pk

    def clean_slug(self) -> str:
        """The slug as the gateway writes it."""
        try:
            return checked_slug(self.cleaned_data["slug"])
        except ValueError as error:
            raise forms.ValidationError(str(error)) from error

    def clean(self) -> dict[str, Any]:
        """Also: ask what it costs, unless confirmed or there is something else to correct first."""
        data = super().clean()
        if not self.errors and not data["is_confirmed"] and not self._is_watched(data):
            self._ask_for_confirmation()
        return data

    def _is_watched(self, data: Mapping[str, Any]) -> bool:
        """Whether there is such a model already: the form says so by itself."""
        return RoutedModel.objects.filter(gateway=data["gateway"], slug=data["slug"]).exists()

    def _ask_for_confirmation(self) -> None:
        data = self.cleaned_data
        try:
            found = estimate(data["gateway"], data["slug"], interval_s=data["interval_s"])
        except ModelNotFound:
            self.add_error("slug", f"The gateway has no model {data['slug']}.")
            return
        except (GatewayUnavailable, KeyRefused) as error:
            words = f"The gateway could not be asked what it would cost: {error}"
        else:
            words = in_words(found, interval_s=data["interval_s"], budget_usd=data["budget_usd"])
        self.fields["is_confirmed"].widget = forms.CheckboxInput()
        self.add_error("is_confirmed", words)


def in_words(found: Estimate, *, interval_s: int, budget_usd: Any) -> str:
    """The estimate as sentences for the person who adds the model."""
    unpriced = f" {found.unpriced} of them name no price." if found.unpriced else ""
    over = " That is more than its budget: rounds will be spread out." if found.day_usd > budget_usd else ""
    return (
        f"{found.endpoints} endpoints serve it now.{unpriced} A round every {interval_s} s sends about "
        f"{found.runs_a_round} probes and costs an estimated {found.day_usd:.2f} USD a day; "
        f"the budget is {budget_usd} USD.{over}"
    )


class ModeForm(ReasonForm):
    """Another mode, and why."""

    mode = forms.ChoiceField(choices=ModeChoices.choices, widget=forms.RadioSelect)
    field_order = ("mode", "reason")


class LiftForm(ReasonForm):
    """Why a suspension is lifted, and what that says of it (rule C18)."""

    is_false_positive = forms.TypedChoiceField(
        label="Was it a false positive?",
        choices=[
            ("yes", "Yes: it should not have been suspended"),
            ("no", "No: it was right, and is lifted anyway"),
        ],
        coerce=lambda answer: answer == "yes",
        widget=forms.RadioSelect,
        help_text="A false positive leaves the ladder as if it had never been.",
    )
    spare_days = forms.FloatField(
        label="Not again before, days",
        required=False,
        min_value=0,
        max_value=365,
        help_text="Empty: it may be suspended again as soon as it fails twice.",
    )
    field_order = ("reason", "is_false_positive", "spare_days")

    def clean_spare_days(self) -> timedelta | None:
        """As a duration."""
        days = self.cleaned_data["spare_days"]
        return timedelta(days=days) if days else None


class ReviewForm(ReasonForm):
    """A person's judgement (rule C17)."""

    judgement = forms.ChoiceField(
        choices=[choice for choice in Review.choices if choice[0]],
        widget=forms.RadioSelect,
        help_text="An open one judged a false positive is lifted.",
    )
    field_order = ("judgement", "reason")


MARK_CHOICES: Mapping[str, tuple[str, tuple[str, bool]]] = {
    "protect": ("Protect: never suspend it", ("is_protected", True)),
    "unprotect": ("End its protection", ("is_protected", False)),
    "control": ("Mark as a control: known to filter", ("is_control", True)),
    "no_control": ("No longer a control", ("is_control", False)),
    "stop_probing": ("Stop probing it: costly, and excluded anyway", ("is_probed", False)),
    "probe": ("Probe it again", ("is_probed", True)),
}


class MarkForm(ReasonForm):
    """Which mark is set or taken away, and why. Cleans to (name of the mark, on or off)."""

    mark = forms.TypedChoiceField(
        choices=[(name, words) for name, (words, _) in MARK_CHOICES.items()],
        coerce=lambda name: MARK_CHOICES[name][1],
        widget=forms.RadioSelect,
    )
    field_order = ("mark", "reason")
