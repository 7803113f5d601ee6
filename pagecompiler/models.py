"""Which model writes: the packaged one, a pulled one, a file, or the rules of the reference engine.

Nothing here loads a model: a text edit is relinked without one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from pagecompiler.config import PROJECT_FILE, Config, Setting, user_file
from pagecompiler.engine.base import ModelLoadError
from pagecompiler.engine.gguf_header import read_metadata
from pagecompiler.engine.types import Sampling
from pagecompiler.files import write_atomic
from pagecompiler.model_store import CATALOG, DEFAULT_NAME, find_stored, stored_models
from pagecompiler.prompts import FORMAT
from pagecompiler.resources import data_path

MINI = "pagec-mini"
MINI_DRAFT = "pagec-mini-draft"
PACKAGED = (MINI, MINI_DRAFT)
REFERENCE = "reference"


COMPACT_BLOCK_TOKENS, FULL_BLOCK_TOKENS = 4096, 6144


def block_tokens(pagec_format: int | None) -> int:
    """What the largest block of the grammar needs: its prompt, compact for a model of pagec's, and its budget."""
    return FULL_BLOCK_TOKENS if pagec_format is None else COMPACT_BLOCK_TOKENS


class ModelNotFoundError(Exception):
    """The model that was asked for does not exist. Exit code 2."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """`id` is the SHA-256 of the file; `source` says who chose it; `format` is the GGUF's `pagec.format`.

    A model of `servers` has no file here: its id is its name, whatever the addresses.
    """

    name: str
    path: Path | None
    id: str
    source: str
    format: int | None
    servers: tuple[str, ...] = ()

    @property
    def is_reference(self) -> bool:
        return self.path is None and not self.servers

    @property
    def block_tokens(self) -> int:
        """What its largest block needs: prompt and budget."""
        return block_tokens(self.format)

    @property
    def sampling(self) -> Sampling:
        """What is used where the user says nothing: other models than pagec's own repeat themselves at arg-max."""
        return Sampling() if self.format is not None else Sampling(temperature=0.2, min_p=0.05)


def choose_model(option: str | None, config: Config | None = None) -> ModelChoice:
    """`--model`, else `PAGEC_MODEL`, else what `config` says, else the pulled default, else pagec-mini.

    Raises ModelNotFoundError, also when what was named is not there: nothing else is taken in its place.
    """
    if option is not None:
        return resolve_model(option, "--model")
    if variable := os.environ.get("PAGEC_MODEL"):
        return resolve_model(variable, "PAGEC_MODEL")
    setting = config.get("model") if config is not None else None
    if setting is not None:
        return configured_model(setting)
    if find_stored(DEFAULT_NAME) is not None:
        return resolve_model(DEFAULT_NAME, "pulled")
    return resolve_model(MINI, "default")


def served_model(addresses: str, name: str | None = None) -> ModelChoice:
    """The model of running servers, `URL[,URL…]`; they are asked for its name.

    Raises ModelNotFoundError for what is no address and for a model that they do not have, EngineError when none
    answers.
    """
    from pagecompiler.engine.openai.client import server_url
    from pagecompiler.engine.openai.discovery import discover

    try:
        servers = tuple(dict.fromkeys(server_url(address) for address in addresses.split(",")))
        served = discover(servers, name)
    except ValueError as error:
        raise ModelNotFoundError(str(error)) from None
    except ModelLoadError as error:
        raise ModelNotFoundError(f"{error.message}; {error.hint}" if error.hint else error.message) from None
    trained = FORMAT if MINI in served else None
    return ModelChoice(served, None, f"served {served}", ", ".join(servers), trained, servers)


def configured_model(setting: Setting) -> ModelChoice:
    """The model that a config file names; a path in the user's file is relative to that file."""
    if setting.source == PROJECT_FILE:
        return resolve_model(setting.value, PROJECT_FILE, files=False)
    return resolve_model(setting.value, setting.source, folder=user_file().parent)


def resolve_model(name: str, source: str, *, files: bool = True, folder: Path = Path()) -> ModelChoice:
    """The model of a name, of `hf:owner/repo[:quant]` or, with `files`, of a path relative to `folder`.

    Nothing is downloaded. Raises ModelNotFoundError.
    """
    if name == REFERENCE:
        return ModelChoice(REFERENCE, None, f"{REFERENCE}-{FORMAT}", source, FORMAT)
    shown, path = model_file(name, source, files=files, folder=folder)
    number = read_metadata(path).get("pagec.format")
    return ModelChoice(shown, path, file_digest(path), source, number if isinstance(number, int) else None)


def model_file(name: str, source: str, *, files: bool = True, folder: Path = Path()) -> tuple[str, Path]:
    """How a model is shown, and its file, which is not read. Raises ModelNotFoundError."""
    shown, path = name, data_path("models") / f"{name}.gguf"
    if name not in PACKAGED:
        stored = find_stored(name)
        if stored is not None:
            shown, path = stored.name, stored.path
        elif files and not name.startswith("hf:"):
            path = folder / Path(name).expanduser()
            shown = path.name
        else:
            raise ModelNotFoundError(_not_there(name, source))
    if not os.path.isfile(path):
        raise ModelNotFoundError(_not_there(name, source))
    return shown, path


def _not_there(name: str, source: str) -> str:
    if name.startswith("hf:") or name.lower() in CATALOG:
        return f"the model `{name}` ({source}) is not on this machine; `pagec model pull {name}` downloads it"
    known = ", ".join([*PACKAGED, REFERENCE, *(model.name for model in stored_models())])
    kind = "file" if name.endswith(".gguf") else "model"
    return f"there is no {kind} `{name}` ({source}); known names: {known}; or give the path of a GGUF file"


def file_digest(path: Path) -> str:
    """Hex SHA-256 of a file, remembered by path, size, time and inode: large files take seconds to read."""
    found = _known_digests().get(_mark(path))
    if found is None:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        remember_digest(path, found)
    return found


def remember_digest(path: Path, digest: str) -> None:
    """Keep the digest of a file that has just been read anyway."""
    known = {**_known_digests(), _mark(path): digest}
    # A cache folder that cannot be written only makes the next start slower.
    with contextlib.suppress(OSError):
        write_atomic(_digests_path(), json.dumps(known).encode(), durable=False)


def _mark(path: Path) -> str:
    stat = path.stat()
    return json.dumps([str(path.resolve()), stat.st_size, stat.st_mtime_ns, stat.st_ino])


def _known_digests() -> dict[str, str]:
    with contextlib.suppress(OSError, ValueError, TypeError):
        return dict(json.loads(_digests_path().read_bytes()))
    return {}


def _digests_path() -> Path:
    return _cache_home() / "model-digests.json"


def tuning_path() -> Path:
    """Where the engine keeps what it has measured on this machine."""
    return _cache_home() / "tuning.json"


def _cache_home() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "pagec"
