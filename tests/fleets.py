"""A small fleet with something of everything, for page tests and screenshots."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from canary.models import ModelStanding, Round, RoundStatus, RunState
from incidents.domain.actions import Action
from routing.models import Endpoint, RoutedModel
from tests import factories as make

ROUNDS = 26
# Tag → its results, oldest first: c clean, f failing, z frozen, - absent. Shorter ones repeat "c" in front.
LANES = {
    "acme/large": {
        "deepinfra/fp8": "cccffzff", "fireworks": "c", "together/fp8": "ccccfcccc", "novita/bf16": "czcccc",
        "parasail/fp8": "cccccccf", "azure": "c", "siliconflow/fp8": "zzz", "groq": "c",
    },
    "acme/small": {"deepinfra/bf16": "ff", "cerebras": "c", "mistral": "ccczc", "chutes/fp8": "c"},
    "acme/old": {"hyperbolic": "c"},
}  # fmt: skip
RESULTS = {"c": "clean", "f": "failing", "z": "frozen"}


def make_fleet(now: datetime) -> dict[str, RoutedModel]:
    """Three models: one enforcing with trouble, one observing, one blind; by slug."""
    models = {
        "acme/large": make.make_model("acme/large", mode="enforce", discovered_at=now - timedelta(minutes=4)),
        "acme/small": make.make_model("acme/small", discovered_at=now - timedelta(minutes=9)),
        "acme/old": make.make_model("acme/old", discovered_at=now - timedelta(hours=30)),
    }
    for slug, lanes in LANES.items():
        _make_rounds(models[slug], lanes, now)
    _make_trouble(models, now)
    _make_log(now)
    return models


def _make_rounds(model: RoutedModel, lanes: dict[str, str], now: datetime) -> None:
    endpoints = {tag: make.make_endpoint(model, tag) for tag in lanes}
    for tag, endpoint in endpoints.items():
        make.make_capability(endpoint, quantization=tag.partition("/")[2] or "unknown")
    for place in range(ROUNDS):
        at = now - timedelta(minutes=30) * (ROUNDS - 1 - place) - timedelta(minutes=4)
        round_ = make.make_round(model, started_at=at, language=("de", "en", "fr")[place % 3])
        for number, (tag, results) in enumerate(lanes.items()):
            letter = results.rjust(ROUNDS, "c")[place]
            _make_result(round_, endpoints[tag], letter, ttft_ms=310.0 + 170 * number + place)


def _make_result(round_: Round, endpoint: Endpoint, letter: str, *, ttft_ms: float) -> None:
    verdict = {"c": "pass", "f": "fail", "z": "unreachable"}[letter]
    reason = {"c": "ok", "f": "mixed_languages", "z": "connect_failed"}[letter]
    verdicts = {"latency": "pass" if letter != "z" else verdict, "language": verdict}
    make.make_endpoint_round(
        round_,
        endpoint,
        RESULTS[letter],
        language="de",
        raw=verdicts,
        effective=verdicts,
        reasons={"language": reason},
    )
    make.make_run(round_, endpoint, ttft_ms=ttft_ms, cost_usd=Decimal("0.00021"))
    make.make_run(
        round_, endpoint, "language", verdict=verdict, reason=reason, language="de", ttft_ms=None,
        evidence={"windows": [{"language": "en", "share": 0.41}]}, text="Der Hafen was quiet <b>heute</b>.",
    )  # fmt: skip


def _make_trouble(models: dict[str, RoutedModel], now: datetime) -> None:
    def lane(tag: str) -> Endpoint:
        return Endpoint.objects.get(tag=tag)

    for endpoint in Endpoint.objects.all():
        make.make_standing(endpoint, clean_streak=3, last_result_at=now)
    failing = lane("parasail/fp8").standing
    culprit: dict[str, Any] = {
        "contract": "language", "language": "de", "since": now.isoformat(), "asked_at": now.isoformat(),
        "latest": "fail", "dry_rounds": 0, "in_streak": True, "is_held": False,
    }  # fmt: skip
    failing.clean_streak, failing.failing_streak, failing.culprits = 0, 1, [culprit]
    failing.save()
    silent = lane("siliconflow/fp8").standing
    silent.silent_rounds = 3
    silent.save()
    latest = models["acme/large"].rounds.order_by("-started_at").first()
    make.make_suspension(lane("deepinfra/fp8"), started_at=now - timedelta(hours=3), level=2, round=latest)
    make.make_suspension(lane("deepinfra/bf16"), started_at=now - timedelta(hours=1), is_shadow=True)
    make.make_exclusion(
        "azure", reason="Answers cut off in production", created_at=now, expires_at=now + timedelta(days=7)
    )
    Endpoint.objects.filter(tag="groq").update(is_protected=True)
    Endpoint.objects.filter(tag="mistral").update(is_control=True)
    since = (now - timedelta(hours=2)).isoformat()
    ModelStanding.objects.create(model=models["acme/large"], last_closed_at=now, episodes={"unproved": since})
    ModelStanding.objects.create(model=models["acme/small"], last_closed_at=now)
    ModelStanding.objects.create(model=models["acme/old"], episodes={"blind": since})
    running = make.make_round(models["acme/small"], started_at=now, status=RoundStatus.RUNNING, language="ja")
    for number, tag in enumerate(("cerebras", "mistral", "chutes/fp8")):
        state: dict[str, Any] = (
            {"state": RunState.DUE, "verdict": "", "reason": "", "sent_at": None} if number == 2 else {}
        )
        make.make_run(running, lane(tag), **state)


def _make_log(now: datetime) -> None:
    make.make_decision(
        at=now - timedelta(hours=3), model_slug="acme/large", endpoint_tag="deepinfra/fp8", is_enforced=True, level=2,
        until=now + timedelta(days=2), reason="Suspended: failed 2 scored rounds in a row (language (de)); level 2.",
        evidence={"failed_runs": [{"id": 1, "reason": "mixed_languages"}]},
    )  # fmt: skip
    make.make_decision(
        at=now - timedelta(hours=1), model_slug="acme/small", endpoint_tag="deepinfra/bf16", level=1, mode="observe",
        reason="Would suspend: failed 2 scored rounds in a row (language (de)); level 1.",
    )  # fmt: skip
    make.make_decision(
        at=now, action=Action.EXCLUDE.value, rule="R1", endpoint_tag="azure", is_enforced=True, actor="ann",
        reason="azure is excluded for all models until 2026-01-09 03:04 UTC: Answers cut off in production",
    )  # fmt: skip
