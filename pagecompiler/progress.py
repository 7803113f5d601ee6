"""Progress on stderr: one live line per build group in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pagecompiler.engine.types import EngineStats
from pagecompiler.generate import Progress

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

_REFRESH = 10


@dataclass(slots=True)
class _Group:
    state: str = "waiting"
    block: str = ""
    finished_tokens: int = 0
    current_tokens: int = 0
    finished_guesses: tuple[int, int] = (0, 0)  # drafted, accepted
    current_guesses: tuple[int, int] = (0, 0)
    finished_passes: tuple[int, int] = (0, 0)  # passes, rows
    current_passes: tuple[int, int] = (0, 0)
    started: float = field(default_factory=time.perf_counter)
    ended: float | None = None

    @property
    def tokens(self) -> int:
        return self.finished_tokens + self.current_tokens

    @property
    def accepted(self) -> str:
        """The accepted share of what was drafted; empty when nothing was."""
        drafted, accepted = map(sum, zip(self.finished_guesses, self.current_guesses, strict=True))
        return f"{100 * accepted // drafted} % accepted" if drafted else ""

    @property
    def passes(self) -> str:
        """Tokens and rows a pass; empty where no passes are told."""
        passes, rows = map(sum, zip(self.finished_passes, self.current_passes, strict=True))
        return f"{self.tokens / passes:.1f} tokens, {rows / passes:.1f} rows a pass" if passes else ""

    @property
    def rate(self) -> float:
        seconds = (self.ended or time.perf_counter()) - self.started
        return self.tokens / seconds if seconds > 0 else 0.0


def _passes(progress: Progress) -> tuple[int, int]:
    """Passes behind the prompt, and the rows in them."""
    return (progress.event.passes, progress.event.rows) if progress.event is not None else (0, 0)


def spent_line(spent: EngineStats) -> str:
    """What an engine did, in words.

    >>> spent_line(EngineStats(tokens=90, verify_passes=30, verify_rows=360, drafted=80, accepted=60,
    ...                        target_seconds=1.5, draft_seconds=0.25, python_seconds=0.05))
    '3.0 tokens and 12.0 rows a pass, 75 % of guesses accepted; model 1.50 s, drafts 0.25 s, Python 0.05 s'
    """
    passes = f"{spent.tokens / spent.verify_passes:.1f} tokens and {spent.rows_per_pass:.1f} rows a pass"
    share = f", {100 * spent.accepted // spent.drafted} % of guesses accepted" if spent.drafted else ""
    drafts = f", drafts {spent.draft_seconds:.2f} s" if spent.draft_passes or spent.draft_seconds else ""
    if spent.draft_device:
        drafts += f" on {spent.draft_device} (not hidden: the model waits for them)"
    return f"{passes}{share}; model {spent.target_seconds:.2f} s{drafts}, Python {spent.python_seconds:.2f} s"


class PlainProgress:
    """One line on stderr when a block is done, refused or failed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def __call__(self, progress: Progress) -> None:
        if progress.state != "writing":
            attempt = f", attempt {progress.attempt}" if progress.attempt > 1 else ""
            print(
                f"{progress.group}: {progress.block} {progress.state}, {progress.tokens} tokens{attempt}",
                file=sys.stderr,
            )


class QuietProgress(PlainProgress):
    """Says nothing."""

    def __call__(self, progress: Progress) -> None:
        return None


class LiveProgress:
    """One line for each group that is written, redrawn in place. Nothing is drawn before the first event."""

    def __init__(self, *, color: bool) -> None:
        self._color = color
        self._groups: dict[str, _Group] = {}
        self._live: Live | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.update(self._table(), refresh=True)
            self._live.stop()

    def __call__(self, progress: Progress) -> None:
        group = self._groups.setdefault(progress.group, _Group())
        group.block = progress.block
        group.state = progress.state
        if progress.state == "writing":
            group.current_tokens = progress.tokens
            group.current_guesses = (progress.drafted, progress.accepted)
            group.current_passes = _passes(progress)
        else:
            group.finished_tokens += progress.tokens
            group.current_tokens = 0
            drafted, accepted = group.finished_guesses
            group.finished_guesses = (drafted + progress.drafted, accepted + progress.accepted)
            group.current_guesses = (0, 0)
            (passes, rows), (more, more_rows) = group.finished_passes, _passes(progress)
            group.finished_passes = (passes + more, rows + more_rows)
            group.current_passes = (0, 0)
        group.ended = time.perf_counter() if progress.state in ("done", "failed") else None
        self._show()

    def _show(self) -> None:
        if self._live is None:
            from rich.console import Console
            from rich.live import Live

            console = Console(stderr=True, no_color=not self._color, highlight=False)
            self._live = Live(console=console, refresh_per_second=_REFRESH, get_renderable=self._table)
            self._live.start()

    def _table(self) -> Table:
        from rich.table import Table

        table = Table.grid(padding=(0, 2))
        styles = {"done": "green", "failed": "red", "refused": "yellow", "writing": "cyan"}
        for name, group in self._groups.items():
            state = f"[{styles.get(group.state, 'default')}]{group.state}[/]"
            table.add_row(
                name,
                state,
                f"{group.tokens} tokens",
                f"{group.rate:.0f} tok/s",
                group.accepted,
                group.passes,
                group.block.replace("[", "\\["),
            )
        return table
