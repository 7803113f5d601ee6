#!/usr/bin/env bash
# Puts the chat template and the vocabulary of Qwen3.5 into tests/fixtures: `bash scripts/fixtures.sh`. Both lie in the
# source package of the pinned llama-cpp-python (77 MB from PyPI, or the file that SDIST names); nothing is compiled.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=$(sed -n 's/^SUPPORTED_VERSION = "\(.*\)"$/\1/p' pagecompiler/engine/llama/*.py)
folder=tests/fixtures
inner=llama_cpp_python-$version/vendor/llama.cpp/models
known='
a4aee8afcf2e0711942cf848899be66016f8d14a889ff9ede07bca099c28f715  Qwen3.5-4B.jinja
63ed952ff338996cf0bdf24a7b10015124273f75c6dc9bb427356aa3f67ec62c  ggml-vocab-qwen35.gguf
'

complete() {
  [[ -f $folder/Qwen3.5-4B.jinja && -f $folder/ggml-vocab-qwen35.gguf ]] &&
    (cd "$folder" && sed '/^$/d' <<<"$known" | sha256sum --check --status)
}

complete && exit 0
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [[ -z ${SDIST:-} ]]; then
  echo "Fetching the source package of llama-cpp-python $version (77 MB) for its Qwen3.5 vocabulary."
  .venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary llama-cpp-python \
    --dest "$work" "llama-cpp-python==$version"
  SDIST=$work/llama_cpp_python-$version.tar.gz
fi
tar -xzf "$SDIST" -C "$work" "$inner/templates/Qwen3.5-4B.jinja" "$inner/ggml-vocab-qwen35.gguf"
mv "$work/$inner/templates/Qwen3.5-4B.jinja" "$work/$inner/ggml-vocab-qwen35.gguf" "$folder/"
complete || {
  echo "The files in $SDIST are not those that the tests were written for." >&2
  exit 1
}
echo "Unpacked into $folder"
