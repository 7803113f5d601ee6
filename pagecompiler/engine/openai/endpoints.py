"""How much each server is asked at once, which one is asked, and when a failing one is tried again.

Nothing here waits or sends: states change by what is reported, and `now` is a value. So every rule can be tested
without a clock.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from pagecompiler.engine.openai.faults import FaultKind, SendError

REMEMBERED_PAGES = 4096


@dataclass(frozen=True, slots=True)
class Policy:
    """How patient to be; times in seconds.

    `sends` are how often one request is sent at most, cuts that others caused and busy servers left aside; `waits`
    how often it may find servers busy. When all servers have failed for `patience`, what waits is given up: long
    enough for a server to load its model again.
    """

    connect: float = 10.0
    first_text: float = 300.0
    next_text: float = 60.0
    end: float = 5.0
    sends: int = 6
    waits: int = 30
    patience: float = 180.0
    pause: float = 0.5
    longest_pause: float = 20.0
    longest_retry_after: float = 120.0
    first_limit: int = 8
    most: int = 256
    queued: float = 2.0


def steady_policy(requests: int) -> Policy:
    """For a measurement: each server is asked for so many at once from the beginning, however long they wait there."""
    return Policy(first_limit=requests, most=requests, queued=float("inf"))


SERIAL_AFTER_CUTS = 2
CUTS_FORGOTTEN_AFTER = 50
SAID_WHEN_BUSY = 3
"""Refusals in a row, without an answer between them, after which the user is told."""

_QUEUE_FACTOR = 4.0


@dataclass(slots=True)
class Endpoint:
    """One server and what was learnt about it.

    `limit` grows with each answer, first fast and after the first shrinking slowly, and shrinks when the server is
    busy or lets requests queue. `epoch` counts the shrinkings: requests that were sent before one say nothing new.
    `serial` is a server whose answers are cut when it is asked for several; `thinks` one whose model thinks although
    it is asked not to. `failures` are those in a row; `unusable` says why the server is of no use at all, which is
    believed only of one that has never answered.
    """

    url: str
    policy: Policy
    limit: float = 0.0
    running: int = 0
    pages: int = 0
    serial: bool = False
    unusable: str = ""
    last_fault: str = ""
    failures: int = 0
    failing_since: float = 0.0
    paused_until: float = 0.0
    verified: bool = False
    thinks: bool = False
    left_out: set[str] = field(default_factory=set)
    epoch: int = 0
    _starting: bool = True
    _left_alone: bool = False
    _proven: bool = False
    _busy: int = 0
    _cuts: int = 0
    _whole: int = 0
    _quickest: float = float("inf")

    def __post_init__(self) -> None:
        self.limit = float(self.policy.first_limit)

    @property
    def places(self) -> int:
        """How many requests may run; a server that failed is tried with one."""
        return 1 if self.serial or self.failures else int(self.limit)

    def usable(self, now: float) -> bool:
        """Whether it may be asked now, if there is a free place."""
        return not self.unusable and now >= self.paused_until

    def answered(self, epoch: int, first_text: float) -> None:
        """A whole answer came, its first text after `first_text` seconds; 0 if it has none."""
        self.failures = self._busy = 0
        self._left_alone = False
        self._proven = True
        self._whole += 1
        if self._whole >= CUTS_FORGOTTEN_AFTER and not self.serial:
            self._cuts = 0
        if first_text > max(self.policy.queued, _QUEUE_FACTOR * self._quickest):
            self._shrink(epoch, 0.9)
        elif self.running >= self.places:
            self.limit = min(self.policy.most, self.limit + (1 if self._starting else 1 / self.limit))
        self._quickest = min(self._quickest, first_text or self._quickest)

    def failed(self, fault: SendError, epoch: int, now: float) -> bool:
        """A request failed. Says whether that was the endpoint becoming worse: a line for the user."""
        self.last_fault = fault.message
        if fault.kind is FaultKind.UNUSABLE and not self._proven:
            worse = not self.unusable
            self.unusable = fault.message
            return worse
        if fault.kind is FaultKind.BUSY:
            self._busy_until(fault, epoch, now)
            return self._busy >= SAID_WHEN_BUSY and self._leave_alone()
        if self.cut_by_others(fault):
            return self._cut()
        if fault.kind is FaultKind.REFUSED or now < self.paused_until:
            return False  # several requests that run into one outage are one failure
        if not self.failures:
            self.failing_since = now
        self.failures += 1
        self.verified = False
        # One broken answer says little of a server; nobody there says much.
        if fault.kind in (FaultKind.BROKEN, FaultKind.CUT) and self.failures == 1:
            return False
        self.paused_until = max(self.paused_until, now + self._pause(self.failures))
        return self._leave_alone()

    def cut_by_others(self, fault: SendError) -> bool:
        """Whether an answer was cut while others were running."""
        return fault.kind is FaultKind.CUT and self.running > 1

    def hopeless(self, now: float) -> bool:
        """Whether waiting for it is in vain. After a long outage the next try says more than the time does."""
        failing = self.failures > 1 and not self.running and now - self.failing_since >= self.policy.patience
        return bool(self.unusable) or failing

    def _leave_alone(self) -> bool:
        """Whether that is new."""
        new, self._left_alone = not self._left_alone, True
        return new

    def _busy_until(self, fault: SendError, epoch: int, now: float) -> None:
        self._busy += epoch == self.epoch
        self._shrink(epoch, 0.5)
        asked = min(fault.retry_after or 0.0, self.policy.longest_retry_after)
        self.paused_until = max(self.paused_until, now + asked + self._pause(self._busy))

    def _cut(self) -> bool:
        self._whole = 0
        self._cuts += 1
        worse = self._cuts >= SERIAL_AFTER_CUTS and not self.serial
        self.serial = self.serial or worse
        return worse

    def _shrink(self, epoch: int, factor: float) -> None:
        if epoch == self.epoch:
            self.epoch += 1
            self._starting = False
            self.limit = max(1.0, self.limit * factor)

    def _pause(self, times: int) -> float:
        """Doubling pauses with jitter, so that clients do not come back together."""
        longest = min(self.policy.longest_pause, self.policy.pause * 2 ** min(times - 1, 16))
        return random.uniform(longest / 2, longest)


class Pool:
    """Chooses a server: one page's requests stay together, pages spread."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self.endpoints = tuple(endpoints)
        self._homes: OrderedDict[int, Endpoint] = OrderedDict()

    def choose(self, page: int, now: float) -> Endpoint | None:
        """The endpoint for a request of a page, or None while it has to wait."""
        home = self._homes.get(page)
        if home is None or not home.usable(now):
            home = min((e for e in self.endpoints if e.usable(now)), key=_load, default=None)
            if home is None:
                return None
            self._settle(page, home)
        return home if home.running < home.places else None

    def next_change(self, now: float) -> float | None:
        """When a paused endpoint may be asked again."""
        times = [e.paused_until for e in self.endpoints if not e.unusable and e.paused_until > now]
        return min(times, default=None)

    def hopeless(self, now: float) -> bool:
        """Whether no endpoint can be expected to answer."""
        return all(endpoint.hopeless(now) for endpoint in self.endpoints)

    def _settle(self, page: int, home: Endpoint) -> None:
        home.pages += 1
        self._homes[page] = home
        self._homes.move_to_end(page)
        while len(self._homes) > REMEMBERED_PAGES:
            self._homes.popitem(last=False)


def _load(endpoint: Endpoint) -> tuple[float, int]:
    return endpoint.running / endpoint.places, endpoint.pages
