"""`pagec new` and the manual: every example compiles, and the pages in docs are what the code says."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pagecompiler import cli, examples
from pagecompiler.schema import KINDS


@pytest.fixture
def pagec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            cli.main(arguments)
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return call


@pytest.mark.parametrize("kind", examples.names())
def test_a_new_spec_compiles_without_a_word(pagec: Callable[..., tuple[int, str, str]], kind: str) -> None:
    assert pagec("new", kind) == (0, f"{kind}.yaml\n", "")
    code, out, said = pagec("compile", f"{kind}.yaml", "--model", "reference", "-q")
    assert (code, said) == (0, "") and out == f"output/{kind}.html\n"
    assert pagec("check", "--strict", f"{kind}.yaml")[0] == 0
    text = Path(f"{kind}.yaml").read_text(encoding="utf-8")
    assert "#" in text and all(len(line) <= 110 for line in text.splitlines())


def test_nothing_is_overwritten(pagec: Callable[..., tuple[int, str, str]]) -> None:
    Path("faq.yaml").write_text("mine", encoding="utf-8")
    code, out, said = pagec("new", "faq")
    assert (code, out) == (1, "") and "stays as it is" in said
    assert Path("faq.yaml").read_text(encoding="utf-8") == "mine"
    Path("picture.svg").write_text("my picture", encoding="utf-8")
    assert pagec("new", "figure")[0] == 1
    assert Path("picture.svg").read_text(encoding="utf-8") == "my picture"


def test_where_a_new_spec_goes(pagec: Callable[..., tuple[int, str, str]]) -> None:
    assert pagec("new")[1].split() == [*KINDS, "page"]
    assert pagec("new", "cta", "-o", "-")[1] == examples.spec("cta")
    assert pagec("new", "cta", "-o", "index.yaml")[1] == "index.yaml\n"
    code, _, said = pagec("new", "tabel")
    assert code == 2 and "did you mean table?" in said
    assert pagec("new", "cta", "-o", "nowhere/x.yaml")[0] == 1


def test_the_manual_is_what_the_code_says() -> None:
    script = Path(__file__).parents[1] / "scripts" / "make_docs.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
