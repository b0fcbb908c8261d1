"""Words, badges and trackers of the canary's pages."""

from collections.abc import Mapping, Sequence

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from canary.domain.overview import Mark, Weight
from canary.domain.service_state import ServiceState
from canary.models import EndpointRound, ProbeRun

register = template.Library()

CELL, BAR, HEIGHT = 7, 5, 18
# (top, length) of the bars of a mark. Told apart by shape as well as colour: a whole bar, a broken one, a
# short one in the middle, a line on the ground.
SHAPES: Mapping[Mark, Sequence[tuple[int, int]]] = {
    Mark.CLEAN: ((0, 18),),
    Mark.FAILING: ((0, 7), (11, 7)),
    Mark.FROZEN: ((6, 6),),
    Mark.NOT_SCORED: ((15, 3),),
}
STATE_KINDS: Mapping[str, str] = {
    ServiceState.PRODUCTION: "pass",
    ServiceState.FAILING: "warn",
    ServiceState.WOULD_SUSPEND: "warn",
    ServiceState.SUSPENDED: "fail",
    ServiceState.EXCLUDED: "out",
    ServiceState.SILENT: "warn",
    ServiceState.NEW: "info",
    ServiceState.NOT_ADMITTED: "idle",
    ServiceState.LEFT: "idle",
}
WEIGHT_KINDS: Mapping[str, str] = {Weight.SEVERE: "fail", Weight.WARNING: "warn", Weight.NOTE: "info"}
MODE_KINDS: Mapping[str, str] = {"enforce": "pass", "observe": "info", "off": "idle"}
VERDICT_KINDS: Mapping[str, str] = {
    "pass": "pass",
    "fail": "fail",
    "inconclusive": "idle",
    "unreachable": "warn",
}
RESULT_KINDS: Mapping[str, str] = {"clean": "pass", "failing": "fail", "frozen": "idle"}


def badge(kind: str, words: str) -> SafeString:
    """A state in words; the theme adds sign and colour of its kind."""
    return format_html('<span class="rw-badge rw-{}">{}</span>', kind, words)


@register.simple_tag
def tracker(marks: Sequence[Mark], words: str) -> SafeString:
    """The last rounds as an SVG with one path for each kind of mark; `words` say the same."""
    paths = format_html_join("", '<path class="rw-{}" d="{}"/>', _paths(marks))
    width = max(len(marks), 1) * CELL
    opening = '<svg class="rw-tracker" role="img" aria-label="{}" width="{}" height="{}" viewBox="0 0 {} {}">'
    return format_html(opening + "{}</svg>", words, width, HEIGHT, width, HEIGHT, paths)


def _paths(marks: Sequence[Mark]) -> list[tuple[str, str]]:
    """(class, path data) of each kind of mark that occurs."""
    found = []
    for mark, bars in SHAPES.items():
        places = [place for place, one in enumerate(marks) if one is mark]
        data = "".join(
            f"M{place * CELL} {top}h{BAR}v{length}h-{BAR}z" for place in places for top, length in bars
        )
        if data:
            found.append((mark.replace(" ", "-"), data))
    return found


@register.simple_tag
def legend() -> SafeString:
    """What the shapes of a tracker mean."""
    return format_html_join(" ", "<span>{} {}</span>", ((tracker([mark], ""), mark) for mark in SHAPES))


@register.simple_tag
def state_badge(state: ServiceState) -> SafeString:
    """The state of an endpoint."""
    return badge(STATE_KINDS[state], state)


@register.simple_tag
def weight_badge(weight: Weight) -> SafeString:
    """How heavy a concern is."""
    return badge(WEIGHT_KINDS[weight], weight)


@register.simple_tag
def mode_badge(mode: str) -> SafeString:
    """A model's mode."""
    return badge(MODE_KINDS[mode], mode)


@register.simple_tag
def result_badge(result: str) -> SafeString:
    """What a round came to for an endpoint; empty when it was not scored."""
    return badge(RESULT_KINDS[result], result) if result else badge("idle", Mark.NOT_SCORED)


@register.simple_tag
def verdict_badge(run: ProbeRun) -> SafeString:
    """The verdict of a run, or its state when it has none."""
    return (
        badge(VERDICT_KINDS[run.verdict], run.verdict)
        if run.verdict
        else badge("info", run.get_state_display())
    )


@register.simple_tag
def verdicts(row: EndpointRound) -> SafeString:
    """Each contract's verdict and reason; the raw one too where C6 or C13 set it aside."""
    parts = []
    for contract, raw in row.raw.items():
        effective = row.effective.get(contract, raw)
        reason = row.reasons.get(contract, "").replace("_", " ")
        aside = f"{raw} set aside" if effective != raw else ""
        words = ", ".join(word for word in (reason if reason != "ok" else "", aside) if word)
        parts.append(
            (contract.replace("_", " "), badge(VERDICT_KINDS.get(effective, "idle"), effective), words)
        )
    return format_html_join(
        "", '<span class="rw-verdict">{} {} <small>{}</small></span>', parts
    ) or SafeString("–")
