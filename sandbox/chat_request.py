"""The body of a chat completion request, read and checked the way the gateway checks it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.failures import bad_request
from sandbox.languages import recognise
from sandbox.preferences import DEFAULT_PREFERENCES, Preferences, read_preferences
from sandbox.prose import count_tokens
from sandbox.scenario import RequestKind, When

# Keys of the body that describe the request itself, so `require_parameters` does not ask endpoints for them.
_NOT_PARAMETERS = frozenset(
    {
        "model",
        "models",
        "messages",
        "prompt",
        "stream",
        "stream_options",
        "provider",
        "usage",
        "user",
        "session_id",
        "metadata",
        "service_tier",
        "debug",
        "transforms",
        "plugins",
        "route",
        "prompt_cache_key",
    }
)

# What marks a prompt as role-play: the word in the seventeen languages, a scene or story to be continued, or an
# action between asterisks.
_ROLE_PLAY = re.compile(
    r"role[- ]?play|in[- ]character|continue the (?:scene|story|tale)|co-author|the narrator|"
    r"rollenspiel|rollenspel|jeux? de rôle|juegos? de rol|giochi? di ruolo|gioco di ruolo|"
    r"jogos? de (?:interpretação|rpg|papéis)|gr(?:a|y|ę|ze) fabularn|odgryw\w* r[oó]l|ролев|рольов|"
    r"rol (?:yap|oyun|can)|nhập vai|(?:bermain|permainan) peran|สวมบทบาท|บทบาทสมมติ|"
    r"ロールプレイ|역할극|역할 놀이|롤플레이|角色扮演|(?<!\*)\*(?=\w)[^*\n]{2,80}(?<=\S)\*(?!\*)",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class ChatRequest:
    """A checked request. `models` lists what to try in order; `parameters` are the sampling keys that were sent."""

    models: tuple[str, ...]
    kind: RequestKind
    language: str
    prompt_tokens: int
    stream: bool = False
    max_tokens: int | None = None
    schema: Mapping[str, Any] | None = None
    wants_json: bool = False
    tools: tuple[Mapping[str, Any], ...] = ()
    tool_choice: Any = "auto"
    has_prefill: bool = False
    reasoning_effort: str | None = None
    hides_reasoning: bool = False
    service_tier: str | None = None
    preferences: Preferences = DEFAULT_PREFERENCES
    parameters: frozenset[str] = frozenset()
    last_text: str = ""

    def is_asked(self, when: frozenset[When]) -> bool:
        """Whether a fault limited to `when` applies to this request."""
        mine = {When.ALL, When(self.kind.value), When.STREAM if self.stream else When.NO_STREAM}
        return not mine.isdisjoint(when)


def read(body: bytes, *, markers: tuple[str, ...] = ()) -> ChatRequest:
    """The request in `body`; `markers` are further words that make a prompt role-play.

    Raises GatewayRefusal (400) with one sentence for whatever the gateway would not take.
    """
    data = _json_object(body)
    messages = _messages(data)
    text = "\n".join(_text_of(message) for message in messages)
    tools = _tools(data)
    schema, wants_json = _response_format(data)
    has_tool_result = messages[-1].get("role") == "tool"
    calls_tool = bool(tools) and data.get("tool_choice") != "none" and not has_tool_result
    effort, hides = _reasoning(data)
    return ChatRequest(
        models=_models(data),
        kind=_kind(text, calls_tool=calls_tool, structured=schema is not None or wants_json, markers=markers),
        language=recognise(_asking_text(messages)),
        prompt_tokens=_prompt_tokens(data, text),
        stream=data.get("stream") is True,
        max_tokens=_max_tokens(data),
        schema=schema,
        wants_json=wants_json,
        tools=tools,
        tool_choice=data.get("tool_choice") or "auto",
        has_prefill=messages[-1].get("role") == "assistant",
        reasoning_effort=effort,
        hides_reasoning=hides,
        service_tier=data.get("service_tier") if isinstance(data.get("service_tier"), str) else None,
        preferences=read_preferences(data.get("provider")),
        parameters=frozenset(
            key for key, value in data.items() if key not in _NOT_PARAMETERS and value is not None
        ),
        last_text=_asking_text(messages)[:100],
    )


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        raise bad_request("The request body is not valid JSON.") from None
    if not isinstance(data, dict):
        raise bad_request("The request body must be a JSON object.")
    return data


def _models(data: Mapping[str, Any]) -> tuple[str, ...]:
    names = [data["model"]] if data.get("model") else []
    more = data.get("models") or []
    if not isinstance(more, list):
        raise bad_request("models must be an array of model ids")
    names += [name for name in more if name not in names]
    if not names:
        raise bad_request("No models provided")
    if not all(isinstance(name, str) for name in names):
        raise bad_request("model must be a string")
    return tuple(names)


def _messages(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    messages = data.get("messages")
    if not isinstance(messages, list) or not messages:
        raise bad_request('Input required: specify "prompt" or "messages"')
    for message in messages:
        if not isinstance(message, dict) or message.get("role") not in (
            "system",
            "developer",
            "user",
            "assistant",
            "tool",
        ):
            raise bad_request(
                "messages must be objects with a role of system, developer, user, assistant or tool"
            )
    return messages


def _text_of(message: Mapping[str, Any]) -> str:
    """A message's text: its content, or the text parts of it."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""


