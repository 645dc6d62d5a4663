#!/bin/sh
# Installs Debian's Chromium, in which the tests of readers open files, unless there is one.
set -eu
if command -v chromium >/dev/null; then
    exit 0
fi
if [ "$(id -u)" = 0 ]; then
    as_root=""
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root="sudo"
else
    echo "Chromium is needed, and installing it needs root: apt-get install chromium fonts-liberation" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update --quiet --quiet
$as_root apt-get install --quiet --quiet --yes --no-install-recommends chromium fonts-liberation
