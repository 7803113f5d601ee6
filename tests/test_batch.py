"""A folder of specs in one engine: lanes full across pages, nothing lost, nothing done twice."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from pagecompiler import cli
from pagecompiler.batch import Batch, BatchState
from pagecompiler.batch_progress import progress_line
from pagecompiler.build import CompileOptions, EngineSource, PageResult
from pagecompiler.engine.base import EngineError, ModelLoadError
from pagecompiler.engine.reference import write
from pagecompiler.engine.scripted import ScriptedEngine
from pagecompiler.engine.types import Request
from pagecompiler.estimate import Estimate
from pagecompiler.folder import FolderSpec, find_specs
from pagecompiler.listing import compile_index
from pagecompiler.models import ModelChoice
from pagecompiler.outputs import OutputError
from pagecompiler.prompts import FORMAT
from pagecompiler.resources import data_path
from pagecompiler.survey import PageFacts
from pagecompiler.validate import validate_page

MODEL = ModelChoice("scripted", None, "scripted-1", "test", FORMAT)
KINDS = ("items: [{title: A, text: b}]", "items: [{title: A}, {title: B}]", "items: [{title: A, href: /a}]")


def spec(title: str, items: str = KINDS[0], more: str = "") -> str:
    return (
        f"title: {title}\nhero: {{heading: {title}}}\nsections:\n- {{kind: features, heading: Team, {items}}}\n{more}"
    )


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with three pages, one of them in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    folder = Path("site")
    put = {
        "_site.yaml": "url: https://example.org\nfooter: {text: Acme, links: [{text: About, href: about.html}]}\n",
        "index.yaml": spec("Start", KINDS[1]),
        "about.yaml": spec("About"),
        "blog/first.yml": spec("First", KINDS[2]),
    }
    for name, text in put.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


class Runner:
    """Runs batches over `site` with a scripted engine of five lanes."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.states: list[BatchState] = []
        self.problem: EngineError | None = None
        self.script: Callable[[Request], str] = lambda request: write(request.messages[-1].content)
        self.lanes = 5

    def __call__(
        self, folder: Path, *, jobs: int = 8, stop_after: int | None = None, **options: Any
    ) -> list[PageResult]:
        results: list[PageResult] = []

        def told(result: PageResult, sources: Mapping[str, str]) -> None:
            results.append(result)
            if len(results) == stop_after:
                raise KeyboardInterrupt

        def make() -> ScriptedEngine:
            if self.problem is not None:
                raise self.problem
            engine = ScriptedEngine(self.script, lanes=self.lanes)
            self.requests = engine.requests
            return engine

        self.requests, self.states = [], []
        output = Path("out")
        settings = CompileOptions(output=output, lanes=self.lanes, **options)
        batch = Batch(folder, find_specs(folder, output), EngineSource(MODEL, make), settings,
                      jobs=jobs, told=told, watched=self.states.append)  # fmt: skip
        batch.survey()
        with contextlib.suppress(KeyboardInterrupt):
            batch.run()
        return results


@pytest.fixture
def run() -> Runner:
    return Runner()


def test_specs_of_a_folder(site: Path) -> None:
    for name in ("_draft.yaml", ".hidden.yaml", "notes.txt", ".git/a.yaml", "_parts/a.yaml", "out/a.yaml"):
        (site / name).parent.mkdir(exist_ok=True)
        (site / name).write_text("title: T", encoding="utf-8")
    found = find_specs(site, site / "out")
    assert [(str(entry.path), str(entry.output)) for entry in found] == [
        ("site/about.yaml", "site/out/about.html"),
        ("site/index.yaml", "site/out/index.html"),
        ("site/blog/first.yml", "site/out/blog/first.html"),
    ]
    (site / "about.yml").write_text("title: T", encoding="utf-8")
    with pytest.raises(OutputError, match="would both be written"):
        find_specs(site, Path("out"))


