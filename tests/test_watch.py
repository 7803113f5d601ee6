"""Watching: every way in which editors save, and the latest save wins. Nothing here waits for a clock."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from watchdog.observers import Observer

from pagecompiler import prompts, publish, resources, stitch, style, watch
from pagecompiler.build import CompileOptions, EngineSource, PageResult, compile_spec
from pagecompiler.changes import Changes
from pagecompiler.engine.reference import write
from pagecompiler.engine.scripted import ScriptedEngine
from pagecompiler.engine.types import Request
from pagecompiler.lock import PageLock
from pagecompiler.models import ModelChoice
from pagecompiler.prompts import FORMAT
from pagecompiler.spec import load_spec
from pagecompiler.watch import Watch, output_places

MODEL = ModelChoice("scripted", None, "scripted-1", "test", FORMAT)
PATIENCE = 60.0
SPEC = "title: T\nhero: {heading: H}\nsections:\n- {kind: prose, heading: One, paragraphs: [@]}\n"
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="3"/>'


class Watcher:
    """A watch in a thread, with a scripted engine; `expect` waits for the results of rebuilds."""

    def __init__(self, target: Path, output: Path, *, poll: bool = False) -> None:
        self.output = output
        self.results: list[PageResult] = []
        self.said: list[str] = []
        self.asked: list[str] = []
        self.script: Callable[[Request], str] = lambda request: write(request.messages[-1].content)
        self.engines = 0
        self._heard = threading.Condition()
        self._seen = 0
        options = CompileOptions(output=output, cache_dir=target.parent / "cache")
        self.changes = Changes(debounce_seconds=0.03, ignored=output_places(target, output), poll=poll, say=self._say)
        self.watch = Watch(
            target, EngineSource(MODEL, self._make), options, self.changes, told=self._take, say=self._say
        )
        self._thread = threading.Thread(target=self.watch.run)
        self._thread.start()

    def expect(self, page: str | None = None) -> PageResult:
        """The next result; of a page, later ones are passed over if it is not theirs."""
        with self._heard:
            while True:
                assert self._heard.wait_for(lambda: len(self.results) > self._seen, PATIENCE), "no rebuild"
                result = self.results[self._seen]
                self._seen += 1
                if page is None or Path(result.spec).stem == page:
                    return result

    def expect_good(self) -> PageResult:
        """The next good page: a file that is saved in place may be seen while it is half written."""
        while not (result := self.expect()).ok:
            pass
        return result

    def expect_text(self, text: str, page: str | None = None) -> None:
        """Wait until a rebuilt page holds a text: an editor may save in several steps."""
        while text not in (self.expect(page).html or ""):
            pass

    def expect_code(self, code: str) -> None:
        """Wait for a build with this finding: a file may be seen while it is half written."""
        while code not in [finding.code for finding in self.expect().diagnostics]:
            pass

    def expect_said(self, text: str) -> None:
        with self._heard:
            assert self._heard.wait_for(lambda: any(text in line for line in self.said), PATIENCE), self.said

    def close(self) -> None:
        self.changes.close()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def _make(self) -> ScriptedEngine:
        def answer(request: Request) -> str:
            self.asked.append(request.label)
            return self.script(request)

        self.engines += 1
        return ScriptedEngine(answer)

    def _take(self, result: PageResult, sources: Mapping[str, str]) -> None:
        with self._heard:
            self.results.append(result)
            self._heard.notify_all()

    def _say(self, line: str) -> None:
        with self._heard:
            self.said.append(line)
            self._heard.notify_all()


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "site" / "page.yaml"
    path.parent.mkdir()
    path.write_text(SPEC.replace("@", "first"), encoding="utf-8")
    return path


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Watcher]]:
    started: list[Watcher] = []

    def starter(target: Path, **options: bool) -> Watcher:
        output = tmp_path / "out"
        started.append(Watcher(target, output if target.is_dir() else output / "page.html", **options))
        return started[-1]

    yield starter
    for watcher in started:
        watcher.close()


def _in_place(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _write_and_rename(path: Path, text: str) -> None:
    other = path.with_name(f".{path.name}.tmp123")
    other.write_text(text, encoding="utf-8")
    other.replace(path)


def _vim_with_backup(path: Path, text: str) -> None:
    probe, backup = path.with_name("4913"), path.with_name(path.name + "~")
    probe.touch()
    probe.unlink()
    path.rename(backup)
    path.write_text(text, encoding="utf-8")
    backup.unlink()


def _moved_in(path: Path, text: str) -> None:
    outside = path.parent.parent / "elsewhere.yaml"
    outside.write_text(text, encoding="utf-8")
    shutil.move(outside, path)


def _deleted_and_written(path: Path, text: str) -> None:
    path.unlink()
    path.write_text(text, encoding="utf-8")


def _in_pieces(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        for piece in (text[:20], text[20:40], text[40:]):
            file.write(piece)
            file.flush()


def _twice(path: Path, text: str) -> None:
    path.write_text(text.replace("saved", "half"), encoding="utf-8")
    path.write_text(text, encoding="utf-8")


WAYS = [_in_place, _write_and_rename, _vim_with_backup, _moved_in, _deleted_and_written, _in_pieces, _twice]


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_saving(spec: Path, start: Callable[..., Watcher], way: Callable[[Path, str], None]) -> None:
    watcher = start(spec)
    assert watcher.expect().ok
    for text in ("saved once", "saved again"):
        way(spec, SPEC.replace("@", text))
        watcher.expect_text(text)
        assert text in watcher.output.read_text(encoding="utf-8")
    assert watcher.engines == 1 and sorted(watcher.asked) == ["hero", "one", "style"]


# vim makes no backups under /tmp, unless it is told to skip none.
VIM = ("vim", "-u", "NONE", "-N", "-e", "-s", "--cmd", "set backupskip=")
EDITORS = {
    "vim renames": (*VIM, "-c", "set backup backupcopy=no", "-c", "%s/first/saved/", "-c", "wq"),
    "vim copies": (*VIM, "-c", "set backup backupcopy=yes", "-c", "%s/first/saved/", "-c", "wq"),
    "ed": ("ed", "-s"),
    "sed": ("sed", "-i", "s/first/saved/"),
}


@pytest.mark.parametrize("editor", EDITORS)
def test_editors(spec: Path, start: Callable[..., Watcher], editor: str) -> None:
    command = EDITORS[editor]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    watcher = start(spec)
    assert watcher.expect().ok
    subprocess.run(
        [*command, str(spec)], input="%s/first/saved/\nwq\n", text=True, check=True, stdout=subprocess.DEVNULL
    )
    watcher.expect_text("saved")
    assert sorted(watcher.asked) == ["hero", "one", "style"]
    assert spec.with_name("page.yaml~").exists() == (command[0] == "vim")


def test_a_folder_where_nothing_tells_of_changes_is_looked_at(spec: Path, start: Callable[..., Watcher]) -> None:
    watcher = start(spec, poll=True)
    assert watcher.expect().ok
    _write_and_rename(spec, SPEC.replace("@", "second"))
    watcher.expect_text("second")


def test_too_many_folders_means_looking(
    spec: Path, start: Callable[..., Watcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: object, *arguments: object, **options: object) -> None:
        raise OSError(28, "inotify watch limit reached")

    monkeypatch.setattr(Observer, "schedule", refuse)
    watcher = start(spec)
    watcher.expect_said("inotify watch limit reached")
    assert watcher.expect().ok
    _in_place(spec, SPEC.replace("@", "second"))
    watcher.expect_text("second")


@pytest.mark.parametrize("poll", [False, True])
def test_where_nothing_can_be_watched_one_looks(
    spec: Path, start: Callable[..., Watcher], monkeypatch: pytest.MonkeyPatch, poll: bool
) -> None:
    def refuse() -> None:
        raise OSError(errno.EMFILE, "inotify instance limit reached")

    monkeypatch.setattr("pagecompiler.changes.Observer", refuse)
    watcher = start(spec, poll=poll)
    assert watcher.expect().ok
    assert watcher.said == ([] if poll else ["cannot watch folders (inotify instance limit reached);"
                                             " looking every 0.5 s instead"])  # fmt: skip
    _in_place(spec, SPEC.replace("@", "second"))
    watcher.expect_text("second")


def test_what_changes_nothing_writes_nothing(spec: Path, start: Callable[..., Watcher]) -> None:
    watcher = start(spec)
    watcher.expect()
    before = watcher.output.stat()
    text = SPEC.replace("@", "first")
    for same in (
        "# a comment\n" + text,
        text + "\n\n",
        "hero: {heading: H}\n" + text.replace("hero: {heading: H}\n", ""),
    ):
        _in_place(spec, same)
        watcher.expect_good()
    after = watcher.output.stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)
    # The same bytes again, a look at the file and a note beside it are no reason to build at all.
    os.utime(spec)
    spec.read_bytes()
    spec.with_name("notes.txt").write_text("x", encoding="utf-8")
    spec.with_name("page.yaml~").write_text("x", encoding="utf-8")
    watcher.output.with_name("page.css").write_text("x", encoding="utf-8")
    _in_place(spec, SPEC.replace("@", "second"))
    assert "second" in (watcher.expect_good().html or "")


def test_a_broken_spec_leaves_the_page(spec: Path, start: Callable[..., Watcher]) -> None:
    watcher = start(spec)
    watcher.expect()
    before = watcher.output.read_bytes()
    _in_place(spec, "title: [")
    watcher.expect_code("E0104")
    spec.unlink()
    watcher.expect_code("E0123")
    assert watcher.output.read_bytes() == before
    _in_place(spec, SPEC.replace("@", "mended"))
    watcher.expect_text("mended")


def test_saving_again_tries_again(
    spec: Path, start: Callable[..., Watcher], monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    watcher = start(spec)
    watcher.expect()

    def full(*_: object, **__: object) -> bool:
        raise OSError(28, "No space left on device", "page.html")

    with monkeypatch.context() as patch:
        patch.setattr(publish, "write_atomic", full)
        _write_and_rename(spec, SPEC.replace("@", "second"))
        watcher.expect_code("E0801")
    _write_and_rename(spec, SPEC.replace("@", "second"))
    assert "second" in (watcher.expect_good().html or "")


def test_a_save_during_a_build_cancels_it(
    spec: Path, start: Callable[..., Watcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = start(spec)
    watcher.expect()
    writing, saved = threading.Event(), threading.Event()
    original = ScriptedEngine._step

    def slow(self: ScriptedEngine) -> None:
        writing.set()
        assert saved.wait(PATIENCE)
        time.sleep(0.02)  # so that its budget of some hundred pieces lasts for seconds
        original(self)

    monkeypatch.setattr(ScriptedEngine, "_step", slow)
    good = watcher.script
    watcher.script = lambda request: "<section><h2>{{1}}</h2>" + "<p>{{2}}</p><br>" * 1000
    longer = SPEC.replace("@", "one two three four five six")
    _in_place(spec, longer)
    assert writing.wait(PATIENCE)
    watcher.script = good
    _in_place(spec, longer.replace("One", "One two three four"))
    saved.set()
    result = watcher.expect_good()
    assert "One two three four" in (result.html or "")
    assert len(result.blocks) > 0 and all(len(block.completions) <= 1 for block in result.blocks)
    assert watcher.engines == 1, "the model stays loaded"


def test_a_page_that_another_pagec_builds_is_built_after_it(spec: Path, start: Callable[..., Watcher]) -> None:
    with PageLock(spec.parent.parent / "out" / "page.html"):
        watcher = start(spec)
        watcher.expect_code("E0804")
    assert watcher.expect().ok


def test_images_and_the_site_file_count(spec: Path, start: Callable[..., Watcher]) -> None:
    spec.write_text("title: T\nhero: {heading: H, image: {src: img/a.svg, alt: A}}\n", encoding="utf-8")
    watcher = start(spec)
    assert [finding.code for finding in watcher.expect().diagnostics] == ["E0308"]
    picture = spec.parent / "img" / "a.svg"
    picture.parent.mkdir()
    picture.write_text(PICTURE, encoding="utf-8")
    watcher.expect_text('width="4"')
    picture.write_text(PICTURE.replace("4", "8"), encoding="utf-8")
    watcher.expect_text('width="8"')
    assert 'width="8"' in (watcher.output.parent / "img" / "a.svg").read_text(encoding="utf-8")
    site = spec.with_name("_site.yaml")
    site.write_text("footer: {text: Imprint}\n", encoding="utf-8")
    watcher.expect_text("Imprint")
    site.unlink()
    while "Imprint" in (watcher.expect().html or ""):
        pass


def test_an_image_that_comes_in_pieces_into_a_folder_that_was_empty(spec: Path, start: Callable[..., Watcher]) -> None:
    picture = spec.parent / "img" / "deep" / "a.svg"
    picture.parent.mkdir(parents=True)
    spec.write_text("title: T\nhero: {heading: H, image: {src: img/deep/a.svg, alt: A}}\n", encoding="utf-8")
    watcher = start(spec)
    watcher.expect_code("E0308")
    picture.write_text("<sv", encoding="utf-8")
    watcher.expect_code("E0309")
    picture.write_text(PICTURE, encoding="utf-8")
    watcher.expect_text('width="4"')
    picture.unlink()
    watcher.expect_code("E0308")
    assert watcher.output.exists()
    picture.write_text(PICTURE.replace("4", "8"), encoding="utf-8")
    watcher.expect_text('width="8"')


@pytest.mark.parametrize("folder", [False, True])
def test_a_page_that_is_deleted_comes_back(
    spec: Path, start: Callable[..., Watcher], folder: bool, tmp_path: Path
) -> None:
    watcher = start(spec.parent if folder else spec)
    page = watcher.output / "page.html" if folder else watcher.output
    assert watcher.expect().ok
    before = page.read_bytes()
    page.unlink()
    assert watcher.expect().ok and page.read_bytes() == before
    page.parent.rename(
        tmp_path / "gone"
    )  # at once: a page that comes back between two steps is not lost with its folder
    assert watcher.expect().ok and page.read_bytes() == before
    page.unlink()
    assert watcher.expect().ok and page.read_bytes() == before
    assert sorted(watcher.asked) == ["hero", "one", "style"]


@pytest.mark.parametrize("folder", [False, True])
def test_a_folder_of_specs_that_goes_and_comes_back(spec: Path, start: Callable[..., Watcher], folder: bool) -> None:
    """As it does when one changes the branch in git."""
    watcher = start(spec.parent if folder else spec)
    assert watcher.expect().ok
    for text in ("second", "third"):
        shutil.rmtree(spec.parent)
        if folder:
            watcher.expect_said("has gone")
            watcher.said.clear()
        else:
            watcher.expect_code("E0123")
        spec.parent.mkdir()
        _in_place(spec, SPEC.replace("@", text))
        watcher.expect_text(text)


def test_a_page_that_another_one_mends(spec: Path, start: Callable[..., Watcher]) -> None:
    _in_place(spec, SPEC.replace("@", "'see [news](news.html#two)'"))
    news = spec.with_name("news.yaml")
    _in_place(news, SPEC.replace("@", "news"))
    watcher = start(spec.parent)
    watcher.expect_code("E0311")
    _in_place(news, SPEC.replace("@", "news").replace("One", "Two"))
    watcher.expect_text("see ", "page")
    # Said of a page that is not there, it is no error, but it is said no longer when the page comes.
    _in_place(spec, SPEC.replace("@", "'see [more](more.html)'"))
    watcher.expect_code("W0312")
    _in_place(spec.with_name("more.yaml"), SPEC.replace("@", "more"))
    while watcher.expect("page").diagnostics:
        pass


def test_a_page_that_another_one_breaks(spec: Path, start: Callable[..., Watcher]) -> None:
    news = spec.with_name("news.yaml")
    _in_place(spec, SPEC.replace("@", "'see [news](news.html#one)'"))
    _in_place(news, SPEC.replace("@", "news"))
    watcher = start(spec.parent)
    assert watcher.expect().ok and watcher.expect().ok
    _in_place(news, SPEC.replace("@", "news").replace("One", "Two"))
    while "E0311" not in [finding.code for finding in watcher.expect("page").diagnostics]:
        pass


@pytest.mark.parametrize("poll", [False, True])
def test_what_is_wrong_is_built_once(spec: Path, start: Callable[..., Watcher], poll: bool) -> None:
    """A page that stays as it is must not be built again and again."""
    folder = spec.parent
    (folder / "_site.yaml").write_text("lang: en\n", encoding="utf-8")
    (folder / "picture.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 3"/>', encoding="utf-8")
    (folder / "picture.html").symlink_to("picture.svg")
    for name, text in (
        ("dead", SPEC.replace("@", "'see [more](more.html) and [one](page.html#nowhere)'")),
        ("own", "lang: de\n" + SPEC.replace("@", "first")),
        ("image", "title: T\nhero: {heading: H, image: {src: picture.html, alt: A}}\n"),
        ("broken", "title: ["),
    ):
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    watcher = start(folder, poll=poll)
    for _ in range(5):
        watcher.expect()
    time.sleep(1.2)  # so that one would have looked twice
    assert sorted(Path(result.spec).stem for result in watcher.results) == ["broken", "dead", "image", "own", "page"]


def test_a_folder_without_specs(spec: Path, start: Callable[..., Watcher]) -> None:
    spec.unlink()
    watcher = start(spec.parent)
    watcher.expect_said("there is no spec under")
    _in_place(spec, SPEC.replace("@", "first"))
    watcher.expect_text("first")


@pytest.fixture
def templates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the templates that is used in their place."""
    folder = tmp_path / "templates"
    shutil.copytree(resources.template_dir(), folder)
    for module in (prompts, resources, stitch, style, watch):
        monkeypatch.setattr(module, "template_dir", lambda: folder)
    caches = (prompts._templates, stitch._templates)
    for cache in caches:
        cache.cache_clear()
    yield folder
    for cache in caches:
        cache.cache_clear()


