#!/bin/sh
# Checks that the build of the extension module refuses a free-threaded interpreter: check_free_threaded.sh TARGET_DIRECTORY
#
# The interpreter need not be installed: PyO3 reads its properties from a file.
set -eu
directory=$1
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
cat >"$directory/pyo3.txt" <<'END'
implementation=CPython
version=3.14
shared=true
target_abi=CPython-free_threaded-3.14
END
if output=$(PYO3_CONFIG_FILE="$directory/pyo3.txt" "${CARGO:-cargo}" check --quiet -p mindtorch-python --target-dir "$directory" 2>&1); then
    echo "The extension module was built for a free-threaded interpreter. Its build script has to refuse it." >&2
    exit 1
fi
case $output in
*"free-threaded build of CPython 3.14, which mindtorch_v2 does not support"*)
    echo "The build for a free-threaded CPython is refused."
    ;;
*)
    printf 'The build for a free-threaded interpreter failed without the message of the build script:\n%s\n' "$output" >&2
    exit 1
    ;;
esac
