"""What llama.cpp means by a null pointer, a code and its last log lines: the typed errors."""

from __future__ import annotations

import re
from pathlib import Path

from pagecompiler.engine.base import DecodeError, ModelLoadError, OutOfMemoryError
from pagecompiler.engine.llama.native_log import native_log
from pagecompiler.engine.llama.target import LostStateError

_NO_SLOT, _ABORTED, _BAD_BATCH = 1, 2, -1
_NO_MEMORY = ("failed to allocate", "unable to allocate", "out of memory", "failed to fit")
_NO_WHOLE_BLOCKS = re.compile(
    r"cache type (?P<type>\w+) with block size (?P<block>\d+) does not divide n_embd_head_\w=(?P<head>\d+)"
)
_WANTS_FLASH_ATTENTION = re.compile(r"requires flash[_ ]att", re.IGNORECASE)


def model_error(path: Path) -> ModelLoadError:
    """Why a file could not be loaded."""
    log = native_log.text()
    if any(sign in log for sign in _NO_MEMORY):
        return OutOfMemoryError(f"there is not enough memory for the weights of {path}", native_log=log)
    return ModelLoadError(
        f"llama.cpp cannot load {path}",
        hint="see the native log; the file may be damaged or its architecture too new",
        native_log=log,
    )


def context_error(path: Path, tokens: int) -> ModelLoadError:
    """Why there is no context: what was asked for does not go together, else memory is short."""
    log = native_log.text()
    if found := _NO_WHOLE_BLOCKS.search(log):
        return ModelLoadError(
            f"the KV cache of {path} cannot be {found['type']}: that format stores {found['block']} numbers together,"
            f" and a head of this model has {found['head']}",
            hint="leave --kv-type at f16",
            native_log=log,
        )
    if _WANTS_FLASH_ATTENTION.search(log):
        return ModelLoadError(
            f"the values of the KV cache of {path} can only be quantised with flash attention, which this device or"
            " model does not have",
            hint="leave --kv-type at f16",
            native_log=log,
        )
    return OutOfMemoryError(
        f"llama.cpp cannot make a context of {tokens} tokens for {path}",
        hint="too little memory? try fewer lanes or a smaller context",
        native_log=log,
    )


def decode_error(code: int) -> DecodeError:
    """What a code of `llama_decode` means."""
    log = native_log.text()
    if code == _NO_SLOT:
        return DecodeError("no room for the batch in the context", hint="use fewer lanes", native_log=log)
    if code == _BAD_BATCH:
        return DecodeError("llama.cpp refused the batch", native_log=log)
    if code == _ABORTED:
        return LostStateError("the decode was aborted", native_log=log)
    return LostStateError(f"llama.cpp failed while decoding (code {code})", native_log=log)
