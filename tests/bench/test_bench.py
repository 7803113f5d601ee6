"""What a bench says, with a scripted clock and scripted engines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pagecompiler.bench.arms import AUTO, PLAIN
from pagecompiler.bench.bench import BenchError
from pagecompiler.bench.figures import Arm, BenchResult, Judgement, Load, Outcome
from pagecompiler.bench.text import sentences
from pagecompiler.engine.types import Request, Sampling
from pagecompiler.options import CompileOptions
from pagecompiler.spec import LoadedSpec

from .scripted import PREVIOUS_ARM, TOKENS, Behaviour, FakeExaminer, make_bench

MTP_1, MTP_2, DRAFT_2, LOOKUP_2 = Arm("mtp", 1), Arm("mtp", 2), Arm("draft", 2), Arm("lookup", 2)
QUIET = (100.0, 101.0, 99.5, 100.5, 100.2, 99.8)
"""The speeds of plain decoding on a quiet machine, run by run."""
RESTLESS = [100.0, 92.0, 104.0, 95.0, 101.0, 91.0, 99.0, 106.0] * 5


def most(result: BenchResult) -> Load:
    return result.loads[-1]


def judgements(load: Load) -> dict[str, Judgement]:
    return {figures.arm.name: figures.judgement for figures in load.arms}


def test_mtp_wins(loaded: LoadedSpec) -> None:
    arms = {
        PLAIN: Behaviour(QUIET),
        LOOKUP_2: Behaviour([102.0], (0.3, 0.1)),
        MTP_1: Behaviour([121.0], (0.9,)),
        MTP_2: Behaviour([134.0], (0.9, 0.8)),
        AUTO: Behaviour([131.0], (0.9,)),
    }
    result = make_bench(loaded, arms).run()
    assert result.complete and not result.defective
    verdict = result.verdict
    assert verdict is not None and (verdict.outcome, verdict.arm, verdict.lanes) == (Outcome.FASTER, MTP_2, 5)
    assert verdict.ratio == pytest.approx(1.34, abs=0.01)
    found = judgements(most(result))
    assert found["plain"] is Judgement.BASE and found["mtp 1"] is Judgement.FASTER
    assert found["lookup 2"] is Judgement.NOISE or found["lookup 2"] is Judgement.FASTER
    figures = most(result).find(MTP_2)
    assert figures is not None and figures.acceptance == pytest.approx(0.85)
    assert figures.acceptance_by_position == (0.9, 0.8) and figures.mean_accepted_length == pytest.approx(2.7)
    assert figures.tokens == 5 * TOKENS and figures.runs == figures.accepted_runs == 5
    assert any("auto reaches 98%" in sentence for sentence in sentences(result))


def test_a_draft_model_loses_with_high_acceptance_and_it_is_explained(loaded: LoadedSpec) -> None:
    arms = {
        PLAIN: Behaviour(QUIET),
        LOOKUP_2: Behaviour([90.0], (0.2, 0.1)),
        DRAFT_2: Behaviour([72.0], (0.86, 0.8)),
        MTP_2: Behaviour([134.0], (0.9, 0.8)),
    }
    result = make_bench(loaded, arms).run()
    load = most(result)
    assert judgements(load)["draft 2"] is Judgement.SLOWER
    draft, mtp = load.find(DRAFT_2), load.find(MTP_2)
    assert draft is not None and draft.prediction is not None and draft.acceptance == pytest.approx(0.85)
    assert draft.prediction.step_ratio < draft.prediction.tokens_per_step / draft.prediction.verify_cost
    assert draft.prediction.draft_cost == pytest.approx(0.6)
    assert mtp is not None and mtp.prediction is not None
    assert mtp.prediction.ratio > draft.prediction.ratio, "it reads an eighth of the bytes in each draft pass"
    assert mtp.prediction.trimmed_ratio is not None and mtp.prediction.trimmed_ratio > mtp.prediction.ratio
    assert "reads 60% of the bytes of the model" in draft.prediction.words
    assert "trim" in mtp.prediction.words and "trim" not in draft.prediction.words


def test_plain_wins_and_it_is_said(loaded: LoadedSpec) -> None:
    arms = {PLAIN: Behaviour(QUIET), MTP_1: Behaviour([93.0], (0.5,)), LOOKUP_2: Behaviour([88.0], (0.1, 0.0))}
    result = make_bench(loaded, arms).run()
    verdict = result.verdict
    assert verdict is not None and (verdict.outcome, verdict.arm) == (Outcome.PLAIN, PLAIN)
    assert "plain decoding wins" in verdict.words and not verdict.within_noise


def test_there_is_no_verdict_within_the_noise(loaded: LoadedSpec) -> None:
    arms = {PLAIN: Behaviour(RESTLESS), MTP_1: Behaviour([104.0], (0.6,))}
    result = make_bench(loaded, arms).run()
    verdict = result.verdict
    assert verdict is not None and verdict.within_noise and verdict.arm == PLAIN
    assert judgements(most(result))["mtp 1"] is Judgement.NOISE
    assert most(result).noise is not None and most(result).noise > 0.04  # type: ignore[operator]


def other_token(place: int) -> Behaviour:
    """Writes plain's text with one other token."""

    def changed(request: Request, tokens: tuple[int, ...]) -> tuple[int, ...]:
        return (*tokens[:place], 999, *tokens[place + 1 :])

    return Behaviour([134.0], (0.9,), tokens=changed)


