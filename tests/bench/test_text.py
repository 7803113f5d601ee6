"""A result as text and as JSON."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator
from rich.console import Console

from pagecompiler.bench.figures import BenchResult, Difference
from pagecompiler.bench.json_report import bench_json
from pagecompiler.bench.text import bench_text
from pagecompiler.resources import data_path
from pagecompiler.spec import LoadedSpec

from .sample import MTP_2, sample_result, spread
from .scripted import Behaviour, make_bench
from .test_bench import DRAFT_2, PLAIN, QUIET


def shown(result: BenchResult) -> str:
    out = io.StringIO()
    console = Console(file=out, width=150, markup=False, highlight=False)
    for part in bench_text(result):
        console.print(part)
    return out.getvalue()


def validate(report: object) -> None:
    schema = json.loads(data_path("bench.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(report)


def test_the_table_has_every_arm_with_its_bar() -> None:
    text = shown(sample_result())
    for name in ("plain", "mtp 1", "mtp 2", "lookup 2", "auto"):
        assert sum(line.startswith(f"{name} ") for line in text.splitlines()) >= 4, "two tables under each load"
    assert "702 (681–723)" in text and "█" * 24 in text
    assert "5 lanes; plain differs from itself by 2.1%" in text
    assert "the group `upper` alone, one lane" in text
    assert "The lead of mtp narrows" in text
    assert "near tie at token 17, gap 0.0030 (rounding explains 0.0200)" in text


def test_names_of_blocks_are_text_and_never_markup() -> None:
    result = sample_result()
    last = result.loads[-1]
    named = Difference("[red]x[/red]", "near tie", 1, 0.1, 0.2)
    arms = tuple(replace(f, differences=(named,)) if f.arm == MTP_2 else f for f in last.arms)
    assert "`[red]x[/red]`" in shown(replace(result, loads=(replace(last, arms=arms),)))


def test_what_auto_reaches_is_what_the_column_shows() -> None:
    result = sample_result()
    last = result.loads[-1]
    arms = tuple(
        replace(f, ratio=spread(1.08), tokens_per_second=spread(9000)) if f.arm.method == "auto" else f
        for f in last.arms
    )
    text = shown(replace(result, loads=(replace(last, arms=arms),)))
    assert "With 5 lanes auto reaches 80% of mtp 2." in text, "1.08 of 1.35"


def test_an_incomplete_result_says_so_first() -> None:
    text = shown(replace(sample_result(), complete=False))
    assert "INCOMPLETE: interrupted after 5 of 5 runs" in text


@pytest.mark.parametrize("make", [sample_result, lambda: replace(sample_result(), complete=False, loads=())])
def test_json_keeps_its_schema(make) -> None:
    report = json.loads(json.dumps(bench_json(make())))
    validate(report)
    assert {arm["lanes"] for arm in report["arms"]} <= {1, 5}


def test_json_of_a_bench(loaded: LoadedSpec) -> None:
    arms = {PLAIN: Behaviour(QUIET), DRAFT_2: Behaviour([72.0], (0.86, 0.8))}
    report = json.loads(json.dumps(bench_json(make_bench(loaded, arms, runs=2).run())))
    validate(report)
    verdict = report["verdict"]
    assert (verdict["method"], verdict["lanes"], verdict["within_noise"]) == ("plain", 5, False)
    drafting = next(arm for arm in report["arms"] if arm["method"] == "draft" and arm["lanes"] == 5)
    assert drafting["tokens_per_second"]["min"] <= drafting["tokens_per_second"]["median"]
    assert drafting["acceptance"] == pytest.approx(0.85)