def test_equal_blocks_of_a_folder_are_written_once(site: Path, run: Runner) -> None:
    results = run(site, read_cache=False, write_cache=False)
    assert [result.ok for result in results] == [True] * 3
    # One style, one hero, one footer, three sections; the footer of blog/ has the same prompt too.
    assert sorted(request.label for request in run.requests) == ["footer", "hero", "style", "team", "team", "team"]
    assert sorted(str(path) for path in Path("out").rglob("*.html")) == [
        "out/about.html", "out/blog/first.html", "out/index.html",
    ]  # fmt: skip
    assert 'href="../about.html"' in Path("out/blog/first.html").read_text(encoding="utf-8")


def test_a_folder_has_one_cache(site: Path, run: Runner) -> None:
    """Also without a mark of a project: what another page has is there for a page of a new folder."""
    (site / "_site.yaml").unlink()
    run(site, jobs=1)
    (site / "news").mkdir()
    (site / "news" / "second.yaml").write_text(spec("Second", KINDS[2]), encoding="utf-8")
    assert all(result.ok for result in run(site, locked=True))


def test_each_project_in_a_folder_has_all_fragments_of_its_pages(site: Path, run: Runner) -> None:
    (site / "blog" / "pagec.toml").touch()
    run(site, jobs=1)
    assert [result.ok for result in run(site / "blog", locked=True)] == [True]


def test_locked_pages_that_would_have_to_be_written_end_the_batch(site: Path, run: Runner) -> None:
    results = run(site, locked=True)
    assert [(result.ok, {finding.code for finding in result.diagnostics}) for result in results] == [
        (False, {"E0705"})
    ] * 3
    assert run.requests == []


def test_pages_are_those_of_one_compile_each(site: Path, run: Runner) -> None:
    run(site)
    together = {path: path.read_bytes() for path in Path("out").rglob("*.html")}
    run(site, jobs=1, read_cache=False, write_cache=False)
    assert together == {path: path.read_bytes() for path in Path("out").rglob("*.html")}


def test_the_next_pages_blocks_come_before_the_first_page_is_done(tmp_path: Path, run: Runner) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(12):
        items = ", ".join(["{title: A}"] * (number + 1))
        (folder / f"{number:02}.yaml").write_text(spec("T", f"items: [{items}]"), encoding="utf-8")
    os.chdir(tmp_path)
    running: list[int] = []
    original = ScriptedEngine._step

    def step(self: ScriptedEngine) -> None:
        original(self)
        running.append(len(self._running))

    ScriptedEngine._step = step  # type: ignore[method-assign]
    try:
        assert all(result.ok for result in run(folder))
    finally:
        ScriptedEngine._step = original  # type: ignore[method-assign]
    # Each page but the first has a single block to write.
    full = max(index for index, number in enumerate(running) if number >= 4)
    assert sum(number >= 4 for number in running[:full]) > 0.9 * full


def test_finished_pages_are_not_built_again(site: Path, run: Runner) -> None:
    run(site)
    times = {path: path.stat().st_mtime_ns for path in Path("out").rglob("*.html")}
    results = run(site)
    assert not run.requests and all(result.ok and result.plan is None for result in results)
    (site / "about.yaml").write_text(spec("About us", KINDS[0]), encoding="utf-8")
    results = {result.spec: result for result in run(site)}
    assert results["site/about.yaml"].plan is not None and results["site/index.yaml"].plan is None
    after = {path: path.stat().st_mtime_ns for path in Path("out").rglob("*.html")}
    assert [str(path) for path in after if after[path] != times[path]] == ["out/about.html"]


def test_an_interrupted_batch_goes_on_where_it_was(site: Path, run: Runner) -> None:
    clean = {}
    run(site)
    for path in list(Path("out").rglob("*.html")):
        clean[path] = path.read_bytes()
        path.unlink()
    for cache in (site / ".pagec").rglob("*.json"):
        cache.unlink()
    first = run(site, jobs=1, stop_after=1)
    asked = len(run.requests)
    assert len(first) == 1 and len(list(Path("out").rglob("*.html"))) == 1
    rest = run(site)
    assert sum(result.plan is None for result in rest) == 1
    assert asked + len(run.requests) <= 7, "only what was being written is written again"
    assert {path: path.read_bytes() for path in Path("out").rglob("*.html")} == clean


