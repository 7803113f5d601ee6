"""`pagec bench` as a user meets it, with the embedded model and with a server."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pagecompiler import cli
from pagecompiler.bench.bench import Bench
from pagecompiler.bench.figures import BenchResult, Difference
from pagecompiler.engine.llama.tuning import Tuning, verdict_key
from pagecompiler.engine.reference import write
from pagecompiler.models import resolve_model, tuning_path
from tests.engine.fake_server import FakeServer

from .sample import MTP_2, sample_result
from .test_text import validate

SPEC = """title: T
hero: {heading: A kettle}
sections:
- kind: stats
  heading: Facts
  items: [{value: "1", label: litre}, {value: "90", label: seconds}]
"""
Outcome = tuple[int, str, str]
Pagec = Callable[..., Outcome]


@pytest.fixture
def pagec(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Pagec:
    """Runs in a folder with `page.yaml`: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page.yaml").write_text(SPEC, encoding="utf-8")

    def run(*arguments: str) -> Outcome:
        with pytest.raises(SystemExit) as caught:
            cli.main(("bench", "page.yaml", *arguments))
        captured = capsys.readouterr()
        return int(caught.value.code or 0), captured.out, captured.err

    return run


SMALL = ("--runs", "2", "--method", "mtp", "--method", "lookup", "--depths", "2", "--lanes", "1,3", "--bandwidth", "10")


def test_the_embedded_model_for_real(pagec: Pagec, tmp_path: Path) -> None:
    code, out, err = pagec(*SMALL, "--json", "--report", "report.html")
    report = json.loads(out)
    assert code == 0, err
    validate(report)
    arms = {(arm["method"], arm["depth"], arm["lanes"]): arm for arm in report["arms"]}
    assert set(arms) == {(m, d, n) for m, d in (("plain", None), ("mtp", 2), ("lookup", 2)) for n in (1, 3)}
    for arm in arms.values():
        assert arm["problem"] == "" and arm["accepted_runs"] == arm["runs"] and arm["tokens_per_second"]["min"] > 0
        assert arm["memory_bytes"] is None or arm["memory_bytes"] > 5_000_000
        assert all(difference["kind"] == "near tie" for difference in arm["differences"])
    plain, mtp = arms["plain", None, 3], arms["mtp", 2, 3]
    assert plain["runs"] == 2 * mtp["runs"] == 4, "plain runs at the beginning and at the end of a round"
    assert mtp["target_passes"] < plain["target_passes"] and mtp["draft_passes"] > 0 == plain["draft_passes"]
    assert mtp["acceptance"] > 0.5 and len(mtp["acceptance_by_position"]) == 2
    assert mtp["prediction"]["tokens_per_step"] == pytest.approx(mtp["mean_accepted_length"], rel=0.01)
    assert 0 < plain["prefill_share"] < 1 and plain["rows_per_token"] <= 1 < mtp["rows_per_pass"]
    assert {group["name"] for group in plain["groups"]} == {"style", "top", "bottom"}
    assert report["rebuild"]["previous"]["acceptance"] > 0 and report["reference"]["time_to_page"]["min"] > 0
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert not (tmp_path / ".pagec").exists() and not (tmp_path / "output").exists()


def test_a_table_goes_to_stdout_and_all_else_to_stderr(pagec: Pagec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bench, "run", lambda bench: sample_result())
    code, out, err = pagec("--model", "pagec-mini", "--bandwidth", "10")
    assert code == 0 and "702 (681–723)" in out and "The lead of mtp narrows" in out
    assert "model: pagec-mini" in err and "kept for --method auto" in err
    model = resolve_model("pagec-mini", "test").path
    assert model is not None
    assert Tuning(tuning_path()).verdicts(verdict_key(model))[5].method.value == "mtp"


def defective() -> BenchResult:
    result = sample_result()
    last = result.loads[-1]
    wrong = Difference("hero", "defect", 3, 2.5, 0.02)
    arms = tuple(replace(f, differences=(wrong,)) if f.arm == MTP_2 else f for f in last.arms)
    return replace(result, loads=(replace(last, arms=arms),))


