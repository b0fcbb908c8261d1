"""`manage.py discover`: which endpoints serve a model now, by the gateway's word."""

import json
from argparse import ArgumentParser
from decimal import Decimal
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from routing.discovering import Discovered, discover
from routing.domain.admission import TOKENS_PER_PRICE, Offer
from routing.domain.model_slugs import checked_slug
from routing.domain.modes import Mode
from routing.gateways.base import GatewayUnavailable, KeyRefused, ModelNotFound
from routing.offers import serving_offers


class Command(BaseCommand):
    """Reads, stores and prints; nothing is probed. An unknown model is made with mode off, or watched."""

    help = "Read which endpoints serve MODEL now, store the list and print it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The model and whether to watch it."""
        parser.add_argument("model", metavar="MODEL", help="author/name, as the gateway writes it")
        parser.add_argument("--watch", action="store_true", help="watch it from now on, in observe mode")
        parser.add_argument("--json", action="store_true", help="one JSON object a line")

    def handle(self, *args: Any, **options: Any) -> None:
        """Discover and print; what the gateway refuses or cannot say is one sentence."""
        try:
            slug = checked_slug(options["model"])
            found = discover(slug, is_watched=options["watch"], actor="command line")
        except (ModelNotFound, GatewayUnavailable, KeyRefused, ValueError) as error:
            raise CommandError(str(error)) from error
        for line in _lines(found):
            self.stdout.write(json.dumps(line) if options["json"] else _text(line))
        if found.change.held_back:
            self.stderr.write(
                f"The list lacks {', '.join(found.change.held_back)}, more than half of it at once: "
                "it is believed when the next one agrees."
            )
        if options["watch"] and found.model.mode == Mode.OFF.value:
            raise CommandError(f"{slug} is known with mode off: switch its mode in the admin to watch it.")


def _lines(found: Discovered) -> list[dict[str, Any]]:
    """One row for each endpoint that serves, and for each that has just left."""
    changes = {
        tag: name
        for name in ("joined", "returned", "left", "held_back")
        for tag in getattr(found.change, name)
    }
    model = found.model
    serving = [_line(model.slug, offer, changes) for offer in serving_offers([model])[model.pk]]
    gone = [_line(model.slug, Offer(tag=tag), changes) for tag in found.change.left]
    return sorted([*serving, *gone], key=lambda line: str(line["endpoint"]))


def _line(slug: str, offer: Offer, changes: dict[str, str]) -> dict[str, Any]:
    change = changes.get(offer.tag)
    return {
        "model": slug,
        "endpoint": offer.tag,
        "serving": change != "left",
        "change": change,
        "quantization": offer.quantization or None,
        "prompt_usd_per_million": _per_million(offer.prompt_price),
        "completion_usd_per_million": _per_million(offer.completion_price),
    }


def _per_million(price: Decimal | None) -> float | None:
    return None if price is None else float(price * TOKENS_PER_PRICE)


def _text(line: dict[str, Any]) -> str:
    prices = [line["prompt_usd_per_million"], line["completion_usd_per_million"]]
    shown = " / ".join("?" if price is None else f"{price:.2f}" for price in prices)
    quantization = line["quantization"] or "-"
    return (
        f"{line['endpoint']:<32} {quantization:<8} {shown:>16} USD a million  {line['change'] or ''}".rstrip()
    )
