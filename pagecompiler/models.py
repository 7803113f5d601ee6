"""Which model writes: the packaged one, a file, or the rules of the reference engine.

Nothing here loads a model: a text edit is relinked without one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from pagecompiler.engine.gguf_header import read_metadata
from pagecompiler.engine.types import Sampling
from pagecompiler.files import write_atomic
from pagecompiler.prompts import FORMAT
from pagecompiler.resources import data_path

MINI = "pagec-mini"
REFERENCE = "reference"


class ModelNotFoundError(Exception):
    """The model that was asked for does not exist. Exit code 2."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """`id` is the SHA-256 of the file; `source` says who chose it; `format` is the GGUF's `pagec.format`."""

    name: str
    path: Path | None
    id: str
    source: str
    format: int | None

    @property
    def is_reference(self) -> bool:
        return self.path is None

    @property
    def sampling(self) -> Sampling:
        """What is used where the user says nothing: other models than pagec's own repeat themselves at arg-max."""
        return Sampling() if self.format is not None else Sampling(temperature=0.2, min_p=0.05)


def choose_model(option: str | None) -> ModelChoice:
    """`--model`, else `PAGEC_MODEL`, else the packaged pagec-mini. Raises ModelNotFoundError."""
    if option is not None:
        return _resolve(option, "--model")
    if variable := os.environ.get("PAGEC_MODEL"):
        return _resolve(variable, "PAGEC_MODEL")
    return _resolve(MINI, "default")


def _resolve(name: str, source: str) -> ModelChoice:
    if name == REFERENCE:
        return ModelChoice(REFERENCE, None, f"{REFERENCE}-{FORMAT}", source, FORMAT)
    path = data_path("models") / f"{MINI}.gguf" if name == MINI else Path(name).expanduser()
    if not path.is_file():
        known = f"known names: {MINI}, {REFERENCE}; or give the path of a GGUF file"
        raise ModelNotFoundError(f"there is no model `{name}` ({source}); {known}")
    number = read_metadata(path).get("pagec.format")
    shown = MINI if name == MINI else path.name
    return ModelChoice(shown, path, file_digest(path), source, number if isinstance(number, int) else None)


def file_digest(path: Path) -> str:
    """Hex SHA-256 of a file, remembered by path, size, time and inode: large files take seconds to read."""
    stat = path.stat()
    mark = [str(path.resolve()), stat.st_size, stat.st_mtime_ns, stat.st_ino]
    memory = _cache_home() / "model-digests.json"
    known: dict[str, str] = {}
    with contextlib.suppress(OSError, ValueError, TypeError):
        known = dict(json.loads(memory.read_bytes()))
    key = json.dumps(mark)
    if key not in known:
        with path.open("rb") as file:
            known[key] = hashlib.file_digest(file, "sha256").hexdigest()
        # A cache folder that cannot be written only makes the next start slower.
        with contextlib.suppress(OSError):
            write_atomic(memory, json.dumps(known).encode(), durable=False)
    return known[key]


def tuning_path() -> Path:
    """Where the engine keeps what it has measured on this machine."""
    return _cache_home() / "tuning.json"


def _cache_home() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "pagec"
