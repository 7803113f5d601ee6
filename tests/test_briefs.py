"""Briefs: the model writes words, but no facts, and in the elements that hold text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pagecompiler.build import CompileOptions, EngineSource, PageResult, compile_spec
from pagecompiler.engine.scripted import ScriptedEngine
from pagecompiler.engine.types import Request
from pagecompiler.models import ModelChoice
from pagecompiler.prompts import PromptStyle, block_messages, style_structure
from pagecompiler.schema import Theme
from pagecompiler.spec import LoadedSpec
from tests.test_link import blocks_of, html, link_block

Load = Callable[[str], LoadedSpec]

BRIEF = """title: Kettle 90
hero: {heading: A kettle}
sections:
- {kind: prose, id: p, heading: How it is made, brief: Two paragraphs on why a double wall keeps water hot for 60 minutes.}
- {kind: cta, id: c, heading: Buy, actions: [{text: Order, href: /buy}], brief: One sentence on why now.}
"""
WORDS = "A double wall of steel holds the heat in the water, so it stays hot for 60 minutes and more."


def prose(inner: str) -> str:
    return f'<section class="prose">\n<h2>{{{{1}}}}</h2>\n<div class="text">\n{inner}\n</div>\n</section>'


def test_words_of_the_models_own_stand_in_the_page(load: Load) -> None:
    linked = link_block(
        load(BRIEF), "p", prose(f"<p>{WORDS}</p>\n<p>It is <strong>simple</strong> and lasts long.</p>")
    )
    assert WORDS in html(linked) and "<strong>simple</strong>" in html(linked)


SENTENCE = "The wall of steel keeps the water hot for long"


@pytest.mark.parametrize(
    "inner",
    [
        f"<p>{SENTENCE}.</p>",
        f"<ul><li>{SENTENCE}</li></ul>",
        f"<p><strong>{SENTENCE}</strong> and <em>it is quiet</em>, see <code>boil</code>.</p>",
        f"<h3>A double wall</h3><p>{SENTENCE}.</p>",
        f"<details><summary>Why a double wall?</summary><p>{SENTENCE}.</p></details>",
    ],
)
def test_where_words_of_the_models_own_may_stand(load: Load, inner: str) -> None:
    assert SENTENCE in html(link_block(load(BRIEF), "p", prose(inner)))


def test_in_a_link_only_where_its_address_is_a_slot(load: Load) -> None:
    link = '<section class="cta"><h2>{{1}}</h2><p>Now is the time for a good kettle.</p><p><a href="%s">%s</a></p></section>'
    own = html(link_block(load(BRIEF), "c", link % ("{{3}}", "<span>{{2}}</span> today")))
    assert '<a href="/buy"><span>Order</span> today</a>' in own
    for address in ("/buy", "https://example.com", "#top"):
        refused = link_block(load(BRIEF), "c", link % (address, "<span>{{2}}</span> today"))
        assert "E0405" in {finding.code for finding in refused.diagnostics}


@pytest.mark.parametrize(
    ("code", "inner"),
    [
        ("E0419", "<p>Hot.</p>"),
        ("E0420", "<p>" + "The wall keeps the water hot. " * 80 + "</p>"),
        ("E0421", f"<p>{WORDS} It takes 3 hours.</p>"),
        ("E0421", f"<p>{WORDS} See https://kettle.example/why for more.</p>"),
        ("E0421", f"<p>{WORDS} Write to us@kettle.example now.</p>"),
        ("E0421", f"<p>{WORDS} See kettle-facts.com for more.</p>"),
        ("E0422", f"<p>{WORDS} It is **very** good.</p>"),
        ("E0422", f"<p>{WORDS} See [your name] for more.</p>"),
        ("E0423", "<p>Die doppelte Wand hält das Wasser heiß, und das ist gut für den Tee und auch für die Suppe.</p>"),
        ("E0423", "<p>" + "двойная стенка сохраняет воду горячей " * 3 + "</p>"),
        ("E0406", f"<div>{WORDS}</div>"),
        ("E0406", f"<p><span>{WORDS}</span></p>"),
        ("E0406", f"<p>{WORDS}</p><blockquote>So it is said by all.</blockquote>"),
        ("E0405", f'<p>{WORDS} <a href="/made-up">Read on</a>.</p>'),
        ("E0407", f"<p>{WORDS} {{{{2}}}}</p>"),
        ("E0404", f"<p>{WORDS}</p><h4>More of it here</h4>"),
    ],
)
def test_what_a_brief_may_not_be_answered_with(load: Load, code: str, inner: str) -> None:
    result = link_block(load(BRIEF), "p", prose(inner))
    assert code in {finding.code for finding in result.diagnostics}, [f.message for f in result.diagnostics]


def test_the_fields_beside_a_brief_stay_required(load: Load) -> None:
    loaded = load(BRIEF)
    words = "Water is wanted every day, and a good kettle saves some of each."
    good = (
        f'<section class="cta"><h2>{{{{1}}}}</h2><p>{words}</p>'
        '<ul class="actions"><li><a class="button" href="{{3}}">{{2}}</a></li></ul></section>'
    )
    assert words in html(link_block(loaded, "c", good))
    without = good.replace('<ul class="actions"><li><a class="button" href="{{3}}">{{2}}</a></li></ul>', "")
    assert "E0412" in {finding.code for finding in link_block(loaded, "c", without).diagnostics}
    mixed = good.replace("{{2}}", "{{2}} right now")
    assert "E0406" in {finding.code for finding in link_block(loaded, "c", mixed).diagnostics}


def test_no_brief_no_words(load: Load) -> None:
    loaded = load("sections:\n- {kind: prose, id: p, heading: H, paragraphs: [a]}")
    broken = prose(f'<p data-each="paragraphs">{{{{2}}}}</p><p>{WORDS}</p>')
    assert "E0406" in {finding.code for finding in link_block(loaded, "p", broken).diagnostics}


def test_full_prompts_share_their_first_message_and_only_briefs_show_texts(load: Load) -> None:
    loaded = load(BRIEF)
    blocks = blocks_of(loaded)
    asked = {name: block_messages(block.structure, loaded.page, PromptStyle.FULL) for name, block in blocks.items()}
    assert len({messages[0] for messages in asked.values()}) == 1
    assert "kettle" not in asked["hero"][1].content.lower()
    assert "Two paragraphs on why" in asked["p"][1].content and "How it is made" in asked["p"][1].content
    assert "in English, at most 220 words" in asked["p"][1].content
    assert "Its first words: A kettle" in asked["p"][1].content  # the page's texts, so that the words fit them
    first = next(iter(asked.values()))[0].content
    assert all(text not in first for text in ("kettle", "Kettle", "English"))


def test_hostile_texts_are_values_in_a_prompt(load: Load) -> None:
    loaded = load(BRIEF.replace("How it is made", "'{{ 7 * 7 }} {% raw %}'"))
    content = block_messages(blocks_of(loaded)["p"].structure, loaded.page, PromptStyle.FULL)[1].content
    assert "{{ 7 * 7 }} {% raw %}" in content


def test_a_full_style_prompt_has_the_mood_as_it_was_written() -> None:
    theme = Theme(mood="calm, like early morning fog")
    assert style_structure(theme, PromptStyle.FULL).lines[-1] == "mood: calm, like early morning fog"
    assert style_structure(theme).lines[-1] == "mood: calm"


ANSWERS = {
    "style": ":root {\n--space: 1.2;\n}",
    "hero": '<section class="hero center"><h1>{{1}}</h1></section>',
    "c": '<section class="cta"><h2>{{1}}</h2><p>Because water is wanted every single day of the year.</p>'
    '<ul class="actions"><li><a class="button" href="{{3}}">{{2}}</a></li></ul></section>',
}
GOOD = prose(f"<p>{WORDS}</p>")


def compiled(loaded: LoadedSpec, folder: Path, answers: list[str]) -> tuple[PageResult, ScriptedEngine]:
    """The page when a model gives these answers, one after the other, for the block `p`."""
    engine = ScriptedEngine(ANSWERS | {"p": answers})
    model = ModelChoice("real.gguf", Path("real.gguf"), "real", "test", None)
    return compile_spec(loaded, EngineSource(model, lambda: engine), CompileOptions(cache_dir=folder / "c")), engine


@pytest.mark.parametrize(
    "answer",
    [
        f"```html\n{GOOD}\n```",
        f"Sure, here it is:\n{GOOD}\nI hope it helps.",
        f"<!DOCTYPE html>\n<html><head><title>Kettle 90</title></head><body>\n{GOOD}\n</body></html>",
        f"<think>Two paragraphs. 3 of them?</think>\n{GOOD}",
        f"Two paragraphs, I think.\n</think>\n{GOOD}",
    ],
)
def test_what_stands_around_an_answer_is_taken_off(load: Load, tmp_path: Path, answer: str) -> None:
    result, engine = compiled(load(BRIEF), tmp_path, [answer])
    assert result.ok, [finding.message for finding in result.diagnostics]
    assert len([request for request in engine.requests if request.label == "p"]) == 1
    plain, _ = compiled(load(BRIEF), tmp_path / "plain", [GOOD])
    assert result.html == plain.html


BAD = {
    "a number": ("E0421", prose(f"<p>{WORDS} It takes 3 hours.</p>")),
    "a URL": ("E0421", prose(f"<p>{WORDS} See https://kettle.example/why for more.</p>")),
    "an e-mail address": ("E0421", prose(f"<p>{WORDS} Write to us@kettle.example now.</p>")),
    "another language": (
        "E0423",
        prose("<p>Die Wand hält das Wasser heiß, und das ist gut für den Tee und die Suppe.</p>"),
    ),
    "too many words": (
        "E0420",
        prose("<p>" + " ".join(f"Word{chr(97 + n % 26)} goes {chr(97 + n // 26)} on." for n in range(120)) + "</p>"),
    ),
    "no words": ("E0415", prose("<p></p>")),
    "nothing": ("E0401", ""),
    "no markup": ("E0401", "The wall keeps the water hot for an hour."),
    "only thoughts": ("E0401", "<think>Two paragraphs, let me see."),
    "thoughts in the text": ("E0422", prose(f"<p>{WORDS} &lt;/think&gt; That is all.</p>")),
    "Markdown": ("E0422", prose(f"<p>{WORDS} That is **all**.</p>")),
    "another document": (
        "E0402",
        '<html><body><section class="prose"><h2>{{1}}</h2><main>x</main></section></body></html>',
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_answer_is_asked_for_again(load: Load, tmp_path: Path, name: str) -> None:
    result, engine = compiled(load(BRIEF), tmp_path, [BAD[name][1], GOOD])
    assert result.ok and result.html is not None and WORDS in result.html
    assert len([request for request in engine.requests if request.label == "p"]) == 2


@pytest.mark.parametrize("name", BAD)
def test_nothing_but_bad_answers_end_in_a_diagnostic_at_the_block(load: Load, tmp_path: Path, name: str) -> None:
    code, answer = BAD[name]
    result, _ = compiled(load(BRIEF), tmp_path, [answer] * 3)
    findings = [finding for finding in result.diagnostics if finding.code == code]
    assert not result.ok and findings, [(finding.code, finding.message) for finding in result.diagnostics]
    assert findings[0].span is not None and findings[0].span.line in (4, 5) and "`p`" in findings[0].message


def test_a_refused_answer_is_shown_with_its_faults(load: Load, tmp_path: Path) -> None:
    refused = prose(f"<p>{WORDS} It takes 3 hours.</p>")
    result, engine = compiled(load(BRIEF), tmp_path, [refused, GOOD])
    assert result.ok, [finding.message for finding in result.diagnostics]
    second: Request = [request for request in engine.requests if request.label == "p"][1]
    assert [message.role for message in second.messages] == ["system", "user", "assistant", "user"]
    assert second.messages[2].content == refused
    assert "the number `3` is neither in the spec" in second.messages[-1].content
