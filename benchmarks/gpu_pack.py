"""Everything that `benchmarks/gpu.sh` needs beside the repository, as one file for a machine without a network.

    python -m benchmarks.gpu_pack gpu-pack.tar.xz      # where llama-cpp-python was built for the GPU
    PACK=gpu-pack.tar.xz bash benchmarks/gpu.sh        # there: the same Python version, the driver and CUDA's libraries

Packed are the installed packages that pagec and its trimming need, llama.cpp's libraries among them. Building these
for one architecture and without kernels that are not used keeps them small:
CMAKE_ARGS="-DGGML_CUDA=on -DCMAKE_CUDA_ARCHITECTURES=89" make page CUDA=1.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import re
import sys
import tarfile
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath

LIMIT_BYTES = 64 << 20
_NAME = re.compile(r"[\w.-]+")
_LEFT_OUT = re.compile(r"(^|/)(tests?|__pycache__|include)/|\.(pyc|pyi|a)$")


def needed() -> dict[str, Distribution]:
    """The distributions that pagec and its trimming need, by name."""
    found = {"gguf": distribution("gguf")}
    waiting = [distribution("pagec"), *found.values()]
    while waiting:
        for line in waiting.pop().requires or ():
            requirement, _, marker = line.partition(";")
            match = _NAME.match(requirement.strip())
            if match is None or "extra" in marker:
                continue
            key = match[0].lower().replace("_", "-")
            with contextlib.suppress(PackageNotFoundError):  # one for another system or Python
                if key not in found:
                    found[key] = distribution(key)
                    waiting.append(found[key])
    return found


def pack(target: Path) -> int:
    """Write the archive; its size in bytes. Files with the same content become links to the first of them."""
    seen: dict[bytes, PurePosixPath] = {}
    with tarfile.open(target, "w:xz", preset=6) as archive:
        for entry in needed().values():
            for file in entry.files or ():
                place = Path(str(file.locate()))
                if file.is_absolute() or ".." in file.parts or _LEFT_OUT.search(file.as_posix()) or not place.is_file():
                    continue
                _add(archive, PurePosixPath(file.as_posix()), place.read_bytes(), seen)
    return target.stat().st_size


def _add(archive: tarfile.TarFile, name: PurePosixPath, data: bytes, seen: dict[bytes, PurePosixPath]) -> None:
    info = tarfile.TarInfo(str(name))
    info.mode = 0o644
    digest = hashlib.sha256(data).digest()
    first = seen.setdefault(digest, name)
    if first != name and data:
        info.type, info.linkname = tarfile.LNKTYPE, str(first)
        archive.addfile(info)
        return
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))


def main() -> None:
    """Write the file that the command line names; exits with 1 when it is too large to be carried."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path)
    target = parser.parse_args().target
    size = pack(target)
    print(f"{target}: {size / (1 << 20):.1f} MiB of {LIMIT_BYTES >> 20} MiB that may be carried in")
    if size > LIMIT_BYTES:
        sys.exit("too large: build llama.cpp for one architecture only (CMAKE_CUDA_ARCHITECTURES)")


if __name__ == "__main__":
    main()
