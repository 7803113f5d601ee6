"""The only file that runs llama.cpp: Model, Context and Memory as small typed objects.

llama.cpp is used through the low-level bindings of one pinned version, because a struct that grew a field
would be filled wrongly without any error. Native log lines are kept and put into the typed errors.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pagecompiler.engine.base import DecodeError, ModelLoadError
from pagecompiler.engine.gguf_header import read_metadata
from pagecompiler.engine.hardware import (
    DEFAULT_HARDWARE,
    KV_TYPES,
    FlashAttention,
    Hardware,
    SplitMode,
    model_threads,
)
from pagecompiler.engine.llama.native_errors import context_error, decode_error, model_error
from pagecompiler.engine.llama.native_log import native_log
from pagecompiler.engine.llama.rules import SequenceRules
from pagecompiler.engine.llama.support import (
    SUPPORTED_VERSION,
    Device,
    NativeSupport,
    device_list,
    devices,
    inner_layers,
    native,
    native_support,
    start_llama_cpp,
)
from pagecompiler.engine.llama.target import NEXTN, Batch, Logits, LostStateError, Rows, SavedState

__all__ = ["SUPPORTED_VERSION", "Context", "Device", "Memory", "Model", "NativeSupport", "devices", "native_support"]

_LONGEST_VALUE_BYTES = 1 << 20

_SPLIT_MODES = {
    SplitMode.NONE: native.LLAMA_SPLIT_MODE_NONE,
    SplitMode.LAYER: native.LLAMA_SPLIT_MODE_LAYER,
    SplitMode.ROW: native.LLAMA_SPLIT_MODE_ROW,
}
_FLASH_ATTENTION = {
    FlashAttention.AUTO: native.LLAMA_FLASH_ATTN_TYPE_AUTO,
    FlashAttention.OFF: native.LLAMA_FLASH_ATTN_TYPE_DISABLED,
    FlashAttention.ON: native.LLAMA_FLASH_ATTN_TYPE_ENABLED,
}


class Model:
    """A loaded GGUF file with its tokenizer. Raises ModelLoadError.

    `gpu_layers` counts layers on the GPU (-1: all), `device` names the only device to use (a GPU or `CPU`),
    `split_mode` says how several GPUs share the model. `load_mtp` also loads the multi-token-prediction block.
    `width` is the size of a hidden row; `recurrent` is true when any layer keeps a recurrent state;
    `trained_context` is in tokens. `measure_only` allocates nothing: contexts of such a model only make llama.cpp
    log what they would take.
    """

    def __init__(
        self,
        path: Path,
        *,
        gpu_layers: int = 0,
        load_mtp: bool = False,
        device: str | None = None,
        split_mode: SplitMode = SplitMode.LAYER,
        measure_only: bool = False,
    ) -> None:
        read_metadata(path)  # llama.cpp aborts the process on some damaged headers
        start_llama_cpp()
        native_log.lines.clear()
        parameters = native.llama_model_default_params()
        parameters.n_gpu_layers = gpu_layers
        parameters.split_mode = _SPLIT_MODES[split_mode]
        parameters.load_mtp = load_mtp
        if measure_only:
            parameters.no_alloc = True
            parameters.load_mode = native.LLAMA_LOAD_MODE_NONE
        if device is not None:
            chosen = device_list(device)
            parameters.n_gpu_layers = 0
            if device.upper() != "CPU":  # the list is for layers that leave the CPU
                parameters.devices = ctypes.cast(chosen, ctypes.c_void_p)
                parameters.n_gpu_layers = -1
        self._pointer = native.llama_model_load_from_file(str(path).encode(), parameters)
        if not self._pointer:
            raise model_error(path)
        self._vocab = native.llama_model_get_vocab(self._pointer)
        self.path = path
        self.size = int(native.llama_vocab_n_tokens(self._vocab))
        self.width = int(native.llama_model_n_embd_out(self._pointer))
        self.trained_context = int(native.llama_model_n_ctx_train(self._pointer))
        self.recurrent = bool(
            native.llama_model_is_recurrent(self._pointer) or native.llama_model_is_hybrid(self._pointer)
        )
        self.layers = int(native.llama_model_n_layer(self._pointer))
        self.parameters = int(native.llama_model_n_params(self._pointer))
        self.nextn_layers = int(native.llama_model_n_layer_nextn(self._pointer))
        self.begin_token = int(native.llama_vocab_bos(self._vocab))
        self.end_token = int(native.llama_vocab_eos(self._vocab))
        self.adds_begin = bool(native.llama_vocab_get_add_bos(self._vocab))
        self._pieces: dict[int, bytes] = {}
        self._ends: dict[int, bool] = {}

    @property
    def pointer(self) -> object:
        """The native model, for a Context."""
        return self._pointer

    def metadata(self, key: str) -> str | None:
        """A metadata value as text; None when the file has no such key."""
        buffer = ctypes.create_string_buffer(_LONGEST_VALUE_BYTES)
        size = native.llama_model_meta_val_str(self._pointer, key.encode(), buffer, len(buffer))
        return buffer.value.decode("utf-8", "replace") if size >= 0 else None

    def chat_template(self) -> str | None:
        """The source of the file's chat template."""
        source = native.llama_model_chat_template(self._pointer, None)
        return None if source is None else bytes(source).decode("utf-8", "replace")

    def tokenize(self, text: str, *, parse_special: bool) -> list[int]:
        """The tokens of a text, without begin and end tokens of the tokenizer's own.

        With `parse_special` the text of a control token becomes that token; without, it stays plain text.
        """
        data = text.encode()
        room = len(data) + 8
        while True:
            tokens = (ctypes.c_int32 * room)()
            count = native.llama_tokenize(self._vocab, data, len(data), tokens, room, False, parse_special)
            if count >= 0:
                return list(tokens[:count])
            room = -count

    def token_text(self, token: int) -> str:
        """How the vocabulary writes a token, control tokens too; empty for a token that does not exist."""
        if token < 0:
            return ""
        return bytes(native.llama_vocab_get_text(self._vocab, token)).decode("utf-8", "replace")

    def piece(self, token: int) -> bytes:
        """The bytes that a token writes; control tokens write nothing. May end within a character."""
        found = self._pieces.get(token)
        if found is None:
            found = self._pieces[token] = self._read_piece(token)
        return found

    def _read_piece(self, token: int) -> bytes:
        room = 64
        while True:
            buffer = ctypes.create_string_buffer(room)
            size = native.llama_token_to_piece(self._vocab, token, buffer, room, 0, False)
            if size >= 0:
                return buffer.raw[:size]
            room = -size

    def is_end(self, token: int) -> bool:
        """Whether the token ends an answer."""
        found = self._ends.get(token)
        if found is None:
            found = self._ends[token] = bool(native.llama_vocab_is_eog(self._vocab, token))
        return found

    def close(self) -> None:
        """Free the model; its contexts must have been closed. Calling it twice is allowed."""
        if self._pointer:
            native.llama_model_free(self._pointer)
            self._pointer = None