def test_the_others_go_on_when_one_fails(site: Path, run: Runner) -> None:
    run(site)
    before = Path("out/about.html").read_bytes()
    (site / "about.yaml").write_text("title: About\nhero: {headin: A}\n", encoding="utf-8")
    (site / "index.yaml").write_text(spec("New start", KINDS[1]), encoding="utf-8")
    results = {result.spec: result for result in run(site)}
    assert "E0203" in [finding.code for finding in results["site/about.yaml"].diagnostics]
    assert results["site/index.yaml"].ok
    assert Path("out/about.html").read_bytes() == before


def test_a_block_that_is_refused_fails_every_page_that_needs_it(site: Path, run: Runner) -> None:
    run.script = lambda request: "no" if request.label == "footer" else write(request.messages[-1].content)
    results = run(site)
    assert [result.ok for result in results] == [False] * 3
    for result in results:
        errors = [finding for finding in result.diagnostics if finding.severity == "error"]
        assert errors and {finding.file for finding in errors} <= {result.spec, "site/_site.yaml"}
    run.script = lambda request: write(request.messages[-1].content)
    assert all(result.ok for result in run(site))
    assert [request.label for request in run.requests] == ["footer"]


def test_an_engine_that_is_gone_fails_only_what_needs_it(site: Path, run: Runner) -> None:
    run(site)
    (site / "about.yaml").write_text(spec("About", "items: [{title: A}, {title: B}, {title: C}]"), encoding="utf-8")
    (site / "index.yaml").write_text(spec("Home", KINDS[1]), encoding="utf-8")
    run.problem = ModelLoadError("the file is damaged")
    results = {result.spec: result for result in run(site)}
    assert {name: result.ok for name, result in results.items()} == {
        "site/about.yaml": False, "site/index.yaml": True, "site/blog/first.yml": True,
    }  # fmt: skip
    findings = results["site/about.yaml"].diagnostics
    assert [(finding.code, finding.file) for finding in findings] == [("E0703", "site/about.yaml")]


def test_links_between_pages(site: Path, run: Runner) -> None:
    links = "- {kind: cta, heading: More, actions: [{text: A, href: 'about.html#team'}, {text: B, href: '%s'}]}\n"
    for href, code in (
        ("blog/first.html?x=1#team", None), ("about.html#", None), ("/about.html#top", None), ("/elsewhere.html", None),
        ("files/price.pdf", None), ("blog/", "W0312"), ("nowhere.html", "W0312"),
        (f"{'x' * 300}.html", "W0312"), ("about.html#staff", "E0311"),
        ("/blog/first.html#staff", "E0311"), ("./blog/../about.html#staff", "E0311"),
    ):  # fmt: skip
        (site / "index.yaml").write_text(spec("Start", KINDS[1], links % href), encoding="utf-8")
        result = next(result for result in run(site) if result.spec == "site/index.yaml")
        assert [finding.code for finding in result.diagnostics] == ([code] if code else []), href
        assert result.ok == (code != "E0311")
        assert all(finding.span is not None and finding.span.line == 5 for finding in result.diagnostics)


def test_a_dead_link_of_a_hero_is_said_once(site: Path, run: Runner) -> None:
    (site / "index.yaml").write_text("title: T\nhero: {heading: H, actions: [{text: Shop, href: gone.html}]}\n")
    (result,) = [result for result in run(site) if result.spec == "site/index.yaml"]
    assert [finding.code for finding in result.diagnostics] == ["W0312"]


