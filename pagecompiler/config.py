"""Defaults from files: `pagec.toml` of a project and `config.toml` of the user.

A project's file may come with a folder that somebody else wrote. So it names models and numbers, never a file, a
folder or an address: it cannot make pagec write, download or load anything that the user has not put there.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pagecompiler.diagnostics import CompileError, Diagnostic, Span, diagnostic
from pagecompiler.engine.hardware import KV_TYPES, FlashAttention, SplitMode, parse_kv_types
from pagecompiler.engine.types import Method

PROJECT_FILE = "pagec.toml"
USER_SOURCE = "user config"
MAX_BYTES = 64 * 1024
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z|hf:[A-Za-z0-9._-]+/[A-Za-z0-9._-]+(:[A-Za-z0-9._-]+)?\Z")
_PLACE = re.compile(r"line (\d+), column (\d+)")
_HEADER = re.compile(r"\s*\[+\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"""\s*([A-Za-z0-9_."' -]+?)\s*=""")


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and who said it: the name of a project's file, or `user config`."""

    value: Any
    source: str


@dataclass(frozen=True, slots=True)
class Config:
    """What the files say, by dotted key: `model`, `decode.method`, `sampling.temperature`, …"""

    settings: Mapping[str, Setting] = field(default_factory=dict)

    def get(self, key: str) -> Setting | None:
        """What was said about a key; None where nothing was."""
        return self.settings.get(key)


def read_config(folder: Path) -> Config:
    """The nearest `pagec.toml` in `folder` or above it, over the user's config file.

    Raises CompileError with a finding for every line that is wrong.

    >>> read_config(Path("/")).get("decode.lanes")
    """
    settings: dict[str, Setting] = {}
    findings: list[Diagnostic] = []
    sources: dict[str, str] = {}
    project = project_file(folder)
    for path, source in ((user_file(), USER_SOURCE), (project, PROJECT_FILE)):
        if path is None or not path.is_file():
            continue
        shown = _shown(path)
        text, values, found = _read(path, shown, names_only=path == project)
        findings += found
        sources[shown] = text
        settings |= {key: Setting(value, source) for key, value in values.items()}
    if findings:
        raise CompileError(tuple(findings), sources)
    return Config(settings)


def project_file(folder: Path) -> Path | None:
    """The nearest `pagec.toml` in a folder or above it."""
    start = folder.resolve()
    candidates = (each / PROJECT_FILE for each in (start, *start.parents))
    return next((path for path in candidates if os.path.isfile(path)), None)


def user_file() -> Path:
    """Where the user's own defaults are: `$XDG_CONFIG_HOME/pagec/config.toml`; it need not exist."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "pagec" / "config.toml"


def _shown(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


Check = Callable[[Any], str]
"""Takes a value; what it should have been, empty when it is right."""


def _number(low: float, high: float, *, whole: bool, words: tuple[str, ...] = ()) -> Check:
    def check(value: Any) -> str:
        fits = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        fits = fits and low <= value <= high
        named = "".join(f"{word}, or " for word in words)
        return "" if fits or value in words else f"{named}a {'whole ' if whole else ''}number from {low} to {high}"

    return check


def _choice(*words: str) -> Check:
    return lambda value: "" if value in words else f"one of {', '.join(words)}"


def _text(value: Any) -> str:
    return "" if isinstance(value, str) and value.strip() else "a text"


def _kv_type(value: Any) -> str:
    try:
        parse_kv_types(value if isinstance(value, str) else "")
    except ValueError:
        return f"one of {', '.join(KV_TYPES)}, or two with a comma between them"
    return ""


KEYS: dict[str, Check] = {
    "model": _text,
    "decode.method": _choice(*(method.value for method in Method)),
    "decode.depth": _number(1, 16, whole=True, words=("auto",)),
    "decode.lanes": _number(1, 64, whole=True),
    "decode.draft_model": _text,
    "hardware.threads": _number(1, 1024, whole=True),
    "hardware.gpu_layers": _number(0, 10_000, whole=True),
    "hardware.split_mode": _choice(*SplitMode),
    "hardware.flash_attention": _choice(*FlashAttention),
    "hardware.kv_type": _kv_type,
    "hardware.ubatch": _number(16, 8192, whole=True),
    "sampling.temperature": _number(0, 2, whole=False),
    "sampling.top_k": _number(0, 1_000_000, whole=True),
    "sampling.top_p": _number(0.01, 1, whole=False),
    "sampling.min_p": _number(0, 1, whole=False),
    "sampling.seed": _number(0, 2**32 - 1, whole=True),
}
_TABLES = {key.partition(".")[0] for key in KEYS if "." in key}
_MODEL_KEYS = ("model", "decode.draft_model")


def _read(path: Path, shown: str, *, names_only: bool) -> tuple[str, dict[str, Any], list[Diagnostic]]:
    """The text of a file, its values by dotted key, and what is wrong with it."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ValueError(f"it has more than {MAX_BYTES} bytes")
        text = data.decode("utf-8").removeprefix("\ufeff")
        parsed = tomllib.loads(text)
    except OSError as error:
        return "", {}, [_finding(f"cannot read it: {error.strerror}", shown)]
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        span = None
        if place := _PLACE.search(message):
            line, column = int(place[1]), int(place[2])
            span = Span(line, column, line, column + 1)
        return text, {}, [_finding(f"not TOML: {message.partition(' (at')[0].lower()}", shown, span)]
    except ValueError as error:
        return "", {}, [_finding(f"not usable: {error}", shown)]
    values: dict[str, Any] = {}
    findings: list[Diagnostic] = []
    for key, value in _flat(parsed):
        span = _span(text, key)
        if key not in KEYS:
            near = get_close_matches(key, KEYS, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"known keys: {', '.join(KEYS)}"
            findings.append(_finding(f"unknown key `{key}`", shown, span, hint))
        elif wanted := KEYS[key](value):
            findings.append(_finding(f"`{key}` takes {wanted}", shown, span))
        elif names_only and key in _MODEL_KEYS and not (_NAME.match(value) and not value.endswith(".gguf")):
            hint = f"a path can stand in {user_file()}, in PAGEC_MODEL and after --model"
            findings.append(_finding(f"`{key}` takes the name of a model here, not a file", shown, span, hint))
        elif value != "auto" or key != "decode.depth":
            values[key] = value
    return text, values, findings


def _flat(parsed: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Dotted keys and their values; tables that pagec does not know stay whole."""
    pairs: list[tuple[str, Any]] = []
    for key, value in parsed.items():
        if key in _TABLES and isinstance(value, dict):
            pairs += [(f"{key}.{name}", entry) for name, entry in value.items()]
        else:
            pairs.append((key, value))
    return pairs


def _span(text: str, wanted: str) -> Span | None:
    """Where a key stands; None for spellings that TOML allows and nobody uses."""
    table = ""
    for number, line in enumerate(text.split("\n"), 1):
        found = _HEADER.match(line)
        name = ""
        if found:
            table = name = _plain(found[1])
        elif found := _KEY.match(line):
            name = ".".join(part for part in (table, _plain(found[1])) if part)
        if found and (name == wanted or name.startswith(f"{wanted}.")):
            return Span(number, found.start(1) + 1, number, found.end(1) + 1)
    return None


def _plain(key: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in key.split("."))


def _finding(message: str, file: str, span: Span | None = None, hint: str = "") -> Diagnostic:
    return diagnostic("E0704", message, file=file, span=span, hint=hint)
