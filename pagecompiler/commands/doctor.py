"""`pagec doctor`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pagecompiler.commands.screen import CONTEXT


@click.command("doctor", context_settings=CONTEXT)
@click.option("--model", metavar="FILE|NAME", help="The model to look at.  [default: what a build takes here]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def doctor_command(model: str | None, as_json: bool) -> None:
    """What this installation can do, and how it gets what is missing.

    Exits with 0 when a page can be compiled, else with 1.
    """
    from pagecompiler.diagnostics import printable
    from pagecompiler.doctor import can_compile, examine, report_json

    findings = examine(Path(), model)
    if as_json:
        click.echo(json.dumps(report_json(findings), ensure_ascii=False))
    else:
        for finding in findings:
            click.echo(f"{finding.state:<8}{finding.name:<10} {printable(finding.text)}")
            if finding.fix and finding.state != "ok":
                click.echo(f"{'':<19}→ {printable(finding.fix)}")
    if not can_compile(findings):
        raise click.exceptions.Exit(1)
