"""The result as data."""

from __future__ import annotations

from dataclasses import replace

from pagecompiler.bench.figures import Arm, Difference, Spread

from .sample import MTP_1, MTP_2, sample_result


def test_a_spread_is_median_and_range() -> None:
    assert Spread.of([4.0, 1.0, 2.0, 3.0]) == Spread(2.5, 1.0, 4.0)


def test_arms_are_called_by_method_and_depth() -> None:
    assert [arm.name for arm in (Arm("plain"), Arm("mtp", 3), Arm("auto"))] == ["plain", "mtp 3", "auto"]


def test_the_verdict_of_a_bench_is_that_of_the_most_lanes() -> None:
    verdict = sample_result().verdict
    assert verdict is not None and (verdict.lanes, verdict.arm) == (5, MTP_2)


def test_only_defects_make_a_bench_fail() -> None:
    result = sample_result()
    assert result.defective == ()
    last = result.loads[-1]
    wrong = tuple(
        replace(figures, differences=(Difference("hero", "defect", 3, 2.5, 0.02),)) if figures.arm == MTP_1 else figures
        for figures in last.arms
    )
    assert [f.arm for f in replace(result, loads=(replace(last, arms=wrong),)).defective] == [MTP_1]
