#!/usr/bin/env bash
# Proves that the package works where the repository is not: builds sdist and wheel, installs the wheel into a clean
# environment, compiles a sample from another folder; then does the same with the editable install of .venv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

repository=$PWD
python=$repository/.venv/bin/python
dist=$repository/build/dist
wheels=$repository/build/wheels
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

rm -rf "$dist"
# The wheel is built from the sdist, so a file that one of them lacks is noticed here.
"$python" -m build --no-isolation --outdir "$dist" >"$scratch/build.log" 2>&1 || {
  cat "$scratch/build.log" >&2
  exit 1
}
ls -1sh "$dist"

# The compiled llama.cpp comes out of pip's cache: the clean environment must not compile it again.
llama=$("$python" - <<'PYTHON'
import tomllib

with open("pyproject.toml", "rb") as file:
    print(next(d for d in tomllib.load(file)["project"]["dependencies"] if d.startswith("llama-cpp-python")))
PYTHON
)
mkdir -p "$wheels"
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --find-links "$wheels" --wheel-dir "$wheels" "$llama"

"$python" -m venv "$scratch/venv"
"$scratch/venv/bin/python" -m pip install --quiet --disable-pip-version-check --find-links "$wheels" "$dist"/*.whl

# compile_sample BIN TEMPLATES: the sample and its images are copied, so that nothing can lead back to the repository.
compile_sample() {
  local work=$scratch/$(basename "$1")-$RANDOM found
  mkdir -p "$work"
  cp -r "$repository/specs/kettle.yaml" "$repository/specs/images" "$work"
  cd "$work"
  found=$("$1/python" -c 'from pagecompiler.resources import template_dir; print(template_dir())')
  [[ $found == "$2" ]] || { echo "templates found in $found, not in $2" >&2; exit 1; }
  "$1/pagec" compile kettle.yaml
  grep -q "Hot water, without the wait" output/kettle.html
  [[ -f output/images/kettle.svg ]]
  cd "$repository"
}

packaged=$("$scratch/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
compile_sample "$scratch/venv/bin" "$packaged/pagecompiler/templates"
echo "wheel: a page was compiled in a clean environment"
compile_sample "$repository/.venv/bin" "$repository/templates"
echo "editable install: a page was compiled from another folder"
