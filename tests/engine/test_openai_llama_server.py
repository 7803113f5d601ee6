"""The remote engine against llama.cpp's own server, where it was built (`benchmarks/peers/build_llama_server.sh`).

`PAGEC_LLAMA_SERVER` names a binary that stands elsewhere.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.workload import longest, sample_requests
from pagecompiler import cli
from pagecompiler.api import engine_maker
from pagecompiler.build import CompileOptions, EngineSource, PageResult, compile_spec
from pagecompiler.engine.openai.counters import GuessCounters, read_counters
from pagecompiler.engine.openai.engine import OpenAIEngine
from pagecompiler.engine.types import Completion, FinishReason, Message, Request, Verdict
from pagecompiler.models import served_model
from pagecompiler.monitor import BlockMonitor
from pagecompiler.prompts import FORMAT
from pagecompiler.spec import load_spec
from pagecompiler.validate import validate_page
from tests.referees import ROOT

from .conftest import MINI

GIVEN = os.environ.get("PAGEC_LLAMA_SERVER")
BINARY = Path(GIVEN or ROOT / "build/llama-server/cmake/bin/llama-server")
LISTENING = re.compile(r"listening on (http://127\.0\.0\.1:(\d+))")
MTP = ("--spec-type", "draft-mtp", "--spec-draft-n-max", "2", "--spec-draft-p-min", "0")
METHODS = {"plain": (), "mtp": MTP}

pytestmark = pytest.mark.skipif(
    not BINARY.is_file() and not GIVEN, reason="llama-server was not built (benchmarks/peers/build_llama_server.sh)"
)


class LlamaServer:
    """A server of pagec-mini with five slots on loopback, on any free port or on one that is given."""

    def __init__(self, *options: str, port: str = "0") -> None:
        common = ("--host", "127.0.0.1", "--port", port, "-np", "5", "--kv-unified", "-c", "20480", "-t", "2")
        self._process = subprocess.Popen(
            [str(BINARY), "-m", str(MINI), "-a", "pagec-mini", "--metrics", *common, *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr is not None
        said = []
        for line in self._process.stderr:
            said.append(line)
            found = LISTENING.search(line)
            if found:
                break
        else:
            raise AssertionError("the server did not start:\n" + "".join(said[-20:]))
        self.url, self.port = found.groups()
        self._rest = threading.Thread(target=self._process.stderr.read)  # a full pipe would stop the server
        self._rest.start()

    def __enter__(self) -> LlamaServer:
        return self

    def __exit__(self, *exception: object) -> None:
        self.kill()

    def kill(self) -> None:
        """End it at once, whatever it is writing."""
        self._process.kill()
        self._process.wait()
        self._rest.join()
        assert self._process.stderr is not None
        self._process.stderr.close()


@pytest.fixture(scope="module", params=METHODS)
def served(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    with LlamaServer(*METHODS[request.param]) as server:
        yield request.param, server.url


def compile_here(url: str, folder: Path) -> PageResult:
    model = served_model(url)
    assert (model.name, model.format) == ("pagec-mini", FORMAT)
    source = EngineSource(model, engine_maker(model, lanes=5))
    options = CompileOptions(output=folder / "page.html", sampling=model.sampling, cache_dir=folder / "cache")
    try:
        return compile_spec(load_spec(ROOT / "specs" / "kettle.yaml"), source, options)
    finally:
        source.close()


def counters(url: str) -> GuessCounters:
    found = read_counters([f"{url}/v1"])
    assert found is not None
    return found


def test_a_page_passes_all_checks_and_its_guesses_are_counted(served: tuple[str, str], tmp_path: Path) -> None:
    method, url = served
    before = counters(url)
    result = compile_here(url, tmp_path)
    assert result.ok, [finding.message for finding in result.diagnostics]
    assert validate_page((tmp_path / "page.html").read_text(encoding="utf-8")) == ()
    written = [completion for block in result.blocks for completion in block.completions]
    assert all(completion.tokens and completion.prompt_tokens for completion in written)
    drafted, accepted = sum(c.drafted for c in written), sum(c.accepted for c in written)
    spent = counters(url) - before
    if method == "plain":
        assert (drafted, accepted, spent) == (0, 0, GuessCounters())
        return
    # pagec stops listening when a block ends, the server notices a little later.
    assert 0 < accepted <= drafted <= spent.drafted
    assert accepted <= spent.accepted == sum(spent.accepted_by_position)
    assert 0 < spent.passes <= spent.drafted <= 2 * spent.passes


def test_a_bench_measures_it(served: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    method, url = served
    command = (
        "bench",
        str(ROOT / "specs" / "docs.yaml"),
        "--engine",
        url,
        "--runs",
        "1",
        "--lanes",
        "1,5,12",
        "--json",
    )
    with pytest.raises(SystemExit) as exit_info:
        cli.main((*command, "--pages", "2"))
    out, err = capsys.readouterr()
    assert not exit_info.value.code, err
    arms = json.loads(out)["arms"]
    assert [arm["lanes"] for arm in arms] == [1, 5, 12]
    for arm in arms:
        assert arm["tokens_per_second"]["median"] > 0 and arm["time_to_page"]["median"] > 0
        assert (arm["acceptance"] is None) if method == "plain" else 0 < arm["acceptance"] <= 1


def ask(number: int) -> Request:
    description = f"kind: prose\nheading: {{{{1}}}} short\nparagraphs: {{{{2}}}} long\nnumber: {number}"
    return Request((Message("system", "Write."), Message("user", description)), 60, f"b{number}", monitor=BlockMonitor)


def answers(engine: OpenAIEngine, numbers: list[int]) -> dict[int, Completion]:
    for number in numbers:
        engine.submit(ask(number))
    return {event.request: event.completion for event in engine.events() if event.completion}


def test_more_requests_than_slots_all_end_with_whole_answers(served: tuple[str, str]) -> None:
    engine = OpenAIEngine([f"{served[1]}/v1"], "pagec-mini", key=None)
    try:
        ended = answers(engine, list(range(24)))
        assert len(ended) == 24
        assert all(completion.text and completion.error is None for completion in ended.values())
        assert not engine.endpoints[0].serial and not engine.endpoints[0].failures
    finally:
        engine.close()


class Enough:
    """Has seen enough with the first piece of text."""

    def feed(self, text: str) -> Verdict:
        return Verdict.DONE


def test_what_has_ended_here_ends_on_the_server() -> None:
    request = longest(sample_requests(), 1)[0]
    with LlamaServer() as server:
        engine = OpenAIEngine([f"{server.url}/v1"], "pagec-mini", key=None)
        written = []
        try:
            for monitor in (BlockMonitor, Enough):
                engine.submit(replace(request, monitor=monitor))
                for _ in engine.events():
                    pass
                while metric(server.url, "requests_processing"):
                    time.sleep(0.01)
                written.append(metric(server.url, "tokens_predicted_total") - sum(written))
        finally:
            engine.close()
    whole, ended_early = written
    assert 0 < ended_early < whole / 2


def metric(url: str, name: str) -> float:
    with urllib.request.urlopen(f"{url}/metrics", timeout=60) as answer:
        found = re.search(rf"^llamacpp:{name} (\S+)", answer.read().decode(), re.MULTILINE)
    assert found is not None
    return float(found[1])


def test_only_the_right_key_opens_a_server() -> None:
    ended = []
    with LlamaServer("--api-key", "sesame") as server:
        for key in ("sesame", "mellon"):
            engine = OpenAIEngine([f"{server.url}/v1"], "pagec-mini", key=key)
            try:
                ended += answers(engine, [1]).values()
            finally:
                engine.close()
    right, wrong = ended
    assert right.text and right.error is None
    assert wrong.reason is FinishReason.FAILED and "HTTP 401" in str(wrong.error)


def test_a_server_that_is_killed_and_started_again_in_the_middle_loses_nothing() -> None:
    with LlamaServer() as first:
        engine = OpenAIEngine([f"{first.url}/v1"], "pagec-mini", key=None)
        second: LlamaServer | None = None
        ended: dict[int, Completion] = {}
        try:
            for number in range(40):
                engine.submit(ask(number))
            for event in engine.events():
                if event.completion is not None:
                    ended[event.request] = event.completion
                if len(ended) == 5 and second is None:
                    first.kill()
                    second = LlamaServer(port=first.port)
            assert second is not None and len(ended) == 40
            assert all(completion.text and completion.error is None for completion in ended.values())
            assert any(first.url in note for note in engine.notes)
        finally:
            engine.close()
            if second is not None:
                second.kill()
