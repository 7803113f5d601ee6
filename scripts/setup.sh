#!/usr/bin/env bash
# Makes .venv and installs pagec into it: `bash scripts/setup.sh [EXTRA]`. Says what is missing before it starts.
# CUDA=1, METAL=1 or VULKAN=1 builds llama.cpp for that kind of GPU, and installs what `pagec model pull` and
# `pagec model trim` need.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

extra=${1:-}
package=$(sed -n 's/^  "\(llama-cpp-python>=[^"]*\)",$/\1/p' pyproject.toml | head -n 1)

missing() {
  printf 'pagec cannot be installed yet: %s\n' "$1" >&2
  printf '  Debian, Ubuntu:  sudo apt-get install %s\n' "$2" >&2
  printf '  Fedora:          sudo dnf install %s\n' "$3" >&2
  printf '  macOS:           %s\n' "$4" >&2
  exit 1
}

find_python() {
  local name
  for name in ${PYTHON:+"$PYTHON"} python3 python3.14 python3.13 python3.12 python3.11; do
    if command -v "$name" >/dev/null && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
      command -v "$name"
      return
    fi
  done
  missing "Python 3.11 or newer is needed." "python3 python3-venv" python3 "brew install python"
}

has_compiler() {
  { command -v cc || command -v gcc || command -v clang || [[ -n ${CC:-} ]]; } >/dev/null &&
    { command -v c++ || command -v g++ || command -v clang++ || [[ -n ${CXX:-} ]]; } >/dev/null
}

if [[ ! -x .venv/bin/python ]]; then
  python=$(find_python)
  "$python" -c 'import ensurepip' 2>/dev/null ||
    missing "this Python cannot make virtual environments." python3-venv python3 "brew install python"
  echo "Making .venv with $("$python" --version)"
  "$python" -m venv .venv
fi
.venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "The Python in .venv is older than 3.11: remove the folder .venv and start again." >&2
  exit 1
}

gpu=
for backend in CUDA METAL VULKAN; do
  [[ ${!backend:-} != 1 ]] || gpu=$backend
done
supports_gpu() {
  .venv/bin/python -c 'import sys, llama_cpp; sys.exit(not llama_cpp.llama_supports_gpu_offload())' 2>/dev/null
}
# pip lists every requirement; only what takes long, what fails and the sum are shown. (Not with awk: Debian's waits
# until a block of its input is full.)
shortly() {
  local line words
  while IFS= read -r line; do
    case $line in
      *"Building wheel for "* | *"still running"* | *[Ee]rror* | *ERROR*) printf '%s\n' "$line" ;;
      "Successfully installed "*)
        read -ra words <<<"$line"
        printf 'Installed %d packages into .venv\n' $((${#words[@]} - 2))
        ;;
    esac
  done
}
# Only a compiler that is not there is certain; the rest is said when the build has failed, behind CMake's long output.
hints=()
check_cuda() {
  local root version
  [[ ! -x /usr/local/cuda/bin/nvcc ]] || PATH=$PATH:/usr/local/cuda/bin
  command -v nvcc >/dev/null || {
    echo "CUDA=1 needs the CUDA toolkit: there is no nvcc in the PATH nor in /usr/local/cuda/bin." >&2
    echo "  https://developer.nvidia.com/cuda-downloads" >&2
    exit 1
  }
  version=$(nvcc --version | sed -n 's/.*release \([0-9]*\)\.\([0-9]*\).*/\1-\2/p') || version=VERSION
  root=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")
  compgen -G "$root/include/cublas_v2.h" >/dev/null || compgen -G "$root/targets/*/include/cublas_v2.h" >/dev/null ||
    compgen -G "/usr/local/cuda/include/cublas_v2.h" >/dev/null || compgen -G "/usr/include/cublas_v2.h" >/dev/null ||
    hints+=("cuBLAS was not found, which belongs to the CUDA toolkit. Debian, Ubuntu: sudo apt-get install libcublas-dev-$version")
  compgen -G "/dev/nvidia[0-9]*" >/dev/null || [[ -e /dev/dxg || ${CMAKE_ARGS:-} == *CMAKE_CUDA_ARCHITECTURES* ]] ||
    hints+=("No card was found: nvidia-smi must list it. For one in another machine: CMAKE_ARGS=-DCMAKE_CUDA_ARCHITECTURES=89 make page CUDA=1")
}
if [[ -n $gpu ]]; then
  extra=${extra:+$extra,}hub,trim
fi
if [[ -n $gpu ]] && ! supports_gpu; then
  [[ $gpu != CUDA ]] || check_cuda
  has_compiler || missing "llama.cpp is compiled here and needs a C and a C++ compiler." g++ gcc-c++ "xcode-select --install"
  echo "Compiling llama.cpp for $gpu, which takes many minutes; pip says every minute that it is still running."
  echo "What is installed stays until that is done."
  wheels=$(mktemp -d)
  trap 'rm -rf "$wheels"' EXIT
  CMAKE_ARGS="-DGGML_$gpu=on ${CMAKE_ARGS:-}" .venv/bin/python -m pip wheel --disable-pip-version-check \
    --progress-bar off --no-deps --no-cache-dir --wheel-dir "$wheels" "$package" | shortly || {
    echo "llama.cpp could not be compiled for $gpu: see CMake's errors above. What was installed is still there." >&2
    [[ ${#hints[@]} -eq 0 ]] || printf '  %s\n' "${hints[@]}" >&2
    exit 1
  }
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "$wheels"/*.whl
fi

if ! .venv/bin/python -c 'import llama_cpp' 2>/dev/null; then
  has_compiler || missing "llama.cpp is compiled here and needs a C and a C++ compiler." g++ gcc-c++ "xcode-select --install"
  echo "Installing pagec. llama.cpp is compiled for this machine the first time, which takes about five minutes;"
  echo "pip says every minute that it is still running."
fi

.venv/bin/python -m pip install --disable-pip-version-check --progress-bar off -e ".${extra:+[$extra]}" | shortly
