"""The figures of a bench as tables of words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pagecompiler.bench.figures import ArmFigures, BenchResult, Judgement, Load, MachineFigures, ModelFigures
from pagecompiler.reporting.amounts import NONE, number, seconds, share, size, spread, times

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows that fit to `head`; from column `numbers` on they are figures."""

    name: str
    head: Row
    rows: tuple[Row, ...]
    numbers: int = 1


def load_name(load: Load) -> str:
    """A load in words.

    >>> load_name(Load(5, 1, ())), load_name(Load(1, 1, (), group="upper"))
    ('5 lanes', '1 lane, the group upper alone')
    """
    lanes = "1 lane" if load.lanes == 1 else f"{load.lanes} lanes"
    pages = f", {load.pages} pages at once" if load.pages > 1 else ""
    return lanes + pages + (f", the group {load.group} alone" if load.group else "")


_FIGURES: tuple[tuple[str, Callable[[ArmFigures], str]], ...] = (
    ("Tokens a second", lambda f: spread(f.tokens_per_second, number)),
    ("In units of plain", lambda f: "1" if f.judgement is Judgement.BASE else spread(f.ratio, times)),
    ("Against plain", lambda f: f.judgement.value),
    ("Time to the page", lambda f: spread(f.time_to_page, seconds)),
    ("First text after", lambda f: spread(f.first_text, seconds)),
    ("Speed a lane keeps beside the others", lambda f: share(f.kept)),
    ("Tokens", lambda f: f"{f.tokens:,}"),
    ("Guessed tokens", lambda f: f"{f.drafted:,}"),
    ("Approved", lambda f: f"{f.accepted:,}"),
    ("Share approved", lambda f: share(f.acceptance)),
    ("… at each place of a guess", lambda f: ", ".join(map(share, f.acceptance_by_position)) or NONE),
    ("Tokens from a pass with a guess", lambda f: number(f.mean_accepted_length)),
    ("Rows verified for a token", lambda f: number(f.rows_per_token)),
    ("Rows in a pass", lambda f: number(f.rows_per_pass)),
    ("Passes over the model", lambda f: _count(f.target_passes)),
    ("Passes to guess", lambda f: _count(f.draft_passes)),
    ("Share of time on prompts", lambda f: share(f.prefill_share)),
    ("Weights read for a token", lambda f: size(f.bytes_per_token)),
    ("… of the memory’s bandwidth", lambda f: share(f.bandwidth_share)),
    ("Memory at most", lambda f: size(f.memory_bytes)),
    ("Runs, of these valid", lambda f: f"{f.runs}, {f.accepted_runs}"),
)


def all_figures(load: Load) -> Table:
    """Every figure of every arm under one load; figures that no arm has are left out."""
    head = ("Figure", *(figures.arm.name for figures in load.arms))
    rows = ((name, *(word(figures) for figures in load.arms)) for name, word in _FIGURES)
    return Table(f"All figures, {load_name(load)}", head, tuple(row for row in rows if set(row[1:]) != {NONE}))


def group_figures(load: Load) -> Table | None:
    """Tokens a second of each of several build groups, and the share of its speed alone that it keeps, by arm."""
    names = list(dict.fromkeys(group.name for figures in load.arms for group in figures.groups))
    if len(names) < 2:
        return None
    rows = []
    for figures in load.arms:
        by_name = {group.name: group for group in figures.groups}
        cells = (by_name.get(name) for name in names)
        words = (
            NONE
            if group is None
            else number(group.tokens_per_second.median) + (f", keeps {share(group.kept)}" if group.kept else "")
            for group in cells
        )
        rows.append((figures.arm.name, *words))
    return Table(f"Tokens a second of a lane by group, {load_name(load)}", ("Method", *names), tuple(rows))


def predictions(load: Load) -> Table | None:
    """What each arm should reach beside what it reached."""
    rows = []
    for figures in load.arms:
        expected = figures.prediction
        if expected is None:
            continue
        trimmed = NONE
        if expected.trimmed_ratio is not None:
            trimmed = f"{times(expected.trimmed_ratio)} with {expected.trimmed_rows:,} rows"
        rows.append(
            (
                figures.arm.name,
                times(expected.ratio),
                spread(figures.ratio, times),
                number(expected.tokens_per_step),
                times(expected.verify_cost),
                times(expected.draft_cost),
                size(expected.draft_bytes),
                size(expected.head_bytes or None),
                trimmed,
            )
        )
    head = (
        "Method", "Predicted", "Measured", "Tokens a step", "Cost to verify", "Cost of a draft pass",
        "Weights of a draft pass", "Of these the head", "With a trimmed head",
    )  # fmt: skip
    return Table(f"Predicted and measured, {load_name(load)}", head, tuple(rows)) if rows else None


def differences(loads: Iterable[Load]) -> Table | None:
    """Every block whose text is not plain's."""
    rows = [
        (
            f"{figures.arm.name}, {load_name(load)}",
            difference.block,
            difference.kind,
            str(difference.token),
            f"{difference.gap:.4f}",
            f"{difference.allowed:.4f}",
        )
        for load in loads
        for figures in load.arms
        for difference in figures.differences
    ]
    head = ("Method", "Block", "Kind", "First at token", "Gap of the logits", "Allowed gap")
    return Table("Differences from what plain decoding writes", head, tuple(rows), numbers=3) if rows else None


def problems(result: BenchResult) -> list[str]:
    """Why arms have no figures, or not all."""
    arms: Sequence[tuple[Load, ArmFigures]] = [(load, figures) for load in result.loads for figures in load.arms]
    return [f"{figures.arm.name}, {load_name(load)}: {figures.problem}" for load, figures in arms if figures.problem]


def machine_facts(machine: MachineFigures) -> list[tuple[str, str]]:
    """The machine in words; of one behind a server nothing is known."""
    if machine.threads is None:
        return [("pagec", machine.pagec)]
    facts = [
        ("System", machine.system),
        ("Processor", f"{machine.processor}, {machine.threads} {'thread' if machine.threads == 1 else 'threads'} used"),
        *(("GPU", gpu) for gpu in machine.gpus),
        ("Memory", size(machine.memory_bytes)),
    ]
    if machine.bandwidth is not None:
        facts.append(("Memory bandwidth", f"{size(machine.bandwidth)}/s, {machine.bandwidth_from}"))
    facts.append(("pagec", machine.pagec))
    if machine.llama_cpp:
        facts.append(("llama.cpp", machine.llama_cpp))
    return [*facts, ("Python", machine.python)]


def model_facts(model: ModelFigures) -> list[tuple[str, str]]:
    """The model in words; a server tells nothing but the name."""
    facts = [("Model", model.name)]
    if model.file_bytes:
        facts += [
            ("File", size(model.file_bytes)),
            ("Weights of a pass", f"{size(model.target_bytes)}, of these {size(model.head_bytes)} head"),
            ("Layers, vocabulary", f"{model.layers}, {model.vocabulary:,}"),
        ]
    if model.mtp_bytes:
        facts.append(("MTP block", f"{size(model.mtp_bytes)} and a head of {size(model.mtp_head_bytes)}"))
    if model.draft_name:
        facts.append(("Draft model", f"{model.draft_name}, {size(model.draft_bytes)}, {model.draft_layers} layers"))
    facts += [("Server", server) for server in model.servers]
    return facts


def _count(value: int | None) -> str:
    return NONE if value is None else f"{value:,}"
