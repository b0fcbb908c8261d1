"""A scenario from its TOML file; every mistake is one sentence that names the key."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sandbox.faults import KINDS, Param
from sandbox.gateway_faults import GATEWAY_KINDS
from sandbox.scenario import (
    LANGUAGES,
    Endpoint,
    Fault,
    Gateway,
    GatewayFault,
    Key,
    KeyState,
    Model,
    Reasoning,
    Scenario,
    When,
    Window,
)
from sandbox.tables import ScenarioError, Table

__all__ = ["ScenarioError", "load", "parse", "parse_faults", "parse_gateway_faults", "parse_keys"]


def load(path: Path) -> Scenario:
    """The scenario in a TOML file. Raises ScenarioError for a file that is missing, not TOML, or wrong."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(f"The scenario file {path} cannot be read: {error}.") from None
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"The scenario file {path} is not valid TOML: {error}.") from None
    return parse(data)


def parse(data: Mapping[str, Any]) -> Scenario:
    """The scenario in data shaped like the file. Raises ScenarioError."""
    table = Table(data, "scenario")
    defaults = table.mapping("endpoint_defaults")
    models = tuple(_model(part, defaults) for part in table.tables("models"))
    if not models:
        raise ScenarioError("scenario: `models` needs at least one entry.")
    scenario = Scenario(
        models=models,
        gateway=_gateway(table.table("gateway")),
        keys=tuple(_key(part) for part in table.tables("keys")),
    )
    table.finish()
    _check_names(scenario)
    return scenario


def parse_faults(items: Any, where: str) -> tuple[Fault, ...]:
    """An endpoint's list of faults. Raises ScenarioError."""
    return tuple(_fault(part) for part in Table({"faults": items}, where).tables("faults"))


def parse_gateway_faults(items: Any, where: str) -> tuple[GatewayFault, ...]:
    """The gateway's list of faults. Raises ScenarioError."""
    return tuple(_gateway_fault(part) for part in Table({"faults": items}, where).tables("faults"))


def parse_keys(items: Any, where: str) -> tuple[Key, ...]:
    """The list of keys. Raises ScenarioError."""
    return tuple(_key(part) for part in Table({"keys": items}, where).tables("keys"))


def _gateway(table: Table) -> Gateway:
    gateway = Gateway(
        seed=table.whole("seed", 0),
        keep_alive_s=table.number("keep_alive_s", 0.3, least=0.01),
        region=table.text("region", "sandbox"),
        role_play_markers=table.texts("role_play_markers", ()),
        faults=tuple(_gateway_fault(part) for part in table.tables("faults")),
    )
    table.finish()
    return gateway


def _key(table: Table) -> Key:
    key = Key(
        token=table.text("token", "*"),
        state=KeyState(table.choice("state", "ok", tuple(KeyState))),
        window=_window(table),
        limit_usd=table.optional_number("limit_usd", least=0),
    )
    table.finish()
    return key


def _model(table: Table, defaults: Mapping[str, Any]) -> Model:
    id_ = table.text("id")
    if id_.count("/") != 1 or not all(id_.split("/")):
        raise ScenarioError(f"{table.where}: `id` must look like author/slug, not {id_!r}.")
    table = table.named(f"models.{id_}")
    endpoints = tuple(_endpoint(part.with_defaults(defaults)) for part in table.tables("endpoints"))
    model = Model(
        id=id_,
        name=table.text("name", id_),
        permaslug=table.text("permaslug", f"{id_}-20260301"),
        endpoints=endpoints,
        context_length=table.whole(
            "context_length", max((e.context_length for e in endpoints), default=8192)
        ),
        reasoning=Reasoning(table.choice("reasoning", "none", tuple(Reasoning))),
        answer_language=table.choice("answer_language", "auto", ("auto", *LANGUAGES)),
        window=_window(table),
    )
    table.finish()
    _check_tags(model)
    return model


