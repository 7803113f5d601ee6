"""The result of a bench as plain data: what was measured, what follows from it, and what was expected.

Seconds, bytes, tokens; shares are from 0 to 1. Nothing here names the machine's owner or host: results are shown
around. A `Load` is one way of loading the model: so many lanes and pages at once. Each load has the same arms.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import Literal

from pagecompiler.engine.types import GenerationEvent

PREVIOUS, REFERENCE, SERVER = "previous", "reference", "server"
"""Arms beside the methods of `engine.types.Method`: a rebuild after an edit, the rules without a model, a server."""


@dataclass(frozen=True, slots=True)
class Spread:
    """One figure over the timed runs."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """The spread of at least one value.

        >>> Spread.of([3.0, 1.0, 2.0])
        Spread(median=2.0, low=1.0, high=3.0)
        """
        found = list(values)
        return cls(median(found), min(found), max(found))


@dataclass(frozen=True, slots=True)
class Arm:
    """A way of writing. `method` is a value of `Method`, or PREVIOUS, REFERENCE or SERVER; `depth` is how many tokens
    are guessed at once, None where that is not fixed.

    >>> Arm("mtp", 2).name, Arm("plain").name
    ('mtp 2', 'plain')
    """

    method: str
    depth: int | None = None

    @property
    def name(self) -> str:
        return self.method if self.depth is None else f"{self.method} {self.depth}"


class Judgement(StrEnum):
    """How an arm compares with plain decoding, run by run."""

    BASE = "base"  # plain itself
    FASTER = "faster"
    SLOWER = "slower"
    NOISE = "within noise"
    NONE = "not judged"  # not comparable, not accepted, or too few runs


@dataclass(frozen=True, slots=True)
class Difference:
    """A block whose text is not the one that plain decoding wrote.

    They part at `token` (from 0). `gap` is how far apart the logits of both tokens are there in a fresh evaluation,
    `allowed` what rounding explains on this machine. A `near tie` is within it, and so is every token behind it that
    the arm chose; all else is a `defect`. `sampled`: the text was drawn at a temperature, so there is no arg-max to
    hold it against.
    """

    block: str
    kind: Literal["near tie", "defect", "sampled"]
    token: int
    gap: float
    allowed: float


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """One build group. `tokens_per_second` is the speed of a lane while it writes this group, prompts included;
    `kept` the share of the same arm's speed alone (at one lane) that it
    keeps, known of the group that was written alone."""

    name: str
    tokens: int
    tokens_per_second: Spread
    kept: float | None = None


@dataclass(frozen=True, slots=True)
class Prediction:
    """What an arm should reach, before it is run: sizes of weights, the cost of passes of plain decoding and the arm's
    acceptance. Costs are in units of one plain step of the same lanes.

    `step_ratio` = tokens_per_step ÷ (verify_cost + depth × draft_cost) is the predicted speed of decoding in units of
    plain's, `ratio` that of the whole run: prompts and linking take as long as before. `draft_bytes` are the weights
    that one draft pass reads, `head_bytes` the vocabulary head's part of them. `trimmed_ratio` is the ratio with a
    head of `trimmed_rows` rows, None where no head can be cut. `measured_draft_cost` is what a draft pass did cost:
    beside it, the prediction's `draft_cost` shows what is not explained by sizes. `words` explains it in some
    sentences.
    """

    tokens_per_step: float
    verify_cost: float
    draft_cost: float
    draft_bytes: int
    head_bytes: int
    step_ratio: float
    ratio: float
    trimmed_rows: int | None
    trimmed_ratio: float | None
    measured_draft_cost: float
    words: str


@dataclass(frozen=True, slots=True)
class ArmFigures:
    """One arm under one load. Spreads are over the timed runs; counts are of the run with the median speed.

    - `runs`: timed runs, of them `accepted_runs` whose pages were all valid; only those count for speeds.
    - `tokens_per_second`: accepted tokens of all lanes by the time from the first request to the last answer, prompts
      and linking included; None where no run was accepted, or nothing was decoded.
    - `ratio`: the same in units of plain's in the same round; None for arms that are not comparable.
    - `time_to_page`: seconds from the plan to the validated page (or pages), with one lane to the finished group;
      `first_text`: from a request to its first characters, the median over requests.
    - `kept`: the share of its speed alone that a lane keeps, over all groups.
    - `tokens`: accepted ones. `acceptance`: approved guesses of all guessed tokens, None where nothing was guessed.
    - `acceptance_by_position`: of the guesses that had a first, second, … token, the share in which it was approved.
    - `mean_accepted_length`: tokens from a pass that verified a guess. `rows_per_token`: rows verified by tokens
      emitted, 1 is no waste. `rows_per_pass`: of the verifying passes.
    - `target_passes`, `draft_passes`: all passes, prompts included. `prefill_share`: time spent on prompts.
    - `bytes_per_token`: weights read for an emitted token; `bandwidth_share`: that traffic by what memory gives.
    - `memory_bytes`: peak resident memory of the process that ran the arm, weights in mapped files included; none of a
      server.
    - `differences`: from plain's text; empty when there are none or nothing can be compared.
    - `problem`: why it has no figures, or not all.
    """

    arm: Arm
    lanes: int
    runs: int
    accepted_runs: int
    judgement: Judgement
    time_to_page: Spread | None = None
    tokens_per_second: Spread | None = None
    ratio: Spread | None = None
    first_text: Spread | None = None
    groups: tuple[GroupFigures, ...] = ()
    kept: float | None = None
    tokens: int = 0
    drafted: int = 0
    accepted: int = 0
    acceptance: float | None = None
    acceptance_by_position: tuple[float, ...] = ()
    mean_accepted_length: float | None = None
    rows_per_token: float | None = None
    rows_per_pass: float | None = None
    target_passes: int | None = None
    draft_passes: int | None = None
    prefill_share: float | None = None
    bytes_per_token: float | None = None
    bandwidth_share: float | None = None
    memory_bytes: int | None = None
    differences: tuple[Difference, ...] = ()
    prediction: Prediction | None = None
    problem: str = ""

    @property
    def defective(self) -> bool:
        """Whether its text is wrong: not what plain decoding approves."""
        return any(difference.kind == "defect" for difference in self.differences)


class Outcome(StrEnum):
    """What a load shows."""

    FASTER = "faster"  # an arm beats plain decoding by more than the noise
    PLAIN = "plain"  # every other arm is slower
    NOISE = "noise"  # nothing stands out: no verdict


@dataclass(frozen=True, slots=True)
class LoadVerdict:
    """The winner of a load: what `auto` starts from there. `ratio` is its median speed in units of plain's."""

    outcome: Outcome
    lanes: int
    arm: Arm
    ratio: float
    words: str

    @property
    def within_noise(self) -> bool:
        return self.outcome is Outcome.NOISE


