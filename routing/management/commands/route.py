"""`manage.py route`: the request that would be sent for a model, why it looks so, and what comes of it."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from asgiref.sync import async_to_sync
from django.core.management.base import BaseCommand, CommandError

from routing import catalogue, service
from routing.connections import open_gateway
from routing.explaining import explain_route
from routing.gateways.base import Exchange
from routing.models import Gateway

SEND_LIMIT_S = 120.0
MAX_TOKENS = 256


class Command(BaseCommand):
    """Prints the request; `--explain` every endpoint, in or out; `--send` sends it and records who served."""

    help = "Print the request that would be sent for MODEL."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The model, what to ask, and what to do with the request."""
        parser.add_argument("model", metavar="MODEL")
        parser.add_argument("--message", metavar="TEXT", default="Say hello in one sentence.")
        parser.add_argument(
            "--explain", action="store_true", help="every endpoint, in or out, and by which rule"
        )
        parser.add_argument("--send", action="store_true", help="send it to the gateway; this may cost money")
        parser.add_argument("--json", action="store_true", help="one JSON object a line")

    def handle(self, *args: Any, **options: Any) -> None:
        """Explain first: it says why where no request can be built."""
        self._as_json = options["json"]
        if options["explain"]:
            self._explain(options["model"])
        try:
            messages = [{"role": "user", "content": options["message"]}]
            request = service.build_request(options["model"], messages, max_tokens=MAX_TOKENS)
        except (service.CallerMistake, service.NoRouteLeft) as error:
            raise CommandError(str(error)) from error
        if service.snapshot_state().confirmed_at is None:
            raise CommandError(
                "The database was never read, so nothing is known of exclusions; see DATABASE_URL and STATE_DIR."
            )
        self._say({"request": request}, json.dumps(request, indent=2))
        if options["send"]:
            self._send(options["model"], request)

    def _explain(self, model: str) -> None:
        lines = explain_route(model)
        if not lines:
            self._say(
                {"endpoints": []},
                f"No endpoint of {model} was ever seen; `manage.py discover {model}` reads them.",
            )
        for line in lines:
            verdict = "in " if line.is_in else "out"
            by = f"{line.rule} {line.by}".strip()
            self._say(asdict(line), f"{verdict} {line.tag:<32} {by:<16} {line.reason}")
        state = service.snapshot_state()
        age_s = state.age_s(datetime.now(tz=UTC))
        age = "never confirmed by the database" if age_s is None else f"confirmed {max(age_s, 0.0):.1f} s ago"
        facts = {
            "version": state.version,
            "origin": state.origin,
            "age_s": age_s,
            "is_failing": state.is_failing,
        }
        self._say({"snapshot": facts}, f"Exclusions: version {state.version} from {state.origin}, {age}.")

    def _send(self, model: str, request: dict[str, Any]) -> None:
        try:
            exchange = async_to_sync(_sent)(catalogue.first_gateway(), request)
        except ValueError as error:
            raise CommandError(str(error)) from error
        served = service.record_served(model, _answer(exchange), request=request)
        if exchange.error is not None or exchange.failure is not None:
            said = exchange.error.message if exchange.error else str(exchange.failure)
            raise CommandError(f"No answer came: {said}")
        facts = {
            "served_by": served.served_by,
            "provider": served.provider,
            "breach": served.is_breach,
            "attempt": str(served.attempt_id) if served.attempt_id else None,
            "finish_reason": exchange.finish_reason,
            "text": exchange.text,
        }
        breach = " although it was excluded" if served.is_breach else ""
        self._say(facts, f"Served by {served.served_by or 'nobody named'}{breach}: {exchange.text}")

    def _say(self, facts: dict[str, Any], sentence: str) -> None:
        self.stdout.write(json.dumps(facts) if self._as_json else sentence)


async def _sent(gateway: Gateway, request: dict[str, Any]) -> Exchange:
    client = open_gateway(gateway)
    try:
        return await client.chat(request, limit_s=SEND_LIMIT_S)
    finally:
        await client.aclose()


def _answer(exchange: Exchange) -> dict[str, Any]:
    """The exchange in the words of the answer it was, for `record_served`."""
    return {
        "id": exchange.generation_id,
        "provider": exchange.served_by,
        "choices": [{"finish_reason": exchange.finish_reason}],
        "usage": {"cost": exchange.usage.cost_usd},
        "openrouter_metadata": dict(exchange.router_metadata),
    }
