"""What a browser is told: everything once, then only what is new; a slow one never holds anything up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pagecompiler.build import CompileOptions
from pagecompiler.engine.types import Completion, FinishReason, GenerationEvent, Message, Request
from pagecompiler.folder import FolderSpec
from pagecompiler.page_build import PageBuild
from pagecompiler.results import PageResult
from pagecompiler.serve.board import KEPT_STORIES, Board
from pagecompiler.serve.viewer import MOST_ENTRIES, Viewer
from pagecompiler.spec import load_spec
from tests.serve.studio import MODEL

HERO = Request((Message("user", "x"),), 99, "hero", group="top")


def begin(board: Board, spec: Path) -> None:
    board.found([FolderSpec(spec, Path("out/page.html"))])
    build = PageBuild(load_spec(spec), MODEL, CompileOptions(read_cache=False))
    build.start()
    board.began(build)


def write(board: Board, *texts: str, request: int = 1) -> Callable[[GenerationEvent], None]:
    """The engine writes the hero; gives what hears of more of it."""
    listener = board.listen(HERO)
    assert listener is not None
    listener.hear(GenerationEvent(request, "admitted"))
    for number, text in enumerate(texts, 1):
        listener.hear(GenerationEvent(request, "text", text=text, tokens=number))
    return listener.hear


def traces(board: Board) -> bool:
    listener = board.listen(HERO)
    return listener is not None and listener.trace


def names(viewer: Viewer) -> list[str]:
    return [name for name, _ in viewer.news()]


def entries(viewer: Viewer) -> list[dict[str, Any]]:
    return [entry for name, content in viewer.news() if name == "log" for entry in content["entries"]]


def test_everything_at_first_and_then_what_is_new(spec: Path) -> None:
    board = Board(None, "model", "auto")
    viewer = Viewer(board, "page", "lanes", "secret")
    assert names(viewer) == ["board"]
    begin(board, spec)
    hear = write(board, "<sec", "tion>")
    assert names(viewer) == ["board", "page", "log"] and names(viewer) == []
    hear(GenerationEvent(1, "text", text="<h1>", tokens=3))
    assert [entry["text"] for entry in entries(viewer)] == ["<h1>"]
    late = Viewer(board, "page", "lanes", "secret")
    assert "".join(entry["text"] for entry in entries(late) if entry["kind"] == "text") == "<section><h1>"


def test_one_that_slept_through_a_build_is_told_the_new_one_from_its_beginning(spec: Path) -> None:
    board = Board(None, "model", "auto")
    begin(board, spec)
    viewer = Viewer(board, "page", "lanes", "secret")
    write(board, "old")
    assert len(entries(viewer)) == 2
    write(board, *["old"] * 1000)
    begin(board, spec)
    write(board, "new")
    assert [entry.get("text") for entry in entries(viewer)] == [None, "new"]


def test_much_news_comes_in_pieces(spec: Path) -> None:
    board = Board(None, "model", "auto")
    begin(board, spec)
    write(board, *["x"] * (2 * MOST_ENTRIES))
    logs = [content["entries"] for name, content in Viewer(board, "page", "lanes", "").news() if name == "log"]
    assert [len(log) for log in logs] == [MOST_ENTRIES, MOST_ENTRIES, 1]


def test_who_looks_at_the_page_is_told_no_text(spec: Path) -> None:
    board = Board(None, "model", "auto")
    begin(board, spec)
    write(board, "secret text")
    told = list(Viewer(board, "page", "page", "").news())
    assert [content for name, content in told if name == "log"] == [{"read": 2}]
    assert "secret text" not in repr(told)


def test_tokens_are_traced_only_for_who_looks_at_their_lanes(spec: Path) -> None:
    board = Board(None, "model", "auto")
    begin(board, spec)

    def waker() -> None:
        pass

    assert not traces(board)
    board.join(waker, "other")
    assert not traces(board)
    board.join(waker, "page")
    assert traces(board)
    board.leave(waker, "page")
    assert not traces(board)


def test_a_second_attempt_begins_anew(spec: Path) -> None:
    board = Board(None, "model", "auto")
    begin(board, spec)
    hear = write(board, "first")
    done = Completion("first", (1,), FinishReason.DONE, 0.1)
    hear(GenerationEvent(1, "finished", tokens=1, completion=done))
    write(board, "second", request=2)
    assert board.stories["page"].texts == {"hero": "second"}
    states = [(e["state"], e.get("attempt")) for e in board.stories["page"].log if e["kind"] == "block"]
    assert states == [("writing", 1), ("written", None), ("writing", 2)]


def test_what_comes_late_of_a_build_that_was_given_up_is_not_heard(spec: Path) -> None:
    board = Board(None, "model", "auto")
    begin(board, spec)
    hear = write(board, "old")
    begin(board, spec)
    hear(GenerationEvent(1, "text", text="late", tokens=2))
    hear(GenerationEvent(1, "finished", completion=Completion("oldlate", (1, 2), FinishReason.CANCELLED, 0.1)))
    assert board.stories["page"].log == [] and board.stories["page"].texts == {}


def test_only_the_last_builds_are_remembered_in_full(tmp_path: Path) -> None:
    specs = []
    for number in range(KEPT_STORIES + 3):
        path = tmp_path / f"{number:02}.yaml"
        path.write_text("title: T\nhero: {heading: H}\n", encoding="utf-8")
        specs.append(FolderSpec(path, tmp_path / "out" / f"{number:02}.html"))
    board = Board(tmp_path, "model", "auto")
    board.found(specs)
    for spec in specs:
        build = PageBuild(load_spec(spec.path), MODEL, CompileOptions(read_cache=False))
        build.start()
        board.began(build)
        write(board, "x")
    assert [bool(story.log) for story in board.stories.values()] == [False] * 3 + [True] * KEPT_STORIES


def test_what_is_wrong_comes_with_its_line(spec: Path) -> None:
    from pagecompiler.diagnostics import Span, diagnostic

    board = Board(None, "model", "auto")
    board.found([FolderSpec(spec, Path("out/page.html"))])
    finding = diagnostic("E0203", "unknown key `<b>`", file=str(spec), span=Span(2, 3, 2, 5))
    result = PageResult(str(spec), None, None, 0.1, "model", None, (), (finding,))
    board.told(result, {str(spec): "title: T\nhero: <b>\n"})
    head = board.stories["page"].head()
    assert head["state"] == "failed"
    assert [(d["line"], d["column"], d["message"], d["excerpt"]) for d in head["diagnostics"]] == [
        (2, 3, "unknown key `<b>`", "hero: <b>")
    ]
