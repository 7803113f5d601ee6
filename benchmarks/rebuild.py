"""A rebuild with the old fragment as the guess, against the cold build of the new block with plain decoding.

    python -m benchmarks.rebuild pagec-mini.gguf wide.gguf --brief smollm2.gguf

For each model a features block of at least 250 tokens gets one item more in its middle, so that all slots behind it
have other numbers; the guess is the old fragment, spliced as the program does it. With --brief the four blocks of
specs/briefs/thermos.yaml that a model writes are written again after one sentence of the brief was changed; the guess
is the old text as it is, and the passes of all four are added up. Cold and warm runs alternate, each in a fresh engine
with one lane. The last warm answer is held against fresh plain evaluations. Wall time is that of the request, its
prompt included; the decode rate leaves the prompt out.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.workload import SPECS, Interval, arm, machine, run, threads_of, verdict
from pagecompiler import schema
from pagecompiler.engine.llama.referee import Referee
from pagecompiler.engine.types import Completion, FinishReason, Request
from pagecompiler.fragment import clean_fragment
from pagecompiler.ids import section_ids
from pagecompiler.monitor import BlockMonitor
from pagecompiler.plan import make_plan
from pagecompiler.prompts import PromptStyle, block_messages
from pagecompiler.slots import Structure, section_structure
from pagecompiler.spec import load_spec
from pagecompiler.splice import splice

BRIEF = SPECS / "briefs" / "thermos.yaml"
SENTENCES = {
    "hero": ("The flask holds 1 litre and keeps", "It holds 1 litre and keeps"),
    "how-it-keeps-the-heat": ("Plain words, no\n", "Short sentences, no\n"),
    "made-for-cold-hands": ("Wide grip,", "A wide grip,"),
    "order": ("Orders leave the same day.", "Orders leave on the same day."),
}
MOST_PASSES, MOST_PASSES_OF_BRIEF, LEAST_FASTER = 0.1, 0.5, 2.0
PLAIN = arm("plain")


@dataclass(frozen=True, slots=True)
class Change:
    """What is asked for before and after, and how an old answer becomes a guess."""

    old: Request
    new: Request
    splice: tuple[str, str] | None = None

    def guess(self, answer: str) -> str:
        return answer if self.splice is None else splice(self.splice[0], clean_fragment(answer), self.splice[1])


def item_added() -> Change:
    """Items of different shapes, and one more in the middle."""
    shapes = [
        {"title": "Fast", "text": "Boils one litre in ninety seconds.", "href": "/fast"},
        {"title": "Quiet as a cat on a cushion", "text": "You hear it only when it clicks."},
        {"title": "Safe", "href": "/safe"},
    ]
    before = [shapes[number % len(shapes)] for number in range(12)]
    after = [
        *before[:6],
        {"title": "One more", "text": "With a text and a link of its own.", "href": "/more"},
        *before[6:],
    ]
    old, new = (block(items) for items in (before, after))
    return Change(request(old), request(new), (old.description, new.description))


def block(items: list[dict[str, str]]) -> Structure:
    section = schema.Features.model_validate({"kind": "features", "heading": "Why this one", "items": items})
    return section_structure(section, 0)


def request(structure: Structure) -> Request:
    slots = frozenset(slot.number for slot in structure.slots)
    return Request(block_messages(structure), 1200, "block", slots=slots, monitor=BlockMonitor)


def sentence_changed(name: str) -> Change:
    """A brief before and after."""
    text = BRIEF.read_text(encoding="utf-8")
    old, new = SENTENCES[name]
    if text.count(old) != 1:
        raise ValueError(f"{BRIEF} does not hold the sentence of {name} any more")
    return Change(brief_request(text, name), brief_request(text.replace(old, new), name))


def brief_request(text: str, name: str) -> Request:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / BRIEF.name
        path.write_text(text, encoding="utf-8")
        page = load_spec(path).page
    blocks = make_plan(page, section_ids(page), prompts=PromptStyle.FULL).all_blocks
    (found,) = (each for each in blocks if each.name == name)
    slots = frozenset(slot.number for slot in found.structure.slots)
    messages = block_messages(found.structure, page, PromptStyle.FULL)
    return Request(messages, 400, name, slots=slots, monitor=BlockMonitor)


def report(
    model: Path, change: Change, options: argparse.Namespace, *, most_passes: float, wall: float | None
) -> tuple[int, int]:
    """Print what became of one change; the target passes with the guess and without."""

    def once(asked: Request) -> tuple[Completion, float]:
        done = run(model, PLAIN, [asked], lanes=1, threads=options.threads)
        return done.completions[0], done.decode_tokens_per_second

    before, _ = once(change.old)
    arms = [change.new, replace(change.new, previous=change.guess(before.text))]
    seconds, ratios, decode_ratios = [], [], []
    for pair in range(options.pairs):
        runs = {bool(asked.previous): once(asked) for asked in (arms if pair % 2 == 0 else arms[::-1])}
        (cold, cold_rate), (warm, warm_rate) = runs[False], runs[True]
        seconds.append((cold.seconds, warm.seconds))
        ratios.append(cold.seconds / warm.seconds)
        decode_ratios.append(warm_rate / cold_rate)
    threads = threads_of(model, options.threads)
    with Referee(model, threads=threads) as referee:
        gap = referee.gap([change.old, change.new], [before.tokens, cold.tokens])
        missing = referee.missing(change.new, warm.tokens, ended=warm.reason is FinishReason.END)
    beyond, near = (missing > gap).sum(), ((missing > 0) & (missing <= gap)).sum()
    passes = warm.target_passes / cold.target_passes
    accepted = warm.accepted / max(1, warm.drafted)
    whole = Interval.of(ratios)
    print(
        f"{model.name}, {threads} threads, {change.new.label}: {len(before.tokens)} tokens"
        f" before, {len(cold.tokens)} after ({cold.reason.value}), same text {warm.text == cold.text};"
        f" {beyond} tokens beyond the gap of {gap:.4f}, {near} near ties\n"
        f"  guess accepted {warm.accepted} of {warm.drafted} = {accepted:.3f}; target passes {warm.target_passes} of"
        f" {cold.target_passes} = {passes:.3f}, wanted {most_passes}: {verdict(passes <= most_passes)}\n"
        f"  wall time {np.median(seconds, axis=0).round(2).tolist()} s cold and warm, {whole} with the prompt"
        + (f", wanted {wall}: {verdict(whole.median >= wall)}" if wall else "")
        + f"; decoding alone {Interval.of(decode_ratios)}",
        flush=True,
    )
    return warm.target_passes, cold.target_passes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, help="pagec-mini, or models made of it")
    parser.add_argument("--brief", type=Path, help="a chat model that writes prose")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--threads", type=int, help="by default as the program chooses")
    options = parser.parse_args()
    print(f"{machine()}, one lane")
    for model in options.models:
        wall = LEAST_FASTER if "wide" in model.name else None
        report(model, item_added(), options, most_passes=MOST_PASSES, wall=wall)
    if options.brief:
        passes = [
            report(options.brief, sentence_changed(name), options, most_passes=MOST_PASSES_OF_BRIEF, wall=None)
            for name in SENTENCES
        ]
        warm, cold = (sum(each) for each in zip(*passes, strict=True))
        print(
            f"all four: target passes {warm} of {cold} = {warm / cold:.3f}, wanted {MOST_PASSES_OF_BRIEF}:"
            f" {verdict(warm <= MOST_PASSES_OF_BRIEF * cold)}"
        )


if __name__ == "__main__":
    main()
