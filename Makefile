# Each target sets up what it needs, in .venv (and .venv-torch, .venv-readers), and does again only what has changed.

PYTHON ?= python3
CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
VENV := .venv
TORCH_VENV := .venv-torch
# Besides the newest, which is in TORCH_VENV. `VERSIONS_WITHOUT_SHIM` in the bridge's shim.rs has the same and the newest.
TORCH_VERSIONS := 2.6 2.10
READERS_VENV := .venv-readers
PYTHONS_VENVS := .venv-pythons
REPEAT ?= 20
REPEAT_OUTPUT := repeat-output
BENCH_OUTPUT := bench-output
# What the Rust benchmark writes; it is not among the sections that BENCH="--only SECTION..." names.
ENGINE := $(if $(filter --only,$(BENCH)),,$(BENCH_OUTPUT)/engine.json)
export PIP_QUIET := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
BIN := $(VENV)/bin
# What the extension module is made of.
SOURCES := rust-toolchain.toml Cargo.toml Cargo.lock pyproject.toml $(wildcard crates/*/Cargo.toml crates/*/build.rs) \
	$(shell find crates/*/src -type f)
WHEELS := $(TARGET)/wheels
NEED_VALGRIND := sh scripts/debian.sh valgrind valgrind
# Built together with the extension module, as Cargo sees it, so that what was built for the module is what is counted.
COUNTS := $(NEED_VALGRIND) && \
	$(CARGO) build --release --quiet -p mindtorch-python -p mindtorch-counts --bin mindtorch-counts && \
	"$(TARGET)/release/mindtorch-counts"
CARGO_FUZZ_VERSION := 0.13.2
# How long `make fuzz` runs each target.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS := load_trace read_spool record
FUZZ_FLAGS_load_trace := -dict=fuzz/load_trace.dict -max_len=16384
FUZZ_FLAGS_read_spool := -max_len=1024 -len_control=0
FUZZ_FLAGS_record := -max_len=4096 -len_control=0
FUZZ_DIR := $(abspath $(TARGET))/fuzz
CARGO_FUZZ := $(FUZZ_DIR)/cargo-fuzz-$(CARGO_FUZZ_VERSION)/bin/cargo-fuzz
# For `make asan`, `make miri` and `make fuzz`. A fixed date, because not every nightly has a Miri that works.
NIGHTLY := nightly-2026-05-20
RUN_MIRI := $(CARGO) +$(NIGHTLY) miri test -p mindtorch-profiler --features tracing --target-dir "$(TARGET)/miri"

.PHONY: help demo test test-repeat test-pythons lint count count-update count-where count-python bench bench-runtime soak asan miri nightly \
	fuzz $(FUZZ_TARGETS:%=fuzz-%) fuzz-replay \
	test-torch \
	test-torch-versions $(TORCH_VERSIONS:%=test-torch-%) test-readers clean
.DEFAULT_GOAL := help

help: ## Say what can be made.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.installed ## Train a model under the profiler, on both devices: tables, traces, a memory plot.
	$(CARGO) run --release --quiet -p mindtorch-profiler --example profile_a_computation
	@# Last, because it ends with what to do next.
	$(BIN)/python examples/demo.py

test: $(VENV)/.installed ## Run every test that needs no PyTorch.
	$(CARGO) test --workspace --exclude mindtorch-benches --all-features
	RUSTFLAGS="--cfg loom" $(CARGO) test -p mindtorch-profiler --release --test loom --test loom_team --target-dir "$(TARGET)/loom"
	$(BIN)/python -m pytest

test-repeat: $(VENV)/.installed ## Run the Rust and the Python tests 20 times (REPEAT), every second time on busy cores.
	CARGO="$(CARGO)" bash scripts/test_repeat.sh $(REPEAT) $(BIN)/python

test-pythons: $(WHEELS)/.built ## Run the Python tests on each CPython from 3.10 to 3.14 that is found; PYTHONS=--quick: fewer tests on two.
	$(if $(filter --quick,$(PYTHONS)),,CARGO="$(CARGO)" sh scripts/check_free_threaded.sh "$(TARGET)/free-threaded")
	$(BIN)/python scripts/pythons.py "$(WHEELS)"/*.whl $(PYTHONS)

lint: $(VENV)/.installed ## Check formatting, lints, documentation and types.
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --all-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --exclude mindtorch-benches --all-features --no-deps
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python scripts/stubs.py --check
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest --allowlist scripts/stubtest.txt mindtorch_v2._core

count: ## Compare the instructions that an event takes with benches/counts/baseline.txt.
	@$(COUNTS) $(COUNT_FLAGS)

count-update: ## Write the instructions that an event takes to benches/counts/baseline.txt.
	@$(COUNTS) --update

count-where: ## Show which functions the instructions of CASE="a + b: session" are in.
	@$(COUNTS) --where "$(CASE)"

count-python: $(VENV)/.installed ## Count the instructions that an event takes in Python.
	@$(NEED_VALGRIND) && $(BIN)/python benches/instructions.py

bench: $(TORCH_VENV)/.installed $(READERS_VENV)/.installed ## Measure the profiler and mtprof beside PyTorch's and others, in some 35 minutes; BENCH=--quick: in 6.
	mkdir -p $(BENCH_OUTPUT)
	$(if $(ENGINE),$(CARGO) bench -p mindtorch-benches -- $(filter --quick,$(BENCH)) --json "$(CURDIR)/$(ENGINE)" >&2)
	$(TORCH_VENV)/bin/python -m benches.costs $(ENGINE:%=--engine %) --out $(BENCH_OUTPUT)/costs.json $(BENCH)

bench-runtime: $(TORCH_VENV)/.installed ## Measure operators and training beside PyTorch.
	KINETO_LOG_LEVEL=6 $(TORCH_VENV)/bin/python benches/runtime.py

soak: $(VENV)/.installed ## Record much, for long, and kill processes that record, in some 5 minutes; SOAK=--quick: a tenth.
	$(CARGO) run --release --quiet -p mindtorch-soak -- $(SOAK)
	MINDTORCH_KILLS=$(if $(filter --quick,$(SOAK)),100,1000) $(BIN)/python -m pytest -q -s tests/faults/test_kill.py

# One test at a time: threads that record at full rate fill the memory while others of the process are slow.
asan: nightly ## Run the profiler's Rust tests under AddressSanitizer, with a nightly toolchain.
	ASAN_OPTIONS=quarantine_size_mb=4 LSAN_OPTIONS="suppressions=$(CURDIR)/scripts/lsan.txt:print_suppressions=0" \
		RUSTFLAGS=-Zsanitizer=address $(CARGO) +$(NIGHTLY) test -p mindtorch-profiler --all-features --tests \
		--target "$$($(CARGO) +$(NIGHTLY) -vV | sed -n 's/^host: //p')" --target-dir "$(TARGET)/asan" \
		-- --test-threads 1

# Leaks are ignored because tests leave spans open on purpose, and the chunks of open spans are leaked.
miri: nightly ## Run the recorder's tests under Miri, with Stacked and with Tree Borrows; MIRI_TESTS=--quick: those that take a minute.
	for borrows in "" -Zmiri-tree-borrows; do \
		export MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-ignore-leaks $$borrows"; \
		$(RUN_MIRI) --lib -- recorder:: session:: names:: && \
		$(RUN_MIRI) --test tasks --test tracing_layer $(if $(filter --quick,$(MIRI_TESTS)),,--test windows --test threads) || exit; \
	done

# The second command downloads what Miri's standard library is built from, and builds it.
nightly:
	@$(CARGO) +$(NIGHTLY) miri --version >/dev/null 2>&1 || \
		rustup toolchain install $(NIGHTLY) --profile minimal --component miri --component rust-src
	@$(CARGO) +$(NIGHTLY) miri setup

fuzz: $(FUZZ_TARGETS:%=fuzz-%) ## Fuzz each target for FUZZ_SECONDS (60), with a nightly toolchain and cargo-fuzz, which this installs.

# New inputs go to FUZZ_DIR, so that a run leaves the stored corpora as they are. Interned names are never freed, so memory grows.
$(FUZZ_TARGETS:%=fuzz-%): fuzz-%: $(CARGO_FUZZ) nightly
	mkdir -p "$(FUZZ_DIR)/corpus/$*"
	PATH="$(dir $(CARGO_FUZZ)):$$PATH" $(CARGO) +$(NIGHTLY) fuzz run --fuzz-dir fuzz --target-dir "$(FUZZ_DIR)" \
		$* "$(FUZZ_DIR)/corpus/$*" fuzz/corpus/$* \
		-- -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=8192 $(FUZZ_FLAGS_$*)

$(CARGO_FUZZ):
	$(CARGO) install cargo-fuzz --version $(CARGO_FUZZ_VERSION) --locked --root "$(FUZZ_DIR)/cargo-fuzz-$(CARGO_FUZZ_VERSION)"

# Without instrumentation, which only finding new inputs needs: so this needs neither nightly nor cargo-fuzz.
fuzz-replay: ## Build the fuzz targets and run them on their stored corpora.
	RUSTFLAGS="--cfg fuzzing" $(CARGO) build --quiet --manifest-path fuzz/Cargo.toml --target-dir "$(FUZZ_DIR)-replay"
	set -e; for target in $(FUZZ_TARGETS); do "$(FUZZ_DIR)-replay/debug/$$target" -artifact_prefix="$(FUZZ_DIR)-replay/" -runs=0 fuzz/corpus/$$target; done

test-torch: $(TORCH_VENV)/.installed ## Compare with PyTorch, which this installs (several GB).
	KINETO_LOG_LEVEL=6 $(TORCH_VENV)/bin/python -m pytest tests/torch

test-torch-versions: $(TORCH_VERSIONS:%=test-torch-%) ## Record older versions of PyTorch, which this installs (several GB each).

$(TORCH_VERSIONS:%=test-torch-%): test-torch-%: $(TORCH_VENV)-%/.installed
	KINETO_LOG_LEVEL=6 $(TORCH_VENV)-$*/bin/python -m pytest tests/torch/bridge

test-readers: $(READERS_VENV)/.installed $(TORCH_VENV)/.installed ## Open our files and PyTorch's in programs that read them.
	@# With the extension module, so that what was built for the module is used.
	$(CARGO) build --release --quiet -p mindtorch-python -p mtprof
	MTPROF="$(abspath $(TARGET))/release/mtprof" $(READERS_VENV)/bin/python -m pytest tests/readers

clean: ## Remove what was built.
	$(CARGO) clean
	rm -rf $(VENV) $(TORCH_VENV)* $(READERS_VENV) $(PYTHONS_VENVS) demo-output readers-output $(BENCH_OUTPUT) $(REPEAT_OUTPUT) python/mindtorch_v2/*.so

$(VENV)/.tools: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --upgrade "pip>=25.1"
	$(BIN)/pip install --group dev
	@touch $@

$(VENV)/.installed: $(VENV)/.tools $(SOURCES)
	VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)/maturin develop --release --quiet
	@touch $@

$(TORCH_VENV)/.tools: pyproject.toml
	$(PYTHON) -m venv $(TORCH_VENV)
	$(TORCH_VENV)/bin/pip install --upgrade "pip>=25.1"
	$(TORCH_VENV)/bin/pip install --group torch
	@touch $@

$(TORCH_VERSIONS:%=$(TORCH_VENV)-%/.tools): $(TORCH_VENV)-%/.tools: pyproject.toml
	$(PYTHON) -m venv $(TORCH_VENV)-$*
	$(TORCH_VENV)-$*/bin/pip install "torch==$*.*" "numpy>=2.0" "pytest>=9.0"
	@touch $@

$(READERS_VENV)/.tools: pyproject.toml
	sh scripts/debian.sh chromium chromium fonts-liberation
	$(PYTHON) -m venv $(READERS_VENV)
	$(READERS_VENV)/bin/pip install --upgrade "pip>=25.1"
	$(READERS_VENV)/bin/pip install --group readers
	@command -v npm >/dev/null || { echo "npm is needed, to install speedscope: apt-get install npm" >&2; exit 1; }
	npm install --prefix $(READERS_VENV) --no-save --no-audit --no-fund --loglevel error "speedscope@^1.25"
	@touch $@

# An installed wheel, not the source tree: what users get.
$(WHEELS)/.built: $(VENV)/.tools $(SOURCES) $(shell find python -name '*.py' -o -name '*.cpp' -o -name '*.h')
	rm -rf "$(WHEELS)"
	$(BIN)/maturin build --release --quiet --out "$(WHEELS)"
	@touch $@

$(TORCH_VENV)/.installed $(READERS_VENV)/.installed $(TORCH_VERSIONS:%=$(TORCH_VENV)-%/.installed): %/.installed: %/.tools $(WHEELS)/.built
	$*/bin/pip install --force-reinstall --no-deps "$(WHEELS)"/*.whl
	@touch $@
