"""Messages → tokens, by the chat template of the GGUF file.

Message content is only ever a value. The template is rendered with placeholders in place of the contents; the
result is split at the placeholders, the template's parts are tokenised with control tokens, the contents
without. So `<|im_end|>` in a content is plain text, whatever the template does, and no content can steer the
template.

The price: a token never spans the border between a template part and a content, and a filter of the template
(such as `trim`) does not reach the content. Templates put control tokens or a line break at these borders,
where byte-pair vocabularies do not merge either; contents should come without leading and trailing white
space. The gain besides safety: the tokens of the first message are always the same, so requests share them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from pagecompiler.engine.base import EngineError, ModelLoadError
from pagecompiler.engine.types import Message

_PLACEHOLDER = "\ue000{}\ue001"
_PLACEHOLDERS = re.compile("\ue000(\\d+)\ue001")
_CLOSED_THINKING = re.compile(r"</think(?:ing)?>\s*\Z")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt in tokens; the first `shared` of them depend on the first message only."""

    tokens: tuple[int, ...]
    shared: int


class Tokenizer(Protocol):
    """What is needed of a model to write prompts; tokens are ids."""

    @property
    def begin_token(self) -> int:
        """The begin-of-text token, negative when there is none."""

    @property
    def end_token(self) -> int:
        """The end-of-text token, negative when there is none."""

    @property
    def adds_begin(self) -> bool:
        """Whether a prompt must start with the begin-of-text token."""

    def token_text(self, token: int) -> str:
        """How the vocabulary writes a token, control tokens too."""

    def tokenize(self, text: str, *, parse_special: bool) -> list[int]:
        """The tokens of a text."""


class ChatTemplate:
    """A chat template, rendered in a sandbox. Raises ModelLoadError when it is of no use.

    A template without a system role gets the system message in front of the first user message. A template
    that knows `enable_thinking` must close its think block when that is false: the answer must begin at once.
    """

    def __init__(self, source: str, *, begin_text: str = "", end_text: str = "") -> None:
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _raise
        environment.globals["strftime_now"] = _strftime_now
        self._globals = {"bos_token": begin_text, "eos_token": end_text}
        try:
            self._template = environment.from_string(source)
        except jinja2.TemplateError as error:
            raise ModelLoadError(f"the chat template cannot be read: {error}") from error
        self._folds_system = False
        system, user = Message("system", ""), Message("user", "")
        if not self._renders([system, user]):
            self._folds_system = True
            if not self._renders([system, user]):
                raise ModelLoadError(
                    "the chat template does not render a system and a user message",
                    hint="use a chat (instruct) model",
                )
        if "enable_thinking" in source:
            text = "".join(part for part in self.render([system, user]) if isinstance(part, str))
            if not _CLOSED_THINKING.search(text):
                raise ModelLoadError("the chat template leaves its think block open with enable_thinking=false")

    def render(self, messages: Sequence[Message]) -> list[str | Message]:
        """The prompt in order: the template's parts as text, and where a content goes, its message.

        Raises EngineError when the template refuses these messages.
        """
        try:
            text = self._render(messages)
        except Exception as error:  # a template is a foreign program: it can raise anything
            raise EngineError(f"the chat template refuses the messages: {error}") from error
        parts = _PLACEHOLDERS.split(text)
        if {int(number) for number in parts[1::2]} != set(range(len(messages))):
            raise EngineError("the chat template leaves out a message")
        return [messages[int(part)] if i % 2 else part for i, part in enumerate(parts)]

    def _renders(self, messages: Sequence[Message]) -> bool:
        try:
            self.render(messages)
        except EngineError:
            return False
        return True

    def _render(self, messages: Sequence[Message]) -> str:
        turns = [{"role": m.role, "content": _PLACEHOLDER.format(i)} for i, m in enumerate(messages)]
        if self._folds_system and len(turns) > 1 and turns[0]["role"] == "system":
            turns[1]["content"] = turns[0]["content"] + "\n\n" + turns[1]["content"]
            del turns[0]
        return self._template.render(
            messages=turns, add_generation_prompt=True, enable_thinking=False, tools=None, **self._globals
        )


class PromptWriter:
    """Writes the prompts of one model and knows which part of them is shared."""

    def __init__(self, tokenizer: Tokenizer, template: ChatTemplate) -> None:
        self._tokenizer = tokenizer
        self._template = template
        self._prefixes: dict[Message, tuple[int, ...]] = {}

    def write(self, messages: Sequence[Message]) -> Prompt:
        """The prompt of these messages."""
        tokens = self._tokens(messages)
        prefix = self._prefix(messages[0]) if len(messages) > 1 else ()
        # The last token is never shared: its logits are needed.
        shared = len(prefix) if len(prefix) < len(tokens) and tokens[: len(prefix)] == prefix else 0
        return Prompt(tokens, shared)

    def _prefix(self, first: Message) -> tuple[int, ...]:
        """What all prompts that begin with this message have in common, seen on two that differ at once."""
        found = self._prefixes.get(first)
        if found is None:
            one, other = (self._tokens([first, Message("user", content)]) for content in "0a")
            same = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
            found = self._prefixes[first] = one[:same]
        return found

    def _tokens(self, messages: Sequence[Message]) -> tuple[int, ...]:
        tokens: list[int] = []
        for part in self._template.render(messages):
            if isinstance(part, str):
                tokens += self._tokenizer.tokenize(part, parse_special=True)
            else:
                tokens += self._tokenizer.tokenize(part.content, parse_special=False)
        begin = self._tokenizer.begin_token
        if self._tokenizer.adds_begin and begin >= 0 and tokens[:1] != [begin]:
            tokens.insert(0, begin)
        return tuple(tokens)


def _to_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _raise(message: str) -> None:
    raise jinja2.TemplateError(message)


def _strftime_now(form: str) -> str:
    return datetime.now().strftime(form)
