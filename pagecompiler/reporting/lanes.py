"""Attempts as a picture of the lanes, and the same as a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from pagecompiler.reporting.attempts import Attempt
from pagecompiler.reporting.timeline import Stretch, timeline
from pagecompiler.reporting.visible import plain

HEAD = ("Block", "Group", "State", "Lane", "Admitted", "Prompt read", "Ended", "Tokens")
GROUPS = ("style", "top", "upper", "lower", "bottom")
OTHER_TONE = len(GROUPS)

_BROKEN = ("refused", "failed", "lost")


@dataclass(frozen=True, slots=True)
class LanePicture:
    """`groups` are the names and tones that occur; `rows` fit to `head`."""

    svg: Markup
    lanes: int
    groups: tuple[tuple[str, int], ...]
    broken: bool
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def lane_picture(attempts: Iterable[Attempt], *, zero: float | None = None) -> LanePicture | None:
    """The picture of attempts, from `zero` on (default: the first admission); None when there is nothing to show."""
    shown = [attempt for attempt in attempts if attempt.ended is not None]
    if not shown:
        return None
    start = min(attempt.admitted for attempt in shown) if zero is None else zero
    lanes = 1 + max(attempt.lane for attempt in shown)
    names = dict.fromkeys(attempt.group for attempt in shown)
    order = sorted(names, key=lambda name: (_tone(name), name))
    label = (
        f"{len(shown)} attempts at blocks in {lanes} lanes over {max(a.ended or 0 for a in shown) - start:.2f} seconds"
    )
    return LanePicture(
        svg=timeline([_stretch(attempt, start) for attempt in shown], label=label),
        lanes=lanes,
        groups=tuple((name, _tone(name)) for name in order),
        broken=any(attempt.state in _BROKEN for attempt in shown),
        head=HEAD,
        rows=tuple(_row(attempt, start) for attempt in shown),
    )


def _tone(group: str) -> int:
    return GROUPS.index(group) if group in GROUPS else OTHER_TONE


def _stretch(attempt: Attempt, zero: float) -> Stretch:
    ended = attempt.ended or attempt.admitted
    written = ended if attempt.first is None else attempt.first
    name, state = _name(attempt), "" if attempt.state == "done" else f", {attempt.state}"
    title = f"{name}{state}: {attempt.admitted - zero:.2f} to {ended - zero:.2f} s, {len(_tokens(attempt))} tokens"
    return Stretch(
        lane=attempt.lane,
        start=attempt.admitted - zero,
        written=written - zero,
        end=ended - zero,
        label=f"{name}{state}",
        title=title,
        tone=_tone(attempt.group),
        broken=attempt.state in _BROKEN,
    )


def _row(attempt: Attempt, zero: float) -> tuple[str, ...]:
    times = (attempt.admitted, attempt.first, attempt.ended)
    seconds = ("" if time is None else f"{time - zero:.2f} s" for time in times)
    return (
        _name(attempt),
        attempt.group,
        attempt.state,
        str(attempt.lane + 1),
        *seconds,
        f"{len(_tokens(attempt)):,}",
    )


def _name(attempt: Attempt) -> str:
    block = plain(attempt.block)
    return block if attempt.number == 1 else f"{block}, attempt {attempt.number}"


def _tokens(attempt: Attempt) -> tuple[object, ...]:
    return attempt.completion.tokens if attempt.completion is not None else tuple(attempt.tokens)