def test_the_state_comes_with_an_estimate(site: Path, run: Runner) -> None:
    run(site)
    assert [state.finished for state in run.states][-1] == 3
    assert run.states[0].seconds_left is None and run.states[-1].seconds_left == 0
    assert any(state.seconds_left for state in run.states)
    estimate = Estimate()
    for page in "abc":
        estimate.plan(page, 100)
    estimate.start("a", 50)
    estimate.wrote(25)
    assert estimate.seconds_left(1.0) == 5.0  # 25 of a and 50 of b and c each, at 25 a second
    estimate.start("b", 0)
    assert estimate.seconds_left(1.0) == 2.0
    assert progress_line(BatchState(24, 6, 1, 900, 3.0, 9.2)) == (
        "6 of 24 pages, 1 failed, 900 tokens, 300 tok/s, about 10 s left"
    )


class Outcome:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def pagec(site: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    def call(*arguments: str) -> Outcome:
        with pytest.raises(SystemExit) as ended:
            cli.main(["batch", "--model", "reference", *arguments])
        captured = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), captured.out, captured.err)

    return call


def test_the_command(site: Path, pagec: Callable[..., Outcome]) -> None:
    outcome = pagec("site", "-o", "out")
    assert outcome.code == 0
    assert sorted(outcome.out.split()) == ["out/about.html", "out/blog/first.html", "out/index.html"]
    assert "3 pages: 3 built, 0 relinked, 0 unchanged, 0 failed" in outcome.err
    assert "nothing that the page was made of has changed" in pagec("site", "-o", "out", "--why").err
    (site / "about.yaml").write_text("title: [", encoding="utf-8")
    outcome = pagec("site", "-o", "out")
    assert outcome.code == 1 and len(outcome.out.split()) == 2
    table = outcome.err.partition("failed:\n")[2].splitlines()
    assert table[0].startswith("  site/about.yaml  ") and len(table) == 2


def test_the_json_keeps_its_schema(site: Path, pagec: Callable[..., Outcome]) -> None:
    (site / "bad.yaml").write_text("title: [", encoding="utf-8")
    schemas = {n: json.loads(data_path(n).read_text()) for n in ("compile.schema.json", "check.schema.json")}
    registry: Registry[Any] = Registry().with_resources(
        (schema["$id"], Resource.from_contents(schema)) for schema in schemas.values()
    )
    for states in ({"built", "reused"}, set()):
        outcome = pagec("site", "-o", "out", "--json")
        report = json.loads(outcome.out)
        Draft202012Validator(schemas["compile.schema.json"], registry=registry).validate(report)
        assert {page["spec"]: page["ok"] for page in report["pages"]} == {
            "site/about.yaml": True, "site/index.yaml": True, "site/blog/first.yml": True, "site/bad.yaml": False,
        }  # fmt: skip
        assert {group["state"] for page in report["pages"] for group in page["groups"]} == states


def test_pages_whose_spec_has_gone(site: Path, pagec: Callable[..., Outcome]) -> None:
    picture = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="3"/>'
    for name in ("own", "shared"):
        (site / f"{name}.svg").write_text(picture.replace("4", str(len(name))), encoding="utf-8")
    figure = "- {kind: figure, heading: F, image: {src: %s.svg, alt: A}}\n"
    (site / "gone.yaml").write_text(
        spec("Gone", more=figure % "own" + (figure % "shared").replace("F,", "G,")), encoding="utf-8"
    )
    (site / "changed.yaml").write_text(spec("Changed"), encoding="utf-8")
    (site / "index.yaml").write_text(spec("Start", KINDS[1], figure % "shared"), encoding="utf-8")
    assert pagec("site", "-o", "out").code == 0
    for name in ("gone", "changed"):
        (site / f"{name}.yaml").unlink()
    Path("out/changed.html").write_text("edited by hand", encoding="utf-8")
    Path("out/mine.html").write_text("never built by pagec", encoding="utf-8")
    outcome = pagec("site", "-o", "out")
    assert outcome.code == 0 and outcome.err.count("has gone (--prune") == 2
    assert Path("out/gone.html").exists()
    outcome = pagec("site", "-o", "out", "--prune")
    assert "out/changed.html stays: it was changed by somebody else" in outcome.err
    left = sorted(path.name for path in Path("out").iterdir() if path.is_file())
    assert left == ["about.html", "changed.html", "index.html", "mine.html", "shared.svg", "sitemap.xml"]
    (site / "about.yaml").rename(site / "team.yaml")
    (site / "index.yaml").rename(site / "index.yml")
    outcome = pagec("site", "-o", "out", "--prune")
    assert outcome.code == 0 and "removed" in outcome.err
    assert not Path("out/about.html").exists() and Path("out/index.html").exists()


