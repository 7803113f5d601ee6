"""Shared by all tests: nothing of the user's machine leaks in, and specs are a line away."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from pagecompiler.spec import LoadedSpec, load_spec

# The machine's speed is nobody's bug.
settings.register_profile("pagec", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("pagec")

OF_THE_USER = (
    "PAGEC_MODEL", "PAGEC_MODELS", "PAGEC_CACHE_DIR", "PAGEC_ENGINE_KEY", "OPENAI_API_KEY",
    "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_OFFLINE",
    "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES",
    *(name for proxy in ("http_proxy", "https_proxy", "all_proxy") for name in (proxy, proxy.upper())),
)  # fmt: skip
"""Variables that would change what the tests see: a proxy is asked even for servers on loopback."""


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / f"{kind.lower()}-home"))
    for name in OF_THE_USER:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True, scope="session")
def _hears_interrupts() -> None:
    """A background job starts with SIGINT ignored, and so would every command that the tests interrupt."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _own_signals() -> Iterator[None]:
    """`main` listens for SIGINT and SIGTERM until its process ends; the tests' process goes on."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], LoadedSpec]:
    """Loads a spec from text, as if it stood in `tmp_path/page.yaml`; title and hero are added where missing."""

    def loader(text: str) -> LoadedSpec:
        if "title:" not in text.splitlines()[0]:
            text = "title: T\n" + text
        if "\nhero:" not in f"\n{text}":
            text += "\nhero: {heading: H}\n"
        path = tmp_path / "page.yaml"
        path.write_text(text, encoding="utf-8")
        return load_spec(path)

    return loader
