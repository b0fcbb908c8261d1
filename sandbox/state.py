"""What a running sandbox remembers: models with their present faults, what was served, what was spent."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from sandbox.faults import GONE, NOT_ALLOWED
from sandbox.scenario import Endpoint, Fault, GatewayFault, Key, KeyState, Model, Scenario

_LOG_LENGTH = 50_000
_GENERATIONS_KEPT = 5_000
_REQUEST_IDS_KEPT = 200_000
_SUFFIX_SORTS = {"nitro": "throughput", "floor": "price", "exacto": "exacto"}


@dataclass(kw_only=True)
class EndpointCount:
    """What one endpoint was asked and how it went; a request is counted when it reaches the upstream."""

    requests: int = 0
    in_flight: int = 0
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    streamed: int = 0
    cost_usd: float = 0.0
    kinds: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)

    def report(self) -> dict[str, Any]:
        """The counts as JSON values."""
        numbers = {name: value for name, value in vars(self).items() if not isinstance(value, Counter)}
        return {
            **numbers,
            **{name: dict(value) for name, value in vars(self).items() if isinstance(value, Counter)},
        }


@dataclass(frozen=True, kw_only=True)
class Served:
    """One line of the log: which endpoint was asked what, when, and how it ended."""

    number: int
    at_s: float
    model: str
    tag: str
    kind: str
    language: str
    stream: bool
    faults: tuple[str, ...]
    outcome: str
    status: int
    generation_id: str
    request_id: str
    cost_usd: float


@dataclass(frozen=True, kw_only=True)
class Timing:
    """The clocks: `clock` is monotonic, `wall` is Unix time, both in seconds."""

    clock: Callable[[], float]
    sleep: Callable[[float], Any]
    wall: Callable[[], float]


class SandboxState:
    """All that changes while the sandbox runs. One event loop uses it; nothing here waits."""

    def __init__(self, scenario: Scenario, timing: Timing, *, seed: int) -> None:
        self.scenario = scenario
        self.timing = timing
        self.seed = seed
        self.started_s = timing.clock()
        self.models: dict[str, Model] = {model.id: model for model in scenario.models}
        self._ids = {model.permaslug: model.id for model in scenario.models}
        self.gateway_faults: tuple[GatewayFault, ...] = scenario.gateway.faults
        self.keys: tuple[Key, ...] = scenario.keys
        self.rng = Random(f"{seed}:routing")
        self.counts: dict[tuple[str, str], EndpointCount] = {}
        self.paths: Counter[str] = Counter()
        self.refusals: Counter[int] = Counter()
        self.log: deque[Served] = deque(maxlen=_LOG_LENGTH)
        self.generations: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self.request_ids: OrderedDict[str, int] = OrderedDict()
        self.spent_usd = 0.0
        self._draws: Counter[tuple[str, ...]] = Counter()
        self._served = 0

    @property
    def now_s(self) -> float:
        """Seconds since the sandbox's start."""
        return self.timing.clock() - self.started_s

    def listed_models(self) -> list[Model]:
        """The models whose window is open."""
        now_s = self.now_s
        return [model for model in self.models.values() if model.window.contains(now_s)]

    def find_model(self, name: str) -> tuple[Model, str | None] | None:
        """The model of an id or permaslug, and the sort a suffix such as `:nitro` stands for."""
        model = self.models.get(self._ids.get(name, name))
        if model is not None and model.window.contains(self.now_s):
            return model, None
        base, _, suffix = name.partition(":")
        if suffix in _SUFFIX_SORTS:
            found = self.find_model(base)
            return (found[0], _SUFFIX_SORTS[suffix]) if found else None
        return None

    def serving(self, model: Model) -> list[Endpoint]:
        """The endpoints listed for the model now."""
        return [endpoint for endpoint in model.endpoints if not self._is(endpoint, GONE)]

    def reachable(self, model: Model) -> list[Endpoint]:
        """The endpoints this account may be routed to now."""
        return [endpoint for endpoint in self.serving(model) if not self._is(endpoint, NOT_ALLOWED)]

    def _is(self, endpoint: Endpoint, kind: str) -> bool:
        return any(fault.kind == kind and fault.window.contains(self.now_s) for fault in endpoint.faults)

    def upstream_rng(self, model: Model, endpoint: Endpoint) -> Random:
        """A generator of its own for the endpoint's next request, the same in every run with this seed."""
        number = self._draw(model.id, endpoint.tag)
        return Random(f"{self.seed}:{model.id}:{endpoint.tag}:{number}")

    def _draw(self, *key: str) -> int:
        self._draws[key] += 1
        return self._draws[key]

    def may_strike(self, model: Model, endpoint: Endpoint, index: int) -> bool:
        """Whether the endpoint's fault has strikes left; counts this one."""
        limit = endpoint.faults[index].times
        return limit is None or self._draw("strike", model.id, endpoint.tag, str(index)) <= limit

    def gateway_fault(self, kind: str, model: str = "") -> GatewayFault | None:
        """The active gateway fault of this kind for the model, if its draw says so."""
        now_s = self.now_s
        for fault in self.gateway_faults:
            if fault.kind != kind or fault.model not in ("", model) or not fault.window.contains(now_s):
                continue
            number = self._draw("gateway", kind, model)
            if (
                fault.probability >= 1
                or Random(f"{self.seed}:{kind}:{model}:{number}").random() < fault.probability
            ):
                return fault
        return None

    def key_state(self, token: str) -> Key:
        """What the gateway thinks of a token now; a key over its limit counts as limited."""
        now_s = self.now_s
        for key in self.keys:
            if key.token in ("*", token) and key.window.contains(now_s):
                is_over = key.limit_usd is not None and self.spent_usd >= key.limit_usd
                return (
                    replace(key, state=KeyState.LIMIT_REACHED)
                    if is_over and key.state is KeyState.OK
                    else key
                )
        return Key()

    def count(self, model: str, tag: str) -> EndpointCount:
        """The counter of one endpoint."""
        return self.counts.setdefault((model, tag), EndpointCount())

    def record(self, served: Served, generation: dict[str, Any] | None) -> None:
        """Add a line to the log, and the generation for /generation."""
        self.spent_usd += served.cost_usd
        self.log.append(served)
        if served.request_id:
            self.request_ids[served.request_id] = self.request_ids.get(served.request_id, 0) + 1
            _trim(self.request_ids, _REQUEST_IDS_KEPT)
        if generation is not None:
            self.generations[served.generation_id] = generation
            _trim(self.generations, _GENERATIONS_KEPT)

    def next_number(self) -> int:
        """The running number of upstream requests."""
        self._served += 1
        return self._served

    def replace_faults(self, model_id: str, tag: str, faults: tuple[Fault, ...]) -> bool:
        """Give an endpoint other faults; False when there is no such endpoint."""
        model = self.models.get(model_id)
        if model is None or tag not in {endpoint.tag for endpoint in model.endpoints}:
            return False
        endpoints = tuple(
            replace(endpoint, faults=faults) if endpoint.tag == tag else endpoint
            for endpoint in model.endpoints
        )
        self.models[model_id] = replace(model, endpoints=endpoints)
        for key in [key for key in self._draws if key[:3] == ("strike", model_id, tag)]:
            del self._draws[key]
        return True

    def report(self) -> dict[str, Any]:
        """The counters as /sandbox/state shows them."""
        repeated = {request_id: times for request_id, times in self.request_ids.items() if times > 1}
        return {
            "now_s": round(self.now_s, 3),
            "seed": self.seed,
            "spent_usd": round(self.spent_usd, 9),
            "requests": self._served,
            "paths": dict(self.paths),
            "refusals": {str(status): times for status, times in sorted(self.refusals.items())},
            "repeated_request_ids": repeated,
            "endpoints": [
                {"model": model, "tag": tag, **count.report()}
                for (model, tag), count in sorted(self.counts.items())
            ],
        }

    def reset_counters(self) -> None:
        """Forget what was counted and logged; faults, keys and the clock stay."""
        self.counts.clear()
        self.paths.clear()
        self.refusals.clear()
        self.log.clear()
        self.request_ids.clear()
        self._served = 0


def _trim(kept: OrderedDict[str, Any], most: int) -> None:
    while len(kept) > most:
        kept.popitem(last=False)