def test_only_what_is_in_the_output_folder_is_pruned(site: Path, pagec: Callable[..., Outcome]) -> None:
    assert pagec("site", "-o", "one").code == pagec("site", "-o", "two").code == 0
    (site / "about.yaml").unlink()
    outcome = pagec("site", "-o", "one", "--prune")
    assert outcome.code == 0 and "removed" in outcome.err
    assert not Path("one/about.html").exists() and Path("two/about.html").exists()
    outcome = pagec("site", "-o", "preview", "--prune")
    assert "removed" not in outcome.err and Path("two/about.html").exists()
    assert "has gone (--prune" in pagec("site", "-o", "two").err


@pytest.mark.parametrize("left", [None, "title: ["], ids=["no spec", "a broken spec"])
def test_pages_are_known_when_no_spec_is_left_to_build(
    site: Path, pagec: Callable[..., Outcome], left: str | None
) -> None:
    shutil.rmtree(site / "blog")
    (site / "blog").mkdir()
    (site / "_site.yaml").unlink()
    (site / "blog" / "old.yaml").write_text(spec("Old"), encoding="utf-8")
    assert pagec("site", "-o", "out").code == 0
    shutil.rmtree(site / "blog")
    for path in site.glob("*.yaml"):
        path.unlink()
    if left is not None:
        (site / "index.yaml").write_text(left, encoding="utf-8")
    outcome = pagec("site", "-o", "out")
    assert outcome.err.count("has gone (--prune") == (3 if left is None else 2)
    pagec("site", "-o", "out", "--prune")
    pages = [path.name for path in Path("out").rglob("*.html")]
    assert pages == ([] if left is None else ["index.html"])
    if left is None:
        assert pagec("site", "-o", "out").code == 2, "nothing is left to do"


def test_an_image_that_no_page_shows_any_more(site: Path, pagec: Callable[..., Outcome]) -> None:
    picture = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="3"/>'
    (site / "old.svg").write_text(picture, encoding="utf-8")
    figure = "- {kind: figure, heading: F, image: {src: old.svg, alt: A}}\n"
    for text in (spec("About", more=figure), spec("About")):
        (site / "about.yaml").write_text(text, encoding="utf-8")
        assert pagec("site", "-o", "out").code == 0
    assert "old.svg stays, but no page shows it" in pagec("site", "-o", "out").err
    assert "old.svg" in pagec("site", "-o", "out", "--prune").err
    assert not Path("out/old.svg").exists() and (site / "old.svg").exists()
    assert "old.svg" not in pagec("site", "-o", "out", "--prune").err


def test_a_link_to_a_page_that_is_pruned_is_said_at_once(site: Path, pagec: Callable[..., Outcome]) -> None:
    assert pagec("site", "-o", "out").code == 0
    (site / "about.yaml").unlink()
    assert "W0312" not in pagec("site", "-o", "out").err, "the page is still there"
    assert "W0312" in pagec("site", "-o", "out", "--prune").err


