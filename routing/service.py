"""What a backend imports: build requests that avoid what is excluded, and say who served them.

    from routing.service import build_request, record_served

    request = build_request("author/model", messages, max_tokens=500)
    response = client.post("/chat/completions", json=request).json()
    record_served("author/model", response, request=request)

It does not send, and it does not retry: whoever sends the request owns both (rule R5).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from routing import snapshot
from routing.domain.exclusion_list import NoRouteLeft
from routing.domain.preferences import CallerMistake, model_names

if TYPE_CHECKING:
    from routing.attempts import Served

__all__ = [
    "CallerMistake",
    "NoRouteLeft",
    "build_request",
    "provider_preferences",
    "record_served",
    "snapshot_state",
    "warm_up",
]


def build_request(
    model: str,
    messages: Sequence[Mapping[str, Any]],
    *,
    provider: Mapping[str, Any] | None = None,
    **params: Any,
) -> dict[str, Any]:
    """The body of a chat request for `model` whose `provider` carries all exclusions (rules R1 and R2).

    `provider` are the caller's own preferences in the gateway's words; they go over the model's production
    preferences key by key (None takes one away), `ignore` is united with the exclusions. `params` go into the
    body as they are; `models` among them are fallback models, whose exclusions count too.

    No I/O; safe in threads, event loops and Celery. The first call of a process waits for its first snapshot,
    at most a second. Raises `CallerMistake` for what cannot be meant, `NoRouteLeft` when nothing could serve.
    """
    if not isinstance(messages, (list, tuple)) or not messages:
        raise CallerMistake("messages is a list of one message or more.")
    preferences = _preferences(model_names(model, params.get("models")), provider)
    return {"model": model, "messages": messages, **params, "provider": preferences}


def provider_preferences(model: str, provider: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Only the `provider` object of `build_request`, for the `extra_body` of any SDK: `{"provider": ...}`."""
    return _preferences(model_names(model, None), provider)


def record_served(
    model: str,
    response: object,
    *,
    operation_id: str | None = None,
    subject: str | None = None,
    request: Mapping[str, Any] | None = None,
) -> "Served":
    """Write down who served a request, and tell when that was a provider its list excluded (rule R4).

    `response` is the whole answer, an object of JSON types or an SDK's object with `model_dump`. Pass the
    `request` that was sent: without it the list is what this process would have sent when the answer began.
    `subject` is whoever it was for, stored as a keyed hash. Writes to the database, so from async code call
    it through `sync_to_async`; one that cannot be reached is logged and raises nothing. Raises `CallerMistake`.
    """
    from routing.attempts import Context, record_attempt  # models load when the first answer is recorded

    context = Context(operation_id=operation_id, subject=subject, request=request)
    return record_attempt(model_names(model, None)[0], response, context)


def snapshot_state() -> snapshot.SnapshotState:
    """How old this process's exclusions are and where they are from."""
    return snapshot.refresher().state()


def warm_up() -> None:
    """Start keeping the snapshot now, so that no call waits for the first one. Call it after a fork."""
    snapshot.refresher().snapshot()


def _preferences(models: tuple[str, ...], provider: Mapping[str, Any] | None) -> dict[str, Any]:
    refresher = snapshot.refresher()
    return refresher.snapshot().plan(models, refresher.now_s()).preferences(provider)
