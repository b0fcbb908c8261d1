"""How a request for a model would be routed, endpoint by endpoint, for a person to read."""

from routing import snapshot
from routing.domain.admission import is_fitting
from routing.domain.explanation import Lane, Line, explain
from routing.models import RoutedModel
from routing.offers import serving_offers


def explain_route(slug: str) -> tuple[Line, ...]:
    """Every endpoint of the model ever seen, in or out and why; none when the model is not in the catalogue."""
    model = RoutedModel.objects.filter(slug__in=(slug, slug.partition(":")[0])).order_by("-slug").first()
    if model is None:
        return ()
    refresher = snapshot.refresher()
    plan = refresher.snapshot().plan((slug,), refresher.now_s())
    fitting = {offer.tag: is_fitting(offer, model.preferences) for offer in serving_offers([model])[model.pk]}
    lanes = [
        Lane(tag=tag, is_serving=is_serving, is_fitting=fitting.get(tag, True))
        for tag, is_serving in model.endpoints.order_by("tag").values_list("tag", "is_serving")
    ]
    return explain(plan, None, lanes)
