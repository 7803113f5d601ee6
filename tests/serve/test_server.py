"""The server beside a watch: orders, several browsers, one that does not read, an end and a new beginning."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from pagecompiler.engine.scripted import ScriptedEngine
from pagecompiler.engine.types import Decoding, Method, Request
from pagecompiler.serve.server import PortTakenError, bind
from tests.serve.studio import PATIENCE, Studio, by_rule, spec_text

Start = Callable[..., Studio]


def test_the_page_and_its_spec(spec: Path, studio: Start) -> None:
    running = studio(spec)
    assert running.expect().ok
    status, html = running.get("/pages/page.html")
    assert status == 200 and html == running.results[0].html
    assert running.get("/spec?page=page")[1].startswith('{"text":"title: T')
    assert running.get("/pages/none.html")[0] == 404


def test_saving_in_the_build_view_is_like_saving_elsewhere(spec: Path, studio: Start) -> None:
    running = studio(spec)
    running.expect()
    digest = running.latest("page")["digest"]
    status, answer = running.post("/compile", {"page": "page", "text": spec_text("second"), "digest": digest})
    assert status == 200
    result = running.expect(lambda result: "second" in (result.html or ""))
    assert all(block.state == "reused" for block in result.blocks)
    assert running.latest("page")["digest"] == answer["digest"]


def test_compile_writes_every_block_again(spec: Path, studio: Start) -> None:
    running = studio(spec)
    first = running.expect()
    for _ in range(2):
        assert running.post("/compile", {"page": "page", "anew": True})[0] == 200
        again = running.expect()
        assert [block.state for block in again.blocks] == ["built"] * 3 and again.html == first.html
    assert len(running.engines) == 1, "the model stays loaded"


def test_compile_of_a_spec_that_is_broken_and_mended(spec: Path, studio: Start) -> None:
    running = studio(spec)
    running.expect()
    digest = running.latest("page")["digest"]
    _, answer = running.post("/compile", {"page": "page", "text": "title: [", "digest": digest, "anew": True})
    assert not running.expect(lambda result: not result.ok).ok
    head = running.latest("page")
    assert head["state"] == "failed" and head["diagnostics"][0]["code"] == "E0104"
    assert "first" in running.get("/pages/page.html")[1], "the last good page stays"
    mended = {"page": "page", "text": spec_text("mended"), "digest": answer["digest"], "anew": True}
    assert running.post("/compile", mended)[0] == 200
    assert running.expect(lambda result: "mended" in (result.html or "")).ok


def test_another_method_is_used_from_the_next_build_on(spec: Path, studio: Start) -> None:
    running = studio(spec)
    first = running.expect()
    assert running.post("/method", {"method": "lookup"})[0] == 200
    assert running.latest("board")["method"] == "lookup"
    assert len(running.engines) == 1, "nothing is loaded before something is to be written"
    running.post("/compile", {"page": "page", "anew": True})
    second = running.expect()
    assert running.engines == [Decoding(), Decoding(method=Method.LOOKUP)]
    assert second.html == first.html


def test_a_folder(spec: Path, studio: Start) -> None:
    other = spec.parent / "blog" / "post.yaml"
    other.parent.mkdir()
    other.write_text(spec_text("news"), encoding="utf-8")
    running = studio(spec.parent)
    running.expect()
    running.expect()
    assert [page["key"] for page in running.latest("board")["pages"]] == ["page", "blog/post"]
    assert "news" in running.get("/pages/blog/post.html")[1]
    assert running.latest("page", "page=blog/post")["spec"] == str(other)
    running.post("/compile", {"page": "blog/post", "anew": True})
    assert running.expect().spec == str(other)
    other.unlink()
    boards = running.follow().news("board")
    while [page["key"] for page in next(boards)["pages"]] != ["page"]:
        pass
    assert running.get("/pages/blog/post.html")[0] == 404


def test_images_before_and_after_the_first_build(spec: Path, studio: Start) -> None:
    picture = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="3"/>'
    (spec.parent / "img").mkdir()
    (spec.parent / "img" / "a.svg").write_text(picture, encoding="utf-8")
    spec.write_text("title: T\nhero: {heading: H, image: {src: img/a.svg, alt: A}}\n", encoding="utf-8")
    writing, go_on = threading.Event(), threading.Event()

    def slow(request: Request) -> str:
        writing.set()
        assert go_on.wait(PATIENCE)
        return by_rule(request)

    running = studio(spec, engine=lambda decoding: ScriptedEngine(slow))
    assert writing.wait(PATIENCE)
    assert running.get("/pages/img/a.svg") == (200, picture) and running.get("/pages/page.html")[0] == 404
    go_on.set()
    assert running.expect().ok
    assert running.get("/pages/img/a.svg") == (200, picture)
    running.stop()
    running.start()
    running.expect()  # current: it is not built again
    assert running.get("/pages/img/a.svg") == (200, picture)


def test_several_browsers_and_one_that_does_not_read(spec: Path, studio: Start) -> None:
    """The answer is far more than what fits into the buffers of a connection that nobody reads from."""
    filler = "<br>" * 20_000
    asked = 0

    def answer(request: Request) -> str:
        nonlocal asked
        asked += 1
        return filler if request.label == "one" and asked > 3 else by_rule(request)

    running = studio(spec, engine=lambda decoding: ScriptedEngine(answer))
    assert running.expect().ok
    readers = [running.follow() for _ in range(2)]
    asleep = running.follow()
    gone = running.follow()
    gone.close()
    for _ in range(3):
        running.post("/compile", {"page": "page", "anew": True})
        assert not running.expect(lambda result: bool(result.blocks)).ok
    for reader in readers:
        pages = reader.news("page")
        while (page := next(pages))["number"] < 4 or page["state"] == "building":
            pass
        reader.close()
    asleep.close()


def test_an_open_connection_does_not_keep_the_server(spec: Path, studio: Start) -> None:
    running = studio(spec)
    running.expect()
    follower = running.follow()

    def read() -> None:
        # The connection is closed under it.
        with suppress(AttributeError, ValueError, OSError, http.client.HTTPException):
            list(follower.news("nothing"))

    thread = threading.Thread(target=read)
    thread.start()
    running.stop()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    running.start()
    running.expect()
    assert running.latest("page")["state"] == "ok"


def test_a_port_that_is_taken() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(PortTakenError, match=str(other.getsockname()[1])):
            bind(other.getsockname()[1])
    with bind(0) as free:
        assert free.getsockname()[0] == "127.0.0.1"


def test_the_command(spec: Path) -> None:
    command = [sys.executable, "-m", "pagecompiler.cli", "watch", "page.yaml", "--model", "reference", "--serve"]
    with subprocess.Popen(
        [*command, "--port", "0"], cwd=spec.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None and process.stderr is not None
            assert "output/page.html: " in process.stdout.readline()
            said = [process.stderr.readline() for _ in range(3)]
            assert said[1].startswith("build view: http://127.0.0.1:") and said[2].rstrip().endswith("/preview")
            process.terminate()
            assert process.wait(PATIENCE) == 143
        finally:
            process.kill()


@pytest.mark.parametrize(("options", "message"), [
    (["--open"], "--open and --port are for --serve"),
    (["--port", "1"], "--open and --port are for --serve"),
])  # fmt: skip
def test_options_without_serve(spec: Path, options: list[str], message: str) -> None:
    from click.testing import CliRunner

    from pagecompiler.cli import cli

    result = CliRunner().invoke(cli, ["watch", str(spec), *options])
    assert result.exit_code == 2 and message in result.output


def test_without_the_packages_the_command_says_how_to_install_them(
    spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    from click.testing import CliRunner

    from pagecompiler.cli import cli

    for name in [name for name in sys.modules if name.startswith(("pagecompiler.serve", "uvicorn"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = CliRunner().invoke(cli, ["watch", str(spec), "--model", "reference", "--serve"])
    assert result.exit_code == 2
    assert "--serve needs the Python package uvicorn; pip install 'pagec[serve]'" in result.output