def _asking_text(messages: list[dict[str, Any]]) -> str:
    """The user's latest text, with what the user wrote before when it is too short to tell a language."""
    asked = ""
    for message in reversed(messages):
        if message.get("role") == "user":
            asked = f"{_text_of(message)}\n{asked}"
            if len(asked) >= 60:
                break
    return asked or "\n".join(_text_of(message) for message in messages)


def _kind(text: str, *, calls_tool: bool, structured: bool, markers: tuple[str, ...]) -> RequestKind:
    if calls_tool:
        return RequestKind.TOOLS
    if structured:
        return RequestKind.STRUCTURED
    if _ROLE_PLAY.search(text) or any(marker in text for marker in markers):
        return RequestKind.ROLE_PLAY
    return RequestKind.PROSE


def _prompt_tokens(data: Mapping[str, Any], text: str) -> int:
    """Tokens of the messages, plus the tools' and the schema's own text."""
    extra = "".join(json.dumps(data[key]) for key in ("tools", "response_format") if data.get(key))
    return count_tokens(text) + count_tokens(extra) + 4 * len(data["messages"])


def _max_tokens(data: Mapping[str, Any]) -> int | None:
    value = data.get("max_completion_tokens") or data.get("max_tokens")
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise bad_request("max_tokens must be a positive integer")
    return value


def _tools(data: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """The function objects of `tools`."""
    tools = data.get("tools") or []
    if not isinstance(tools, list):
        raise bad_request("tools must be an array")
    functions = [tool.get("function") for tool in tools if isinstance(tool, dict)]
    if len(functions) != len(tools) or not all(
        isinstance(function, dict) and isinstance(function.get("name"), str) for function in functions
    ):
        raise bad_request("every tool must have a function with a name")
    return tuple(function for function in functions if function)


def _response_format(data: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, bool]:
    """The schema of a json_schema format, and whether plain JSON is wanted."""
    wanted = data.get("response_format")
    if wanted is None:
        return None, False
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    if kind == "text":
        return None, False
    if kind == "json_object":
        return None, True
    described = wanted.get("json_schema") if kind == "json_schema" else None
    schema = described.get("schema") if isinstance(described, dict) else None
    if not isinstance(schema, dict):
        raise bad_request(
            "response_format must be text, json_object, or json_schema with a json_schema.schema"
        )
    return schema, False


def _reasoning(data: Mapping[str, Any]) -> tuple[str | None, bool]:
    """The effort that was asked for (`none` switches it off, None leaves it to the model) and whether it is hidden."""
    wish = data.get("reasoning")
    if not isinstance(wish, dict):
        effort = data.get("reasoning_effort")
        return (effort if isinstance(effort, str) else None), data.get("include_reasoning") is False
    effort = wish.get("effort")
    if wish.get("enabled") is False:
        effort = "none"
    elif effort is None and (wish.get("enabled") or wish.get("max_tokens")):
        effort = "medium"
    return (effort if isinstance(effort, str) else None), wish.get("exclude") is True
