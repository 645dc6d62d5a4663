#!/usr/bin/env bash
# Runs the Rust tests and the Python tests several times, to find those that do not pass every time: test_repeat.sh TIMES PYTHON
#
# In odd runs the Python tests follow the Rust tests. In even runs both run at the same time, beside a busy loop for each core.
# Two parts of `make test` are left out: the loom tests, which are deterministic, and the doc tests, which are compiled at
# each run. The output of failed runs is kept in repeat-output.
set -euo pipefail
cd "$(dirname "$0")/.."
times=$1
python=$2
output=repeat-output
# Seconds, to detect a hang: both kinds of tests take a few minutes.
limit=3600
rust=("${CARGO:-cargo}" test --workspace --exclude mindtorch-benches --all-features --tests)

declare -A pids
failures=()
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
trap 'exit 130' INT TERM

log() { # NAME
    printf '%s/run-%02d-%s.txt' "$output" "$run" "$1"
}

start() { # NAME COMMAND...
    local name=$1
    shift
    # The shell starts background commands with these signals ignored. Tests of signals need the default.
    timeout --kill-after=60 "$limit" env --default-signal=INT,QUIT "$@" >"$(log "$name")" 2>&1 </dev/null &
    pids[$name]=$!
}

finish() { # NAME
    local status=0
    wait "${pids[$1]}" || status=$?
    case $status in
    0) rm "$(log "$1")" ;;
    124) failures+=("$(log "$1"): stopped after $limit s") ;;
    *) failures+=("$(log "$1"): status $status") ;;
    esac
}

start_rust() { start rust "${rust[@]}" --no-fail-fast; }
start_python() { start python "$python" -m pytest -q -p no:cacheprovider; }

"${rust[@]}" --no-run --quiet
rm -rf "$output"
mkdir "$output"
failed_runs=0
for run in $(seq "$times"); do
    begin=$SECONDS
    failures_before=${#failures[@]}
    if ((run % 2)); then
        load=idle
        start_rust
        finish rust
        start_python
        finish python
    else
        load=busy
        loops=()
        for _ in $(seq "$(nproc)"); do
            (while :; do :; done) &
            loops+=($!)
        done
        start_rust
        start_python
        finish rust
        finish python
        kill "${loops[@]}"
        wait "${loops[@]}" 2>/dev/null || true
    fi
    verdict=passed
    if ((${#failures[@]} > failures_before)); then
        verdict=FAILED
        failed_runs=$((failed_runs + 1))
    fi
    echo "run $run of $times, $load: $verdict in $((SECONDS - begin)) s"
done

echo "$failed_runs of $times runs failed."
if ((failed_runs)); then
    printf '  %s\n' "${failures[@]}"
    echo "Failed tests, with the number of failures:"
    grep -hoE '^(FAILED|ERROR) [^ ]+|^test .* \.\.\. FAILED$' "$output"/*.txt | sort | uniq -c | sort -rn || true
    exit 1
fi
rmdir "$output"
