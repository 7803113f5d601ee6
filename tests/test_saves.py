"""An hour's worth of saves: whatever happens to a folder, its pages are those of a clean build of the last good specs."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pagecompiler import link as linking
from pagecompiler.build import CompileOptions, EngineSource, PageResult, compile_spec
from pagecompiler.changes import Changes
from pagecompiler.diagnostics import CompileError
from pagecompiler.engine.reference import write
from pagecompiler.engine.scripted import ScriptedEngine
from pagecompiler.engine.types import Request
from pagecompiler.models import ModelChoice
from pagecompiler.prompts import FORMAT
from pagecompiler.spec import LoadedSpec, load_spec
from pagecompiler.watch import Watch

MODEL = ModelChoice("scripted", None, "scripted-1", "test", FORMAT)
NAMES = st.sampled_from(["a.yaml", "b.yaml", "blog/c.yaml"])
WORDS = st.sampled_from(["tea", "hot tea", "water for tea, and for more of it", "{{1}}", "</script>", "Ünïcödé", "how"])


class NoEvents:
    """Stands for the folders' events: the machine itself says when to look."""

    closed = pending = False

    def watch(self, folders: dict[Path, bool]) -> None: ...

    def wait(self) -> bool:
        return False

    def due(self) -> bool:
        return False


@contextmanager
def nothing_remembered() -> Iterator[None]:
    """Blocks are validated and linked anew, and what is remembered of them stays."""
    anew = {name: getattr(linking, name).__wrapped__ for name in ("make_element", "validate_fragment")}
    with patch.multiple(linking, **anew):
        yield


class Saves(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.top = Path(tempfile.mkdtemp())
        self.folder, self.output = self.top / "site", self.top / "out"
        (self.folder / "blog").mkdir(parents=True)
        self.specs: dict[str, dict[str, Any]] = {}
        self.good: dict[str, str] = {}
        self.refuse = False
        self.results: dict[str, PageResult] = {}
        options = CompileOptions(output=self.output, cache_dir=self.top / "cache")
        self.watch = Watch(self.folder, self.source(), options, cast(Changes, NoEvents()), told=self.take)

    def source(self) -> EngineSource:
        """What the watch builds with."""
        return EngineSource(MODEL, lambda: ScriptedEngine(self.answer))

    def clean(self, loaded: LoadedSpec) -> PageResult:
        """What a build without any memory makes of a spec."""
        source = EngineSource(MODEL, lambda: ScriptedEngine(lambda request: write(request.messages[-1].content)))
        return compile_spec(loaded, source, CompileOptions(read_cache=False, write_cache=False))

    def is_clean(self, name: str, content: str | None, clean: PageResult) -> bool:
        """Whether a page is that of a clean build."""
        return content == clean.html

    def answer(self, request: Request) -> str:
        return "no" if self.refuse else write(request.messages[-1].content)

    def take(self, result: PageResult, sources: Mapping[str, str]) -> None:
        self.results[str(Path(result.spec).relative_to(self.folder))] = result

    def teardown(self) -> None:
        shutil.rmtree(self.top)

    def save(self, name: str, *, comment: str = "") -> None:
        spec = self.specs[name]
        items = ", ".join(f'{{title: "{text}"}}' for text in spec["items"])
        (self.folder / name).write_text(
            f'{comment}title: T\nhero: {{heading: "{spec["heading"]}"}}\nsections:\n'
            f"- {{kind: steps, heading: How, items: [{items}]}}\n",
            encoding="utf-8",
        )

    @rule(name=NAMES, heading=WORDS, items=st.lists(WORDS, min_size=1, max_size=4))
    def write_spec(self, name: str, heading: str, items: list[str]) -> None:
        self.specs[name] = {"heading": heading, "items": items}
        self.save(name)

    @rule(name=NAMES, heading=WORDS)
    def edit_text(self, name: str, heading: str) -> None:
        if name in self.specs:
            self.specs[name]["heading"] = heading
            self.save(name)

    @rule(name=NAMES, item=WORDS)
    def add_item(self, name: str, item: str) -> None:
        if name in self.specs and len(self.specs[name]["items"]) < 6:
            self.specs[name]["items"].append(item)
            self.save(name)

    @rule(name=NAMES)
    def comment(self, name: str) -> None:
        if name in self.specs:
            self.save(name, comment="# a comment\n")

    @rule(name=NAMES, half=st.sampled_from(["", "title: [", "title: T\nhero: {headin: H}\n"]))
    def break_spec(self, name: str, half: str) -> None:
        (self.folder / name).write_text(half, encoding="utf-8")

    @rule(name=NAMES)
    def delete_spec(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)
        self.specs.pop(name, None)

    @rule(text=WORDS | st.none())
    def site_file(self, text: str | None) -> None:
        site = self.folder / "_site.yaml"
        if text is None:
            site.unlink(missing_ok=True)
        else:
            site.write_text(f'footer: {{text: "{text}"}}\n', encoding="utf-8")

    @rule()
    def the_model_refuses(self) -> None:
        self.refuse = True

    @invariant()
    def pages_are_those_of_a_clean_build(self) -> None:
        self.watch.update()
        refused, self.refuse = self.refuse, False
        for path in sorted(self.folder.rglob("[a-z]*.yaml")):
            name = str(path.relative_to(self.folder))
            page = self.output / Path(name).with_suffix(".html")
            content = page.read_text(encoding="utf-8") if page.exists() else None
            try:
                with nothing_remembered():
                    clean = self.clean(load_spec(path, root=self.folder))
            except CompileError:
                assert content == self.good.get(name), "the last good page stays"
                continue
            # While the model refuses, what needs it stays as it was, and what needs none is built.
            assert (refused and content == self.good.get(name)) or self.is_clean(name, content, clean)
            if content is not None:
                self.good[name] = content
        if refused:
            # Nothing but a save asks the model again.
            for name in self.specs:
                if (self.folder / name).exists():
                    self.save(name, comment="# again\n")
            self.watch.update()
        left = {str(path.relative_to(self.output)) for path in self.output.rglob("*") if path.is_file()}
        assert left <= {str(Path(name).with_suffix(".html")) for name in ("a.yaml", "b.yaml", "blog/c.yaml")}


TestSaves = Saves.TestCase
TestSaves.settings = settings(
    max_examples=8, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
