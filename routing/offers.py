"""What the serving endpoints of each model offer now, out of the catalogue's tables."""

from collections.abc import Collection

from routing.domain.admission import Offer, is_fitting
from routing.domain.modes import CapabilitySource
from routing.models import Capability, Endpoint, RoutedModel


def serving_offers(models: Collection[RoutedModel]) -> dict[int, tuple[Offer, ...]]:
    """The offers of each model's serving endpoints, by the model's key; two queries for any number of models."""
    current = Capability.objects.filter(
        endpoint__model__in=models, source=CapabilitySource.ADVERTISED.value, valid_until__isnull=True
    )
    known = {row.endpoint_id: row for row in current}
    found: dict[int, list[Offer]] = {model.pk: [] for model in models}
    serving = Endpoint.objects.filter(model__in=models, is_serving=True).order_by("tag")
    for pk, model_pk, tag in serving.values_list("pk", "model_id", "tag"):
        found[model_pk].append(_offer(tag, known.get(pk)))
    return {pk: tuple(offers) for pk, offers in found.items()}


def _offer(tag: str, row: Capability | None) -> Offer:
    if row is None:
        return Offer(tag=tag)
    return Offer(
        tag=tag,
        quantization=row.quantization,
        prompt_price=row.prompt_price,
        completion_price=row.completion_price,
    )


def fitting_tags(models: Collection[RoutedModel]) -> dict[int, tuple[str, ...]]:
    """The serving tags whose quantisation and price each model's production preferences admit, by the model's key."""
    offers = serving_offers(models)
    return {
        model.pk: tuple(offer.tag for offer in offers[model.pk] if is_fitting(offer, model.preferences))
        for model in models
    }
