"""Downloads of models from the Hugging Face hub: resumed where they broke off, and checked before they count.

`huggingface_hub` (extra `hub`) speaks the protocol: endpoints, tokens, redirects, retries. The file that grows is
ours, because the library starts over when a process was interrupted.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pagecompiler.engine.base import EngineError
from pagecompiler.engine.shape import Shape, read_shape
from pagecompiler.model_store import CATALOG, StoredModel, find_stored, models_dir, record_model
from pagecompiler.models import remember_digest

DEFAULT_QUANT = "Q4_K_M"

_REFERENCE = re.compile(r"hf:(?P<repo>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*?)(?::(?P<quant>[\w.-]+))?\Z", re.ASCII)
_SPLIT = re.compile(r"-\d{5}-of-\d{5}\.gguf\Z")
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_SPARE_BYTES = 256 << 20
_ON = {"1", "ON", "YES", "TRUE"}

Say = Callable[[str], None]


class PullError(Exception):
    """A model could not be downloaded; `hint` says what to do. Exit code 1, or 2 for what does not exist."""

    def __init__(self, message: str, *, hint: str = "", exit_code: int = 1) -> None:
        super().__init__(message)
        self.hint = hint
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class HubModel:
    """What to pull: a repository, a quantisation, and the name that the user gave; empty for `hf:…`."""

    repo: str
    quant: str
    name: str = ""

    @property
    def origin(self) -> str:
        return f"hf:{self.repo}:{self.quant}"


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file of a repository at a revision; `sha256` is empty where the hub does not tell it."""

    name: str
    size: int
    sha256: str
    revision: str


def parse_name(name: str) -> HubModel:
    """A name of the catalogue or `hf:owner/repo[:quant]`. Raises PullError.

    >>> parse_name("qwen3.5-9b").origin
    'hf:unsloth/Qwen3.5-9B-MTP-GGUF:Q4_K_M'
    """
    if name.lower() in CATALOG:
        return HubModel(CATALOG[name.lower()], DEFAULT_QUANT, name.lower())
    if found := _REFERENCE.match(name):
        return HubModel(found["repo"], found["quant"] or DEFAULT_QUANT)
    known = ", ".join(CATALOG)
    raise PullError(f"`{name}` is no model to pull", hint=f"give hf:owner/repo[:quant], or one of {known}", exit_code=2)


def pull(model: HubModel, say: Say, *, progress: bool) -> StoredModel:
    """Download a model, or find that it is there; it counts only when its checksum is right. Raises PullError."""
    there = find_stored(model.origin)
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in _ON:
        if there is None:
            raise PullError(f"{model.origin} is not here, and HF_HUB_OFFLINE is set", hint="unset HF_HUB_OFFLINE")
        say(f"{there.path} (offline, not compared with the hub)")
        return there
    hub = _Hub(progress)
    file = hub.find(model)
    if there is not None and there.size == file.size and (not file.sha256 or there.sha256 == file.sha256):
        say(f"{there.path} is already there")
        return there
    folder = models_dir() / model.repo.replace("/", "--")
    path = folder / Path(file.name).name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        digest = hub.download(model, file, path, say)
        stored = StoredModel(_name(model, path), path, file.size, model.origin, file.revision, digest)
        record_model(stored)
    except OSError as error:
        raise PullError(f"cannot write into {folder}: {error.strerror or error}") from error
    remember_digest(path, digest)
    return stored


def check_pulled(model: StoredModel) -> Shape:
    """The shape of a file that was pulled. Raises PullError when it is no model that can chat."""
    try:
        shape = read_shape(model.path)
    except EngineError as error:
        raise PullError(error.message, hint=error.hint) from error
    if not shape.has_template:
        raise PullError(f"{model.path} has no chat template", hint="pull a chat (instruct) model")
    return shape


def _name(model: HubModel, path: Path) -> str:
    """The short name, or the stem of the file; with its owner where another repository has that name already."""
    name = model.name or path.stem
    taken = find_stored(name)
    free = taken is None or taken.path == path or bool(model.name)
    return name if free else f"{name}.{model.repo.partition('/')[0]}"


