"""How long `build_request` takes, warm, with 1,000 exclusions in the tables; as a ratio to copying a plain dict.

    python tests/benchmarks/build_request.py

The exclusions come through the real refresh thread and a real database: a SQLite file of its own.
Bar: 20 µs. Exits 1 when it is missed.
"""

import os
import sys
import tempfile
import timeit
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
_STATE = tempfile.TemporaryDirectory(prefix="routewarden-bench-")
os.environ |= {"DJANGO_SETTINGS_MODULE": "config.settings", "STATE_DIR": _STATE.name, "DATABASE_URL": ""}

import django  # noqa: E402  the environment comes first

django.setup()

from django.core.management import call_command  # noqa: E402

from routing.catalogue import apply_discovery, first_gateway  # noqa: E402
from routing.gateways.base import DiscoveredEndpoint, Discovery  # noqa: E402
from routing.models import Exclusion, RoutedModel  # noqa: E402
from routing.service import build_request, snapshot_state  # noqa: E402

EXCLUSIONS = 1_000
MODELS = 20
BAR_US = 20.0
CALLS = 5_000
ROUNDS = 7
MESSAGES = [{"role": "user", "content": "hello"}]


def fill_tables() -> None:
    """20 models of 12 endpoints each; half of the exclusions are for all models, half for one."""
    now = datetime.now(tz=UTC)
    models = []
    for number in range(MODELS):
        model = RoutedModel.objects.create(gateway=first_gateway(), slug=f"author/model-{number}")
        tags = [f"host-{number}-{lane}/fp8" for lane in range(12)]
        rows = [
            DiscoveredEndpoint(tag=tag, provider_slug=tag.partition("/")[0], provider_name=tag)
            for tag in tags
        ]
        apply_discovery(model, Discovery(model=model.slug, endpoints=rows), now=now)
        models.append(model)
    Exclusion.objects.bulk_create(
        Exclusion(
            tier="runtime",
            entry=f"other-{number}/fp8" if number % 4 else f"other-{number}",
            model=models[number % MODELS] if number % 2 else None,
            reason="benchmark",
            created_at=now,
            expires_at=now + timedelta(days=1 + number % 30),
        )
        for number in range(EXCLUSIONS)
    )


def best_us(statement: str, **names: object) -> float:
    """Microseconds a call, the best of several rounds: what the machine can do when nothing disturbs it."""
    return min(timeit.repeat(statement, globals=names, number=CALLS, repeat=ROUNDS)) / CALLS * 1e6


def main() -> int:
    """Print the table; 1 when the bar is missed."""
    call_command("migrate", verbosity=0)
    fill_tables()
    request = build_request("author/model-1", MESSAGES)
    names = request["provider"]["ignore"]
    print(f"{EXCLUSIONS} exclusions, {len(names)} names in the list, snapshot from {snapshot_state().origin}")
    plain = best_us("{**request, 'provider': {'ignore': list(names)}}", request=request, names=tuple(names))
    print(f"{'a plain dict with a copied list':<44}{plain:8.2f} µs   1.0")
    calls = {
        "build_request": "build(model, messages)",
        "build_request, own order": "build(model, messages, provider={'order': ['host-1-3', 'host-1-4']})",
        "build_request, own only, ignore": "build(model, messages, provider={'only': ['host-1-3'], 'ignore': ['x']})",
        "build_request, a model nobody watches": "build('some/unknown', messages)",
        "build_request, two models": "build(model, messages, models=['author/model-2'])",
    }
    missed = False
    for name, statement in calls.items():
        taken = best_us(statement, build=build_request, model="author/model-1", messages=MESSAGES)
        missed = missed or taken > BAR_US
        verdict = "pass" if taken <= BAR_US else "miss"
        print(f"{name:<44}{taken:8.2f} µs {taken / plain:5.1f}   {verdict} (bar {BAR_US:g} µs)")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
