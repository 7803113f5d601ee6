#!/usr/bin/env bash
# Builds llama-server from the llama.cpp inside the sdist of the pinned llama-cpp-python: the same commit.
#   bash benchmarks/peers/build_llama_server.sh [FOLDER]      (default: build/llama-server; takes minutes)
set -euo pipefail
version=$(sed -n 's/^SUPPORTED_VERSION = "\(.*\)"$/\1/p' pagecompiler/engine/llama/*.py)
python=${PYTHON:-.venv/bin/python}
folder=$(realpath -m "${1:-build/llama-server}")
mkdir -p "$folder"
if [ ! -d "$folder/source" ]; then
  "$python" -m pip download --no-deps --no-binary llama-cpp-python --dest "$folder" "llama-cpp-python==$version"
  mkdir "$folder/source"
  tar -xzf "$folder"/llama_cpp_python-$version.tar.gz -C "$folder/source" --strip-components 1
fi
cmake -S "$folder/source/vendor/llama.cpp" -B "$folder/cmake" -DCMAKE_BUILD_TYPE=Release \
  -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_TOOLS=ON -DLLAMA_BUILD_SERVER=ON -DLLAMA_CURL=OFF
cmake --build "$folder/cmake" --target llama-server -j "$(nproc)"
echo "$folder/cmake/bin/llama-server"
