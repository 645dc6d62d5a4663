#!/bin/sh
# Installs packages of Debian's, unless the command that is needed of them is there: debian.sh COMMAND PACKAGE...
set -eu
command=$1
shift
if command -v "$command" >/dev/null; then
    exit 0
fi
if [ "$(id -u)" = 0 ]; then
    as_root=""
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root="sudo"
else
    as_root="none"
fi
if [ "$as_root" = none ] || ! command -v apt-get >/dev/null; then
    echo "$command is needed, and cannot be installed from here. On Debian, as root: apt-get install $*" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update --quiet --quiet
$as_root apt-get install --quiet --quiet --yes --no-install-recommends "$@"