class _Hub:
    """The part that needs huggingface_hub. Its transport changes between versions, so any exception is caught."""

    def __init__(self, progress: bool) -> None:
        try:
            import huggingface_hub
            from huggingface_hub import file_download, utils
        except ImportError as error:
            raise PullError("`pagec model pull` needs huggingface_hub", hint="pip install 'pagec[hub]'") from error
        if not progress:
            utils.disable_progress_bars()
        self._files: Any = file_download
        self._library: Any = huggingface_hub
        self._endpoint = os.environ.get("HF_ENDPOINT") or None
        self._api: Any = huggingface_hub.HfApi(endpoint=self._endpoint)

    def find(self, model: HubModel) -> HubFile:
        """The file of that quantisation."""
        try:
            info = self._api.model_info(model.repo, files_metadata=True)
        except Exception as error:
            raise self._problem(error, model, found=False) from error
        whole = [entry for entry in info.siblings if _is_model(entry.rfilename)]
        fitting = [entry for entry in whole if _quant(entry.rfilename) == model.quant.upper()]
        if not fitting:
            names = ", ".join(sorted({_quant(entry.rfilename) for entry in whole})) or "no GGUF file"
            raise PullError(f"{model.repo} has no {model.quant}", hint=f"it has {names}", exit_code=2)
        entry = min(fitting, key=lambda entry: len(entry.rfilename))
        if _SPLIT.search(entry.rfilename):
            raise PullError(f"{entry.rfilename} is split into several files", hint="pull a smaller quantisation")
        digest = getattr(entry.lfs, "sha256", None) or ""
        known = digest if _SHA256.match(digest) else ""
        return HubFile(entry.rfilename, int(entry.size or 0), known, str(info.sha))

    def download(self, model: HubModel, file: HubFile, path: Path, say: Say) -> str:
        """Put the file at `path` and return its digest; what is there of it already is kept."""
        from filelock import FileLock, Timeout

        partial = path.with_name(f"{path.name}.{file.sha256[:12] or 'unchecked'}.part")
        try:
            with FileLock(f"{partial}.lock", timeout=0):
                have = partial.stat().st_size if partial.exists() else 0
                _check_space(path.parent, file.size - have)
                resumed = f", {have / 1e9:.2f} GB of it are here" if have else ""
                say(f"{model.repo}: {file.name}, {file.size / 1e9:.2f} GB{resumed}")
                self._fetch(model, file, partial, have)
                say("checking its SHA-256")
                digest = _digest(partial)
                if (file.sha256 and digest != file.sha256) or (file.size and partial.stat().st_size != file.size):
                    partial.unlink()
                    raise PullError(f"{file.name} is not what the hub promised: its SHA-256 is {digest}",
                                    hint="it was deleted; pull it again")  # fmt: skip
                partial.replace(path)
        except Timeout as error:
            raise PullError(f"another pagec is downloading {file.name}", hint="wait until it is done") from error
        Path(f"{partial}.lock").unlink(missing_ok=True)
        return digest

    def _fetch(self, model: HubModel, file: HubFile, partial: Path, have: int) -> None:
        if have > file.size:
            partial.unlink()
            have = 0
        try:
            url = self._library.hf_hub_url(model.repo, file.name, revision=file.revision, endpoint=self._endpoint)
            found = self._files.get_hf_file_metadata(url, endpoint=self._endpoint)
            headers = self._library.utils.build_hf_headers()
            # The file often lies at another host, which is not to get the token.
            if urlsplit(found.location).netloc != urlsplit(url).netloc:
                headers.pop("authorization", None)
            with partial.open("ab") as target:
                self._files.http_get(
                    found.location, target, resume_size=have, headers=headers, expected_size=file.size or None,
                    displayed_filename=Path(file.name).name,
                )  # fmt: skip
        except Exception as error:
            raise self._problem(error, model) from error

    def _problem(self, error: Exception, model: HubModel, *, found: bool = True) -> PullError:
        """What went wrong: while the model was looked for, or when it was `found`."""
        errors = self._library.errors
        hub = self._endpoint or "https://huggingface.co"
        page = f"{hub}/{model.repo}"
        token = "" if self._library.get_token() else " and set HF_TOKEN"
        if isinstance(error, errors.GatedRepoError):
            return PullError(f"{model.repo} wants its terms accepted", hint=f"accept them at {page}{token}")
        if isinstance(error, errors.RepositoryNotFoundError):
            hint = f"check the name; for a private one set HF_TOKEN ({page})"
            return PullError(f"there is no repository {model.repo}, or it is not open to you", hint=hint, exit_code=2)
        status = getattr(getattr(error, "response", None), "status_code", None)
        if status in (401, 403):
            return PullError(f"the hub refuses {model.repo} ({status})", hint="check HF_TOKEN")
        if status is not None:
            return PullError(f"the hub answered {status} for {model.repo}", hint="try again; what is here is kept")
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        if not found:
            hint = "check the network; behind a mirror set HF_ENDPOINT"
            return PullError(f"cannot reach {hub}: {reason}", hint=hint)
        return PullError(f"the download broke off: {reason}", hint="run the command again, it goes on from there")


def _is_model(name: str) -> bool:
    return name.endswith(".gguf") and not Path(name).name.lower().startswith("mmproj")


def _quant(name: str) -> str:
    """The quantisation at the end of a file's name, as hubs write it."""
    stem = _SPLIT.sub("", name).removesuffix(".gguf")
    found = re.search(r"[.-]((?:UD-)?(?:I?Q\d|BF16|F16|F32|MXFP4)[\w]*)\Z", Path(stem).name, re.IGNORECASE)
    return (found[1] if found else Path(stem).name).upper()


def _check_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE_BYTES:
        raise PullError(
            f"{needed / 1e9:.2f} GB are to come and {free / 1e9:.2f} GB are free in {folder}",
            hint="make room, or set PAGEC_MODELS to a folder on another disk",
        )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
