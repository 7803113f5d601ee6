"""Whether pagec reports what vnu or axe report: `python -m benchmarks.verdict`.

Seeded damage to good pages: the clean page of the tests and the pages of two sample specs in turn. vnu reads all of
them; axe only those that pagec passes, since only there it could show a miss.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from pagecompiler import compile_page
from pagecompiler.validate import validate_page
from tests.defects import CLEAN, mutations
from tests.referees import ROOT, Browser, vnu

_SPECS = ("kettle", "docs")
_SEED = 7


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    count = parser.parse_args().count
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        pages = [CLEAN, *(_compiled(name, folder) for name in _SPECS)]
        passed: dict[Path, bool] = {}
        for number, page in enumerate(pages):
            mutations.CLEAN = page  # the changes are made to the module's page
            share = count // len(pages) + (number < count % len(pages))
            for index, html in enumerate(mutations.mutants(share, _SEED)):
                path = folder / f"mutant-{number}-{index}.html"
                path.write_text(html, encoding="utf-8")
                passed[path] = validate_page(html, language="en") == ()
        flagged = {path: [str(message) for message in messages] for path, messages in vnu(passed).items() if messages}
        with Browser() as browser:
            for path in [path for path, good in passed.items() if good and path not in flagged]:
                problems = browser.check(path).problems()
                if problems:
                    flagged[path] = problems
        missed = [path for path in flagged if passed[path]]
        for path in missed:
            print(f"missed: {path.name}: {flagged[path][0]}")
        hits = len(flagged) - len(missed)
        print(f"{len(passed)} damaged pages, {len(flagged)} reported by vnu or axe, {hits} of them by pagec too")
        return 0 if hits >= 0.98 * len(flagged) else 1


def _compiled(name: str, folder: Path) -> str:
    """The page of a sample, beside its images, so that they are there for the browser."""
    result = compile_page(ROOT / "specs" / f"{name}.yaml", output=folder / f"{name}.html")
    if result.html is None:
        raise SystemExit(f"{name} does not compile")
    return result.html


if __name__ == "__main__":
    sys.exit(main())
