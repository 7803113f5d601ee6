"""`--engine URL`: whole pages through servers on loopback, and what is said when they do not work."""

from __future__ import annotations

import asyncio
import json
import random
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from pagecompiler import cli, compile_page
from pagecompiler.batch import Batch
from pagecompiler.build import CompileOptions, EngineSource, PageResult
from pagecompiler.engine.base import EngineError
from pagecompiler.engine.openai.client import server_url
from pagecompiler.engine.openai.discovery import discover
from pagecompiler.engine.openai.endpoints import Policy
from pagecompiler.engine.openai.engine import OpenAIEngine
from pagecompiler.engine.reference import write
from pagecompiler.folder import find_specs
from pagecompiler.models import ModelNotFoundError, served_model
from tests.engine.fake_server import PATIENCE, FakeServer, Stream, answer, status
from tests.engine.server_faults import PASSING, SILENT
from tests.referees import ROOT

KETTLE = ROOT / "specs" / "kettle.yaml"
WORDS = "Water stays hot because two walls of steel keep a vacuum between them, and heat cannot cross it."
BRIEF = """title: Kettle
hero: {heading: A kettle}
sections:
- {kind: prose, id: p, heading: How it is made, brief: Say why a double wall keeps water hot.}
"""

Pagec = Callable[..., tuple[int, str, str]]


