"""The report of a build: what each lane did when, and how every token came to be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from pagecompiler.engine.types import Completion
from pagecompiler.reporting.attempts import Attempt
from pagecompiler.reporting.charts import Bar, BarRow, bar_chart
from pagecompiler.reporting.document import render
from pagecompiler.reporting.lanes import LanePicture, lane_picture
from pagecompiler.reporting.tokens import TokenRoom, TokenRun, percent
from pagecompiler.results import PageResult

PLACES = 8
SOURCES = ("mtp", "draft", "lookup", "previous")


@dataclass(frozen=True, slots=True)
class Answer:
    """One attempt with its tokens, in words."""

    title: str
    summary: str
    run: TokenRun


@dataclass(frozen=True, slots=True)
class _Page:
    name: str
    verdict: str
    facts: tuple[tuple[str, str], ...]
    problems: tuple[str, ...]
    lanes: LanePicture | None
    places: Markup | None
    answers: tuple[Answer, ...]
    sources: tuple[str, ...]
    blocks: tuple[tuple[str, ...], ...]


def build_report(builds: Sequence[tuple[PageResult, Iterable[Attempt]]], *, room: TokenRoom | None = None) -> str:
    """The report of one run as HTML: a part for each page with the attempts that were recorded for it.

    Whatever was refused is in it, and a page that failed says why. `room` bounds the tokens that are shown.
    """
    shared = room or TokenRoom()
    pages = [_page(result, list(attempts), shared) for result, attempts in builds]
    return render("report_build.html.j2", title="Build report", pages=pages)


def _page(result: PageResult, attempts: list[Attempt], room: TokenRoom) -> _Page:
    completions = [attempt.completion for attempt in attempts if attempt.completion is not None]
    return _Page(
        name=result.spec,
        verdict=_verdict(result, attempts),
        facts=tuple(_facts(result, attempts, completions)),
        problems=tuple(f"{d.severity.value}[{d.code}]: {d.message}" for d in result.diagnostics),
        lanes=lane_picture(attempts),
        places=_places(completions),
        answers=tuple(answer_of(attempt, room) for attempt in _in_page_order(result, attempts)),
        sources=sources_of(attempts),
        blocks=tuple((block.block.name, block.group, block.state, block.why) for block in result.blocks),
    )


def _verdict(result: PageResult, attempts: list[Attempt]) -> str:
    tokens = sum(len(attempt.completion.tokens) for attempt in attempts if attempt.completion is not None)
    if not attempts:
        if not result.ok:
            return "There is no page; nothing was written."
        return f"Nothing was written: all {len(result.blocks)} blocks were reused."
    names = {attempt.block for attempt in attempts}
    lanes = len({attempt.lane for attempt in attempts})
    blocks = "One block was" if len(names) == 1 else f"{len(names)} blocks were"
    where = "in one lane" if lanes == 1 else f"in {lanes} lanes at once"
    head = f"{blocks} written {where}: {tokens:,} tokens in {_span(attempts):.2f} s."
    told = [token for attempt in attempts for token in attempt.tokens]
    approved, refused = sum(token.accepted for token in told), sum(token.refused_rank > 0 for token in told)
    story = ""
    if approved or refused:
        story = (
            f" The model wrote {len(told) - approved:,} of them itself and approved {approved:,} that were guessed;"
            f" it refused {refused:,} {'guess' if refused == 1 else 'guesses'}."
        )
    return ("" if result.ok else "There is no page. ") + head + story


def _span(attempts: Iterable[Attempt]) -> float:
    """Seconds from the first admission to the last end."""
    times = [(attempt.admitted, attempt.ended or attempt.admitted) for attempt in attempts]
    return max(end for _, end in times) - min(start for start, _ in times)


def _facts(result: PageResult, attempts: list[Attempt], completions: list[Completion]) -> Iterable[tuple[str, str]]:
    yield "Page", str(result.output) if result.output is not None else "standard output" if result.ok else "none"
    yield "Model", result.model
    yield "Method", result.method
    yield "From spec to page", f"{result.seconds:.2f} s"
    reused = sum(block.state == "reused" for block in result.blocks)
    yield "Blocks reused", f"{reused} of {len(result.blocks)}"
    tokens = sum(len(completion.tokens) for completion in completions)
    if not tokens:
        return
    yield "Tokens a second", f"{tokens / max(_span(attempts), 1e-9):,.0f}"
    drafted = sum(completion.drafted for completion in completions)
    if drafted:
        accepted = sum(completion.accepted for completion in completions)
        yield "Guesses approved", f"{accepted:,} of {drafted:,} ({percent(accepted / drafted)})"
    prompt = sum(completion.prompt_tokens for completion in completions)
    if prompt:
        yield "Prompt tokens", f"{prompt:,}, of these {sum(c.prompt_reused for c in completions):,} reused"


def _places(completions: list[Completion]) -> Markup | None:
    """Approved guesses at the first place of a guess, at the second, and so on."""
    positions = [completion.accepted_by_position for completion in completions]
    counts = [sum(p[place] for p in positions if place < len(p)) for place in range(PLACES)]
    while counts and counts[-1] == 0:
        counts.pop()
    if not counts:
        return None
    rows = [BarRow(f"Place {number}", (Bar(count, f"{count:,}"),)) for number, count in enumerate(counts, 1)]
    return bar_chart(rows, label="Approved guesses by their place: " + ", ".join(f"{count:,}" for count in counts))


def _in_page_order(result: PageResult, attempts: list[Attempt]) -> list[Attempt]:
    order = {block.block.name: place for place, block in enumerate(result.blocks)}
    told = [attempt for attempt in attempts if attempt.tokens or attempt.completion]
    return sorted(told, key=lambda attempt: order.get(attempt.block, len(order)))


def sources_of(attempts: Iterable[Attempt]) -> tuple[str, ...]:
    """Where the guesses came from, in a fixed order."""
    found = {token.source for attempt in attempts for token in attempt.tokens} - {""}
    return tuple(sorted(found, key=lambda name: (SOURCES.index(name) if name in SOURCES else len(SOURCES), name)))


def answer_of(attempt: Attempt, room: TokenRoom) -> Answer:
    """An attempt as it is shown."""
    number = f", attempt {attempt.number}" if attempt.number > 1 else ""
    state = "" if attempt.state == "done" else f" ({attempt.state})"
    return Answer(f"{attempt.block}{number}{state}", _summary(attempt), room.show(attempt.tokens))


def _summary(attempt: Attempt) -> str:
    completion = attempt.completion
    if completion is None:
        end = "it began anew" if attempt.state == "lost" else "the engine stopped"
        return f"{len(attempt.tokens):,} tokens, then {end}."
    parts = [f"{len(completion.tokens):,} tokens in {completion.seconds:.2f} s"]
    if completion.drafted:
        parts.append(f"{completion.accepted:,} of {completion.drafted:,} guessed tokens approved")
    if completion.target_passes:
        parts.append(f"{completion.target_passes:,} passes")
    if not attempt.tokens:
        parts.append("the engine tells nothing of its tokens" if completion.tokens else "no tokens: nothing is decoded")
    return ", ".join(parts) + "."