def test_a_template_that_changes_rebuilds(spec: Path, templates: Path, start: Callable[..., Watcher]) -> None:
    watcher = start(spec)
    assert watcher.expect().ok
    base = templates / "base.css"
    base.write_text(base.read_text(encoding="utf-8") + "\n.new-rule { color: inherit; }\n", encoding="utf-8")
    watcher.expect_text(".new-rule")
    page = templates / "page.html.j2"
    page.write_text(page.read_text(encoding="utf-8").replace("<main ", '<main class="x" '), encoding="utf-8")
    watcher.expect_text('<main class="x" ')


def test_a_template_that_is_half_edited_leaves_the_last_page(
    spec: Path, templates: Path, start: Callable[..., Watcher]
) -> None:
    watcher = start(spec)
    assert watcher.expect().ok
    before = watcher.output.read_bytes()
    for name in ("page.html.j2", "base.css", "prompts/compact/block.j2"):
        good = (templates / name).read_text(encoding="utf-8")
        _in_place(templates / name, good + "{{ unfinished </")
        watcher.expect_code("E0806")
        assert watcher.output.read_bytes() == before
        _in_place(templates / name, good)
        watcher.expect_good()


def test_a_folder(spec: Path, start: Callable[..., Watcher]) -> None:
    folder = spec.parent
    watcher = start(folder)
    assert watcher.expect("page").ok
    new = folder / "blog" / "post.yaml"
    new.parent.mkdir()
    _in_place(new, SPEC.replace("@", "news"))
    watcher.expect_text("news", "post")
    assert (watcher.output / "blog" / "post.html").exists()
    _in_place(spec, SPEC.replace("@", "'see [news](blog/post.html#nowhere)'"))
    watcher.expect_code("E0311")
    _in_place(spec, SPEC.replace("@", "'see [news](blog/post.html#one)'"))
    watcher.expect_text("news", "page")
    new.unlink()
    watcher.expect_said("post.yaml has gone")
    assert (watcher.output / "blog" / "post.html").exists()
    (folder / "page.yml").write_text("title: T", encoding="utf-8")
    watcher.expect_said("would both be written")
    (folder / "page.yml").unlink()
    _in_place(folder / "_site.yaml", "footer: {text: Imprint}\n")
    watcher.expect_text("Imprint", "page")


