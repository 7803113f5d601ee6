"""How to compile a page, and what follows from it: where its cache is, which prompts, what makes it another page."""

from __future__ import annotations

from dataclasses import astuple, dataclass, field
from pathlib import Path

from pagecompiler.engine.types import Decoding, Sampling
from pagecompiler.files import real_path
from pagecompiler.inputs import settings_digest
from pagecompiler.models import ModelChoice
from pagecompiler.prompts import PromptStyle
from pagecompiler.record import has_record
from pagecompiler.resources import fingerprint
from pagecompiler.spec import LoadedSpec

PROJECT_MARKS = ("pagec.toml", "_site.yaml")
CACHE_NAME = ".pagec"


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """How to compile. `output` None keeps the page in the result only; `cache_dir` None is `.pagec` at the project.

    `locked` fails where something would have to be decoded; `output_root` is the folder of all pages, out of which
    no image is written (default: that of the page). `prompts` None takes compact ones for a model that was trained
    on them, else full ones. `trace` asks the engine for the story of every token.
    """

    output: Path | None = None
    attempts: int = 3
    lanes: int = 5
    sampling: Sampling = field(default_factory=Sampling)
    read_cache: bool = True
    write_cache: bool = True
    cache_dir: Path | None = None
    keep_failed: Path | None = None
    prompts: PromptStyle | None = None
    decoding: Decoding = field(default_factory=Decoding)
    locked: bool = False
    output_root: Path | None = None
    trace: bool = False


DEFAULTS = CompileOptions()


def default_cache_dir(loaded: LoadedSpec) -> Path:
    """`.pagec` at the project of the spec, without one in the nearest folder above it that has a record of it, else
    in the folder of the specs.
    """
    project = project_cache(loaded.folder)
    if project is not None or loaded.path is None:
        return project or loaded.root / CACHE_NAME
    spec = str(real_path(loaded.path))
    places = (loaded.folder, *real_path(loaded.folder).parents)
    known = (place / CACHE_NAME for place in places if has_record(place / CACHE_NAME, spec))
    return next(known, loaded.root / CACHE_NAME)


def project_cache(folder: Path) -> Path | None:
    """`.pagec` in the nearest folder from here upwards with `pagec.toml` or `_site.yaml`, None if there is none."""
    return next((place / CACHE_NAME for place in (folder, *folder.parents) if is_project(place)), None)


def is_project(folder: Path) -> bool:
    """Whether a project begins here."""
    return any((folder / mark).exists() for mark in PROJECT_MARKS)


def prompt_style(model: ModelChoice, options: CompileOptions) -> PromptStyle:
    """The prompts that a model is given."""
    return options.prompts or (PromptStyle.COMPACT if model.format is not None else PromptStyle.FULL)


def page_settings(model: ModelChoice, options: CompileOptions, site: Path | None) -> str:
    """Stands for all that decides on a page beside its files; `site` is its site file, if there is one."""
    values = (model.id, astuple(options.sampling), prompt_style(model, options).value, site and str(real_path(site)))
    return settings_digest(*values, fingerprint())
