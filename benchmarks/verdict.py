"""Whether pagec reports what vnu or axe report: `python -m benchmarks.verdict`.

Seeded damage, every kind equally often: to the markup of good pages (the clean page of the tests and the pages of two
sample specs), and to the slots and the style that a model writes for these specs. vnu reads all pages, axe those that
vnu passes. pagec reports a page when it refuses the fragment or the finished page. Exit code 1 below 98 %.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pagecompiler import compile_page
from pagecompiler.validate import validate_page
from tests.defects import CLEAN, mutations, sources
from tests.defects.mutations import Mutant
from tests.referees import ROOT, Browser, vnu

_SPECS = ("kettle", "docs")
_SEED = 7
_WANTED = 0.98


def make_mutants(count: int) -> list[Mutant]:
    """All kinds equally often, over all pages."""
    source = [sources.Source(ROOT / "specs" / f"{name}.yaml") for name in _SPECS]
    kinds = len(mutations.MARKUP) + len(sources.SLOTS) + len(sources.RULES)
    marked = count * len(mutations.MARKUP) // kinds
    pages = [CLEAN, *(_compiled(name) for name in _SPECS)]
    made: list[Mutant] = []
    for number, page in enumerate(pages):
        made += mutations.mutants(page, _share(marked, len(pages), number), _SEED + number)
    for number, each in enumerate(source):
        made += each.mutants(_share(count - marked, len(source), number), _SEED + number)
    return made


def referees_say(mutants: list[Mutant], folder: Path) -> Iterator[tuple[int, str]]:
    """The numbers of the mutants that vnu or axe report, with the first message."""
    paths = [folder / f"{number}.html" for number in range(len(mutants))]
    for path, mutant in zip(paths, mutants, strict=True):
        path.write_text(mutant.html, encoding="utf-8")
    messages = vnu(paths)
    with Browser() as browser:
        for number, path in enumerate(paths):
            if messages[path]:
                yield number, f"vnu {messages[path][0]}"
            elif violations := browser.check(path).violations:
                yield number, str(violations[0])


def _share(count: int, parts: int, number: int) -> int:
    return count // parts + (number < count % parts)


def _compiled(name: str) -> str:
    result = compile_page(ROOT / "specs" / f"{name}.yaml")
    if result.html is None:
        raise SystemExit(f"{name} does not compile")
    return result.html


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--keep", type=Path, default=None, help="write the missed pages into this folder")
    arguments = parser.parse_args()
    mutants = make_mutants(arguments.count)
    hits = [mutant.refused or validate_page(mutant.html, language="en") != () for mutant in mutants]
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(ROOT / "specs" / "images", Path(place) / "images")
        flagged = dict(referees_say(mutants, Path(place)))
    made = Counter(mutant.kind for mutant in mutants)
    by_pagec = Counter(mutant.kind for mutant, hit in zip(mutants, hits, strict=True) if hit)
    reported = Counter(mutants[number].kind for number in flagged)
    missed = [number for number in flagged if not hits[number]]
    missed_by_kind = Counter(mutants[number].kind for number in missed)
    print("| damage | pages | reported by pagec | by vnu or axe | of these missed by pagec |\n|---|---|---|---|---|")
    for kind in made:
        print(f"| {kind} | {made[kind]} | {by_pagec[kind]} | {reported[kind]} | {missed_by_kind[kind]} |")
    print(f"| all | {len(mutants)} | {sum(hits)} | {len(flagged)} | {len(missed)} |\n")
    for number in missed:
        print(f"missed: {number}, {mutants[number].kind}: {flagged[number]}")
        if arguments.keep:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            (arguments.keep / f"{number}.html").write_text(mutants[number].html, encoding="utf-8")
    found = 1 - len(missed) / len(flagged)
    print(f"of what vnu or axe report, pagec reports {found:.1%}")
    return 0 if found >= _WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
