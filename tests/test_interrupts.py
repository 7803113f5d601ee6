"""Signals that come where Python drops exceptions are not lost."""

from __future__ import annotations

import signal
import weakref
from collections.abc import Iterator

import pytest

from pagecompiler.changes import Changes
from pagecompiler.commands.interrupts import Interrupts
from pagecompiler.engine.llama.native_log import native_log


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    before = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
    interrupts = Interrupts()
    interrupts.install()
    yield interrupts
    for number, handler in before:
        signal.signal(number, handler)


class Thing:
    pass


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_a_signal_in_a_callback_is_remembered(
    interrupts: Interrupts, number: signal.Signals, error: type[BaseException]
) -> None:
    thing = Thing()
    reference = weakref.ref(thing, lambda gone: signal.raise_signal(number))
    del thing
    assert reference() is None and interrupts.received
    with pytest.raises(error):
        interrupts.check()
    changes = Changes(debounce_seconds=0, ended=lambda: interrupts.received)
    try:
        assert changes.closed and not changes.wait()
    finally:
        changes.close()


def test_a_signal_while_llama_cpp_logs_raises_nothing_there(interrupts: Interrupts) -> None:
    # Of the module and the function that llama.cpp calls.
    exec(
        "def add():\n    signal.raise_signal(signal.SIGINT)\nadd()",
        {"signal": signal, "__name__": native_log.__module__},
    )
    assert interrupts.received
    with pytest.raises(KeyboardInterrupt):
        interrupts.check()


def test_elsewhere_it_raises_at_once(interrupts: Interrupts) -> None:
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    interrupts.install()
    interrupts.check()


def test_ctrl_c_stays_ignored_where_it_was(interrupts: Interrupts) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    interrupts.install()
    signal.raise_signal(signal.SIGINT)
    assert not interrupts.received
