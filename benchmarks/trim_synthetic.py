"""`python -m benchmarks.trim_synthetic MODEL FILE ROWS` cuts the block out of a model that has no tokenizer.

Which words are kept makes no difference to what a step costs, so the lowest ids are.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pagecompiler.engine.trimmed import write_trimmed


def main() -> None:
    """Write the file that the command line names."""
    if len(sys.argv) != 4:
        sys.exit("usage: python -m benchmarks.trim_synthetic MODEL FILE ROWS")
    sizes = write_trimmed(Path(sys.argv[1]), Path(sys.argv[2]), range(int(sys.argv[3])), "synthetic")
    print(
        f"a draft step reads {sizes.before / 1e6:.0f} MB with all words, {sizes.after / 1e6:.0f} MB with {sys.argv[3]}"
    )


if __name__ == "__main__":
    main()
