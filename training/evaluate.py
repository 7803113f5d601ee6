"""How good a GGUF is on structures it was not trained on, through pagec's own engine: `python -m training.evaluate`.

For each kind: the share of fragments equal to the reference engine's at temperature 0, and the share that pagec's
rules for fragments accept (another layout can be as right). With `--checkpoint` also how often the guesses of its MTP
block are right, or those of a draft model.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from bs4 import BeautifulSoup

from pagecompiler.engine.llama.engine import LlamaEngine
from pagecompiler.engine.types import Completion, Request
from pagecompiler.fragment import clean_fragment, clean_style
from pagecompiler.placement import check_placement
from pagecompiler.plan import STYLE, Block
from pagecompiler.style import check_style
from pagecompiler.validate import validate_fragment
from training.corpus import SMALL_KINDS, Sample, generate
from training.export import MODEL_PATH, load_model
from training.model import PageModel
from training.prepare import WORK
from training.shards import prompt_key, seen_prompts
from training.tokenizer import SampleEncoder, load_tokenizer

_SEED = 99
_BUDGET = 1792  # the longest answers have about 1,500 tokens


@dataclass(slots=True)
class Score:
    """Counts over the samples of one kind, or of all."""

    samples: int = 0
    exact: int = 0
    accepted: int = 0
    tokens: int = 0

    def line(self, name: str) -> str:
        exact, accepted = self.exact / self.samples, self.accepted / self.samples
        return f"| {name} | {self.samples} | {exact:.1%} | {accepted:.1%} | {self.tokens / self.samples:.0f} |"


def unseen(count: int) -> list[Sample]:
    """Different held-out samples, as frequent as in training. Of kinds with few descriptions all were trained on.

    When the training samples are at hand, a structure that is among them is left out even if it is held out today.
    """
    encoder = SampleEncoder(load_tokenizer(WORK / "tokenizer.json"))
    seen = seen_prompts(WORK)
    found: dict[str, Sample] = {}
    for sample in generate(_SEED, held_out=True):
        if sample.structure.kind in SMALL_KINDS or prompt_key(encoder.prompt(sample.messages)) not in seen:
            found.setdefault(sample.description, sample)
        if len(found) == count:
            break
    return list(found.values())


def complete(path: Path, samples: Iterable[Sample], *, lanes: int, threads: int | None, mask: bool) -> list[Completion]:
    """What the model answers, in order."""
    with LlamaEngine(path, lanes=lanes, threads=threads) as engine:
        numbers = [
            engine.submit(
                Request(
                    sample.messages,
                    _BUDGET,
                    sample.structure.kind,
                    slots=frozenset(slot.number for slot in sample.structure.slots) if mask else frozenset(),
                )
            )
            for sample in samples
        ]
        done = {event.request: event.completion for event in engine.events() if event.completion}
    return [done[number] for number in numbers]


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


def score(samples: list[Sample], completions: list[Completion]) -> dict[str, Score]:
    """A score for each kind, and one named `all`."""
    scores: dict[str, Score] = defaultdict(Score)
    for sample, completion in zip(samples, completions, strict=True):
        exact = completion.text.strip() == sample.answer
        accepted = is_accepted(sample, completion.text)
        for name in (sample.structure.kind, "all"):
            entry = scores[name]
            entry.samples += 1
            entry.exact += exact
            entry.accepted += accepted
            entry.tokens += len(completion.tokens)
    return dict(scores)


def agreement(model: PageModel, samples: list[Sample]) -> float:
    """How often a draft model's next token is the reference's, over all tokens of the answers."""
    encoder = SampleEncoder(load_tokenizer(WORK / "tokenizer.json"))
    right = count = 0
    for sample in samples:
        prompt, answer = encoder.prompt(sample.messages), encoder.answer(sample.answer)
        with torch.no_grad():
            logits = model.head(model.trunk(torch.tensor([prompt + answer])))[0, len(prompt) - 1 : -1]
        right += int((logits.argmax(-1) == torch.tensor(answer)).sum())
        count += len(answer)
    return right / count


def mtp_acceptance(model: PageModel, samples: list[Sample], depth: int = 3) -> list[float]:
    """For each depth, how often the guess is the reference's token where all guesses before were right."""
    encoder = SampleEncoder(load_tokenizer(WORK / "tokenizer.json"))
    right, tried = [0] * depth, [0] * depth
    for sample in samples:
        prompt, answer = encoder.prompt(sample.messages), encoder.answer(sample.answer)
        ids = torch.tensor([prompt + answer])
        with torch.no_grad():
            hidden = model.trunk(ids)
            good = torch.ones(ids.shape[1] - 1, dtype=torch.bool)
            good[: len(prompt)] = False  # row i guesses the token after ids[i]
            for step in range(depth):
                hidden = model.mtp(hidden, ids)
                hits = model.head(hidden)[0, :-1].argmax(-1) == ids[0, 1:]
                tried[step] += int(good.sum())
                good &= hits
                right[step] += int(good.sum())
                good = torch.cat([good[:1] & False, good[:-1]])  # the next guess is one token further on
    return [hit / count for hit, count in zip(right, tried, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=MODEL_PATH)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--lanes", type=int, default=8)
    parser.add_argument("--threads", type=int, default=None, help="1 on a busy machine")
    parser.add_argument("--no-mask", action="store_true", help="without the engine's slot mask")
    parser.add_argument(
        "--checkpoint", type=Path, default=None, help="also measure how good this checkpoint's guesses are"
    )
    parser.add_argument("--failures", type=Path, default=None, help="write what went wrong to this file, JSON lines")
    arguments = parser.parse_args()
    samples = unseen(arguments.samples)
    start = time.perf_counter()
    completions = complete(
        arguments.model, samples, lanes=arguments.lanes, threads=arguments.threads, mask=not arguments.no_mask
    )
    seconds = time.perf_counter() - start
    scores = score(samples, completions)
    total = scores.pop("all")
    print("| kind | samples | exact | accepted | tokens |\n|---|---|---|---|---|")
    for name in sorted(scores):
        print(scores[name].line(name))
    print(total.line("all"))
    print(f"{total.tokens / seconds:.0f} tokens/s with {arguments.lanes} lanes")
    if arguments.failures:
        pairs = zip(samples, completions, strict=True)
        wrong = ((s, c.text.strip()) for s, c in pairs if c.text.strip() != s.answer)
        lines = (
            json.dumps({"description": s.description, "expected": s.answer, "written": text})
            for s, text in itertools.islice(wrong, 200)
        )
        arguments.failures.write_text("\n".join(lines) + "\n")
    if arguments.checkpoint:
        torch.set_num_threads(arguments.threads or torch.get_num_threads())
        model = load_model(arguments.checkpoint)
        if model.config.mtp:
            rates = mtp_acceptance(model, samples[:200])
            print("MTP acceptance by depth:", ", ".join(f"{rate:.3f}" for rate in rates))
        else:
            print(f"acceptance at depth 1: {agreement(model, samples[:200]):.3f}")


if __name__ == "__main__":
    main()
