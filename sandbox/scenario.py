"""What a scenario file says, as frozen records: gateway, keys, models, endpoints and their faults.

All times are seconds since the sandbox's start; prices are USD per million tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

ParamValue = str | float | bool | None

LANGUAGES = (
    "en",
    "es",
    "pt",
    "fr",
    "de",
    "it",
    "nl",
    "pl",
    "ru",
    "uk",
    "tr",
    "vi",
    "id",
    "th",
    "ja",
    "ko",
    "zh",
)

# Service tiers are rows of their own, which a base slug does not match.
SERVICE_TIERS = frozenset({"flex", "priority"})

ALL_PARAMETERS = (
    "temperature",
    "top_p",
    "top_k",
    "frequency_penalty",
    "presence_penalty",
    "repetition_penalty",
    "max_tokens",
    "max_completion_tokens",
    "seed",
    "stop",
    "response_format",
    "structured_outputs",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "include_reasoning",
    "reasoning",
    "reasoning_effort",
)


class RequestKind(StrEnum):
    """What a request asks for; exactly one applies, in the order tools, structured, role-play, prose."""

    PROSE = "prose"
    ROLE_PLAY = "role_play"
    STRUCTURED = "structured"
    TOOLS = "tools"


class When(StrEnum):
    """Which requests a fault applies to: a kind of request, or a way of delivery."""

    ALL = "all"
    PROSE = "prose"
    ROLE_PLAY = "role_play"
    STRUCTURED = "structured"
    TOOLS = "tools"
    STREAM = "stream"
    NO_STREAM = "no_stream"


class Reasoning(StrEnum):
    """Whether a model thinks before it answers: never, on request, or always."""

    NONE = "none"
    OPTIONAL = "optional"
    MANDATORY = "mandatory"


class KeyState(StrEnum):
    """What the gateway thinks of an API key."""

    OK = "ok"
    OUT_OF_CREDIT = "out_of_credit"
    REVOKED = "revoked"
    LIMIT_REACHED = "limit_reached"


@dataclass(frozen=True, kw_only=True)
class Window:
    """A half-open span of time, optionally repeating: with `every_s` the times count inside each period."""

    after_s: float = 0.0
    until_s: float | None = None
    every_s: float | None = None

    def contains(self, now_s: float) -> bool:
        """Whether `now_s`, in seconds since the sandbox's start, lies in the window."""
        moment = now_s % self.every_s if self.every_s else now_s
        return moment >= self.after_s and (self.until_s is None or moment < self.until_s)


ALWAYS = Window()
EVERY_TOKEN = "*"  # noqa: S105 - it stands for any


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One scripted misbehaviour: its kind, its parameters, and the requests and times it applies to.

    `times` limits how often it strikes in all; None is without limit.
    """

    kind: str
    params: Mapping[str, ParamValue] = field(default_factory=dict)
    window: Window = ALWAYS
    probability: float = 1.0
    times: int | None = None
    when: frozenset[When] = frozenset({When.ALL})
    languages: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class GatewayFault:
    """Misbehaviour of the gateway itself; `model` empty means every model."""

    kind: str
    params: Mapping[str, ParamValue] = field(default_factory=dict)
    window: Window = ALWAYS
    probability: float = 1.0
    model: str = ""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One provider's lane for one model."""

    tag: str
    provider: str
    quantization: str | None = "fp8"
    context_length: int = 131_072
    max_completion_tokens: int | None = 16_384
    price_prompt: float = 0.4
    price_completion: float = 1.6
    supported_parameters: tuple[str, ...] = ALL_PARAMETERS
    ttft_ms: tuple[float, float] = (50.0, 200.0)
    tokens_per_second: float = 400.0
    status: int = 0
    uptime: float | None = 99.5
    trains_on_prompts: bool = False
    zdr: bool = True
    faults: tuple[Fault, ...] = ()

    @property
    def base_slug(self) -> str:
        """The provider's own name: the tag up to its first slash."""
        return self.tag.split("/", 1)[0]

    @property
    def is_service_tier(self) -> bool:
        """Whether only its full tag or the request's `service_tier` reaches it."""
        return self.tag.partition("/")[2] in SERVICE_TIERS


@dataclass(frozen=True, kw_only=True)
class Model:
    """One model and the endpoints that serve it; listed only while its window lasts."""

    id: str
    name: str
    permaslug: str
    endpoints: tuple[Endpoint, ...]
    context_length: int = 131_072
    reasoning: Reasoning = Reasoning.NONE
    answer_language: str = "auto"
    window: Window = ALWAYS


@dataclass(frozen=True, kw_only=True)
class Key:
    """What happens to one bearer token (`*`: to all) during a window; the first matching entry counts."""

    token: str = EVERY_TOKEN
    state: KeyState = KeyState.OK
    window: Window = ALWAYS
    limit_usd: float | None = None


@dataclass(frozen=True, kw_only=True)
class Gateway:
    """Settings of the gateway as a whole."""

    seed: int = 0
    keep_alive_s: float = 0.3
    region: str = "sandbox"
    role_play_markers: tuple[str, ...] = ()
    faults: tuple[GatewayFault, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A whole scenario file."""

    models: tuple[Model, ...]
    gateway: Gateway = Gateway()
    keys: tuple[Key, ...] = ()