class Memory:
    """The sequences of a context. Forbidden operations raise MemoryRuleError before they do harm."""

    def __init__(self, context: object, rules: SequenceRules) -> None:
        self._pointer = native.llama_get_memory(context)
        self.rules = rules

    def copy(self, source: int, destination: int) -> None:
        """Make the empty sequence `destination` equal to `source`."""
        self.rules.copy(source, destination)
        native.llama_memory_seq_cp(self._pointer, source, destination, -1, -1)

    def swap_in(self, sequence: int, length: int) -> None:
        """The recurrent part of a sequence was put back to `length` tokens: cut the rest to the same."""
        self.rules.restored(sequence, length)
        if not native.llama_memory_seq_rm(self._pointer, sequence, length, -1):
            raise LostStateError(f"llama.cpp cannot cut sequence {sequence} after a restore")

    def remove(self, sequence: int, start: int = 0) -> None:
        """Forget the tokens of a sequence from position `start` on."""
        self.rules.remove(sequence, start)
        if not native.llama_memory_seq_rm(self._pointer, sequence, start, -1):
            raise DecodeError(f"llama.cpp cannot cut sequence {sequence} at {start}", native_log=native_log.text())

    def clear(self) -> None:
        """Forget all sequences, and the data with them."""
        self.rules.clear()
        native.llama_memory_clear(self._pointer, True)

    def last_position(self, sequence: int) -> int:
        """The position of a sequence's last token as llama.cpp sees it; -1 when it is empty."""
        return int(native.llama_memory_seq_pos_max(self._pointer, sequence))


