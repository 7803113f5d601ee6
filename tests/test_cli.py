"""The commands as a user meets them: exit codes, streams, JSON that keeps its schema."""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from pagecompiler import cli
from pagecompiler.codes import CODES
from pagecompiler.resources import data_path

SPEC = """title: Kettle
hero: {heading: A kettle, text: Boils *one* litre.}
sections:
- {kind: prose, heading: One, paragraphs: [first]}
"""
BROKEN = "title: Kettle\nhero: {headin: A kettle}\n"


class Outcome:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


class Run:
    """Runs `pagec` in `tmp_path`, where spec.yaml and broken.yaml are."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def __call__(self, *arguments: str, stdin: bytes = b"") -> Outcome:
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as exit_info:
            cli.main(arguments)
        captured = self._capsys.readouterr()
        return Outcome(int(exit_info.value.code or 0), captured.out, captured.err)


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("spec.yaml").write_text(SPEC, encoding="utf-8")
    Path("broken.yaml").write_text(BROKEN, encoding="utf-8")
    return Run(capsys, monkeypatch)


def compile_arguments(*arguments: str) -> Sequence[str]:
    return ("compile", "--model", "reference", *arguments)


def test_compile_prints_the_page_and_nothing_else_on_stdout(run: Run) -> None:
    outcome = run(*compile_arguments("spec.yaml"))
    assert (outcome.code, outcome.out) == (0, "output/spec.html\n")
    assert outcome.err.startswith("model: reference (--model)\n")
    assert Path("output/spec.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>\n")
    assert Path(".pagec").is_dir()


def test_from_stdin_to_stdout(run: Run) -> None:
    outcome = run(*compile_arguments("-"), stdin=SPEC.encode())
    assert outcome.code == 0 and outcome.out.startswith("<!DOCTYPE html>") and outcome.out.endswith("</html>\n")
    assert outcome.out == run(*compile_arguments("spec.yaml", "-o", "-")).out


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_a_page_is_utf_8_whatever_the_console_is(run: Run, encoding: str) -> None:
    text = "title: T\nhero: {heading: 'Tea 🍵 für 茶'}\n"
    command = [sys.executable, "-m", "pagecompiler.cli", *compile_arguments("-", "-o", "-")]
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = subprocess.run(command, input=text.encode(), capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr
    page = done.stdout.decode("utf-8")
    assert "Tea 🍵 für 茶" in page and "\r" not in page
    assert page.index('<meta charset="utf-8">') < 200


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="writes there")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "arguments",
    [
        compile_arguments("-q", "spec.yaml"),
        compile_arguments("-q", "spec.yaml", "-o", "-"),
        ("batch", "-q", "--model", "reference", "--json", "good"),
        ("check", "--plan", "-q", "spec.yaml"),
        ("explain", "E0303"),
        ("--help",),
    ],
)
def test_a_full_disk_behind_stdout_is_said_in_one_line(run: Run, arguments: Sequence[str], unbuffered: str) -> None:
    Path("good").mkdir()
    Path("good/spec.yaml").write_text(SPEC, encoding="utf-8")
    command = [sys.executable, "-m", "pagecompiler.cli", *arguments]
    with Path("/dev/full").open("wb") as full:
        environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment)
    said = "cannot write to standard output: No space left on device"
    assert (done.returncode, done.stderr) == (1, f"pagec: error: {said}\n")


@pytest.mark.parametrize(("closed", "code"), [("<&-", 2), ("2>&-", 0)])
def test_a_stream_that_is_closed(run: Run, closed: str, code: int) -> None:
    arguments = compile_arguments("-" if code else "spec.yaml")
    command = shlex.join([sys.executable, "-m", "pagecompiler.cli", *arguments])
    done = subprocess.run(["sh", "-c", f"{command} {closed}"], capture_output=True, text=True)
    assert done.returncode == code and "Traceback" not in done.stderr
    assert ("no standard input" in done.stderr) == bool(code) and Path("output/spec.html").exists() != bool(code)


def test_without_stdout(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    outcome = run("explain", "E0303")
    assert (outcome.code, outcome.err) == (1, "pagec: error: cannot write to standard output: Bad file descriptor\n")


def test_one_failure_does_not_stop_the_others(run: Run) -> None:
    outcome = run(*compile_arguments("broken.yaml", "spec.yaml"))
    assert (outcome.code, outcome.out) == (1, "output/spec.html\n")
    assert "broken.yaml:2:8: error[E0203]" in outcome.err


def test_quiet_says_only_errors(run: Run) -> None:
    assert run(*compile_arguments("-q", "spec.yaml")).err == ""
    assert "E0203" in run(*compile_arguments("-q", "broken.yaml")).err


def _validator(name: str) -> Draft202012Validator:
    schemas = {n: json.loads(data_path(n).read_text()) for n in ("compile.schema.json", "check.schema.json")}
    registry: Registry[Any] = Registry().with_resources(
        (schema["$id"], Resource.from_contents(schema)) for schema in schemas.values()
    )
    return Draft202012Validator(schemas[name], registry=registry)


def test_json_keeps_its_schema(run: Run) -> None:
    for arguments in (("spec.yaml",), ("broken.yaml", "spec.yaml"), ("-",)):
        outcome = run(*compile_arguments("--json", *arguments), stdin=SPEC.encode())
        report = json.loads(outcome.out)
        _validator("compile.schema.json").validate(report)
        assert [page["ok"] for page in report["pages"]] == [name != "broken.yaml" for name in arguments]
    groups = report["pages"][0]["groups"]
    assert [group["name"] for group in groups] == ["style", "top", "bottom"]
    # The file and the text from stdin have equal prompts, and the cache stands in the same folder.
    assert {group["state"] for group in groups} == {"reused"}


def test_check(run: Run) -> None:
    assert run("check", "spec.yaml").code == 0
    outcome = run("check", "--json", "spec.yaml", "broken.yaml")
    assert outcome.code == 1
    report = json.loads(outcome.out)
    _validator("check.schema.json").validate(report)
    assert {finding["file"] for finding in report["diagnostics"]} == {"broken.yaml"}


def test_strict_makes_warnings_errors(run: Run) -> None:
    Path("mood.yaml").write_text("theme: {mood: calm and gothic}\n" + SPEC, encoding="utf-8")
    outcome = run("check", "mood.yaml")
    assert outcome.code == 0 and "warning[W0520]" in outcome.err
    outcome = run("check", "--strict", "mood.yaml")
    assert outcome.code == 1 and "error[W0520]" in outcome.err


def test_plan_shows_the_groups(run: Run) -> None:
    lines = run("check", "--plan", "spec.yaml").out.splitlines()
    assert [line.split()[0] for line in lines] == ["style", "top", "bottom"]


def test_schema_is_json_schema(run: Run) -> None:
    schema = json.loads(run("check", "--schema").out)
    Draft202012Validator.check_schema(schema)
    assert Draft202012Validator(schema).is_valid({"title": "T", "hero": {"heading": "H"}})
    assert not Draft202012Validator(schema).is_valid({"title": "T"})


def test_explain(run: Run) -> None:
    assert "undefined anchor" in run("explain", "e0303").out
    assert [line.split()[0] for line in run("explain").out.splitlines()] == list(CODES)
    outcome = run("explain", "E0330")
    assert outcome.code == 2 and "did you mean" in outcome.err


def test_prompt_shows_what_the_model_is_asked(run: Run) -> None:
    assert run("prompt", "spec.yaml").out.splitlines() == ["style  style", "hero  hero", "one  prose"]
    outcome = run("prompt", "spec.yaml", "hero")
    assert "{{1}} heading short" in outcome.out and "kettle" not in outcome.out
    assert run("prompt", "spec.yaml", "nav").code == 2
    assert run("prompt", "broken.yaml", "hero").code == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("compile",),
        ("compile", "absent.yaml", "--model", "reference"),
        ("compile", "spec.yaml", "--model", "absent.gguf"),
        ("compile", ".", "--model", "reference"),
        ("compile", "spec.yaml", "--lanes", "0"),
        ("compile", "spec.yaml", "--temperature", "-1"),
        ("compile", "spec.yaml", "--model", "reference", "-o", "-", "--json"),
        ("check", "absent.yaml"),
        ("check",),
        ("nonsense",),
        ("--nonsense",),
    ],
)
def test_usage_errors_are_2_and_say_one_thing(run: Run, arguments: tuple[str, ...]) -> None:
    outcome = run(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert "rror: " in outcome.err and "Traceback" not in outcome.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (compile_arguments("spec.yaml", "-o", "@.html"), 1),
        (compile_arguments("@.yaml"), 2),
        (compile_arguments("@/spec.yaml"), 2),
        (("compile", "spec.yaml", "--model", "@.gguf"), 2),
        (("check", "@.yaml"), 2),
        (("watch", "@.yaml"), 2),
        (("new", "faq", "-o", "@.yaml"), 1),
    ],
)
def test_a_name_that_is_too_long_is_said_in_one_line(run: Run, arguments: Sequence[str], code: int) -> None:
    outcome = run(*(argument.replace("@", "x" * 300) for argument in arguments))
    assert outcome.code == code and outcome.err.count("x" * 300) == 1
    assert "error" in outcome.err and "stays as it was" not in outcome.err


def test_what_stays_is_a_page_and_no_folder(run: Run) -> None:
    Path("folder.html").mkdir()
    assert "stays as it was" not in run(*compile_arguments("spec.yaml", "-o", "folder.html")).err


@pytest.mark.parametrize("command", ["compile", "batch", "watch", "new", "check", "explain", "prompt"])
def test_every_command_has_help_with_an_example(run: Run, command: str) -> None:
    for flag in ("-h", "--help"):
        outcome = run(command, flag)
        assert outcome.code == 0
        assert f"pagec {command} " in outcome.out.split("Usage:")[1].split("\n", 1)[1]


def test_no_cache_neither_reads_nor_writes(run: Run) -> None:
    run(*compile_arguments("--no-cache", "spec.yaml"))
    assert not Path(".pagec").exists()


def test_an_interruption_is_130_and_leaves_the_old_page(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run(*compile_arguments("spec.yaml"))
    before = Path("output/spec.html").read_bytes()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pagecompiler.page_build.stitch", interrupt)
    Path("spec.yaml").write_text(SPEC.replace("first", "second"), encoding="utf-8")
    outcome = run(*compile_arguments("spec.yaml"))
    assert outcome.code == 130 and "interrupted" in outcome.err
    assert Path("output/spec.html").read_bytes() == before


def test_defaults_come_from_config_files_and_options_win(run: Run) -> None:
    Path("pagec.toml").write_text('model = "reference"\n[decode]\nlanes = 2\n', encoding="utf-8")
    outcome = run("compile", "spec.yaml")
    assert (outcome.code, outcome.err.splitlines()[0]) == (0, "model: reference (pagec.toml)")
    assert run("compile", "spec.yaml", "--model", "reference").err.startswith("model: reference (--model)\n")


def test_a_wrong_config_file_stops_before_anything_is_written(run: Run) -> None:
    Path("pagec.toml").write_text("[decode]\nlines = 2\n", encoding="utf-8")
    outcome = run(*compile_arguments("spec.yaml"))
    assert outcome.code == 2 and not Path("output").exists()
    assert "pagec.toml:2:1: error[E0704]: unknown key `decode.lines`\n  2 | lines = 2" in outcome.err
    assert "did you mean `decode.lanes`?" in outcome.err


def test_a_draft_model_of_a_config_file_must_be_there(run: Run) -> None:
    Path("pagec.toml").write_text('[decode]\ndraft_model = "absent"\n', encoding="utf-8")
    assert run(*compile_arguments("spec.yaml")).code == 2
    assert run(*compile_arguments("spec.yaml", "--method", "plain")).code == 0


def test_a_report_of_all_pages_is_written_also_when_one_fails(run: Run) -> None:
    outcome = run(*compile_arguments("spec.yaml", "broken.yaml", "--report", "reports/r.html"))
    assert (outcome.code, outcome.out) == (1, "output/spec.html\n")
    assert "report: reports/r.html\n" in outcome.err
    report = Path("reports/r.html").read_text(encoding="utf-8")
    assert "3 blocks were written" in report and "no tokens: nothing is decoded" in report
    assert "unknown key" in report and "headin" in report


def test_a_report_never_takes_the_place_of_a_page_or_a_spec(run: Run) -> None:
    for name in ("output/spec.html", "spec.yaml", "./output/../spec.yaml"):
        outcome = run(*compile_arguments("spec.yaml", "--report", name))
        assert outcome.code == 2 and "name another file" in outcome.err
    assert Path("spec.yaml").read_text(encoding="utf-8") == SPEC and not Path("output").exists()
    Path("picture.svg").write_text("<svg/>", encoding="utf-8")
    outcome = run(*compile_arguments("spec.yaml", "--report", "picture.svg"))
    assert outcome.code == 2 and "ending in .html" in outcome.err


def test_a_report_that_cannot_be_written_is_said(run: Run) -> None:
    outcome = run(*compile_arguments("spec.yaml", "--report", "spec.yaml/r.html"))
    assert outcome.code == 1 and "cannot write the report" in outcome.err
    assert Path("output/spec.html").is_file()
