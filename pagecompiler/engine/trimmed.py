"""A draft head with fewer words: the MTP block of a model with the rows of its vocabulary that pages use.

The file is a GGUF that holds the block and, of embedding and head, the kept rows, copied as they are quantised. It
carries its own tables: the kept tokens, for each token of the model the row that stands for it, and the digest of the
model that it was cut from. A token without a row of its own is mirrored by the kept row nearest to it: llama.cpp takes
a token's embedding from its row only (`qwen35.cpp` reads hidden rows and embeddings from one input).
"""

from __future__ import annotations

import contextlib
import glob
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pagecompiler.engine.base import ModelLoadError
from pagecompiler.engine.gguf_header import Header, LongArray, Tensor, read_header, read_metadata
from pagecompiler.engine.gguf_writer import NewTensor, pair, write_gguf
from pagecompiler.engine.shape import EMBEDDING, HEAD, MTP_BLOCK, Shape, make_shape

ROWS_KEY, MIRROR_KEY, SOURCE_KEY = "pagec.trim.rows", "pagec.trim.mirror", "pagec.trim.source"
_EMBEDDING = "token_embd.weight"
_BY_WORD = re.compile(r"(token_embd|output|blk\.\d+\.nextn\.(embed_tokens|shared_head_head))\.weight\Z")
_EXACT_WIDTH = 512  # wider rows are compared by as many random projections of theirs
_CHUNK_ROWS = 4096

Ids = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Trimmed:
    """The tables of a trimmed file: `rows[r]` is the token of row r, `mirror[t]` the row that stands for token t."""

    rows: Ids
    mirror: Ids
    source: str


@dataclass(frozen=True, slots=True)
class DraftBytes:
    """What a draft step reads: the block and the head; one row of the embedding does not count."""

    before: int
    after: int


def write_trimmed(source: Path, target: Path, rows: Sequence[int], digest: str) -> DraftBytes:
    """Cut the block out of `source`, whose SHA-256 is `digest`, with these tokens as rows, in this order.

    Raises ModelLoadError when the model has no block or its rows cannot be read, and OSError.
    """
    header = read_header(source)
    shape = make_shape(header)
    if not shape.mtp_layers:
        raise ModelLoadError(f"{source} has no multi-token-prediction block", hint="pagec model info shows the parts")
    tensors = {tensor.name: tensor for tensor in header.tensors}
    if _EMBEDDING not in tensors:
        raise ModelLoadError(f"{source} has no embedding")
    kept = np.asarray(rows, np.int32)
    if len(set(rows)) != len(rows) or kept.min() < 0 or kept.max() >= shape.vocabulary:
        raise ValueError("rows must be tokens of the model, each once")
    data = np.memmap(source, np.uint8, "r")
    mirror = _mirror(_decoded(data, tensors[_EMBEDDING], source), kept)
    write_gguf(target, _pairs(header, data, shape, kept, mirror, digest), list(_tensors(header, data, kept)))
    return draft_bytes(shape, len(rows))


