"""What options are when nobody gives them: another version of click must not switch a feature off unnoticed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from pagecompiler.cli import cli


def commands(group: click.Group, *names: str) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, *names, name)
        else:
            yield (*names, name)


def find(names: tuple[str, ...]) -> click.Command:
    command: click.Command = cli
    for name in names:
        assert isinstance(command, click.Group)
        command = command.commands[name]
    return command


def given(monkeypatch: pytest.MonkeyPatch, *names: str) -> dict[str, Any]:
    """What a command is called with when it gets its arguments and no option."""
    heard: dict[str, Any] = {}
    command = find(names)
    monkeypatch.setattr(command, "callback", lambda **values: heard.update(values))
    arguments = ["x" for parameter in command.params if isinstance(parameter, click.Argument) and parameter.required]
    result = CliRunner().invoke(cli, [*names, *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return heard


@pytest.mark.parametrize("names", list(commands(cli)), ids=" ".join)
def test_no_flag_is_on_and_none_has_a_twin(names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    values = given(monkeypatch, *names)
    for option in find(names).params:
        if isinstance(option, click.Option) and option.is_flag and option.expose_value:
            assert values[str(option.name)] is False and not option.secondary_opts, option.name


@pytest.mark.parametrize(
    ("command", "own"),
    [
        ("compile", {"output": None}),
        ("batch", {"output": Path("output")}),
        ("watch", {"output": Path("output"), "debounce": 80}),
    ],
)
def test_builds(command: str, own: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    shared = {
        "model": None, "engine": None, "method": "auto", "depth": None, "draft_model": None, "prefer": "latency",
        "lanes": 5, "prompts": "auto", "attempts": 3, "temperature": None, "top_k": 0, "top_p": 1.0, "min_p": None,
        "seed": 0, "cache_dir": None, "keep_failed": None,
    }  # fmt: skip
    values = given(monkeypatch, command)
    assert {name: values[name] for name in shared | own} == shared | own
