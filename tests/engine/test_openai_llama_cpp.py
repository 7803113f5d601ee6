"""The remote engine against llama-cpp-python's own server, which by default cuts a running answer for a new one."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pagecompiler.api import engine_maker
from pagecompiler.build import CompileOptions, EngineSource, compile_spec
from pagecompiler.engine.openai.engine import OpenAIEngine
from pagecompiler.engine.types import FinishReason, Message, Request
from pagecompiler.models import served_model
from pagecompiler.prompts import FORMAT
from pagecompiler.spec import load_spec
from pagecompiler.validate import validate_page
from tests.referees import ROOT

from .conftest import MINI
from .tiny_models import CHATML, write_llama

MODES = {"cuts": [], "queues": ["--interrupt_requests", "false"]}
LISTENING = re.compile(r"Uvicorn running on (http://127\.0\.0\.1:\d+)")


def serve(model: Path, *options: str) -> Iterator[str]:
    """The address of a server of `model` on loopback, while the iterator is alive."""
    command = [sys.executable, "-m", "llama_cpp.server", "--model", str(model), "--host", "127.0.0.1", "--port", "0"]
    with subprocess.Popen(
        [*command, "--n_ctx", "4096", "--n_threads", "2", *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        said = []
        rest = threading.Thread(target=process.stderr.read)  # a full pipe would stop the server
        try:
            for line in process.stderr:
                said.append(line)
                found = LISTENING.search(line)
                if found:
                    break
            else:
                raise AssertionError("the server did not start:\n" + "".join(said[-20:]))
            rest.start()
            yield found[1]
        finally:
            process.kill()
            if rest.ident:
                rest.join()


@pytest.fixture(scope="module", params=MODES)
def transport(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    model = write_llama(tmp_path_factory.mktemp("served") / "tiny.gguf", template=CHATML)
    for url in serve(model, *MODES[request.param]):
        yield request.param, url


def test_every_request_ends_with_a_whole_answer(transport: tuple[str, str]) -> None:
    mode, url = transport
    choice = served_model(url)
    assert choice.name.endswith("tiny.gguf") and choice.format is None
    engine = OpenAIEngine(choice.servers, choice.name, key=None)
    try:
        numbers = [
            engine.submit(Request((Message("system", "s"), Message("user", f"block {n}")), 200 + n, f"b{n}"))
            for n in range(6)
        ]
        ended = {event.request: event.completion for event in engine.events() if event.completion}
        assert set(ended) == set(numbers)
        assert {completion.reason for completion in ended.values()} <= {FinishReason.LENGTH, FinishReason.END}
        assert all(completion.text for completion in ended.values())
        assert engine.endpoints[0].serial == (mode == "cuts")
    finally:
        engine.close()


@pytest.fixture(scope="module", params=MODES)
def mini(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    for url in serve(MINI, *MODES[request.param]):
        yield request.param, url


def test_a_page_passes_all_checks(mini: tuple[str, str], tmp_path: Path) -> None:
    mode, url = mini
    model = served_model(url)
    assert model.name.endswith("pagec-mini.gguf") and model.format == FORMAT
    source = EngineSource(model, engine_maker(model, lanes=5))
    options = CompileOptions(output=tmp_path / "page.html", sampling=model.sampling, cache_dir=tmp_path / "cache")
    try:
        result = compile_spec(load_spec(ROOT / "specs" / "explainer.yaml"), source, options)
        engine = source.get()
    finally:
        source.close()
    assert result.ok, [finding.message for finding in result.diagnostics]
    assert validate_page((tmp_path / "page.html").read_text(encoding="utf-8")) == ()
    assert isinstance(engine, OpenAIEngine) and engine.endpoints[0].serial == (mode == "cuts")
