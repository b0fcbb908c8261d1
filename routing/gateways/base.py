"""What every gateway adapter speaks: discovery rows, pinned requests and the exchange that came of one.

An adapter maps one outside system's faults to these types and judges nothing. Times are milliseconds
on a monotonic clock, counted from the request fully written on an established connection (rule C4);
connect time and our own queue are not in them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Protocol


class TransportFailure(StrEnum):
    """How an exchange ended when it did not end with a complete answer or an error body."""

    CONNECT_FAILED = "connect_failed"
    NO_STATUS = "no_status"
    CUT = "cut"
    TIMED_OUT = "timed_out"


@dataclass(frozen=True, kw_only=True)
class TimedLine:
    """One line of a recorded stream: `at_ms` since the request was written, `line` without its newline."""

    at_ms: float
    line: str


@dataclass(frozen=True, kw_only=True)
class GatewayError:
    """An error body or error event, decoded permissively (facts: `error` may even be a string).

    `status` is the HTTP status, or the numeric `error.code` of an error inside a 200 or a stream.
    `provider_name` is the provider the gateway names (metadata or body), None when it names none.
    `reached_upstream` is None when the gateway's metadata does not say.
    """

    status: int | None
    message: str
    error_type: str | None = None
    provider_name: str | None = None
    raw: str | None = None
    availability: Mapping[str, Any] = field(default_factory=dict)
    retry_after: str | None = None
    is_own_rate_limit: bool = False
    reached_upstream: bool | None = None
    in_stream: bool = False


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Tokens and cost as the gateway reports them; None where it does not or where they cannot be.

    Tokens are 0 to 2 147 483 647, the cost is 0 to 1000 USD without the end: an adapter leaves out the rest.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: Decimal | None = None


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One request and everything that came back, whatever that was.

    `first_text_ms` is the first non-blank answer text; `first_token_ms` the first token of any kind
    (reasoning included). `served_by` is the provider's display name, `served_model` the model named in
    the answer. `finish_reason` is the last one that was not null. `has_done` says whether the stream's end
    mark was seen (True for a complete non-streamed body). Whatever the other side writes: a status is 100 to
    599, a name or id has at most 200 characters, a time is finite and not negative; what is not, is None.
    """

    status: int | None = None
    failure: TransportFailure | None = None
    error: GatewayError | None = None
    text: str = ""
    reasoning: str = ""
    refusal: str | None = None
    tool_calls: Sequence[Mapping[str, Any]] = ()
    finish_reason: str | None = None
    native_finish_reason: str | None = None
    has_done: bool = False
    served_by: str | None = None
    served_model: str | None = None
    generation_id: str | None = None
    router_metadata: Mapping[str, Any] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    connect_ms: float | None = None
    status_ms: float | None = None
    first_token_ms: float | None = None
    first_text_ms: float | None = None
    ended_ms: float | None = None
    malformed_events: int = 0
    loop_lag_ms: float = 0.0


@dataclass(frozen=True, kw_only=True)
class DiscoveredEndpoint:
    """One endpoint row of a discovery answer. Prices are USD per token; `status` is shown, never decided on."""

    tag: str
    provider_slug: str
    provider_name: str
    quantization: str | None = None
    context_length: int | None = None
    max_completion_tokens: int | None = None
    supported_parameters: frozenset[str] = frozenset()
    prompt_price: Decimal | None = None
    completion_price: Decimal | None = None
    request_price: Decimal | None = None
    status: int | None = None


@dataclass(frozen=True, kw_only=True)
class Discovery:
    """What serves a model now. Never empty: an unreadable or empty answer raises `DiscoveryUnreadable`."""

    model: str
    endpoints: Sequence[DiscoveredEndpoint]
    input_modalities: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class KeyState:
    """The account behind the key. `limit_remaining_usd` is None when the key has no limit."""

    label: str
    limit_remaining_usd: Decimal | None = None
    usage_daily_usd: Decimal | None = None
    usage_monthly_usd: Decimal | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class ModelFacts:
    """What the gateway says of a model as a whole that a probe request depends on."""

    slug: str
    reasoning_mandatory: bool = False
    reasoning_efforts: Sequence[str] = ()
    default_reasoning: bool = False


class Attribution(StrEnum):
    """Whether an answer came from the pinned provider (rule C2)."""

    PINNED = "pinned"
    OTHER = "other"
    UNKNOWN = "unknown"


class GatewayUnavailable(Exception):
    """The gateway could not be reached or answered with a server error; nothing is known."""


class DiscoveryUnreadable(GatewayUnavailable):
    """The discovery answer could not be read or was empty (rule C1: it changes nothing)."""


class ModelNotFound(Exception):
    """A readable answer that says the model does not exist (rule C1: the model is gone)."""


class KeyRefused(Exception):
    """The key is missing, revoked or out of credit (rule C3: ours)."""


class Gateway(Protocol):
    """One gateway. All calls share one connection pool; one instance belongs to one event loop."""

    async def discover(self, model: str) -> Discovery:
        """Read which endpoints serve `model` now. Raises `ModelNotFound`, `DiscoveryUnreadable`, `KeyRefused`."""

    async def providers(self) -> Mapping[str, str]:
        """Provider display names by base slug. Raises `GatewayUnavailable`."""

    async def model_facts(self, model: str) -> ModelFacts:
        """What the catalogue says of the model. Raises `ModelNotFound`, `GatewayUnavailable`."""

    async def check_key(self) -> KeyState:
        """Check the key before a round. Raises `KeyRefused`, `GatewayUnavailable`."""

    def pinned_body(
        self,
        body: Mapping[str, Any],
        *,
        model: str,
        tag: str,
        siblings: Sequence[str],
        preferences: Mapping[str, Any],
    ) -> dict[str, Any]:
        """`body` as a request that reaches exactly the endpoint `tag` (rule C2).

        `siblings` are the other tags of the model that the gateway would read `tag` as matching too;
        `preferences` are the model's production preferences in the gateway's own words.
        """

    async def chat(
        self,
        body: Mapping[str, Any],
        *,
        limit_s: float,
        first_text_limit_s: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Exchange:
        """Send one chat request (streamed when `body["stream"]`); never raises for what the other side does.

        `limit_s` bounds the whole exchange from the request written; `first_text_limit_s` ends it earlier
        when no answer text has come by then.
        """

    async def aclose(self) -> None:
        """Close the pool."""
