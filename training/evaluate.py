"""Measures pagec-mini and its draft model and holds them to the gate of a release: `python -m training.evaluate`.

Everything goes through pagec's own engine, linker and checks, with the slot mask and without it. Prints Markdown to
stdout; exit code 1 when the gate is missed. With small counts it is a quick look; the gate is meant for the defaults.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pagecompiler.models import choose_model
from training import held_out, linker, pages
from training.corpus import Sample
from training.held_out import MTP_DEPTH, Guesses, Score
from training.pages import SAMPLES, UNSEEN, PageScore


@dataclass(frozen=True, slots=True)
class Counts:
    """How much is measured."""

    pages: int
    samples: int
    linked: int
    lanes: int


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured with the slot mask, or without it; `page_scores` by the name of the specs, `kinds` by kind."""

    page_scores: dict[str, PageScore]
    kinds: dict[str, Score]
    mtp: Guesses
    draft: Guesses


@dataclass(frozen=True, slots=True)
class Demand:
    """One line of the gate."""

    name: str
    share: float
    wanted: float

    @property
    def met(self) -> bool:
        return self.share >= self.wanted


def measure(model: str, draft: str, samples: Sequence[Sample], counts: Counts, *, mask: bool) -> Measured:
    """Guesses on the held-out blocks, then whole pages."""
    path, lanes = _file(model), counts.lanes
    answers = held_out.complete_with_mtp(path, samples, lanes=lanes, mask=mask)
    drafted = held_out.complete_with_draft(path, _file(draft), samples, lanes=lanes, mask=mask)
    return Measured(
        _page_scores(model, counts, mask=mask),
        held_out.score(samples, answers),
        held_out.count_guesses(answers, MTP_DEPTH),
        held_out.count_guesses(drafted, 1),
    )


def _page_scores(model: str, counts: Counts, *, mask: bool) -> dict[str, PageScore]:
    source = pages.model_source(model, counts.lanes, mask=mask)
    scores: dict[str, PageScore] = {}
    try:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            for name, specs in (
                ("random specs", pages.random_specs(counts.pages, folder)),
                ("sample specs", pages.specs_in(SAMPLES)),
                ("unseen specs", pages.specs_in(UNSEEN)),
            ):
                scores[name] = pages.first_attempts(specs, source, folder / "cache")
                _say(f"{name}, slot mask {'on' if mask else 'off'}: measured")
    finally:
        source.close()
    return scores


def demands(measured: Measured, linked: linker.LinkerScore) -> list[Demand]:
    """The gate; the figures are those with the slot mask, as pagec decodes."""
    scores = measured.page_scores
    mtp = [
        Demand(f"MTP guess accepted, place {place}", share, 0.95 if place == 1 else 0.85)
        for place, share in enumerate(measured.mtp.shares, start=1)
    ]
    return [
        Demand("blocks of random specs", scores["random specs"].block_share, 0.99),
        Demand("pages of random specs", scores["random specs"].page_share, 0.95),
        Demand("pages of sample specs", scores["sample specs"].page_share, 1.0),
        Demand("pages of unseen specs", scores["unseen specs"].page_share, 0.9),
        *mtp,
        Demand("draft model's guess accepted", measured.draft.shares[0], 0.85),
        Demand("linked pages without a fault", float(not linked.faults), 1.0),
    ]


def report(with_mask: Measured, without: Measured, linked: linker.LinkerScore, gate: Sequence[Demand]) -> str:
    """All figures as Markdown."""
    lines = ["| at the first attempt | with the slot mask | without |", "|---|---|---|"]
    for name, score in with_mask.page_scores.items():
        other = without.page_scores[name]
        lines += [
            f"| blocks of {name} | {_of(score.good_blocks, score.blocks)} | {_of(other.good_blocks, other.blocks)} |",
            f"| pages of {name} | {_of(score.good_pages, score.pages)} | {_of(other.good_pages, other.pages)} |",
        ]
    total, other_total = held_out.total(with_mask.kinds.values()), held_out.total(without.kinds.values())
    for name in ("exact", "accepted"):
        columns = (_of(getattr(entry, name), entry.samples) for entry in (total, other_total))
        lines.append(f"| held-out blocks {name} | {' | '.join(columns)} |")
    for place in range(MTP_DEPTH):
        columns = (_of(guesses.accepted[place], guesses.tried) for guesses in (with_mask.mtp, without.mtp))
        lines.append(f"| MTP guess accepted, place {place + 1} | {' | '.join(columns)} |")
    columns = (_of(guesses.accepted[0], guesses.tried) for guesses in (with_mask.draft, without.draft))
    lines.append(f"| draft model's guess accepted | {' | '.join(columns)} |")
    lines += ["", "| kind | held-out blocks | exact | accepted | tokens |", "|---|---|---|---|---|"]
    for name, entry in [*sorted(with_mask.kinds.items()), ("all", total)]:
        shares = f"{entry.exact / entry.samples:.1%} | {entry.accepted / entry.samples:.1%}"
        lines.append(f"| {name} | {entry.samples} | {shares} | {entry.tokens / entry.samples:.0f} |")
    lines += [
        "",
        f"{linked.sent} blocks through the linker, every other one damaged: {linked.taken} taken, no exception,",
    ]
    lines += [f"{len(linked.faults)} faults in the pages made of them.", "", "| gate | measured | wanted | |"]
    lines += ["|---|---|---|---|"]
    lines += [f"| {d.name} | {d.share:.2%} | {d.wanted:.0%} | {'met' if d.met else 'MISSED'} |" for d in gate]
    return "\n".join(lines)


def _of(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({part / whole:.2%})"


def _file(model: str) -> Path:
    path = choose_model(model).path
    if path is None:
        raise SystemExit(f"{model} is not a GGUF file")
    return path


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="pagec-mini", help="a GGUF file or a name")
    parser.add_argument("--draft-model", default="pagec-mini-draft", help="a GGUF file or a name")
    parser.add_argument("--pages", type=int, default=300, help="random specs")
    parser.add_argument("--samples", type=int, default=300, help="held-out blocks, for guesses and exact answers")
    parser.add_argument("--linked", type=int, default=10_000, help="blocks sent through the linker")
    parser.add_argument("--lanes", type=int, default=5)
    options = parser.parse_args(arguments)
    counts = Counts(options.pages, options.samples, options.linked, options.lanes)
    samples = held_out.held_out(counts.samples)
    with_mask, without = (
        measure(options.model, options.draft_model, samples, counts, mask=mask) for mask in (True, False)
    )
    linked = linker.fire(counts.linked)
    for name, score in with_mask.page_scores.items():
        for refused in score.refused:
            _say(f"refused, {name}: {refused}")
    for fault in linked.faults:
        _say(f"fault: {fault}")
    gate = demands(with_mask, linked)
    print(report(with_mask, without, linked, gate))
    return 0 if all(demand.met for demand in gate) else 1


if __name__ == "__main__":
    sys.exit(main())
