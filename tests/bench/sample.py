"""A plausible result of a bench, for tests of whatever shows it."""

from __future__ import annotations

from pagecompiler.bench.figures import (
    PREVIOUS,
    REFERENCE,
    Arm,
    ArmFigures,
    BenchResult,
    Difference,
    GroupFigures,
    Judgement,
    Lead,
    Load,
    LoadVerdict,
    MachineFigures,
    ModelFigures,
    Outcome,
    Prediction,
    Rebuild,
    Spread,
    TracedRequest,
    TracedRun,
)
from pagecompiler.engine.types import Candidate, Completion, FinishReason, GenerationEvent, TracedToken

GROUPS = ("style", "top", "upper", "lower", "bottom")
PLAIN, MTP_1, MTP_2, LOOKUP_2, AUTO = Arm("plain"), Arm("mtp", 1), Arm("mtp", 2), Arm("lookup", 2), Arm("auto")
SPEEDS = {  # tokens a second by arm, at one lane and at five
    PLAIN: (210.0, 520.0),
    MTP_1: (300.0, 660.0),
    MTP_2: (352.0, 702.0),
    LOOKUP_2: (225.0, 525.0),
    AUTO: (348.0, 690.0),
}


def spread(value: float, width: float = 0.03) -> Spread:
    return Spread(value, value * (1 - width), value * (1 + width))


def arm_figures(arm: Arm, lanes: int) -> ArmFigures:
    """The figures of an arm with one lane or with five."""
    alone, together = SPEEDS[arm]
    speed = alone if lanes == 1 else together
    base = SPEEDS[PLAIN][lanes != 1]
    guesses, depth = arm.method != "plain", arm.depth or 2
    kept = None if lanes == 1 else together / alone / lanes
    judgement = Judgement.BASE if arm == PLAIN else Judgement.FASTER if speed / base > 1.05 else Judgement.NOISE
    return ArmFigures(
        arm=arm,
        lanes=lanes,
        runs=5,
        accepted_runs=5,
        judgement=judgement,
        time_to_page=spread(1200 / speed + 0.1),
        tokens_per_second=spread(speed),
        ratio=spread(speed / base),
        first_text=spread(0.04),
        groups=tuple(GroupFigures(name, 240, spread(speed / lanes), kept) for name in ("upper",) if lanes == 1)
        or tuple(GroupFigures(name, 240, spread(speed / lanes), kept if name == "upper" else None) for name in GROUPS),
        kept=kept,
        tokens=1200,
        drafted=depth * 460 if guesses else 0,
        accepted=740 if guesses else 0,
        acceptance=740 / (depth * 460) if guesses else None,
        acceptance_by_position=(0.91, 0.78, 0.66, 0.55)[:depth] if guesses else (),
        mean_accepted_length=2.6 if guesses else None,
        rows_per_token=1.24 if guesses else 1.0,
        rows_per_pass=lanes * 3.0 if guesses else lanes * 0.96,
        target_passes=180 if guesses else 300,
        draft_passes=320 if arm.method == "mtp" else 0,
        prefill_share=0.18,
        bytes_per_token=1.1e6,
        bandwidth_share=0.06,
        memory_bytes=140_000_000,
        prediction=Prediction(
            2.6,
            1.4,
            0.22,
            900_000,
            400_000,
            speed / base * 1.2,
            speed / base * 1.08,
            None,
            None,
            0.25,
            "A sentence of why.",
        )
        if guesses and arm.depth
        else None,
        differences=(Difference("faq", "near tie", 17, 0.003, 0.02),) if arm == MTP_2 and lanes == 5 else (),
    )


