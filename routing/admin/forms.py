"""Forms of the admin's routing pages."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib.auth.models import User

from routing.exclusions import REASON_LIMIT, LeavesNothing, NewExclusion, UnknownName
from routing.models import RoutedModel

# Choice → how long a runtime exclusion lasts; none: until it is lifted.
LASTS = {"1": timedelta(days=1), "7": timedelta(days=7), "30": timedelta(days=30), "": None}


class ExclusionForm(forms.Form):
    """What a runtime exclusion is asked for with. The confirmation appears once there is something to confirm."""

    entry = forms.CharField(
        max_length=200,
        label="Provider or endpoint",
        help_text="A base slug (every endpoint of that provider) or one endpoint's tag, like deepinfra/fp8.",
    )
    model = forms.ModelChoiceField(
        RoutedModel.objects.order_by("slug"), required=False, empty_label="All models"
    )
    reason = forms.CharField(
        max_length=REASON_LIMIT,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Kept in the decision log.",
    )
    lasts = forms.ChoiceField(
        choices=[("1", "1 day"), ("7", "7 days"), ("30", "30 days"), ("", "until it is lifted")],
        initial="7",
        required=False,
        help_text="Its end is told a day before.",
    )
    may_give_way = forms.BooleanField(
        required=False,
        label="May give way",
        help_text="Left out of a request when nothing else could serve (R2). Otherwise such a request fails.",
    )
    is_confirmed = forms.BooleanField(
        required=False, widget=forms.HiddenInput, label="Exclude it all the same"
    )

    def as_request(self, *, user: User, now: datetime) -> NewExclusion:
        """The cleaned form as the exclusion it asks for."""
        data = self.cleaned_data
        lasts = LASTS[data["lasts"]]
        return NewExclusion(
            entry=data["entry"],
            reason=data["reason"],
            actor=user.get_username(),
            user=user,
            model_pk=data["model"].pk if data["model"] else None,
            expires_at=now + lasts if lasts else None,
            may_give_way=data["may_give_way"],
            is_confirmed=data["is_confirmed"],
        )

    def refuse(self, error: ValueError) -> None:
        """Show why it was refused, beside what was typed; with the confirmation where one helps."""
        self.add_error("entry", str(error))
        if isinstance(error, UnknownName | LeavesNothing):
            self.fields["is_confirmed"].widget = forms.CheckboxInput()


def first_values(query: Any) -> dict[str, str]:
    """What a link to the form may fill in beforehand."""
    return {name: query[name] for name in ("entry", "model", "reason") if name in query}
