"""What a healthy upstream answers: prose in the prompt's language, an object under the schema, or a tool call."""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import Any

from sandbox.chat_request import ChatRequest
from sandbox.prose import count_tokens, cut_to_tokens, library
from sandbox.scenario import Endpoint, Model, Reasoning, RequestKind
from sandbox.schemas import example
from sandbox.turn import ToolCall, Turn, Usage

_ID_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_THOUGHTS = (
    "The user wants a direct answer in the language of the prompt. I should keep the tone and the length.",
    "Let me look at what is asked, keep to the given form, and answer without any preamble.",
)


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Everything an upstream knows when it answers.

    `rng` is its own, seeded by endpoint and request counter; `wall_s` is the Unix time.
    """

    request: ChatRequest
    model: Model
    endpoint: Endpoint
    rng: Random
    wall_s: float

    @property
    def language(self) -> str:
        """The language a healthy answer is in."""
        fixed = self.model.answer_language
        return self.request.language if fixed == "auto" else fixed


def random_id(rng: Random, length: int) -> str:
    """Letters and digits as they stand in the gateway's ids."""
    return "".join(rng.choices(_ID_LETTERS, k=length))


def healthy(scene: Scene) -> Turn:
    """The turn of an upstream without faults, within the request's token limit."""
    reasoning = _reasoning(scene)
    text, calls, finish = _content(scene)
    thought_tokens = count_tokens(reasoning)
    limit = _token_limit(scene)
    if limit is not None and not calls and thought_tokens + count_tokens(text or "") > limit:
        reasoning = cut_to_tokens(reasoning, limit)
        thought_tokens = min(thought_tokens, limit)
        text, finish = cut_to_tokens(text or "", limit - thought_tokens), "length"
        answer_tokens = limit - thought_tokens
    else:
        answer_tokens = count_tokens(text or "") + sum(
            count_tokens(call.arguments or "") + 12 for call in calls
        )
    tokens = thought_tokens + answer_tokens
    endpoint = scene.endpoint
    low, high = endpoint.ttft_ms
    return Turn(
        text=text,
        reasoning="" if scene.request.hides_reasoning else reasoning,
        tool_calls=calls,
        finish=finish,
        native_finish=finish,
        usage=usage(scene, tokens, thought_tokens),
        shown_provider=endpoint.provider,
        ttft_s=scene.rng.uniform(low, high) / 1000,
        duration_s=tokens / endpoint.tokens_per_second if endpoint.tokens_per_second else 0.0,
    )


def usage(scene: Scene, completion_tokens: int, reasoning_tokens: int = 0) -> Usage:
    """The usage of an answer of so many tokens at the endpoint's prices."""
    return Usage(
        prompt_tokens=scene.request.prompt_tokens,
        completion_tokens=completion_tokens,
        reasoning_tokens=reasoning_tokens,
        price_prompt=scene.endpoint.price_prompt,
        price_completion=scene.endpoint.price_completion,
    )


def _token_limit(scene: Scene) -> int | None:
    limits = [limit for limit in (scene.request.max_tokens, scene.endpoint.max_completion_tokens) if limit]
    return min(limits) if limits else None


def _reasoning(scene: Scene) -> str:
    """The model's thoughts: always where mandatory, on request where optional."""
    kind, effort = scene.model.reasoning, scene.request.reasoning_effort
    thinks = kind is Reasoning.MANDATORY or (kind is Reasoning.OPTIONAL and effort not in (None, "none"))
    return scene.rng.choice(_THOUGHTS) if thinks else ""


def _content(scene: Scene) -> tuple[str | None, tuple[ToolCall, ...], str]:
    """Text, tool calls and finish reason."""
    request = scene.request
    if request.kind is RequestKind.TOOLS:
        return None, (_tool_call(scene),), "tool_calls"
    supported = scene.endpoint.supported_parameters
    if request.schema is not None and "structured_outputs" in supported:
        return json.dumps(example(request.schema, scene.rng), ensure_ascii=False), (), "stop"
    if (request.wants_json or request.schema is not None) and "response_format" in supported:
        return json.dumps({"answer": "The lantern is lit.", "confidence": 0.9}), (), "stop"
    return _paragraph(scene), (), "stop"


def _paragraph(scene: Scene) -> str:
    """One of the language's scenes, one that fits the token limit if there is such a scene."""
    prose = library()[scene.language]
    texts = [prose.text(index) for index in range(len(prose.scenes))]
    limit = _token_limit(scene)
    fitting = [text for text in texts if limit is None or count_tokens(text) <= limit]
    return scene.rng.choice(fitting or texts)


def _tool_call(scene: Scene) -> ToolCall:
    """A call of the chosen tool, or of the first one."""
    tool = _chosen_tool(scene.request)
    arguments: Any = example(tool.get("parameters") or {"type": "object"}, scene.rng)
    return ToolCall(
        id=f"call_{random_id(scene.rng, 24)}",
        name=tool["name"],
        arguments=json.dumps(arguments, ensure_ascii=False),
    )


def _chosen_tool(request: ChatRequest) -> Any:
    choice = request.tool_choice
    named = choice.get("function", {}).get("name") if isinstance(choice, dict) else None
    return next((tool for tool in request.tools if tool["name"] == named), request.tools[0])
