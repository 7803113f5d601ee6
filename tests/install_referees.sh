#!/bin/sh
# Installs the referees of `make test-pages`: Chromium with fonts, Java, Node, vnu-jar and axe-core.
# Debian packages are installed when this runs as root; otherwise the command to run is printed. Quick when all is there.
set -eu
cd "$(dirname "$0")/.."

packages=""
need() { packages="$packages $*"; }

command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 || need chromium
command -v java >/dev/null 2>&1 || need default-jre-headless
command -v npm >/dev/null 2>&1 || need nodejs npm
if command -v fc-list >/dev/null 2>&1; then
    fonts=$(fc-list : family)
else
    need fontconfig
    fonts=""
fi
# axe measures contrast and the tests measure overflow on rendered text, so the scripts of the samples need glyphs.
case "$fonts" in *DejaVu*) ;; *) need fonts-dejavu-core ;; esac
case "$fonts" in *"CJK"*) ;; *) need fonts-noto-cjk ;; esac
case "$fonts" in *"Noto Sans Arabic"*|*"Noto Naskh Arabic"*) ;; *) need fonts-noto-core ;; esac

if [ -n "$packages" ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        export DEBIAN_FRONTEND=noninteractive
        apt-get update -qq
        # shellcheck disable=SC2086
        apt-get install -y -qq --no-install-recommends $packages
    else
        echo "install these packages first:$packages" >&2
        exit 1
    fi
fi

# Copied last, so an equal one means a complete installation.
stamp=node_modules/.referees-lock.json
if ! cmp -s package-lock.json "$stamp"; then
    npm ci --ignore-scripts --no-audit --no-fund
    cp package-lock.json "$stamp"
fi
