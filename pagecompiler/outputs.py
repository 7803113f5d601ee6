"""Where pages go: `-o` and its default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pagecompiler.files import real_path, real_place

DEFAULT_FOLDER = Path("output")
STDOUT = "-"


class OutputError(Exception):
    """The options ask for something that cannot be written. Exit code 2."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Output:
    """`path` is None for standard output."""

    path: Path | None


def plan_outputs(specs: Sequence[str], option: str | None, *, json: bool = False) -> list[Output]:
    """The output of each spec, in order.

    `-o x.html` is a file, another path a folder, `-` standard output; a spec from standard input without `-o` goes
    to standard output. Raises OutputError when two pages would be one file, a page would take the place of a spec,
    or standard output is asked too much.

    >>> plan_outputs(["a/kettle.yaml"], None)
    [Output(path=PosixPath('output/kettle.html'))]
    """
    outputs = [_output(spec, option, json=json) for spec in specs]
    streams = sum(output.path is None for output in outputs)
    if streams and (json or len(specs) > 1):
        raise OutputError("a page can go to standard output only alone, without --json and other specs")
    seen: dict[Path, str] = {}
    own = {path: spec for spec in specs if spec != STDOUT for path in (real_place(Path(spec)), real_path(Path(spec)))}
    for spec, output in zip(specs, outputs, strict=True):
        if output.path is not None:
            place = real_place(output.path)
            if place in own:
                raise OutputError(f"the page of `{spec}` would take the place of the spec `{own[place]}`; use -o")
            other = seen.setdefault(place, spec)
            if other is not spec:
                raise OutputError(f"`{other}` and `{spec}` would both be written to `{output.path}`")
    return outputs


def _output(spec: str, option: str | None, *, json: bool) -> Output:
    if option == STDOUT or (option is None and spec == STDOUT and not json):
        return Output(None)
    name = "stdin.html" if spec == STDOUT else f"{Path(spec).stem}.html"
    if option is None:
        return Output(DEFAULT_FOLDER / name)
    path = Path(option)
    return Output(path if path.suffix.lower() in (".html", ".htm") else path / name)