def test_a_sitemap_without_addresses(site: Path, pagec: Callable[..., Outcome]) -> None:
    pagec("site", "-o", "out")
    (site / "_site.yaml").write_text("lang: en\n", encoding="utf-8")
    assert "out/sitemap.xml stays" in pagec("site", "-o", "out").err
    (site / "broken.yaml").write_text("title: [", encoding="utf-8")
    assert "out/sitemap.xml stays" not in pagec("site", "-o", "out").err, "its page may have one"
    (site / "broken.yaml").unlink()


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names there are Unicode")
def test_the_index_links_pages_whose_names_are_not_utf_8(tmp_path: Path) -> None:
    page = FolderSpec(tmp_path / "a.yaml", tmp_path / os.fsdecode(b"a\xff.html"))
    result = compile_index([PageFacts(page, "A", None, frozenset(), 0)], tmp_path, tmp_path)
    assert 'href="a%FF.html"' in (result.html or "")


def test_sitemap_and_index(site: Path, pagec: Callable[..., Outcome]) -> None:
    (site / "index.yaml").write_text("robots: noindex\n" + spec("'A [link](x) & <b>*'", KINDS[1]), encoding="utf-8")
    assert pagec("site", "-o", "out", "--index").code == 0
    namespace = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
    found = [entry.text for entry in ElementTree.parse("out/sitemap.xml").iter(f"{namespace}loc")]
    assert found == ["https://example.org/about.html", "https://example.org/blog/first.html"]
    html = Path("out/pagec-index.html").read_text(encoding="utf-8")
    assert validate_page(html) == ()
    links = {a["href"]: a.get_text() for a in BeautifulSoup(html, "html5lib").main.find_all("a")}  # type: ignore[union-attr]
    assert links == {"about.html": "About", "index.html": "A [link](x) & <b>*", "blog/first.html": "First"}
    assert len(pagec("site", "-o", "out", "--index").out.split()) == 3, "the index is no spec and no orphan"


def test_usage(site: Path, pagec: Callable[..., Outcome]) -> None:
    Path("empty").mkdir()
    (site / "about.yml").write_text("title: T", encoding="utf-8")
    for arguments, said in (
        (["nowhere"], "there is no folder"), (["site/index.yaml"], "is not a folder"),
        (["empty"], "no spec"), (["site"], "would both be written"),
        (["site/blog", "-o", "out", "--report", "out"], "would take the place of pages"),
        (["site/blog", "-o", "-"], "need one"), (["site/blog", "-o", "x.html"], "need one"),
    ):  # fmt: skip
        outcome = pagec(*arguments)
        assert outcome.code == 2 and said in outcome.err and outcome.out == ""


@pytest.mark.parametrize("text", ["lang: de\n", "# nothing yet\n", "---\n", ""])
def test_a_site_file_of_which_nothing_is_used_is_no_reason_to_build(
    site: Path, pagec: Callable[..., Outcome], text: str
) -> None:
    (site / "_site.yaml").write_text(text, encoding="utf-8")
    for path in [*site.rglob("*.yml"), *site.glob("[a-z]*.yaml")]:
        path.write_text("lang: en\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    assert pagec("site", "-o", "out").code == 0
    assert "3 unchanged" in pagec("site", "-o", "out").err


def test_what_a_batch_has_written_is_there_for_one_page(site: Path, pagec: Callable[..., Outcome]) -> None:
    (site / "_site.yaml").unlink()
    assert pagec("site", "-o", "out").code == 0
    with pytest.raises(SystemExit) as ended:
        cli.main(["compile", "site/blog/first.yml", "-o", "page.html", "--locked", "--model", "reference"])
    assert not ended.value.code


@pytest.mark.parametrize("name", ["site/loop.yaml", "out/about.html"])
def test_a_link_to_itself(site: Path, pagec: Callable[..., Outcome], name: str) -> None:
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).symlink_to(Path(name).name)
    outcome = pagec("site", "-o", "out")
    assert outcome.code == (1 if name.startswith("site") else 0), outcome.err
    assert Path("out/index.html").exists() and Path("out/about.html").is_file()