def _endpoint(table: Table) -> Endpoint:
    tag = table.text("tag")
    if tag != tag.lower() or not tag.strip("/") or " " in tag:
        raise ScenarioError(
            f"{table.where}: `tag` must be a lower-case slug such as provider/fp8, not {tag!r}."
        )
    table = table.named(f"{table.parent}.endpoints.{tag}")
    standard = Endpoint(tag=tag, provider=table.text("provider", tag.split("/")[0].title()))
    endpoint = replace(
        standard,
        quantization=table.text("quantization", standard.quantization or "unknown"),
        context_length=table.whole("context_length", standard.context_length, least=1),
        max_completion_tokens=table.whole("max_completion_tokens", standard.max_completion_tokens or 0)
        or None,
        price_prompt=table.number("price_prompt", standard.price_prompt),
        price_completion=table.number("price_completion", standard.price_completion),
        supported_parameters=table.texts("supported_parameters", standard.supported_parameters),
        ttft_ms=table.span("ttft_ms", standard.ttft_ms),
        tokens_per_second=table.number("tokens_per_second", standard.tokens_per_second),
        status=table.whole("status", 0, least=None),
        uptime=table.optional_number("uptime", least=0, default=standard.uptime),
        trains_on_prompts=table.flag("trains_on_prompts", False),
        zdr=table.flag("zdr", True),
        faults=tuple(_fault(part) for part in table.tables("faults")),
    )
    table.finish()
    return endpoint


def _fault(table: Table) -> Fault:
    kind = table.choice("kind", None, tuple(KINDS))
    fault = Fault(
        kind=kind,
        params=_params(table, KINDS[kind].params),
        window=_window(table),
        probability=table.number("probability", 1.0, most=1),
        times=table.whole("times", 0) or None,
        when=frozenset(When(name) for name in table.choices("when", ("all",), tuple(When))),
        languages=frozenset(table.choices("languages", (), LANGUAGES)),
    )
    table.finish()
    return fault


def _gateway_fault(table: Table) -> GatewayFault:
    kind = table.choice("kind", None, tuple(GATEWAY_KINDS))
    fault = GatewayFault(
        kind=kind,
        params=_params(table, GATEWAY_KINDS[kind]),
        window=_window(table),
        probability=table.number("probability", 1.0, most=1),
        model=table.text("model", ""),
    )
    table.finish()
    return fault


def _params(table: Table, params: Mapping[str, Param]) -> dict[str, Any]:
    """The parameters a kind has, defaults filled in; a number is also taken where a text is wanted."""
    readers: dict[type, Callable[[str, Param], Any]] = {
        bool: lambda name, param: table.flag(name, param.default is True),
        float: lambda name, param: table.number(name, param.default, least=param.least, most=param.most),
        str: lambda name, param: (
            table.choice(name, param.default, param.choices)
            if param.choices
            else table.text(name, param.default, takes_numbers=True)
        ),
    }
    return {name: readers[param.type](name, param) for name, param in params.items()}


def _window(table: Table) -> Window:
    window = Window(
        after_s=table.number("after_s", 0.0),
        until_s=table.optional_number("until_s", least=0),
        every_s=table.optional_number("every_s", least=0.001),
    )
    if window.until_s is not None and window.until_s <= window.after_s:
        raise ScenarioError(f"{table.where}: `until_s` must be later than `after_s`.")
    if window.every_s is not None and max(window.after_s, window.until_s or 0) > window.every_s:
        raise ScenarioError(f"{table.where}: `after_s` and `until_s` must lie within `every_s`.")
    return window


def _check_tags(model: Model) -> None:
    tags = [endpoint.tag for endpoint in model.endpoints]
    twice = next((tag for tag in tags if tags.count(tag) > 1), None)
    if twice:
        raise ScenarioError(f"models.{model.id}: the tag {twice!r} occurs twice in `endpoints`.")


def _check_names(scenario: Scenario) -> None:
    """Model ids are unique, and a base slug has one display name throughout."""
    ids = [model.id for model in scenario.models]
    twice = next((id_ for id_ in ids if ids.count(id_) > 1), None)
    if twice:
        raise ScenarioError(f"scenario: the id {twice!r} occurs twice in `models`.")
    names: dict[str, str] = {}
    for model in scenario.models:
        for endpoint in model.endpoints:
            known = names.setdefault(endpoint.base_slug, endpoint.provider)
            if known != endpoint.provider:
                raise ScenarioError(
                    f"models.{model.id}.endpoints.{endpoint.tag}: `provider` is {endpoint.provider!r}, but "
                    f"{endpoint.base_slug} was called {known!r} before."
                )
