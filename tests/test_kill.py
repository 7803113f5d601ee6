"""A batch or a watch that is killed at any moment leaves the old page or the new one, never a part."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

KILLS = 20


def test_killed_builds_leave_whole_pages() -> None:
    script = Path(__file__).parents[1] / "benchmarks" / "kill.py"
    done = subprocess.run([sys.executable, str(script), "--kills", str(KILLS)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"{KILLS} kills: no partial page, no lost page, no process left" in done.stdout