def test_a_token_that_the_model_would_not_have_written_is_a_defect(loaded: LoadedSpec) -> None:
    examiner = FakeExaminer(distances=3.0)
    result = make_bench(loaded, {PLAIN: Behaviour(QUIET), MTP_1: other_token(7)}, examiner=examiner).run()
    assert {figures.arm for figures in result.defective} == {MTP_1}
    difference = result.defective[-1].differences[0]
    assert (difference.kind, difference.token, difference.gap, difference.allowed) == ("defect", 7, 3.0, 0.02)
    assert examiner.opened == 1
    verdict = result.verdict
    assert verdict is None, "a defective arm is no rival"
    assert any("DEFECT" in sentence for sentence in sentences(result))


def test_a_near_tie_is_told_and_is_no_defect(loaded: LoadedSpec) -> None:
    result = make_bench(
        loaded, {PLAIN: Behaviour(QUIET), MTP_1: other_token(7)}, examiner=FakeExaminer(distances=0.01)
    ).run()
    assert result.defective == ()
    figures = most(result).find(MTP_1)
    assert figures is not None and {d.kind for d in figures.differences} == {"near tie"}


def test_a_wrong_token_behind_a_near_tie_is_a_defect(loaded: LoadedSpec) -> None:
    examiner = FakeExaminer(distances=0.01, below=0.5)
    assert make_bench(loaded, {PLAIN: Behaviour(QUIET), MTP_1: other_token(7)}, examiner=examiner).run().defective


def test_texts_that_were_drawn_are_not_held_against_an_arg_max(loaded: LoadedSpec) -> None:
    examiner = FakeExaminer(distances=3.0)
    options = CompileOptions(attempts=1, sampling=Sampling(temperature=0.7))
    result = make_bench(
        loaded, {PLAIN: Behaviour(QUIET), MTP_1: other_token(7)}, examiner=examiner, options=options
    ).run()
    figures = most(result).find(MTP_1)
    assert figures is not None and {d.kind for d in figures.differences} == {"sampled"}
    assert examiner.opened == 0 and not result.defective


def test_equal_texts_need_no_examiner(loaded: LoadedSpec) -> None:
    examiner = FakeExaminer()
    make_bench(loaded, {PLAIN: Behaviour(QUIET), MTP_1: Behaviour([134.0])}, examiner=examiner).run()
    assert examiner.opened == 0


def test_one_lane_writes_the_longest_group_alone(loaded: LoadedSpec) -> None:
    result = make_bench(loaded, {PLAIN: Behaviour(QUIET), MTP_1: Behaviour([134.0], (0.9,))}).run()
    alone, together = result.loads
    assert alone.group and [group.name for group in alone.arms[0].groups] == [alone.group]
    assert len(together.arms[0].groups) == 5
    kept = {group.name: group.kept for group in together.arms[0].groups}
    assert kept[alone.group] == pytest.approx(1.0, abs=0.02) and together.arms[0].kept == kept[alone.group]
    assert all(share is None for name, share in kept.items() if name != alone.group)


@pytest.mark.parametrize(("many", "change"), [(160.0, "widens"), (118.0, "narrows"), (134.0, "stays")])
def test_the_lead_under_load(loaded: LoadedSpec, many: float, change: str) -> None:
    fast = Behaviour([134.0], (0.9,))
    bench = make_bench(loaded, {PLAIN: Behaviour(QUIET), MTP_1: fast})
    # A round runs the arm with one lane, then with five; the warm-up has run once with five.
    fast.speeds = [many, *([134.0, many] * 5)]
    result = bench.run()
    assert result.lead is not None and (result.lead.change, result.lead.method) == (change, "mtp")
    assert result.lead.many_ratio == pytest.approx(many / 100, abs=0.02)
    assert change in result.lead.words


def test_a_rebuild_has_the_last_fragment_as_its_guess(loaded: LoadedSpec) -> None:
    plain = Behaviour(QUIET)
    previous = Behaviour([300.0], (0.9,))
    result = make_bench(loaded, {PLAIN: plain, PREVIOUS_ARM: previous, MTP_1: Behaviour([120.0])}).run()
    rebuild = result.rebuild
    assert rebuild is not None and (rebuild.block, rebuild.items) == ("why", 4)
    assert {request.label for request in previous.requests} == {"why"}
    assert all("{{" in str(request.previous) for request in previous.requests)
    assert not any(request.previous for request in plain.requests)
    assert rebuild.previous.ratio is not None and rebuild.previous.ratio.median == pytest.approx(3.0, abs=0.05)
    assert rebuild.previous.judgement is Judgement.FASTER