def traced_run() -> TracedRun:
    """Two requests of one lane each, five tokens of each told."""

    def told(text: str, **more: object) -> TracedToken:
        candidates = (Candidate(text, 0.83), Candidate("<p", 0.09), Candidate("</", 0.04), Candidate("{{", 0.03))
        return TracedToken(text, candidates=candidates, **more)  # type: ignore[arg-type]

    tokens = (
        told("<section"),
        told(">", source="mtp", accepted=True),
        told("<h2", source="mtp", accepted=True),
        told(">", source="mtp", refused="</h2", refused_rank=3),
        told("{{1}}"),
    )
    requests = []
    for number, (label, group) in enumerate((("hero", "top"), ("why-this-kettle", "upper"))):
        start = 10.0 + 0.01 * number
        done = Completion("<section><h2>{{1}}", (1, 2, 3, 4, 5), FinishReason.DONE, 0.4, drafted=6, accepted=2)
        requests.append(
            TracedRequest(
                label,
                group,
                0,
                start,
                (
                    GenerationEvent(number, "admitted", at=start + 0.02),
                    GenerationEvent(number, "text", "<section>", 2, 3, 1, at=start + 0.1, trace=tokens[:2]),
                    GenerationEvent(number, "text", "<h2>{{1}}", 5, 6, 2, at=start + 0.3, trace=tokens[2:]),
                    GenerationEvent(number, "finished", tokens=5, completion=done, at=start + 0.4),
                ),
            )
        )
    return TracedRun(MTP_2, 5, 9.9, 10.6, tuple(requests))


def sample_result() -> BenchResult:
    """Every arm at one lane and at five, MTP in front, its lead narrowing."""
    verdicts = {
        lanes: LoadVerdict(Outcome.FASTER, lanes, MTP_2, ratio, f"mtp 2 wins with {lanes} lanes")
        for lanes, ratio in ((1, 352 / 210), (5, 702 / 520))
    }
    loads = tuple(
        Load(
            lanes,
            1,
            tuple(arm_figures(arm, lanes) for arm in SPEEDS),
            "upper" if lanes == 1 else "",
            0.021,
            verdicts[lanes],
        )
        for lanes in (1, 5)
    )
    one_block = {"runs": 5, "accepted_runs": 5, "tokens": 120}
    return BenchResult(
        spec="specs/kettle.yaml",
        date="2026-11-29",
        command="pagec bench specs/kettle.yaml",
        machine=MachineFigures(
            system="Linux x86_64",
            processor="A processor",
            threads=2,
            memory_bytes=8_000_000_000,
            gpus=(),
            python="3.11.2",
            pagec="0.1.0",
            llama_cpp="llama-cpp-python 0.3.36",
            bandwidth=11e9,
            bandwidth_from="measured",
        ),
        model=ModelFigures(
            name="pagec-mini",
            file_bytes=5_000_000,
            target_bytes=4_000_000,
            head_bytes=400_000,
            mtp_bytes=500_000,
            mtp_head_bytes=400_000,
            mtp_vocabulary=1024,
            layers=8,
            vocabulary=1024,
        ),
        runs=5,
        seed=0,
        temperature=0.0,
        loads=loads,
        reference=ArmFigures(Arm(REFERENCE), 5, 5, 5, Judgement.NONE, time_to_page=spread(0.09)),
        rebuild=Rebuild(
            block="why-this-kettle",
            items=7,
            anew=ArmFigures(
                PLAIN, 1, **one_block, judgement=Judgement.BASE, time_to_page=spread(0.7), tokens_per_second=spread(190)
            ),
            previous=ArmFigures(
                Arm(PREVIOUS),
                1,
                **one_block,
                judgement=Judgement.FASTER,
                time_to_page=spread(0.3),
                tokens_per_second=spread(560),
                ratio=spread(2.9),
                drafted=131,
                accepted=112,
                acceptance=112 / 131,
            ),
        ),
        lead=Lead(
            "mtp", 1, 352 / 210, 5, 702 / 520, "narrows", "The lead of mtp narrows: 1.68 at one lane, 1.35 at 5."
        ),
        notes=("draft: left out, no draft model fits",),
        traced=traced_run(),
        seconds=151.0,
    )