@dataclass(frozen=True, slots=True)
class Load:
    """All arms with so many lanes and pages at once. With one lane only the longest group is written, alone: `group`
    names it, else it is empty. `noise` is the share by which plain decoding differed from itself within a round, in
    four of five rounds by no more; None where it did not run twice."""

    lanes: int
    pages: int
    arms: tuple[ArmFigures, ...]
    group: str = ""
    noise: float | None = None
    verdict: LoadVerdict | None = None

    def find(self, arm: Arm) -> ArmFigures | None:
        """The figures of an arm."""
        return next((figures for figures in self.arms if figures.arm == arm), None)


@dataclass(frozen=True, slots=True)
class Rebuild:
    """The page again after one item of its longest group was duplicated: `previous` against writing the block anew.

    Both arms decode plainly, in one lane; the fragments of the other blocks are reused.
    """

    block: str
    items: int
    anew: ArmFigures
    previous: ArmFigures


@dataclass(frozen=True, slots=True)
class Lead:
    """The lead of a method over plain with few and with many lanes: the ratios of its best depth at each."""

    method: str
    few_lanes: int
    few_ratio: float
    many_lanes: int
    many_ratio: float
    change: Literal["widens", "narrows", "stays"]
    words: str


@dataclass(frozen=True, slots=True)
class MachineFigures:
    """Where it ran. `threads` are those that compute a pass on the CPU. `bandwidth` is in bytes a second;
    `bandwidth_from` says how it is known: read and copied by numpy, given by the user, or what plain decoding reached
    on a GPU. Where servers write, all behind `pagec` is unknown: it would be theirs.
    """

    system: str
    python: str
    pagec: str
    processor: str = ""
    threads: int | None = None
    memory_bytes: int | None = None
    gpus: tuple[str, ...] = ()
    llama_cpp: str = ""
    bandwidth: float | None = None
    bandwidth_from: Literal["measured", "given", "plain decoding", ""] = ""


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """What writes. Bytes of weights that a pass reads: `target_bytes` of the model, of them `head_bytes` its vocabulary
    head; `mtp_bytes` of the MTP block and `mtp_head_bytes` of the head of `mtp_vocabulary` rows that it is used with;
    `draft_bytes` of the draft model. 0 where there is none. `layers` do not count the MTP block. A server tells none of
    this.
    """

    name: str
    file_bytes: int = 0
    target_bytes: int = 0
    head_bytes: int = 0
    mtp_bytes: int = 0
    mtp_head_bytes: int = 0
    mtp_vocabulary: int = 0
    layers: int = 0
    vocabulary: int = 0
    draft_name: str = ""
    draft_bytes: int = 0
    draft_layers: int = 0
    servers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TracedRequest:
    """One request of the traced run: when it was sent, and every event of it (`GenerationEvent.at` and `.trace`)."""

    label: str
    group: str
    page: int
    submitted_at: float
    events: tuple[GenerationEvent, ...]


@dataclass(frozen=True, slots=True)
class TracedRun:
    """One more run, outside the timed ones, with the story of each token: for the timeline and the token view.

    Times are seconds on one clock; `started_at` is when the page was planned, `ended_at` when it was finished.
    """

    arm: Arm
    lanes: int
    started_at: float
    ended_at: float
    requests: tuple[TracedRequest, ...]


@dataclass(frozen=True, slots=True)
class BenchResult:
    """Everything that a bench found out. `loads` are in order of their lanes.

    `runs` were asked for; `complete` is false when it was interrupted: then the figures are of the runs until then.
    `verdict` is that of the load with the most lanes. `notes` say what was left out and why.
    """

    spec: str
    date: str
    command: str
    machine: MachineFigures
    model: ModelFigures
    runs: int
    seed: int
    temperature: float
    loads: tuple[Load, ...]
    reference: ArmFigures | None = None
    rebuild: Rebuild | None = None
    lead: Lead | None = None
    complete: bool = True
    notes: tuple[str, ...] = ()
    traced: TracedRun | None = None
    seconds: float = 0.0

    @property
    def verdict(self) -> LoadVerdict | None:
        verdicts = [load.verdict for load in self.loads if load.verdict is not None]
        return max(verdicts, key=lambda verdict: verdict.lanes, default=None)

    @property
    def defective(self) -> tuple[ArmFigures, ...]:
        """All arms whose text is wrong; with any of them the command fails."""
        rebuilt = () if self.rebuild is None else (self.rebuild.previous,)
        return tuple(figures for load in self.loads for figures in load.arms if figures.defective) + tuple(
            figures for figures in rebuilt if figures.defective
        )
