"""The result of a bench for a terminal: tables with bars, and what they mean in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rich.table import Table
from rich.text import Text

from pagecompiler.bench.figures import (
    SERVER,
    ArmFigures,
    BenchResult,
    Difference,
    Judgement,
    Load,
    MachineFigures,
    Spread,
)
from pagecompiler.bench.judge import at_lanes
from pagecompiler.engine.memory import MIB

BAR = 24
_GB = 1e9
_COLOURS = {Judgement.FASTER: "green", Judgement.SLOWER: "red"}


def bench_text(result: BenchResult) -> Iterator[str | Table]:
    """Everything in the order in which it is read; a string is text without markup, of any length."""
    yield _head(result)
    for load in result.loads:
        yield ""
        yield _speeds(load)
        yield _work(load)
        if any(len(figures.groups) > 1 for figures in load.arms):
            yield _lanes(load)
    yield ""
    yield from sentences(result)


def sentences(result: BenchResult) -> Iterator[str]:
    """What the figures mean; differences of texts first."""
    if not result.complete:
        done = max((figures.runs for load in result.loads for figures in load.arms), default=0)
        yield f"INCOMPLETE: interrupted after {done} of {result.runs} runs; these are the figures until then."
    for load in result.loads:
        for figures in load.arms:
            yield from _about_texts(figures)
    if result.rebuild is not None:
        yield from _about_texts(result.rebuild.previous)
    for load in result.loads:
        if load.verdict is not None:
            yield load.verdict.words
        elif load.noise is None and len(load.arms) > 1:
            yield f"{at_lanes(load.lanes)} nothing is judged: that takes two rounds."
    if result.lead is not None:
        yield result.lead.words
    yield from _auto(result)
    yield from _rebuild(result)
    if result.reference is not None and result.reference.time_to_page is not None:
        seconds = result.reference.time_to_page.median
        yield f"Without a model, by rule, the page takes {seconds:.2f} s: that is the zero line."
    if result.loads:
        yield from (f"Predicted for {name}: {words}" for name, words in _predictions(result.loads[-1]))
    yield from result.notes


def _head(result: BenchResult) -> str:
    machine, model = result.machine, result.model
    size = f", {model.file_bytes / MIB:,.1f} MiB" if model.file_bytes else ""
    head = f"{result.spec} with {model.name}{size}; {result.runs} runs\n"
    if model.servers:
        return f"{head}{', '.join(model.servers)}; pagec {machine.pagec}"
    threads = "1 thread" if machine.threads == 1 else f"{machine.threads} threads"
    hardware = ", ".join((machine.processor, threads, *machine.gpus))
    software = ", ".join(filter(None, (machine.system, f"pagec {machine.pagec}", machine.llama_cpp)))
    return f"{head}{hardware}; {software}{_bandwidth(machine)}"


def _bandwidth(machine: MachineFigures) -> str:
    if not machine.bandwidth:
        return ""
    known = {"plain decoding": "what plain decoding reads"}.get(machine.bandwidth_from, machine.bandwidth_from)
    return f"\nmemory: {machine.bandwidth / _GB:.1f} GB/s ({known})"


def _speeds(load: Load) -> Table:
    pages = "" if load.pages == 1 else f", {load.pages} pages at once"
    title = f"the group `{load.group}` alone, one lane" if load.group else f"{load.lanes} lanes{pages}"
    if load.noise is not None:
        title += f"; plain differs from itself by {load.noise:.1%}"
    table = _table(title)
    until = "group" if load.group else "page" if load.pages == 1 else "pages"
    for name in ("", "tokens/s", "", "x plain", f"{until} s", "first text", "predicted", "judged"):
        table.add_column(name, justify="left" if name in ("", "judged") else "right", no_wrap=True)
    longest = max((figures.tokens_per_second.median for figures in load.arms if figures.tokens_per_second), default=0)
    for figures in load.arms:
        speed = figures.tokens_per_second
        bar = "█" * max(1, round(BAR * speed.median / longest)) if speed and longest else ""
        predicted = "" if figures.prediction is None else f"{figures.prediction.ratio:.2f}"
        table.add_row(
            figures.arm.name,
            _spread(speed, "{:.0f}"),
            bar,
            _spread(figures.ratio, "{:.2f}") if figures.judgement is not Judgement.BASE else "1",
            _spread(figures.time_to_page, "{:.2f}"),
            "" if figures.first_text is None else f"{figures.first_text.median:.2f}",
            predicted,
            Text(_judged(figures), style=_COLOURS.get(figures.judgement, "")),
        )
    return table


def _judged(figures: ArmFigures) -> str:
    if figures.defective:
        return "DEFECTIVE"
    if figures.judgement is Judgement.BASE:
        return ""
    if figures.judgement is Judgement.NONE:
        return "" if figures.arm.method == SERVER else figures.judgement.value
    return figures.judgement.value


_WORK: tuple[tuple[str, Callable[[ArmFigures], str]], ...] = (
    ("accepted", lambda f: _percent(f.acceptance)),
    ("by place", lambda f: " ".join(f"{100 * share:.0f}" for share in f.acceptance_by_position)),
    ("tokens/guess", lambda f: _number(f.mean_accepted_length)),
    ("rows/token", lambda f: _number(f.rows_per_token)),
    ("rows/pass", lambda f: _number(f.rows_per_pass)),
    ("passes", lambda f: "" if f.target_passes is None else f"{f.target_passes} + {f.draft_passes or 0}"),
    ("prompts", lambda f: _percent(f.prefill_share)),
    ("MB/token", lambda f: "" if f.bytes_per_token is None else f"{f.bytes_per_token / 1e6:.2f}"),
    ("of memory", lambda f: _percent(f.bandwidth_share)),
    ("peak MiB", lambda f: "" if f.memory_bytes is None else f"{f.memory_bytes / MIB:.0f}"),
)


def _work(load: Load) -> Table:
    """Columns that no arm has a figure for are left out."""
    table = _table("")
    table.add_column("", no_wrap=True)
    shown = [(name, figure) for name, figure in _WORK if any(figure(figures) for figures in load.arms)]
    for name, _ in shown:
        table.add_column(name, justify="right", no_wrap=True)
    for figures in load.arms:
        table.add_row(figures.arm.name, *(figure(figures) for _, figure in shown))
    return table


def _lanes(load: Load) -> Table:
    table = _table("tokens/s of a lane, by group")
    table.add_column("", no_wrap=True)
    names = list(dict.fromkeys(group.name for figures in load.arms for group in figures.groups))
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    kept = any(figures.kept is not None for figures in load.arms)
    if kept:
        table.add_column("keeps of its speed alone", justify="right", no_wrap=True)
    for figures in load.arms:
        speeds = {group.name: f"{group.tokens_per_second.median:.0f}" for group in figures.groups}
        table.add_row(
            figures.arm.name, *(speeds.get(name, "") for name in names), *([_percent(figures.kept)] if kept else [])
        )
    return table


def _about_texts(figures: ArmFigures) -> Iterable[str]:
    name = f"{figures.arm.name} with {figures.lanes} {'lane' if figures.lanes == 1 else 'lanes'}"
    if figures.problem:
        yield f"{name}: {figures.problem}"
    for difference in figures.differences:
        yield f"{name}: {_difference(difference)}"


def _difference(found: Difference) -> str:
    if found.kind == "sampled":
        return f"the block `{found.block}` was drawn differently from token {found.token} on"
    what = "a near tie" if found.kind == "near tie" else "a DEFECT: not what the model would have written"
    return (
        f"the block `{found.block}` differs from plain's: {what} at token {found.token}, gap {found.gap:.4f}"
        f" (rounding explains {found.allowed:.4f})"
    )


def _auto(result: BenchResult) -> Iterator[str]:
    for load in result.loads:
        auto = next((figures for figures in load.arms if figures.arm.method == "auto"), None)
        best = None if load.verdict is None else load.find(load.verdict.arm)
        # Of the column `x plain`: medians of speeds are of rounds that the machine may have treated differently.
        reached = None if auto is None else auto.ratio
        wanted = None if best is None else best.ratio
        if reached is None or wanted is None or best is None:
            continue
        share = reached.median / wanted.median
        lanes = "one lane" if load.lanes == 1 else f"{load.lanes} lanes"
        yield f"With {lanes} auto reaches {share:.0%} of {best.arm.name}."


def _rebuild(result: BenchResult) -> Iterator[str]:
    rebuild = result.rebuild
    if rebuild is None:
        return
    previous, anew = rebuild.previous, rebuild.anew
    if previous.ratio is None or previous.time_to_page is None:
        return
    before = "" if anew.time_to_page is None else f" ({anew.time_to_page.median:.2f} s)"
    yield (
        f"After one item of `{rebuild.block}` is duplicated ({rebuild.items} items now), its last fragment as the guess"
        f" writes it {previous.ratio.median:.2f} times as fast as anew: the page is there in"
        f" {previous.time_to_page.median:.2f} s{before}, {_percent(previous.acceptance) or 'nothing'} of the guesses"
        f" accepted; {previous.judgement.value}."
    )


def _predictions(load: Load) -> Iterator[tuple[str, str]]:
    """The fastest depth of each method that has a prediction."""
    best: dict[str, ArmFigures] = {}
    for figures in load.arms:
        known = best.get(figures.arm.method)
        if figures.prediction is not None and (known is None or _ratio(figures) > _ratio(known)):
            best[figures.arm.method] = figures
    for figures in best.values():
        if figures.prediction is not None:
            measured = "" if figures.ratio is None else f" Measured: {figures.ratio.median:.2f}."
            yield figures.arm.name, figures.prediction.words + measured


def _ratio(figures: ArmFigures) -> float:
    return 0.0 if figures.ratio is None else figures.ratio.median


def _table(title: str) -> Table:
    return Table(
        title=title or None, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0)
    )


def _spread(spread: Spread | None, style: str) -> str:
    if spread is None:
        return ""
    low, high = style.format(spread.low), style.format(spread.high)
    return f"{style.format(spread.median)} ({low}–{high})"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
