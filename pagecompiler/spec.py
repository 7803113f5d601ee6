"""From a YAML text to a page spec with positions, or to everything that is wrong with it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from pagecompiler import site, spec_rules, yaml_source
from pagecompiler.diagnostics import CompileError, Diagnostic, Span, diagnostic
from pagecompiler.raw_spec import Found, RawSpec, SpecPath, nearest, read_raw
from pagecompiler.schema import PageSpec
from pagecompiler.spec_errors import translate
from pagecompiler.yaml_source import Source

MAX_FINDINGS = 100
STDIN = "<stdin>"


class SpecNotFound(Exception):  # noqa: N818
    """There is no spec to read. Exit code 2."""

    exit_code = 2

    def __init__(self, name: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.name = name
        self.message = message
        self.hint = hint


@dataclass(frozen=True)
class LoadedSpec:
    """A spec that can be compiled.

    `name` is as the user named it, `<stdin>` for stdin; `folder` is what relative paths start from, and
    images lie inside `root`. `text` has `\\n` line ends and no BOM; positions refer to it, but those of values
    from the site's file to that one: `sources` has the text of every file by its name in diagnostics, and
    `site` is that file's path.
    """

    page: PageSpec
    name: str
    path: Path | None
    folder: Path
    text: str
    positions: Mapping[SpecPath, Span]
    warnings: tuple[Diagnostic, ...] = ()
    root: Path = Path()
    site: Path | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[SpecPath, str] = field(default_factory=dict)

    def at(self, path: SpecPath) -> Span:
        """Where the value stands, or the nearest one around it."""
        known = nearest(self.positions, path)
        return Span(1, 1, 1, 1) if known is None else self.positions[known]

    def file(self, path: SpecPath) -> str:
        """The file that the value at `path` stands in."""
        known = nearest(self.positions, path)
        return self.name if known is None else self.files.get(known, self.name)

    def diagnostic(self, code: str, message: str, path: SpecPath, hint: str = "") -> Diagnostic:
        """A finding about the value at `path`, as in ("sections", 0, "heading")."""
        return diagnostic(code, message, file=self.file(path), span=self.at(path), hint=hint)


def load_spec(source: Path | str, *, data: bytes | None = None, root: Path | None = None) -> LoadedSpec:
    """Read and check one spec. CompileError carries every finding, warnings included, in reading order.

    `data` is the spec's content where it is known already; `-` as source means stdin and needs it. Images
    must lie inside `root`, by default the folder of the spec. Defaults come from the nearest `_site.yaml`.
    """
    path = None if str(source) in ("-", STDIN) else Path(source)
    name = STDIN if path is None else str(source)
    if data is None:
        data = _read(path, name)
    folder = Path.cwd() if path is None else path.parent
    text, findings = yaml_source.decode(data, name)
    if findings:
        raise CompileError(tuple(findings))
    raw, findings = read_raw(Source(text, name))
    if raw is None:
        raise CompileError(tuple(_ordered(findings, name)), {name: text})
    texts: dict[str, str] = {}
    site_path = site.find_site(folder, root) if path is None or path.name != site.SITE_NAME else None
    if site_path is not None:
        findings += _add_site(raw, site_path, path, texts)
    page = None
    try:
        page = PageSpec.model_validate(raw.value)
    except ValidationError as error:
        findings += map(_finding, translate(error, raw))
    roots = {name: root or folder}
    if site_path is not None:
        roots |= {other: root or site_path.parent for other in raw.sources if other != name}
    findings += map(_finding, spec_rules.check(page, raw, folder, roots))
    findings = _ordered(findings, name)
    sources = texts | {other: source.text for other, source in raw.sources.items()}
    if page is None or any(finding.severity == "error" for finding in findings):
        raise CompileError(tuple(findings), sources, raw.images)
    return LoadedSpec(
        page,
        name,
        path,
        folder,
        text,
        {where: place.span for where, place in raw.positions.items()},
        tuple(findings),
        root or folder,
        site_path,
        sources,
        {where: place.file for where, place in raw.positions.items() if place.file != name},
    )


def _add_site(raw: RawSpec, path: Path, page: Path | None, texts: dict[str, str]) -> list[Diagnostic]:
    """Merge the site's file into a spec and note its text; gives what is wrong with it."""
    name = os.path.relpath(path) if page is None or not page.is_absolute() else str(path)
    try:
        text, findings = yaml_source.decode(_read(path, name), name)
    except SpecNotFound as error:
        return [diagnostic("E0122", error.message, file=name)]
    texts[name] = text
    if findings:
        return findings
    common, findings = read_raw(Source(text, name))
    if common is None:
        # A page needs keys; the site's file may set no defaults.
        return [finding for finding in findings if finding.code != "E0110"]
    findings += map(_finding, site.unknown_keys(common))
    site.merge(raw, common, path.parent, page)
    return findings


def _finding(found: Found) -> Diagnostic:
    code, message, place, hint = found
    return diagnostic(code, message, file=place.file, span=place.span, hint=hint)


def _read(path: Path | None, name: str) -> bytes:
    if path is None:
        raise SpecNotFound(name, "the content of stdin was not given")
    try:
        with path.open("rb") as file:
            return file.read(yaml_source.MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise SpecNotFound(name, f"there is no file `{name}`") from error
    except IsADirectoryError as error:
        raise SpecNotFound(name, f"`{name}` is a folder", f"did you mean `pagec batch {name}`?") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SpecNotFound(name, f"`{name}` cannot be read: {reason}") from error


def _ordered(findings: Iterable[Diagnostic], name: str) -> list[Diagnostic]:
    """In reading order, the spec's before the site's."""

    def order(finding: Diagnostic) -> tuple[bool, int, int]:
        span = finding.span or Span(0, 0, 0, 0)
        return finding.file != name, span.line, span.column

    ordered = sorted(dict.fromkeys(findings), key=order)
    rest = len(ordered) - MAX_FINDINGS
    if rest > 0:
        # An error must not be lost behind a hundred warnings.
        first = set(sorted(ordered, key=lambda f: f.severity != "error")[:MAX_FINDINGS])
        more = diagnostic("N0121", f"{rest} more findings", file=name)
        return [f for f in ordered if f in first] + [more]
    return ordered