def test_a_page_without_a_list_has_no_rebuild(tmp_path, load) -> None:
    result = make_bench(load("footer: {text: Bye}"), {PLAIN: Behaviour(QUIET)}).run()
    assert result.rebuild is None
    assert "previous is left out: the longest group has no list of items" in result.notes


def test_the_page_by_rule_is_the_zero_line(loaded: LoadedSpec) -> None:
    result = make_bench(loaded, {PLAIN: Behaviour(QUIET)}).run()
    assert result.reference is not None and result.reference.accepted_runs == 5
    assert result.reference.tokens_per_second is None and result.reference.time_to_page is not None


def test_tokens_of_a_page_that_is_not_valid_do_not_count(loaded: LoadedSpec) -> None:
    spoiled = Behaviour([500.0], (0.9,), text=lambda request, text: "<p>no</p>" if request.label == "hero" else text)
    result = make_bench(loaded, {PLAIN: Behaviour(QUIET), MTP_1: spoiled}).run()
    figures = most(result).find(MTP_1)
    assert figures is not None and (figures.accepted_runs, figures.tokens_per_second, figures.tokens) == (0, None, 0)
    assert figures.judgement is Judgement.NONE
    assert figures.problem.startswith("5 of 5 runs did not make a valid page: ")


def test_without_a_valid_page_there_is_nothing_to_measure(loaded: LoadedSpec) -> None:
    with pytest.raises(BenchError) as caught:
        make_bench(loaded, {PLAIN: Behaviour(QUIET, text=lambda request, text: "")}).run()
    assert caught.value.diagnostics


def interrupt(at: int) -> Behaviour:
    """Ctrl-C comes in the run of this number."""

    def act(run: int) -> None:
        if run == at:
            raise KeyboardInterrupt

    return Behaviour([134.0], (0.9,), act=act)


def test_an_interruption_leaves_the_figures_until_then(loaded: LoadedSpec) -> None:
    # Two runs a round and the warm-up: the sixth is in the third round.
    result = make_bench(loaded, {PLAIN: Behaviour(QUIET), MTP_1: interrupt(6)}).run()
    assert not result.complete
    assert {figures.runs for load in result.loads for figures in load.arms if figures.arm == MTP_1} == {2, 3}
    assert next(iter(sentences(result))).startswith("INCOMPLETE")


def test_an_interruption_of_the_warm_up_leaves_nothing(loaded: LoadedSpec) -> None:
    with pytest.raises(KeyboardInterrupt):
        make_bench(loaded, {PLAIN: Behaviour(QUIET), MTP_1: interrupt(0)}).run()


def test_more_pages_at_once(loaded: LoadedSpec) -> None:
    result = make_bench(loaded, {PLAIN: Behaviour(QUIET)}, pages=3, lanes=(5,)).run()
    assert (result.loads[0].pages, result.loads[0].arms[0].tokens) == (3, 3 * 5 * TOKENS)


def test_the_traced_run_is_one_more(loaded: LoadedSpec) -> None:
    fast = Behaviour([134.0], (0.9,))
    result = make_bench(loaded, {PLAIN: Behaviour(QUIET), MTP_1: fast}, trace=True).run()
    assert result.traced is not None and (result.traced.arm, result.traced.lanes) == (MTP_1, 5)
    assert [request.trace for request in fast.requests].count(True) == 5 == len(result.traced.requests)
    kinds = {tuple(event.kind for event in request.events) for request in result.traced.requests}
    assert kinds == {("admitted", "text", "finished")}
    assert fast.runs == 1 + 2 * 5 + 1


def test_arms_that_differ_only_in_speed_are_judged_round_by_round(loaded: LoadedSpec) -> None:
    """A machine that slows down during the bench slows every arm of a round."""
    slowing = [100.0 / (1 + 0.05 * step) for step in range(40)]
    arms = {PLAIN: Behaviour(slowing), MTP_1: Behaviour([2 * speed for speed in slowing[::2]], (0.9,))}
    verdict = make_bench(loaded, arms, lanes=(5,)).run().verdict
    assert verdict is not None and verdict.arm == MTP_1 and verdict.ratio > 1.5


def test_one_round_is_no_measurement(loaded: LoadedSpec) -> None:
    result = make_bench(loaded, {PLAIN: Behaviour(QUIET), MTP_1: Behaviour([134.0], (0.9,))}, runs=1).run()
    assert result.verdict is None and judgements(most(result))["mtp 1"] is Judgement.NONE
    assert "With 5 lanes nothing is judged: that takes two rounds." in list(sentences(result))


def test_a_result_says_how_it_was_made(loaded: LoadedSpec) -> None:
    result = make_bench(loaded, {PLAIN: Behaviour(QUIET)}, command="pagec bench x").run()
    assert (result.command, result.runs, result.temperature, result.spec) == ("pagec bench x", 5, 0.0, loaded.name)
    assert replace(result, loads=()).verdict is None
