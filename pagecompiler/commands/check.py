"""`pagec check`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from pagecompiler.codes import Severity
from pagecompiler.commands.screen import CONTEXT, count, make_screen, screen_options
from pagecompiler.commands.specs import load, read_spec, refuse_folders

if TYPE_CHECKING:
    from pagecompiler.diagnostics import Diagnostic
    from pagecompiler.spec import LoadedSpec


@click.command("check", context_settings=CONTEXT)
@click.argument("specs", nargs=-1, metavar="SPEC...")
@click.option("--plan", "show_plan", is_flag=True, help="Show the build groups, their blocks and expected lengths.")
@click.option("--schema", "show_schema", is_flag=True, help="Print the JSON Schema of a spec, for editors.")
@click.option("--strict", is_flag=True, help="Warnings are errors.")
@click.option("--json", "as_json", is_flag=True, help="The findings as one JSON object on stdout.")
@screen_options
def check_command(
    specs: tuple[str, ...], show_plan: bool, show_schema: bool, strict: bool, as_json: bool, **options: Any
) -> None:
    """Check specs without a model: YAML, schema, links, ids, images.

    \b
    pagec check specs/*.yaml
    pagec check --plan specs/kettle.yaml
    pagec check --schema > pagec.schema.json
    """
    screen = make_screen(options)
    if show_schema:
        from pagecompiler.schema import json_schema

        click.echo(json.dumps(json_schema(), indent=2, ensure_ascii=False))
        return
    if not specs:
        raise click.UsageError("Missing argument 'SPEC...'.")
    refuse_folders(specs)
    findings: list[Diagnostic] = []
    for spec in specs:
        found, loaded, sources = _check_one(spec)
        found = [finding.as_error() for finding in found] if strict else found
        findings += found
        screen.report(found, sources)
        if loaded is not None and show_plan:
            _print_plan(loaded)
    if as_json:
        from pagecompiler.report import check_json

        click.echo(json.dumps(check_json(findings), ensure_ascii=False))
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    others = len(findings) - errors
    counts = f"{count(errors, 'error')}, {count(others, 'warning or note', 'warnings and notes')}"
    screen.say(f"{len(specs)} checked, {counts}")
    if errors:
        raise click.exceptions.Exit(1)


def _check_one(spec: str) -> tuple[list[Diagnostic], LoadedSpec | None, Mapping[str, str]]:
    from pagecompiler.diagnostics import CompileError
    from pagecompiler.lint import lint
    from pagecompiler.style import palette_css

    data = read_spec(spec)
    try:
        loaded = load(spec, data)
    except CompileError as error:
        return list(error.diagnostics), None, error.sources
    _, notes = palette_css(loaded)
    return [*loaded.warnings, *notes, *lint(loaded)], loaded, loaded.sources


def _print_plan(loaded: LoadedSpec) -> None:
    from pagecompiler.ids import section_ids
    from pagecompiler.plan import make_plan

    for group in make_plan(loaded.page, section_ids(loaded.page)).groups:
        tokens = sum(block.expected_tokens for block in group.blocks)
        blocks = ", ".join(
            f"{block.name} ({block.kind})" if block.name != block.kind else block.name for block in group.blocks
        )
        click.echo(f"{group.name:<7} about {tokens:>4} tokens  {blocks}")
