"""The installed llama.cpp: loaded here and nowhere else; its version, its devices, and whether MTP can work."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
from dataclasses import dataclass
from typing import Any

from pagecompiler.engine.base import ModelLoadError
from pagecompiler.engine.llama.native_log import native_log
from pagecompiler.engine.llama.waiting import set_waiting

# Both are read when the library is loaded. After a failed assertion llama.cpp would start a debugger on this process.
set_waiting()
os.environ.setdefault("GGML_NO_BACKTRACE", "1")

import llama_cpp  # noqa: E402
from llama_cpp import _ggml  # noqa: E402
from llama_cpp import llama_cpp as native  # noqa: E402

__all__ = ["SUPPORTED_VERSION", "Device", "NativeSupport", "device_list", "device_names", "devices", "native",
           "native_support", "start_llama_cpp"]  # fmt: skip

_libggml: Any = _ggml.libggml
_libggml.ggml_backend_dev_count.restype = ctypes.c_size_t
_libggml.ggml_backend_dev_get.argtypes = [ctypes.c_size_t]
_libggml.ggml_backend_dev_get.restype = ctypes.c_void_p
for _function in (_libggml.ggml_backend_dev_name, _libggml.ggml_backend_dev_description):
    _function.argtypes, _function.restype = [ctypes.c_void_p], ctypes.c_char_p
_libggml.ggml_backend_dev_type.argtypes = [ctypes.c_void_p]
_libggml.ggml_backend_dev_memory.argtypes = [ctypes.c_void_p] + 2 * [ctypes.POINTER(ctypes.c_size_t)]
_libggml.ggml_backend_dev_memory.restype = None

SUPPORTED_VERSION = "0.3.36"

_GPU_TYPES = (1, 2)  # ggml_backend_dev_type: discrete and integrated


def _log(level: int, text: bytes, user_data: object) -> None:
    native_log.add(level, text)


_log_callback = native.llama_log_callback(_log)  # llama.cpp keeps the pointer: it must stay alive


@dataclass(frozen=True, slots=True)
class NativeSupport:
    """What the installed llama.cpp can do. `nextn`: the private part that MTP drafting needs is there."""

    version: str
    nextn: bool
    gpu: bool
    system: str


def native_support() -> NativeSupport:
    """Probe the library; loads no model."""
    return NativeSupport(
        version=str(llama_cpp.__version__),
        nextn=_has_private_part(),
        gpu=bool(native.llama_supports_gpu_offload()),
        system=native.llama_print_system_info().decode("utf-8", "replace"),
    )


def _has_private_part() -> bool:
    try:
        private = importlib.import_module("llama_cpp.llama_cpp_ext")
    except (ImportError, AttributeError):  # a missing symbol is an AttributeError at import
        return False
    return hasattr(private, "llama_set_embeddings_nextn") and hasattr(private, "llama_get_embeddings_nextn")


@dataclass(frozen=True, slots=True)
class Device:
    """Something that llama.cpp can compute on; memory in bytes, as its driver reports it."""

    name: str
    description: str
    gpu: bool
    free: int
    total: int


def devices() -> list[Device]:
    """The devices that llama.cpp sees, the CPU included."""
    start_llama_cpp()
    found = []
    for index in range(_libggml.ggml_backend_dev_count()):
        pointer = _libggml.ggml_backend_dev_get(index)
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        _libggml.ggml_backend_dev_memory(pointer, ctypes.byref(free), ctypes.byref(total))
        texts = (_libggml.ggml_backend_dev_name(pointer), _libggml.ggml_backend_dev_description(pointer))
        name, description = (text.decode("utf-8", "replace") for text in texts)
        kind = _libggml.ggml_backend_dev_type(pointer)
        found.append(Device(name, description, kind in _GPU_TYPES, free.value, total.value))
    return found


def device_names() -> list[str]:
    """The names of the devices."""
    return [device.name for device in devices()]


def device_list(name: str) -> ctypes.Array[ctypes.c_void_p]:
    """The list of one device that a model is to be loaded on."""
    names = device_names()
    known = {each.lower(): index for index, each in enumerate(names)}
    if name.lower() not in known:
        raise ModelLoadError(f"there is no device `{name}`", hint=f"devices here: {', '.join(names)}")
    return (ctypes.c_void_p * 2)(_libggml.ggml_backend_dev_get(known[name.lower()]), None)


def start_llama_cpp() -> None:
    """Make the library ready; its log lines are kept. Raises ModelLoadError for another version of it."""
    if llama_cpp.__version__ != SUPPORTED_VERSION:
        raise ModelLoadError(
            f"llama-cpp-python {llama_cpp.__version__} is installed, this engine needs {SUPPORTED_VERSION}",
            hint=f"pip install llama-cpp-python=={SUPPORTED_VERSION}",
        )
    native.llama_log_set(_log_callback, ctypes.c_void_p(0))
    native.llama_backend_init()


def inner_layers(verb: str, result: object, *arguments: object) -> Any:
    """llama.cpp's private access to the input rows of a layer; llama-cpp-python does not bind it.

    Raises ModelLoadError where there is none.
    """
    last = "jb" if verb == "set" else "j"
    plain = f"llama_{verb}_embeddings_layer_inp"
    for name in (plain, f"_Z{len(plain)}{plain}P13llama_context{last}"):
        with contextlib.suppress(AttributeError):
            function = getattr(native._lib, name)
            function.argtypes, function.restype = [native.llama_context_p_ctypes, *arguments], result
            return function
    raise ModelLoadError("this llama.cpp does not give access to inner layers")
