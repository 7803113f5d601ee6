"""Chat templates: contents stay data, think blocks are closed, first messages are shared."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagecompiler.engine.base import EngineError, ModelLoadError
from pagecompiler.engine.llama.chat import ChatTemplate, PromptWriter
from pagecompiler.engine.types import Message

from .tiny_models import CHATML, CONTROL, INST

SYSTEM = Message("system", "Write HTML.")
USER = Message("user", "kind: hero")


FIRST_CONTROL = 0x110000
BEGIN, END = (FIRST_CONTROL + CONTROL.index(text) for text in ("<s>", "</s>"))


class Characters:
    """A tokenizer of characters and, behind them, of control tokens."""

    begin_token, end_token = BEGIN, END

    def __init__(self, adds_begin: bool = False) -> None:
        self.adds_begin = adds_begin

    def token_text(self, token):
        return CONTROL[token - FIRST_CONTROL]

    def tokenize(self, text, *, parse_special):
        tokens = []
        while text:
            control = next((c for c in CONTROL if text.startswith(c)), None) if parse_special else None
            tokens.append(FIRST_CONTROL + CONTROL.index(control) if control else ord(text[0]))
            text = text[len(control or "?") :]
        return tokens


def rendered(template: str, *messages: Message) -> str:
    parts = ChatTemplate(template, begin_text="<s>", end_text="</s>").render(messages)
    return "".join(part if isinstance(part, str) else part.content for part in parts)


def test_a_template_with_a_system_role():
    assert rendered(CHATML, SYSTEM, USER) == (
        "<|im_start|>system\nWrite HTML.<|im_end|>\n<|im_start|>user\nkind: hero<|im_end|>\n"
        "<|im_start|>assistant\n<think>\n\n</think>\n\n"
    )


def test_without_a_system_role_it_goes_into_the_first_user_message():
    assert rendered(INST, SYSTEM, USER) == "<s>[INST] Write HTML.\n\nkind: hero [/INST]"
    retry = (Message("assistant", "<p>"), Message("user", "again"))
    assert rendered(INST, SYSTEM, USER, *retry).endswith("[/INST]<p></s>[INST] again [/INST]")
    assert rendered(INST, USER) == "<s>[INST] kind: hero [/INST]"


def test_a_template_that_drops_the_system_message_is_folded():
    template = "{% for m in messages if m.role != 'system' %}<{{ m.content }}>{% endfor %}"
    assert rendered(template, SYSTEM, USER) == "<Write HTML.\n\nkind: hero>"


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{% for %}", "cannot be read"),
        ("{{ messages[0].missing.deeper }}", "does not render"),
        ("{{ raise_exception('never') }}", "does not render"),
        ("hello", "does not render"),
        ("{{ messages.append(1) }}", "does not render"),
        ("{{ ''.__class__.__mro__ }}", "does not render"),
        (CHATML.replace("\\n</think>", ""), "think block open"),
        (CHATML.replace("enable_thinking is false", "enable_thinking"), "think block open"),
    ],
)
def test_useless_templates(template, reason):
    with pytest.raises(ModelLoadError, match=reason):
        ChatTemplate(template)


def test_a_template_that_knows_no_thinking_needs_no_block():
    assert rendered("{% for m in messages %}{{ m.content }}\n{% endfor %}", SYSTEM, USER)


def test_a_template_may_refuse_some_messages():
    with pytest.raises(EngineError, match="refuses"):
        rendered(INST, SYSTEM, USER, USER)


def test_helpers_of_common_templates():
    template = (
        "{% for m in messages %}{% if m.role == 'skip' %}{% continue %}{% endif %}{{ m.content | trim }}"
        "{% endfor %}{{ strftime_now('%%') }}{{ {'é': '<'} | tojson }}"
    )
    assert rendered(template, SYSTEM, USER) == 'Write HTML.kind: hero%{"é": "<"}'


@settings(deadline=None)
@given(st.lists(st.sampled_from([*CONTROL, "{{ 1 }}", "{% x %}", "\ue0000\ue001", "a", "\n", "é"]), max_size=6))
def test_content_is_never_parsed(parts):
    content = "".join(parts)
    writer = PromptWriter(Characters(), ChatTemplate(CHATML))
    tokens = writer.write([SYSTEM, Message("user", content)]).tokens
    empty = writer.write([SYSTEM, Message("user", "")]).tokens
    start = writer.write([SYSTEM, Message("user", "")]).shared
    assert tokens == (*empty[:start], *map(ord, content), *empty[start:])


def test_the_first_message_is_shared():
    writer = PromptWriter(Characters(), ChatTemplate(CHATML))
    prompts = [writer.write([SYSTEM, Message("user", text)]) for text in ("0", "a", "kind: hero", "")]
    shared = "<|im_start|>system\nWrite HTML.<|im_end|>\n<|im_start|>user\n"
    assert {prompt.shared for prompt in prompts} == {len(Characters().tokenize(shared, parse_special=True))}
    assert len({prompt.tokens[: prompt.shared] for prompt in prompts}) == 1
    assert writer.write([USER]).shared == 0


def test_the_begin_token_stands_once():
    def begins(template, adds_begin):
        writer = PromptWriter(Characters(adds_begin), ChatTemplate(template, begin_text="<s>"))
        return [i for i, token in enumerate(writer.write([USER]).tokens) if token == BEGIN]

    assert begins(CHATML, adds_begin=True) == [0]
    assert begins(INST, adds_begin=True) == [0]
    assert begins(INST, adds_begin=False) == [0]
    assert begins(CHATML, adds_begin=False) == []