def test_pages_beside_their_specs_do_not_trigger(spec: Path, tmp_path: Path) -> None:
    watcher = Watcher(spec.parent, spec.parent)
    try:
        assert watcher.expect().ok
        _in_place(spec, SPEC.replace("@", "second"))
        watcher.expect_text("second")
        _in_place(spec, SPEC.replace("@", "third"))
        watcher.expect_text("third")
        # As many as there are contents, and one more where a save was seen half-way.
        assert len(watcher.results) <= 5
    finally:
        watcher.close()


def test_an_output_folder_behind_a_link_does_not_trigger(spec: Path, tmp_path: Path) -> None:
    (spec.parent / "public").mkdir()
    (tmp_path / "out").symlink_to(spec.parent / "public")
    watcher = Watcher(spec.parent, tmp_path / "out")
    try:
        assert watcher.expect().ok
        (spec.parent / "public" / "copy.yaml").write_text(SPEC.replace("@", "no spec"), encoding="utf-8")
        _in_place(spec, SPEC.replace("@", "second"))
        watcher.expect_text("second")
        assert {result.spec for result in watcher.results} == {str(spec)}
        assert (spec.parent / "public" / "page.html").exists()
    finally:
        watcher.close()


def test_pages_are_those_of_a_clean_build(spec: Path, start: Callable[..., Watcher], tmp_path: Path) -> None:
    watcher = start(spec)
    watcher.expect()
    text = (
        SPEC.replace("@", "one, two three four five") + "- {kind: stats, heading: S, items: [{value: 1, label: a}]}\n"
    )
    _in_place(spec, text)
    watcher.expect_text("two three")
    options = CompileOptions(read_cache=False, write_cache=False)
    source = EngineSource(MODEL, lambda: ScriptedEngine(lambda request: write(request.messages[-1].content)))
    assert watcher.output.read_text(encoding="utf-8") == compile_spec(load_spec(spec), source, options).html


def test_a_spec_behind_a_link(spec: Path, start: Callable[..., Watcher], tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "real.yaml"
    elsewhere.parent.mkdir()
    spec.rename(elsewhere)
    spec.symlink_to(elsewhere)
    watcher = start(spec)
    assert watcher.expect().ok
    _write_and_rename(elsewhere, SPEC.replace("@", "second"))
    watcher.expect_text("second")
    spec.unlink()
    spec.write_text(SPEC.replace("@", "third"), encoding="utf-8")
    watcher.expect_text("third")


def test_changes_debounce_and_close(tmp_path: Path) -> None:
    changes = Changes(debounce_seconds=0.0)
    changes.watch({tmp_path: False})
    ended: list[bool] = []
    thread = threading.Thread(target=lambda: ended.append(changes.wait()))
    thread.start()
    (tmp_path / "a").write_text("x", encoding="utf-8")
    thread.join(PATIENCE)
    assert ended == [True]
    deadline = time.monotonic() + PATIENCE
    (tmp_path / "b").write_text("x", encoding="utf-8")
    while not changes.due() and time.monotonic() < deadline:
        time.sleep(0.001)
    changes.close()
    assert changes.wait() is False
