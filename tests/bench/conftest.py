"""Shared by the tests of the bench."""

from __future__ import annotations

from pathlib import Path

import pytest

from pagecompiler.spec import LoadedSpec, load_spec

SPEC = """title: T
hero: {heading: A kettle, text: It boils.}
sections:
- kind: features
  heading: Why
  items:
  - {title: One, text: It boils a litre.}
  - {title: Two, text: It pours well.}
  - {title: Three, text: It lasts.}
- {kind: prose, heading: How, paragraphs: [It is made of steel.]}
footer: {text: Bye}
"""


@pytest.fixture
def loaded(tmp_path: Path) -> LoadedSpec:
    """Four blocks and the style; the longest group has a list of three items."""
    path = tmp_path / "page.yaml"
    path.write_text(SPEC, encoding="utf-8")
    return load_spec(path)