def test_a_defective_arm_fails_the_command(pagec: Pagec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bench, "run", lambda bench: defective())
    code, out, _ = pagec("--model", "pagec-mini", "--bandwidth", "10")
    assert code == 1 and "DEFECT" in out and "`hero`" in out


def test_an_interrupted_bench_shows_what_there_is_and_keeps_nothing(
    pagec: Pagec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Bench, "run", lambda bench: replace(sample_result(), complete=False))
    code, out, _ = pagec("--model", "pagec-mini", "--bandwidth", "10")
    assert code == 130 and "INCOMPLETE" in out
    assert not tuning_path().exists()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--lanes", "0"), 2, "`0` is no list of numbers"),
        (("--lanes", "1,65"), 2, "at most 64"),
        (("--depths", "1,x"), 2, "no list of numbers"),
        (("--draft-model", "reference"), 2, "cannot draft"),
        (("--report", "page.yaml"), 2, "is the spec"),
        (("--model", "absent"), 2, "absent"),
        (("--model", "reference", "--forget"), 2, "nothing is kept"),
    ],
)
def test_usage(pagec: Pagec, arguments: tuple[str, ...], code: int, said: str) -> None:
    found, out, err = pagec(*arguments)
    assert found == code and said in err and out == ""


def test_without_a_spec_there_is_nothing_to_measure(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["bench"])
    assert caught.value.code == 2 and "Missing argument SPEC" in capsys.readouterr().err


def test_a_spec_with_errors_is_not_measured(pagec: Pagec, tmp_path: Path) -> None:
    (tmp_path / "page.yaml").write_text("title: T\nhero: {heading: H}\nbody: x\n", encoding="utf-8")
    code, _, err = pagec("--bandwidth", "10")
    assert code == 1 and "page.yaml:3:1: error" in err


def test_a_brief_that_the_embedded_model_cannot_write(pagec: Pagec, tmp_path: Path) -> None:
    text = "title: T\nhero: {heading: H}\nsections:\n- {kind: prose, heading: P, brief: Say why.}\n"
    (tmp_path / "page.yaml").write_text(text, encoding="utf-8")
    code, _, err = pagec("--bandwidth", "10")
    assert code == 1 and "error[" in err


def test_ctrl_c_shows_the_figures_until_then(tmp_path: Path) -> None:
    (tmp_path / "page.yaml").write_text(SPEC, encoding="utf-8")
    arguments = ("bench", "page.yaml", "--runs", "500", "--method", "mtp", "--lanes", "3", "--bandwidth", "10", "-v")
    with subprocess.Popen(
        [sys.executable, "-m", "pagecompiler.cli", *arguments, "--model", "pagec-mini"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            assert any("round 3 of 500" in line for line in process.stderr)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130, err
    assert "INCOMPLETE: interrupted after" in out and "Traceback" not in err
    assert "kept for" not in err and not tuning_path().exists()


def test_options_that_a_server_cannot_follow(pagec: Pagec) -> None:
    with FakeServer(write, model="pagec-mini") as server:
        code, _, err = pagec("--engine", server.url, "--method", "mtp")
    assert code == 2 and "--method is for a model here" in err


def test_a_server_is_measured(pagec: Pagec) -> None:
    with FakeServer(write, model="pagec-mini") as server:
        code, out, err = pagec("--engine", server.url, "--runs", "2", "--lanes", "1,3", "--json")
    assert code == 0, err
    report = json.loads(out)
    validate(report)
    assert [(arm["method"], arm["lanes"]) for arm in report["arms"]] == [("server", 1), ("server", 3)]
    for arm in report["arms"]:
        assert arm["accepted_runs"] == 2 and arm["time_to_page"]["min"] > 0
        assert arm["first_text"]["median"] > 0 and arm["tokens_per_second"]["median"] > 0
        assert arm["memory_bytes"] is None, "this process is not the server"
    assert report["verdict"] is None and report["model"]["servers"]
    assert report["machine"]["threads"] is None and report["machine"]["llama_cpp"] == ""