class Context:
    """Sequences of one model that are decoded together: a Target. Not thread-safe.

    `tokens` is the room for all sequences together (one unified cache), `sequences` their number, `rows` the
    most rows of one decode, `outputs` the most rows with logits, `rollback` the recurrent snapshots kept a
    sequence, `threads` those on the CPU, by default by the size of the model. `taps` are the hidden rows to keep of
    each decode. `mtp` makes a context of the model's multi-token-prediction block alone: its rows need hidden rows of
    the target, its memory is attention only. Of `hardware` it takes flash attention and the formats of the cache.
    Raises ModelLoadError.
    """

    def __init__(
        self,
        model: Model,
        *,
        tokens: int,
        sequences: int,
        rows: int,
        outputs: int,
        threads: int | None = None,
        rollback: int = 0,
        taps: Sequence[int] = (),
        mtp: bool = False,
        hardware: Hardware = DEFAULT_HARDWARE,
    ) -> None:
        parameters = native.llama_context_default_params()
        parameters.n_ctx = tokens
        parameters.n_batch = parameters.n_ubatch = rows
        parameters.n_seq_max = sequences
        parameters.n_rs_seq = rollback
        parameters.n_outputs_max = max(outputs, sequences)  # llama.cpp asserts the latter
        parameters.n_threads = parameters.n_threads_batch = threads or model_threads(model.parameters)
        parameters.kv_unified = True
        parameters.flash_attn_type = _FLASH_ATTENTION[hardware.flash_attention]
        parameters.type_k, parameters.type_v = KV_TYPES[hardware.kv_k], KV_TYPES[hardware.kv_v]
        parameters.no_perf = True
        if mtp:
            parameters.ctx_type = native.LLAMA_CONTEXT_TYPE_MTP
        self._pointer = native.llama_init_from_model(model.pointer, parameters)
        if not self._pointer:
            raise context_error(model.path, tokens)
        self._vocabulary_size = model.size
        self._width = model.width
        self._rows = rows
        self._outputs = outputs
        self._last_rows = 0
        self._logits = _Table(max(outputs, sequences), model.size)
        self._hidden_rows = {tap: _Table(rows, model.width) for tap in taps}
        self._recurrent = model.recurrent and not mtp
        self.tokens = int(native.llama_n_ctx(self._pointer))
        self.rollback: int | None = int(native.llama_n_rs_seq(self._pointer)) if self._recurrent else None
        self.memory = Memory(self._pointer, SequenceRules(self.rollback))
        self._make_batch(rows)
        if mtp:
            self._hidden = np.zeros((rows, self._width), np.float32)
            self._batch.embd = self._hidden.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        for tap in taps:
            # llama.cpp aborts the process over a layer that is not there.
            if not NEXTN <= tap < model.layers:
                raise ModelLoadError(f"{model.path} has no layer {tap}")
            self._open_tap(tap)
        if not taps and not mtp and native_support().nextn:
            # Else some architectures compute their whole last layer for all rows of prompts, which only MTP reads.
            self._set_nextn(False, masked=True)

    def _set_nextn(self, kept: bool, *, masked: bool) -> None:
        importlib.import_module("llama_cpp.llama_cpp_ext").llama_set_embeddings_nextn(self._pointer, kept, masked)

    def _open_tap(self, tap: int) -> None:
        # Never masked: a batch that mixes rows with and without logits would return wrong rows.
        if tap == NEXTN:
            self._set_nextn(True, masked=False)
        else:
            inner_layers("set", None, ctypes.c_uint32, ctypes.c_bool)(self._pointer, tap, True)

    def _make_batch(self, rows: int) -> None:
        """One batch for all decodes, over arrays that are filled by slices."""
        self._tokens = np.zeros(rows, np.int32)
        self._positions = np.zeros(rows, np.int32)
        self._sequences = np.zeros(rows, np.int32)
        self._wanted = np.zeros(rows, np.int8)
        self._counts = np.ones(rows, np.int32)
        start = self._sequences.ctypes.data
        self._sequence_pointers = np.arange(start, start + 4 * rows, 4, dtype=np.uintp)
        integers = ctypes.POINTER(ctypes.c_int32)
        self._batch = native.llama_batch()
        self._batch.token = self._tokens.ctypes.data_as(integers)
        self._batch.pos = self._positions.ctypes.data_as(integers)
        self._batch.n_seq_id = self._counts.ctypes.data_as(integers)
        self._batch.seq_id = self._sequence_pointers.ctypes.data_as(ctypes.POINTER(integers))
        self._batch.logits = self._wanted.ctypes.data_as(ctypes.POINTER(ctypes.c_int8))

    def decode(self, batch: Batch, hidden: Rows | None = None) -> Logits:
        """Evaluate the batch; one row of logits for each wanted row, a view that the next decode overwrites.

        `hidden` has a row for each row of the batch, for an MTP context only. Raises LostStateError when
        llama.cpp gave up in the middle, DecodeError when nothing was changed.
        """
        count = len(batch)
        if count > self._rows or batch.outputs > self._outputs:
            raise ValueError(f"{count} rows with {batch.outputs} outputs; room for {self._rows} and {self._outputs}")
        self._tokens[:count] = batch.tokens
        self._positions[:count] = batch.positions
        self._sequences[:count] = batch.sequences
        self._wanted[:count] = batch.wanted
        if hidden is not None:
            self._hidden[:count] = hidden
        self._batch.n_tokens = self._last_rows = count
        self.memory.rules.check(batch)
        code = native.llama_decode(self._pointer, self._batch)
        if code != 0:
            raise decode_error(code)
        self.memory.rules.decoded(batch)
        if batch.outputs == 0:
            native.llama_synchronize(self._pointer)
            return np.empty((0, self._vocabulary_size), np.float32)
        return self._logits.rows(native.llama_get_logits(self._pointer), batch.outputs)

    def best(self, batch: Batch, hidden: Rows | None = None) -> list[int]:
        """Evaluate the batch as `decode` does; the arg-max of each wanted row."""
        logits = self.decode(batch, hidden)
        found: list[int] = logits.argmax(axis=1).tolist() if len(logits) else []
        return found

    def hidden(self, tap: int) -> Rows:
        """The hidden rows of the last decode, one a row of its batch: a view that the next decode overwrites."""
        if tap == NEXTN:
            rows = importlib.import_module("llama_cpp.llama_cpp_ext").llama_get_embeddings_nextn(self._pointer)
        else:
            rows = inner_layers("get", ctypes.POINTER(ctypes.c_float), ctypes.c_uint32)(self._pointer, tap)
        return self._hidden_rows[tap].rows(rows, self._last_rows)

    def save(self, sequence: int) -> SavedState | None:
        """What a cut could not bring back: the recurrent state of a sequence; None where any cut is allowed."""
        if not self._recurrent:
            return None
        flags = native.LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY
        size = native.llama_state_seq_get_size_ext(self._pointer, sequence, flags)
        data = (ctypes.c_uint8 * size)()
        if native.llama_state_seq_get_data_ext(self._pointer, data, size, sequence, flags) != size:
            raise DecodeError(f"llama.cpp cannot save sequence {sequence}", native_log=native_log.text())
        return SavedState(self.memory.rules.length(sequence), data)

    def restore(self, sequence: int, state: SavedState) -> None:
        """Put a sequence back to where it was saved."""
        flags = native.LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY
        data = state.data
        if not native.llama_state_seq_set_data_ext(self._pointer, data, len(data), sequence, flags):
            raise LostStateError(f"llama.cpp cannot restore sequence {sequence}", native_log=native_log.text())
        self.memory.swap_in(sequence, state.length)

    def remove(self, sequence: int, start: int = 0) -> None:
        """Forget the tokens of a sequence from position `start` on."""
        self.memory.remove(sequence, start)

    def copy(self, source: int, destination: int) -> None:
        """Make an empty sequence equal to another one."""
        self.memory.copy(source, destination)

    def clear(self) -> None:
        """Forget all sequences."""
        self.memory.clear()

    def close(self) -> None:
        """Free the context. Calling it twice is allowed."""
        if self._pointer:
            native.llama_free(self._pointer)
            self._pointer = None


class _Table:
    """Rows of floats in memory of llama.cpp, seen as an array; the array is kept while they stay in their place."""

    def __init__(self, rows: int, width: int) -> None:
        self._shape = (rows, width)
        self._address = 0
        self._array = np.empty((0, width), np.float32)

    def rows(self, pointer: Any, count: int) -> Rows:
        """The first `count` rows from a pointer on."""
        address = ctypes.addressof(pointer.contents)
        if address != self._address:
            self._array, self._address = np.ctypeslib.as_array(pointer, self._shape), address
        return self._array[:count]
