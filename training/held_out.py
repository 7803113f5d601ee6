"""Blocks that no training has seen: how many are written as the rules would write them, and how many guesses hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bs4 import BeautifulSoup

from pagecompiler.engine.llama.engine import PLAIN, LlamaEngine
from pagecompiler.engine.types import Completion, Decoding, Method, Request
from pagecompiler.fragment import clean_fragment, clean_style
from pagecompiler.monitor import BlockMonitor, StyleMonitor
from pagecompiler.placement import check_placement
from pagecompiler.plan import STYLE, Block
from pagecompiler.style import check_style
from pagecompiler.validate import validate_fragment
from training.corpus import SMALL_KINDS, WORK, Sample, generate

MTP_DEPTH = 3
_SEED = 99
_BUDGET = 1792  # the longest answers have about 1,500 tokens


@dataclass(slots=True)
class Score:
    """Counts over the samples of one kind: answers that equal the rules', and answers that pagec's checks accept."""

    samples: int = 0
    exact: int = 0
    accepted: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Guesses:
    """Of `tried` guesses, how many the target approved up to the first place, the second, and so on.

    What a guess says beyond the end of a block counts as refused.
    """

    tried: int
    accepted: tuple[int, ...]

    @property
    def shares(self) -> tuple[float, ...]:
        return tuple(count / self.tried for count in self.accepted)


def held_out(count: int) -> list[Sample]:
    """Different held-out samples, as frequent as in training. Of kinds with few descriptions all were trained on.

    When the training samples are at hand, a structure that is among them is left out even if it is held out today.
    """
    is_seen = _training_samples()
    found: dict[str, Sample] = {}
    for sample in generate(_SEED, held_out=True):
        if sample.structure.kind in SMALL_KINDS or not is_seen(sample):
            found.setdefault(sample.description, sample)
        if len(found) == count:
            break
    return list(found.values())


def _training_samples() -> Callable[[Sample], bool]:
    """Tells whether a prompt is among the training samples here; no prompt is where there are none."""
    if not any(WORK.glob("shard-*.npz")):
        return lambda sample: False
    # Only whoever has made the samples has a tokenizer at hand.
    from training.shards import prompt_key, seen_prompts
    from training.tokenizer import SampleEncoder, load_tokenizer

    seen, encoder = seen_prompts(WORK), SampleEncoder(load_tokenizer(WORK / "tokenizer.json"))
    return lambda sample: prompt_key(encoder.prompt(sample.messages)) in seen


def complete(
    path: Path, samples: Iterable[Sample], *, lanes: int, mask: bool, decoding: Decoding = PLAIN
) -> list[Completion]:
    """What the model answers, in order; with the engine's slot mask or without."""
    with LlamaEngine(path, lanes=lanes, decoding=decoding) as engine:
        numbers = [
            engine.submit(
                Request(
                    sample.messages,
                    _BUDGET,
                    sample.structure.kind,
                    slots=frozenset(slot.number for slot in sample.structure.slots) if mask else frozenset(),
                    monitor=StyleMonitor if sample.structure.kind == STYLE else BlockMonitor,
                )
            )
            for sample in samples
        ]
        done = {event.request: event.completion for event in engine.events() if event.completion}
    return [done[number] for number in numbers]


def complete_with_mtp(path: Path, samples: Sequence[Sample], *, lanes: int, mask: bool) -> list[Completion]:
    """The same answers, with guesses of the model's own MTP block."""
    decoding = Decoding(Method.MTP, depth=MTP_DEPTH, previous=False)
    return complete(path, samples, lanes=lanes, mask=mask, decoding=decoding)


def complete_with_draft(
    path: Path, draft: Path, samples: Sequence[Sample], *, lanes: int, mask: bool
) -> list[Completion]:
    """The same answers, with guesses of one token by a draft model."""
    decoding = Decoding(Method.DRAFT, depth=1, draft_model=draft, previous=False)
    return complete(path, samples, lanes=lanes, mask=mask, decoding=decoding)


def count_guesses(completions: Sequence[Completion], depth: int) -> Guesses:
    """The guesses of completions that were decoded with this depth."""
    columns = ([c.accepted_by_position[place : place + 1] for c in completions] for place in range(depth))
    accepted = tuple(sum(sum(counts) for counts in column) for column in columns)
    return Guesses(sum(completion.drafted for completion in completions) // depth, accepted)


def is_accepted(sample: Sample, text: str) -> bool:
    """Whether pagec's rules for fragments, or for styles, find nothing wrong."""
    if sample.structure.kind == STYLE:
        return not check_style(clean_style(text)).problems
    fragment = clean_fragment(text)
    if not fragment or list(validate_fragment(fragment)):
        return False
    body = BeautifulSoup(fragment, "html5lib").body
    block = Block(sample.structure.kind, sample.structure.kind, (), sample.structure)
    return body is not None and not check_placement(block, body).problems


def score(samples: Sequence[Sample], completions: Sequence[Completion]) -> dict[str, Score]:
    """A score for each kind."""
    scores: dict[str, Score] = defaultdict(Score)
    for sample, completion in zip(samples, completions, strict=True):
        entry = scores[sample.structure.kind]
        entry.samples += 1
        entry.exact += completion.text.strip() == sample.answer
        entry.accepted += is_accepted(sample, completion.text)
        entry.tokens += len(completion.tokens)
    return dict(scores)


def total(scores: Iterable[Score]) -> Score:
    """All kinds together."""
    entries = list(scores)
    return Score(
        sum(entry.samples for entry in entries),
        sum(entry.exact for entry in entries),
        sum(entry.accepted for entry in entries),
        sum(entry.tokens for entry in entries),
    )