def draft_bytes(shape: Shape, rows: int) -> DraftBytes:
    """Bytes of a draft step with the whole vocabulary and with so many rows."""
    block, head = shape.part(MTP_BLOCK), shape.part(EMBEDDING if shape.tied_head else HEAD)
    size, words = (0 if part is None else part.size for part in (block, head))
    return DraftBytes(size + words, size + words * rows // max(1, shape.vocabulary))


def read_trimmed(path: Path) -> Trimmed:
    """The tables of a trimmed file. Raises ModelLoadError for any other file."""
    header = read_header(path)
    source = header.metadata.get(SOURCE_KEY)
    if not isinstance(source, str):
        raise ModelLoadError(f"{path} was not made by `pagec model trim`")
    data = np.memmap(path, np.uint8, "r")
    found = Trimmed(_table(header, data, ROWS_KEY), _table(header, data, MIRROR_KEY), source)
    last = found.mirror.max(initial=-1)
    if len(found.rows) != make_shape(header).vocabulary or not 0 <= last < len(found.rows):
        raise ModelLoadError(f"the tables of {path} do not fit to its rows")
    return found


def is_trimmed(path: Path) -> bool:
    """Whether a file was cut by `write_trimmed`."""
    with contextlib.suppress(ModelLoadError):
        return SOURCE_KEY in read_metadata(path)
    return False


def find_trimmed(model: Path, digest: str) -> Path | None:
    """The file beside a model, `<its stem>.mtp-….gguf`, that was cut from just this model."""
    for path in sorted(model.parent.glob(f"{glob.escape(model.stem)}.mtp-*.gguf")):
        with contextlib.suppress(ModelLoadError):
            if read_trimmed(path).source == digest:
                return path
    return None


def _table(header: Header, data: npt.NDArray[np.uint8], key: str) -> Ids:
    value, (start, end) = header.metadata.get(key), header.key_spans.get(key, (0, 0))
    count = value.length if isinstance(value, LongArray) else len(value) if isinstance(value, tuple) else 0
    return np.frombuffer(data[end - 4 * count : end].tobytes() if start else b"", "<i4").astype(np.int32)


def _pairs(
    header: Header, data: npt.NDArray[np.uint8], shape: Shape, rows: Ids, mirror: Ids, digest: str
) -> list[bytes]:
    """The keys of the model without its tokenizer, which has more words than there are rows."""
    own = ("tokenizer.", "pagec.trim.", f"{shape.architecture}.vocab_size")
    spans = [span for key, span in header.key_spans.items() if not key.startswith(own)]
    copied = [data[start:end].tobytes() for start, end in spans]
    return [
        *copied,
        pair("tokenizer.ggml.model", "none"),
        pair(f"{shape.architecture}.vocab_size", len(rows)),
        pair(ROWS_KEY, rows.tolist()),
        pair(MIRROR_KEY, mirror.tolist()),
        pair(SOURCE_KEY, digest),
    ]


def _tensors(header: Header, data: npt.NDArray[np.uint8], rows: Ids) -> Iterator[NewTensor]:
    blocks = {t.name.split(".")[1] for t in header.tensors if ".nextn." in t.name and t.name.startswith("blk.")}
    for tensor in header.tensors:
        if tensor.name.startswith("blk.") and tensor.name.split(".")[1] not in blocks:
            continue
        words = _BY_WORD.match(tensor.name) is not None  # never by size: other tensors can have as many rows
        size = (tensor.shape[0], len(rows)) if words else tensor.shape
        pieces = partial(_copied, data, tensor, rows if words else None)
        yield NewTensor(tensor.name, size, tensor.type_number, pieces)


def _copied(data: npt.NDArray[np.uint8], tensor: Tensor, rows: Ids | None) -> Iterable[bytes]:
    """The bytes of a tensor, or of some of its rows."""
    found = data[tensor.offset : tensor.offset + tensor.size]
    if rows is None:
        yield found.tobytes()
        return
    table = found.reshape(tensor.shape[1], -1)
    for start in range(0, len(rows), _CHUNK_ROWS):
        yield table[rows[start : start + _CHUNK_ROWS]].tobytes()


def _decoded(data: npt.NDArray[np.uint8], tensor: Tensor, source: Path) -> npt.NDArray[np.float32]:
    """The rows of a tensor as directions: of length one, and of at most `_EXACT_WIDTH` numbers."""
    try:
        from gguf import GGMLQuantizationType
        from gguf.quants import dequantize
    except ImportError as error:
        raise ModelLoadError("`pagec model trim` needs gguf", hint="pip install 'pagec[trim]'") from error
    kind = GGMLQuantizationType(tensor.type_number)
    table = data[tensor.offset : tensor.offset + tensor.size].reshape(tensor.shape[1], -1)
    width = min(tensor.shape[0], _EXACT_WIDTH)
    projection = None
    if width < tensor.shape[0]:
        projection = np.random.default_rng(1).normal(0, 1, (tensor.shape[0], width)).astype(np.float32)
    directions = np.empty((len(table), width), np.float32)
    for start in range(0, len(table), _CHUNK_ROWS):
        try:
            part = np.asarray(dequantize(np.array(table[start : start + _CHUNK_ROWS]), kind), np.float32)
        except NotImplementedError as error:
            raise ModelLoadError(f"the embedding of {source} is {tensor.type.name}, which cannot be read") from error
        directions[start : start + _CHUNK_ROWS] = part if projection is None else part @ projection
    directions /= np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-12)
    return directions


def _mirror(directions: npt.NDArray[np.float32], rows: Ids) -> Ids:
    """For each token the row of the nearest kept one; a kept token has its own."""
    kept = directions[rows].T.copy()
    mirror = np.empty(len(directions), np.int32)
    for start in range(0, len(directions), _CHUNK_ROWS):
        mirror[start : start + _CHUNK_ROWS] = (directions[start : start + _CHUNK_ROWS] @ kept).argmax(axis=1)
    mirror[rows] = np.arange(len(rows), dtype=np.int32)
    return mirror
