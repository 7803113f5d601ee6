#!/usr/bin/env bash
# All checks that need a GPU, in one go and without a network: `bash benchmarks/gpu.sh`, eight minutes at most.
# It needs a Python with pagec and a llama-cpp-python that was built for the GPU (docs/qwen.md), or PACK, a file of
# `python -m benchmarks.gpu_pack` with all of these and the same version of Python; 7 GB of memory or disk and 9 GB on
# the card. `--dry-run` does the same with a small model, on whatever is there, in a minute.
#   PYTHON   the interpreter                 [.venv/bin/python, with PACK python3]
#   PACK     packages to unpack and use      [none]
#   BANDWIDTH  of the card in GB/s           [what plain decoding reaches with one lane]
#   WORK     where the models are written    [/dev/shm, else a temporary folder]
#   OUT      where gpu.json and gpu.txt go   [benchmarks/results]
#   SECONDS_AN_ARM                           [8]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

size=9b rows=32768 arm=${SECONDS_AN_ARM:-8}
if [[ ${1:-} == --dry-run ]]; then
  size=small rows=4096 arm=${SECONDS_AN_ARM:-1}
elif [[ $# -gt 0 ]]; then
  echo "usage: bash benchmarks/gpu.sh [--dry-run]" >&2
  exit 2
fi
default=.venv/bin/python
[[ -z ${PACK:-} ]] || default=python3
python=${PYTHON:-$default}
out=${OUT:-benchmarks/results}
base=${WORK:-/dev/shm}
[[ -d $base && -w $base ]] || base=${TMPDIR:-/tmp}
work=$(mktemp -d "$base/pagec-gpu.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
export PYTHONPATH=$PWD PYTHONUNBUFFERED=1
if [[ -n ${PACK:-} ]]; then
  mkdir "$work/site"
  tar -xJf "$PACK" -C "$work/site"
  PYTHONPATH=$work/site:$PWD
fi

{
  date -u +%Y-%m-%dT%H:%MZ
  if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=name,driver_version,memory.total,memory.free --format=csv,noheader
  fi
  "$python" -m pagecompiler.cli doctor --model reference
  if [[ $size == 9b ]]; then
    "$python" -c 'import sys; from pagecompiler.engine.llama.library import devices
sys.exit(not any(device.gpu for device in devices()))' || {
      echo "llama.cpp sees no GPU: install it as docs/qwen.md says, or use --dry-run" >&2
      exit 1
    }
  fi

  "$python" -m benchmarks.synthetic_model "$size" "$work/model.gguf"
  "$python" -m benchmarks.trim_synthetic "$work/model.gguf" "$work/trimmed.gguf" "$rows"
  "$python" -m pagecompiler.cli model info "$work/model.gguf"
  "$python" -m benchmarks.gpu_arms "$work/model.gguf" --trimmed "$work/trimmed.gguf" --seconds "$arm" \
    --total $((450 - SECONDS)) \
    ${BANDWIDTH:+--bandwidth "$BANDWIDTH"} --json "$out/gpu.json"
} | tee "$out/gpu.txt"
echo "The figures: $out/gpu.txt and $out/gpu.json, after $SECONDS seconds"
