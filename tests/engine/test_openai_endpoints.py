"""What is learnt about servers, rule by rule and without a clock."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime

import pytest

from pagecompiler.engine.openai.client import retry_seconds
from pagecompiler.engine.openai.endpoints import CUTS_FORGOTTEN_AFTER, SAID_WHEN_BUSY, Endpoint, Policy, Pool
from pagecompiler.engine.openai.faults import FaultKind, SendError
from pagecompiler.engine.openai.stream import MAX_EVENT_BYTES, Piece, Usage, event_data, parse_piece

POLICY = Policy(pause=1.0, longest_pause=8.0, patience=60.0, first_limit=4, most=16, queued=2.0)
BUSY = SendError(FaultKind.BUSY, "busy")
DOWN = SendError(FaultKind.DOWN, "nobody there")
CUT = SendError(FaultKind.CUT, "cut")
BROKEN = SendError(FaultKind.BROKEN, "broken")


def endpoint(name: str = "a") -> Endpoint:
    return Endpoint(name, POLICY)


def full_round(server: Endpoint, first_text: float = 0.1) -> None:
    """As many answers as it has places, which are all taken again at once."""
    epoch = server.epoch
    for _ in range(server.places):
        server.running = server.places
        server.answered(epoch, first_text)
    server.running = 0


def test_the_limit_doubles_until_the_first_refusal_and_then_grows_by_one_a_round() -> None:
    server = endpoint()
    full_round(server)
    full_round(server)
    assert server.limit == 16
    server.failed(BUSY, server.epoch, 0.0)
    assert server.limit == 8
    full_round(server)
    assert server.limit == pytest.approx(9, abs=0.1)
    for _ in range(40):
        full_round(server)
    assert server.limit == POLICY.most


def test_a_limit_that_is_not_used_does_not_grow() -> None:
    server = endpoint()
    server.running = 1
    server.answered(server.epoch, 0.1)
    assert server.limit == POLICY.first_limit


def test_refusals_of_one_moment_count_once() -> None:
    server = endpoint()
    epoch = server.epoch
    for _ in range(4):
        server.failed(BUSY, epoch, 0.0)
    assert server.limit == 2 and server.paused_until <= POLICY.pause


def test_a_server_that_stays_busy_is_said_once() -> None:
    server = endpoint()
    said = [server.failed(BUSY, server.epoch, 0.0) for _ in range(SAID_WHEN_BUSY + 2)]
    assert said == [False] * (SAID_WHEN_BUSY - 1) + [True, False, False]


def test_retry_after_is_kept_and_bounded() -> None:
    server = endpoint()
    server.failed(SendError(FaultKind.BUSY, "busy", retry_after=30), server.epoch, 100.0)
    assert not server.usable(130.0) and server.usable(131.1)
    server.failed(SendError(FaultKind.BUSY, "busy", retry_after=1e9), server.epoch, 0.0)
    assert server.paused_until < 200.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("Sun, 29 Nov 2026 12:00:30 GMT", 30.0),
        ("Sun, 29 Nov 2026 13:00:30 +0100", 30.0),
        ("Sun, 29 Nov 2026 11:00:00 GMT", 0.0),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(text: str, seconds: float | None) -> None:
    assert retry_seconds(text, datetime(2026, 11, 29, 12, tzinfo=UTC)) == seconds


def test_queueing_shrinks_the_limit() -> None:
    server = endpoint()
    full_round(server)
    before = server.limit
    server.answered(server.epoch, 10.0)
    assert server.limit == pytest.approx(0.9 * before)


def test_a_down_server_pauses_longer_each_time_and_is_tried_with_one_request() -> None:
    server = endpoint()
    now, pauses = 0.0, []
    for _ in range(6):
        worse = server.failed(DOWN, server.epoch, now)
        assert worse == (not pauses)  # said once
        pauses.append(server.paused_until - now)
        now = server.paused_until
    assert all(
        low <= pause <= high for pause, low, high in zip(pauses, (0.5, 1, 2, 4, 4, 4), (1, 2, 4, 8, 8, 8), strict=True)
    )
    assert server.places == 1
    server.answered(server.epoch, 0.1)
    assert server.places == POLICY.first_limit


def test_many_requests_in_one_outage_are_one_failure() -> None:
    server = endpoint()
    for _ in range(20):
        server.failed(DOWN, server.epoch, 0.0)
    assert server.failures == 1 and server.paused_until <= 1.0


def test_one_broken_answer_pauses_nothing_a_second_one_does() -> None:
    server = endpoint()
    assert not server.failed(BROKEN, server.epoch, 0.0)
    assert server.usable(0.0)
    assert server.failed(BROKEN, server.epoch, 0.0)  # is said, once
    assert not server.usable(0.0)
    assert not server.failed(DOWN, server.epoch, server.paused_until)


def test_two_cuts_among_others_make_it_serial_for_good() -> None:
    server = endpoint()
    server.running = 3
    assert not server.failed(CUT, server.epoch, 0.0)
    assert server.failed(CUT, server.epoch, 0.0)
    assert (server.serial, server.places, server.failures) == (True, 1, 0)
    for _ in range(2 * CUTS_FORGOTTEN_AFTER):
        server.answered(server.epoch, 0.1)
    assert server.places == 1


def test_a_cut_is_forgotten_after_many_whole_answers() -> None:
    server = endpoint()
    server.running = 3
    server.failed(CUT, server.epoch, 0.0)
    for _ in range(CUTS_FORGOTTEN_AFTER):
        server.answered(server.epoch, 0.1)
    server.failed(CUT, server.epoch, 0.0)
    assert not server.serial


def test_hope_ends_with_patience_and_comes_back_with_an_answer() -> None:
    server = endpoint()
    server.failed(DOWN, server.epoch, 0.0)
    assert not server.hopeless(1000.0)  # one failure is no proof
    server.failed(DOWN, server.epoch, 10.0)
    assert not server.hopeless(59.0) and server.hopeless(60.0)
    server.answered(server.epoch, 0.1)
    assert not server.hopeless(100.0)


def test_after_a_long_outage_one_more_try_decides() -> None:
    server = endpoint()
    server.failed(DOWN, server.epoch, 0.0)
    server.failed(DOWN, server.epoch, server.paused_until)
    server.running = 1  # a watch goes on an hour later
    assert not server.hopeless(3600.0)
    server.running = 0
    assert server.hopeless(3600.0)


def test_pages_have_a_home_and_move_when_it_is_down() -> None:
    one, other = endpoint("one"), endpoint("other")
    pool = Pool([one, other])
    home = pool.choose(1, 0.0)
    assert home is not None and all(pool.choose(1, 0.0) is home for _ in range(3))
    second = pool.choose(2, 0.0)
    assert second is not None and second is not home
    home.failed(DOWN, home.epoch, 0.0)
    assert pool.choose(1, 0.1) is second
    assert pool.next_change(0.1) == home.paused_until
    second.running = second.places
    assert pool.choose(1, 0.1) is None


def test_a_server_that_has_answered_is_not_given_up_for_a_wrong_model() -> None:
    wrong = SendError(FaultKind.UNUSABLE, "serves other, not this")
    server = endpoint()
    server.answered(server.epoch, 0.1)
    assert server.failed(wrong, server.epoch, 0.0)  # is said: somebody is changing it
    assert not server.unusable and not server.usable(0.0) and server.usable(server.paused_until)
    server.failed(wrong, server.epoch, server.paused_until)
    assert server.hopeless(POLICY.patience)


def test_an_unusable_server_is_never_chosen() -> None:
    only = endpoint()
    pool = Pool([only])
    assert only.failed(SendError(FaultKind.UNUSABLE, "wrong key"), 0, 0.0)
    assert pool.choose(1, 1e9) is None and pool.hopeless(0.0) and pool.next_change(0.0) is None


# The stream.


async def _collect(*chunks: bytes) -> list[str]:
    async def source():
        for chunk in chunks:
            yield chunk

    return [data async for data in event_data(source())]


def _events(*chunks: bytes) -> list[str]:
    return asyncio.run(_collect(*chunks))


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_events_come_whole_whatever_the_chunks(size: int) -> None:
    text = ": ping\n\ndata: eins\r\n\r\nevent: x\ndata:zwei\ndata: drei\n\ndata: häl\n\ndata: unfinished\n".encode()
    chunks = [text[i : i + size] for i in range(0, len(text), size)]
    assert _events(*chunks) == ["eins", "zwei\ndrei", "häl"]


@pytest.mark.parametrize("chunk", [b"x" * 65536, b"data:\n" * 10_000], ids=["line", "event"])
def test_what_never_ends_is_refused(chunk: bytes) -> None:
    with pytest.raises(SendError, match="more than"):
        _events(*[chunk] * (MAX_EVENT_BYTES // len(chunk) + 2))


def test_pieces() -> None:
    assert parse_piece('{"choices": [{"delta": {"content": "a"}}]}') == Piece("a")
    assert parse_piece('{"choices": [{"delta": {"role": "assistant", "content": null}}]}') == Piece()
    assert parse_piece('{"choices": [{"delta": {"reasoning_content": "hm"}}]}') == Piece(thought=True)
    assert parse_piece('{"choices": [], "usage": {"completion_tokens": 3}}') == Piece(usage=Usage(tokens=3))
    assert parse_piece('{"choices": null, "usage": {"completion_tokens": 3}}') == Piece(usage=Usage(tokens=3))
    assert parse_piece('{"choices": [], "usage": null}') == Piece()
    assert parse_piece('{"choices": [{"delta": {"content": "a\\ud83d"}}]}') == Piece("a\ufffd")
    guesses = '{"num_draft_tokens": 5, "acceptance_histogram": %s}'
    for histogram in ([1, 2, -3], ["1"], [1] * 1000, None):
        told = parse_piece(
            '{"choices": [], "metrics": {"speculative_decoding": %s}}' % (guesses % json.dumps(histogram))
        )
        assert told.usage == Usage(drafted=5)
    for damaged in ('{"completion_tokens": "3"}', '{"completion_tokens": -3}', '{"completion_tokens": true}', "[]"):
        assert parse_piece(f'{{"choices": [], "usage": {damaged}}}').usage in (None, Usage())


@pytest.mark.parametrize(
    "data",
    ["", "[]", "1", "{}", "[" * 200_000, '{"choices": {}}', '{"choices": ["a"]}', '{"choices": [{"delta": "a"}]}'],
)
def test_what_is_no_piece_is_broken(data: str) -> None:
    with pytest.raises(SendError) as error_info:
        parse_piece(data)
    assert error_info.value.kind is FaultKind.BROKEN


def test_a_busy_server_may_say_so_in_the_stream() -> None:
    with pytest.raises(SendError) as error_info:
        parse_piece('{"error": {"message": "overloaded", "code": 503}}')
    assert error_info.value.kind is FaultKind.BUSY
