"""The one file that the build view may write: the spec that it shows."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pagecompiler.files import write_atomic

_BOM = b"\xef\xbb\xbf"


class SpecChangedError(Exception):
    """The file is not any more what the editor has started from."""


class SpecFile:
    """A spec as an editor sees it: text with `\\n` line ends and no BOM. Both are kept when it is written back."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> tuple[str, str]:
        """Its text and the digest of its bytes; both are empty when there is no such file.

        Raises ValueError when it is not UTF-8, and OSError.
        """
        data = self._bytes()
        return data.removeprefix(_BOM).decode("utf-8").replace("\r\n", "\n"), _digest(data)

    def digest(self) -> str:
        """Stands for its bytes; empty when it cannot be read."""
        try:
            return _digest(self._bytes())
        except OSError:
            return ""

    def write(self, text: str, digest: str) -> str:
        """Replace the content that has this digest, atomically; gives the new digest.

        Raises SpecChangedError when it is another one by now, and OSError.
        """
        before = self._bytes()
        if _digest(before) != digest:
            raise SpecChangedError
        text = text.replace("\r\n", "\n")
        if b"\r\n" in before:
            text = text.replace("\n", "\r\n")
        data = (_BOM if before.startswith(_BOM) else b"") + text.encode()
        # Through a link: the file that it names is written, and the link stays.
        write_atomic(self._path.resolve(), data)
        return _digest(data)

    def _bytes(self) -> bytes:
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return b""


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest() if data else ""
