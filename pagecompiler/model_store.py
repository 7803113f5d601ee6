"""The models that can be pulled, those that were, and those that the user has put beside them: files in one folder."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from pagecompiler.files import write_atomic

DEFAULT_NAME = "qwen3.5-9b"
DRAFT_NAME = "qwen3.5-0.8b"
CATALOG = {
    DEFAULT_NAME: "unsloth/Qwen3.5-9B-MTP-GGUF",
    "qwen3.5-4b": "unsloth/Qwen3.5-4B-MTP-GGUF",
    "qwen3.5-2b": "unsloth/Qwen3.5-2B-MTP-GGUF",
    DRAFT_NAME: "unsloth/Qwen3.5-0.8B-GGUF",
}
"""Names that can be pulled. The draft model comes without an MTP block of its own, which would only take memory."""


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A complete GGUF file in the folder of models.

    `origin` is `hf:owner/repo:quant`, `revision` a commit of that repository and `sha256` what was verified after
    the download; all three are empty for a file that was put there by hand.
    """

    name: str
    path: Path
    size: int
    origin: str = ""
    revision: str = ""
    sha256: str = ""


def models_dir() -> Path:
    """`PAGEC_MODELS`, else `pagec/models` in the user's data folder; it need not exist."""
    if own := os.environ.get("PAGEC_MODELS"):
        return Path(own).expanduser()
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "pagec" / "models"


def stored_models() -> list[StoredModel]:
    """All of them by name. A file whose size is not what was recorded is left out: it is not complete."""
    found = [_read(path) for path in sorted(models_dir().glob("**/*.gguf"))]
    return sorted((model for model in found if model is not None), key=lambda model: model.name.lower())


def find_stored(name: str) -> StoredModel | None:
    """A model by its name or by `hf:owner/repo[:quant]`, upper and lower case alike."""
    wanted = name.lower()
    for model in stored_models():
        origin = model.origin.lower()
        if wanted in (model.name.lower(), origin) or (origin and wanted == origin.rpartition(":")[0]):
            return model
    return None


def record_model(model: StoredModel) -> None:
    """Note where a file came from, beside it. Raises OSError."""
    entry = {
        "name": model.name,
        "size": model.size,
        "origin": model.origin,
        "revision": model.revision,
        "sha256": model.sha256,
    }
    write_atomic(_record_path(model.path), json.dumps(entry, indent=1).encode())


def _record_path(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _read(path: Path) -> StoredModel | None:
    try:
        size = path.stat().st_size
    except OSError:
        return None
    try:
        entry = json.loads(_record_path(path).read_bytes())
        texts = {key: str(entry[key]) for key in ("name", "origin", "revision", "sha256")}
        return StoredModel(path=path, size=size, **texts) if entry["size"] == size else None
    except (OSError, ValueError, KeyError, TypeError):
        return StoredModel(path.stem, path, size)
