"""What stays for `auto`, and how it is shown and dropped."""

from __future__ import annotations

from pathlib import Path

import pytest

from pagecompiler import cli
from pagecompiler.bench.remember import forget, remember, step_costs
from pagecompiler.doctor import examine
from pagecompiler.engine.llama.tuning import BenchVerdict, Tuning, verdict_key
from pagecompiler.engine.types import Method
from pagecompiler.models import resolve_model, tuning_path
from pagecompiler.spec import LoadedSpec

from .scripted import Behaviour, make_bench
from .test_bench import DRAFT_2, LOOKUP_2, MTP_2, PLAIN, QUIET, RESTLESS


@pytest.fixture
def files(tmp_path: Path) -> tuple[Tuning, Path, Path]:
    model, draft = tmp_path / "m.gguf", tmp_path / "d.gguf"
    model.write_bytes(b"GGUF")
    draft.write_bytes(b"GGUF")
    return Tuning(tmp_path / "tuning.json"), model, draft


def test_the_winner_of_each_load_is_kept(loaded: LoadedSpec, files: tuple[Tuning, Path, Path]) -> None:
    tuning, model, _ = files
    bench = make_bench(loaded, {PLAIN: Behaviour(QUIET), MTP_2: Behaviour([134.0], (0.9, 0.8))})
    result = bench.run()
    assert remember(result, bench.measured, tuning, model, None) == 2
    kept = tuning.verdicts(verdict_key(model))
    assert {lanes: (found.method, found.depth) for lanes, found in kept.items()} == {
        1: (Method.MTP, 2),
        5: (Method.MTP, 2),
    }
    assert kept[5].ratio == pytest.approx(1.34, abs=0.02) and kept[5].date == result.date


def test_plain_is_kept_when_it_wins(loaded: LoadedSpec, files: tuple[Tuning, Path, Path]) -> None:
    tuning, model, _ = files
    bench = make_bench(loaded, {PLAIN: Behaviour(QUIET), MTP_2: Behaviour([80.0], (0.5, 0.4))}, lanes=(5,))
    remember(bench.run(), bench.measured, tuning, model, None)
    assert (tuning.verdicts(verdict_key(model))[5].method, tuning.verdicts(verdict_key(model))[5].depth) == (
        Method.PLAIN,
        0,
    )


def test_nothing_is_kept_within_the_noise(loaded: LoadedSpec, files: tuple[Tuning, Path, Path]) -> None:
    tuning, model, _ = files
    bench = make_bench(loaded, {PLAIN: Behaviour(RESTLESS), MTP_2: Behaviour([101.0], (0.5,))}, lanes=(5,))
    assert remember(bench.run(), bench.measured, tuning, model, None) == 0
    assert tuning.verdicts(verdict_key(model)) == {}


def test_what_a_draft_model_won_counts_only_with_it(loaded: LoadedSpec, files: tuple[Tuning, Path, Path]) -> None:
    tuning, model, draft = files
    arms = {
        PLAIN: Behaviour(QUIET),
        DRAFT_2: Behaviour([150.0], (0.9, 0.8)),
        MTP_2: Behaviour([134.0], (0.9, 0.8)),
    }
    bench = make_bench(loaded, arms, lanes=(5,))
    remember(bench.run(), bench.measured, tuning, model, draft)
    assert tuning.verdicts(verdict_key(model, draft))[5].method is Method.DRAFT
    assert tuning.verdicts(verdict_key(model))[5].method is Method.MTP
    assert forget(tuning, model, draft) == 2
    assert tuning.verdicts(verdict_key(model)) == {} == tuning.verdicts(verdict_key(model, draft))


def test_costs_of_steps_are_kept_where_auto_looks_for_them(loaded: LoadedSpec) -> None:
    arms = {
        PLAIN: Behaviour(QUIET),
        LOOKUP_2: Behaviour([101.0], (0.4, 0.2)),
        MTP_2: Behaviour([134.0], (0.9, 0.8)),
    }
    bench = make_bench(loaded, arms, lanes=(5,), runs=2)
    bench.run()
    costs = list(step_costs(bench.measured))
    assert [key for key, _ in costs] == ["key0", "key0", "key1"], "lookup's own, then mtp and matches alone"
    _, mtp, alone = (found for _, found in costs)
    assert set(mtp.steps) == {(5, 0), (5, 2)} and mtp.acceptance == (0.9, 0.8)
    assert set(alone.steps) == {(5, 2)} and alone.acceptance == (0.4, 0.2)


def test_doctor_shows_it_and_forget_drops_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = resolve_model("pagec-mini", "test").path
    assert model is not None
    tuning = Tuning(tuning_path())
    tuning.keep_verdict(verdict_key(model), BenchVerdict(5, Method.MTP, 2, 1.34, "2026-11-29"))

    def found() -> str:
        return next(finding.text for finding in examine(tmp_path, "pagec-mini") if finding.name == "bench")

    assert found() == "with 5 lanes mtp 2, 1.34 times plain (2026-11-29)"
    with pytest.raises(SystemExit) as caught:
        cli.main(["bench", "--forget", "--model", "pagec-mini"])
    assert caught.value.code == 0
    assert "1 verdict forgotten" in capsys.readouterr().err
    assert "pagec bench SPEC" in found()
