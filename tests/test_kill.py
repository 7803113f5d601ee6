"""A build that is killed at any moment leaves the old page or the new one, never a part."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = 20
SPEC = """title: Kettle
hero: {heading: A kettle}
sections:
- {kind: prose, heading: One, paragraphs: [@]}
"""

# Two specs of very different length are compiled to one page in turn, for ever: most kills meet a write.
BUILDER = """
import sys
from pathlib import Path
from pagecompiler.build import CompileOptions, EngineSource, compile_spec
from pagecompiler.engine.reference import ReferenceEngine
from pagecompiler.models import choose_model
from pagecompiler.spec import load_spec

output = Path("out/page.html")
source = EngineSource(choose_model("reference"), ReferenceEngine)
specs = [load_spec(Path(name)) for name in ("short.yaml", "long.yaml")]
for index, loaded in enumerate(specs):
    result = compile_spec(loaded, source, CompileOptions(output=output))
    Path(f"expected-{index}.html").write_bytes(output.read_bytes())
print("ready", flush=True)
while True:
    for loaded in specs:
        assert compile_spec(loaded, source, CompileOptions(output=output)).ok
"""


@pytest.mark.parametrize("seed", range(KILLS))
def test_a_killed_build_leaves_a_whole_page(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    (tmp_path / "short.yaml").write_text(SPEC.replace("@", "a"), encoding="utf-8")
    (tmp_path / "long.yaml").write_text(SPEC.replace("@", ", ".join(["many words"] * 300)), encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-c", BUILDER], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            process.wait(chance.uniform(0, 0.4))
        except subprocess.TimeoutExpired:
            process.send_signal(chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
        process.wait()
    page = (tmp_path / "out" / "page.html").read_bytes()
    assert page in [(tmp_path / f"expected-{index}.html").read_bytes() for index in (0, 1)]
    pages = [path.name for path in (tmp_path / "out").iterdir() if not path.name.startswith(".")]
    assert pages == ["page.html"]
    for entry in (tmp_path / ".pagec").rglob("*.json"):
        assert entry.read_bytes().endswith(b"}")