def test_no_page_takes_the_place_of_another(site: Path, pagec: Callable[..., Outcome]) -> None:
    Path("out").mkdir()
    Path("out/blog").symlink_to(".")
    (site / "first.yaml").write_text(spec("First"), encoding="utf-8")
    outcome = pagec("site", "-o", "out")
    assert outcome.code == 2 and "would both be written" in outcome.err
    (site / "pagec-index.yaml").write_text(spec("Mine"), encoding="utf-8")
    outcome = pagec("site", "-o", "other", "--index")
    assert outcome.code == 2 and "--index would take the place" in outcome.err
    assert pagec("site", "-o", "other").code == 0


def test_a_pipe_is_no_spec(site: Path, pagec: Callable[..., Outcome]) -> None:
    os.mkfifo(site / "pipe.yaml")
    assert len(pagec("site", "-o", "out").out.split()) == 3


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names there are Unicode")
def test_a_name_that_is_not_utf_8(site: Path, pagec: Callable[..., Outcome]) -> None:
    shutil.copy(site / "about.yaml", os.fsencode(site) + b"/\xff.yaml")
    outcome = pagec("site", "-o", "out")
    assert outcome.code == 0 and len(outcome.out.split()) == 4
    assert "4 unchanged" in pagec("site", "-o", "out").err
    assert pagec("site", "-o", "out", "--json").code == 0


def test_rejected_answers_of_specs_of_one_name(site: Path, run: Runner) -> None:
    (site / "blog" / "about.yaml").write_text("title: T\nhero: {heading: H, text: Words.}", encoding="utf-8")
    run.script = lambda request: "no"
    run(site, keep_failed=Path("kept"))
    assert Path("kept/about.hero.1.txt").exists() and Path("kept/blog/about.hero.1.txt").exists()


def test_a_report_of_each_page_that_is_built(site: Path, pagec: Callable[..., Outcome]) -> None:
    """Blocks of three pages are written at the same time; each report has those of its page."""
    command = ("site", "-o", "out", "--report", "reports", "--no-cache")
    assert pagec(*command).code == 0
    reports = {str(path.relative_to("reports")): path for path in Path("reports").rglob("*.html")}
    assert sorted(reports) == ["about.html", "blog/first.html", "index.html"]
    soups = {name: BeautifulSoup(path.read_text(encoding="utf-8"), "html5lib") for name, path in reports.items()}
    assert [title.get_text() for title in soups["about.html"].select("h2")] == ["site/about.yaml"]
    assert [title.get_text() for title in soups["about.html"].select("h4")] == ["style", "hero", "team", "footer"]
    # Blocks with equal prompts are written once, for the first page.
    assert [title.get_text() for title in soups["index.html"].select("h4")] == ["team"]


def test_a_page_that_is_not_built_keeps_its_report_and_one_that_fails_gets_one(
    site: Path, pagec: Callable[..., Outcome]
) -> None:
    command = ("site", "-o", "out", "--report", "reports")
    assert pagec(*command).code == 0
    before = Path("reports/about.html").read_bytes()
    (site / "index.yaml").write_text(spec("Start", "items: [{title: A, image: {src: no.png, alt: A}}]"))
    assert pagec(*command).code == 1
    assert Path("reports/about.html").read_bytes() == before
    assert "no.png" in Path("reports/index.html").read_text(encoding="utf-8")


def test_a_report_that_cannot_be_written_costs_no_page(site: Path, pagec: Callable[..., Outcome]) -> None:
    Path("reports").mkdir()
    Path("reports/blog").write_text("mine", encoding="utf-8")
    outcome = pagec("site", "-o", "out", "--report", "reports")
    assert outcome.code == 1 and "cannot write the report of site/blog/first.yml" in outcome.err
    assert Path("out/blog/first.html").exists() and Path("reports/index.html").exists()


def test_compile_points_to_batch_for_a_folder(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["compile", "site", "--model", "reference"])
    assert "did you mean `pagec batch site`?" in capsys.readouterr().err