@pytest.fixture
def pagec(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Pagec:
    """Compiles in `tmp_path`, with a cache there: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as exit_info:
            cli.main(("compile", "--cache-dir", "cache", *arguments))
        captured = capsys.readouterr()
        return int(exit_info.value.code or 0), captured.out, captured.err

    return run


def page(server: FakeServer) -> str:
    return f"{server.url.removesuffix('/v1')}/"


def test_a_page_through_two_servers_is_the_page_of_the_reference_engine(pagec: Pagec) -> None:
    pagec("--model", "reference", str(KETTLE), "-o", "reference.html")
    with FakeServer(write, model="pagec-mini") as one, FakeServer(write, model="pagec-mini") as other:
        code, out, err = pagec("--engine", f"{page(one)},{page(other)}", str(KETTLE), "-o", "a.html")
        assert (code, out) == (0, "a.html\n"), err
        assert err.startswith(f"model: pagec-mini ({one.url}, {other.url})\n")
        assert Path("a.html").read_bytes() == Path("reference.html").read_bytes()
        # One page, one server: its requests share their prefix there.
        assert sorted(map(bool, (one.requests, other.requests))) == [False, True]
        asked = len(one.requests) + len(other.requests)
        # The key has the model's name and no address.
        code, _, err = pagec("--engine", page(other), str(KETTLE), "-o", "b.html")
        assert code == 0 and "0 tokens" in err
        assert len(one.requests) + len(other.requests) == asked


def test_a_page_survives_every_kind_of_fault(pagec: Pagec) -> None:
    async def cut(stream: Stream) -> None:
        await stream.open()
        await stream.text("<section><h2>{{1}}")
        await stream.done()

    faults = (status(429, "", "Retry-After: 0\r\n"), cut, status(500, "oops"), status(503, "busy"), cut)
    pagec("--model", "reference", str(KETTLE), "-o", "reference.html")
    with FakeServer(write, model="pagec-mini", faults=faults, interrupts=True) as server:
        code, _, err = pagec("--engine", page(server), str(KETTLE), "-o", "a.html", "--json")
    assert code == 0, err
    assert Path("a.html").read_bytes() == Path("reference.html").read_bytes()


def test_a_server_that_fails_leaves_the_last_page(pagec: Pagec, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.html").write_text("the last page")
    with FakeServer(model="pagec-mini", act=status(401, {"error": {"message": "who are you?"}})) as server:
        code, out, err = pagec("--engine", page(server), str(KETTLE), "-o", "a.html")
    assert (code, out) == (1, "") and Path("a.html").read_text() == "the last page"
    assert "error[E0703]" in err and "HTTP 401: who are you?" in err
    assert "a.html stays as it was" in err


def test_a_batch_survives_the_death_of_a_server(pagec: Pagec, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"p{number}" for number in range(12)]
    for number, name in enumerate(names):
        # Each page has a structure of its own, so each must be written.
        rows = "".join(f"  - {{title: Item {n}, text: A text.}}\n" for n in range(1 + number))
        spec = f"title: {name}\nhero: {{heading: {name}}}\nsections:\n- kind: features\n  heading: F\n  items:\n{rows}"
        (Path("site") / name).mkdir(parents=True)
        (Path("site") / name / "index.yaml").write_text(spec)
    dead = threading.Event()
    with FakeServer(write, model="pagec-mini") as one, FakeServer(write, model="pagec-mini") as other:

        async def die(stream: Stream) -> None:
            await stream.open()
            await stream.text("<section>")
            dead.set()
            await asyncio.sleep(60)

        one.faults.extend([answer, answer, die])
        killer = threading.Thread(target=lambda: dead.wait(PATIENCE) and one.stop())
        killer.start()
        with pytest.raises(SystemExit) as exit_info:
            cli.main(("batch", "site", "-o", "out", "--engine", f"{page(one)},{page(other)}"))
        killer.join()
        out, err = capsys.readouterr()
        assert exit_info.value.code == 0, err
        assert dead.is_set() and f"{one.url}: " in err
    assert sorted(out.split()) == sorted(f"out/{name}/index.html" for name in names)
    for number, name in enumerate(names):
        assert Path(f"out/{name}/index.html").read_text().count("A text.") == 1 + number


@pytest.mark.parametrize(("arguments", "expected"), [((), (64, 256)), (("--jobs", "3", "--lanes", "7"), (3, 7))])
def test_a_batch_asks_servers_for_more_than_a_model_here(
    pagec: Pagec, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], expected: tuple[int, int]
) -> None:
    made: list[tuple[int, int]] = []

    def run(self: Batch) -> None:
        made.append((self._jobs, self._options.lanes))

    monkeypatch.setattr(Batch, "run", run)
    Path("site").mkdir()
    Path("site/index.yaml").write_text("title: T\nhero: {heading: H}\n")
    with FakeServer(write, model="pagec-mini") as server, pytest.raises(SystemExit) as exit_info:
        cli.main(("batch", "site", "--engine", page(server), *arguments))
    assert (exit_info.value.code, made) == (0, [expected])


def test_watch_goes_on_through_a_restart_of_its_server(tmp_path: Path) -> None:
    """A save while the server is down waits for it; the model is asked for once."""
    spec = tmp_path / "page.yaml"
    spec.write_text("title: One\nhero: {heading: H}\n")
    with FakeServer(write, model="pagec-mini") as server:
        command = [sys.executable, "-m", "pagecompiler.cli", "watch", str(spec), "--engine", page(server), "--poll"]
        with subprocess.Popen(
            [*command, "-o", str(tmp_path / "page.html")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None and process.stderr is not None
            try:
                assert "groups reused" in process.stdout.readline()
                server.stop()
                spec.write_text("title: Two\nhero: {heading: H, actions: [{text: Go, href: /go}]}\n")
                while "cannot connect" not in (line := process.stderr.readline()):
                    assert line, "the watch ended"
                server.again()
                assert "groups reused" in process.stdout.readline()
            finally:
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=60)
    assert process.returncode == 0
    assert "<title>Two</title>" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("seed", [1, 2])
def test_a_batch_through_every_fault_and_restarts_loses_nothing(tmp_path: Path, seed: int) -> None:
    """A quarter of the requests fail, in any way, at two servers that are stopped and started again all the time."""
    luck = random.Random(seed)
    faults = [fault for name, fault in PASSING.items() if name not in SILENT]
    site, out = tmp_path / "site", tmp_path / "out"
    site.mkdir()
    for number in range(40):
        items = "".join(
            f"  - {{title: Item {bit}, {'href: /more' if number >> bit & 1 else 'text: A text.'}}}\n"
            for bit in range(6)
        )
        text = f"title: T\nhero: {{heading: H}}\nsections:\n- kind: features\n  heading: F\n  items:\n{items}"
        (site / f"{number:02}.yaml").write_text(text)

    async def fail_now_and_then(stream: Stream) -> None:
        await (luck.choice(faults) if luck.random() < 0.25 else answer)(stream)

    serve = partial(FakeServer, write, model="pagec-mini", act=fail_now_and_then)
    results: list[PageResult] = []
    done = threading.Event()
    with serve(places=20) as one, serve(interrupts=True) as other:
        model = served_model(f"{one.url},{other.url}")
        policy = Policy(pause=0.01, longest_pause=0.05, end=0.2, sends=30)
        source = EngineSource(model, lambda: OpenAIEngine(model.servers, model.name, key=None, policy=policy))

        def restart() -> None:
            while not done.wait(0.3):
                server = luck.choice((one, other))
                server.stop()
                done.wait(0.2)
                server.again()

        restarts = threading.Thread(target=restart)
        restarts.start()
        try:
            options = CompileOptions(output=out, lanes=64)
            batch = Batch(site, find_specs(site, out), source, options, jobs=32, told=lambda r, _: results.append(r))
            batch.survey()
            batch.run()
        finally:
            done.set()
            restarts.join()
            source.close()
    assert [result.spec for result in results if not result.ok] == []
    assert len({result.spec for result in results}) == len(results) == 40
    for number in range(40):
        assert (out / f"{number:02}.html").read_text().count('href="/more"') == number.bit_count()


def _writes_words(asked: str) -> str:
    if "Brief:" in asked:
        return f'<section class="prose"><h2>{{{{1}}}}</h2><p>{WORDS}</p></section>'
    description = re.search(r"^kind: .*?(?=\n\n|\nmood of the page|\Z)", asked, re.MULTILINE | re.DOTALL)
    assert description is not None
    return f"```html\n{write(description[0].strip())}\n```"


def test_briefs_are_written_by_other_models(pagec: Pagec) -> None:
    Path("brief.yaml").write_text(BRIEF)
    with FakeServer(_writes_words, model="Qwen/Qwen3.5-9B") as server:
        code, _, err = pagec("--engine", page(server), "brief.yaml", "-o", "a.html")
        assert code == 0, err
        assert {body["temperature"] for body in server.requests} == {0.2}
    assert WORDS in Path("a.html").read_text()
    with FakeServer(write, model="pagec-mini") as server:
        code, _, err = pagec("--engine", page(server), "brief.yaml")
        assert code == 1 and "error[E0701]" in err and not server.requests


def test_from_python(tmp_path: Path) -> None:
    (tmp_path / "page.yaml").write_text("title: T\nhero: {heading: H}\n")
    with FakeServer(write, model="x/pagec-mini.gguf") as server:
        assert compile_page(tmp_path / "page.yaml", server=page(server)).ok


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--engine", "localhost:8000"), "no address of a server"),
        (("--engine", "http://me:secret@localhost"), "set PAGEC_ENGINE_KEY"),
        (("--engine", "http://localhost:1", "--method", "mtp"), "the server decides"),
        (("--model", "reference", "--lanes", "65"), "more are for --engine"),
    ],
)
def test_wrong_usage(pagec: Pagec, arguments: tuple[str, ...], said: str) -> None:
    code, _, err = pagec(*arguments, str(KETTLE))
    assert code == 2 and said in err and "secret" not in err


def test_nobody_answers(pagec: Pagec) -> None:
    with FakeServer() as server:
        url = page(server)
    code, _, err = pagec("--engine", url, str(KETTLE))
    assert code == 1 and "no server can be used" in err and "cannot connect" in err and "is the server running" in err


def test_which_model_is_asked_for() -> None:
    with FakeServer(model="a") as one, FakeServer(model="b") as other, FakeServer(model=None) as empty:
        assert discover([one.url], None) == discover([one.url], "a") == "a"
        assert served_model(f"{one.url},{one.url}/").servers == (one.url,)
        for urls, wanted, said in (
            ([one.url, other.url], None, "no model in common"),
            ([empty.url], None, "no model in common"),
            ([one.url], "b", "has no model `b`, it has `a`"),
        ):
            with pytest.raises(ModelNotFoundError, match=said):
                served_model(",".join(urls), wanted)
        one.models_body = json.dumps({"data": [{"id": "a"}, {"id": "b"}]})
        assert discover([one.url, other.url], None) == "b"
        with pytest.raises(ModelNotFoundError, match="choose one with --model"):
            served_model(one.url)
        assert served_model(one.url, "a").name == "a"
        # A server that is down is tried again later, if another one answers.
        other.stop()
        assert discover([other.url, one.url], "a") == "a"


@pytest.mark.parametrize("body", ["<html>", "[]", '{"data": [1]}', "null"])
def test_no_list_of_models(body: str) -> None:
    with FakeServer() as server:
        server.models_body = body
        with pytest.raises(EngineError, match="no list of models"):
            discover([server.url], None)


def test_a_list_of_models_has_an_end_and_its_names_too() -> None:
    with FakeServer() as server:
        server.models_body = json.dumps({"data": [{"id": "a" * 300}, {"id": "\x1b[2J"}, {"id": "b"}]})
        assert discover([server.url], None) == "b"
        server.models_body = json.dumps({"data": [{"id": f"model {number}"} for number in range(1000)]})
        with pytest.raises(EngineError) as error_info:
            discover([server.url], None)
        assert len(str(error_info.value)) < 400
        server.models_body = json.dumps({"data": [{"id": "c"}, {"id": "d" * (5 << 20)}]})
        with pytest.raises(EngineError, match="no list of models"):
            discover([server.url], None)


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_a_list_of_models_without_end(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    written = 0

    async def endless(self: object, stream: Stream) -> None:
        nonlocal written
        await stream.raw(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n".encode())
        while written < 256 << 20:
            await stream.raw(b"[" * 65536)
            written += 65536

    monkeypatch.setattr(FakeServer, "_models", endless)
    with FakeServer() as server, pytest.raises(EngineError, match="no list of models"):
        discover([server.url], None)
    assert written < 32 << 20


@pytest.mark.parametrize(
    ("code", "hint"), [(401, "the key in PAGEC_ENGINE_KEY"), (503, "start again later"), (500, "own log"), (400, "")]
)
def test_a_server_that_refuses_to_list_its_models(code: int, hint: str) -> None:
    with FakeServer() as server:
        server.models_status, server.models_body = code, "no"
        with pytest.raises(EngineError, match=f"no server can be used: {server.url}: HTTP {code}") as error_info:
            discover([server.url], None)
    assert hint in error_info.value.hint and bool(hint) == bool(error_info.value.hint)


def test_a_server_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(self: object, stream: Stream) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(FakeServer, "_models", hang)
    with FakeServer() as server, pytest.raises(EngineError, match="does not answer"):
        discover([server.url], None, seconds=0.2)


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "one")
    with FakeServer() as server:
        discover([server.url], None)
        monkeypatch.setenv("PAGEC_ENGINE_KEY", "two")
        discover([server.url], None)
        assert server.keys == ["bearer one", "bearer two"]


def test_without_the_package_the_install_line_is_shown(pagec: Pagec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    code, _, err = pagec("--engine", "http://localhost:1", str(KETTLE))
    assert code == 1 and "pip install 'pagec[remote]'" in err


def test_addresses() -> None:
    assert server_url(" https://h:1/ ") == "https://h:1/v1"
    assert server_url("http://h/api/v2") == "http://h/api/v2"
    for wrong in ("", "h", "ftp://h", "http://", "http://h?x=1"):
        with pytest.raises(ValueError, match="server"):
            server_url(wrong)
