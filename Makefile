# The two commands of the README, and what they stand on. `make help` lists all targets.

VENV   := .venv
BIN    := $(VENV)/bin
PYTHON := $(shell scripts/find-python.sh)
ARGS   ?=

RUST   := Cargo.toml Cargo.lock rust_core/Cargo.toml $(shell find rust_core/src -name '*.rs' 2>/dev/null)
# What follows runs without usearch's C++ being compiled a second time for the debug profile.
CARGO_FLAGS := --release --locked

.PHONY: help setup run test check fmt generate bench bench-peers conformance soak torture fuzz soak-load
.DEFAULT_GOAL := help

help:
	@echo 'make setup        everything into .venv (the native core takes minutes the first time)'
	@echo 'make run          setup, then server and gateway: siltstone up $$ARGS'
	@echo 'make test         setup, check, and all tests'
	@echo 'make check        format, lint, types, generated files'
	@echo 'make fmt          format the code'
	@echo 'make generate     make the generated files anew'
	@echo 'make conformance  the same cases through every door of a real server'
	@echo 'make soak         the rules of memories against their model, for minutes'
	@echo 'make soak-load    a server under a mixed load for an hour: does anything grow?'
	@echo 'make torture      servers killed and power lost, thousands of times (KILLS=2000)'
	@echo 'make fuzz         hostile bytes and requests, for minutes (SECONDS_EACH=60)'
	@echo 'make bench        measure search and writes'
	@echo 'make bench-peers  search beside other engines, which go into .venv-peers'

# A stamp is newer than what it was made from, so a second setup does nothing.
setup: $(VENV)/.built

$(VENV)/.python:
	@scripts/check-tools.sh
	@echo '== making the virtual environment $(VENV) with $(PYTHON)'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: pyproject.toml $(VENV)/.python
	@echo '== installing the development tools'
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@

$(VENV)/.built: $(VENV)/.installed $(RUST)
	@scripts/check-tools.sh
	@echo '== building the native core and installing siltstone; the first time the C++ in it takes minutes'
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --locked
	@touch $@

run: setup
	@exec $(BIN)/siltstone up $(ARGS)

test: setup check
	$(BIN)/pytest
	cargo test $(CARGO_FLAGS)

check: setup
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest siltstone.rust_core --mypy-config-file pyproject.toml
	cargo fmt --check
	cargo clippy $(CARGO_FLAGS) --all-targets -- -D warnings
	PYO3_PYTHON=$(CURDIR)/$(BIN)/python cargo clippy $(CARGO_FLAGS) --features python -- -D warnings
	$(BIN)/python scripts/generate.py --check
	$(BIN)/python scripts/settings_table.py --check
	$(BIN)/pytest tests/test_imports.py

fmt: setup
	$(BIN)/ruff format
	$(BIN)/ruff check --fix
	cargo fmt

generate: setup
	$(BIN)/python scripts/generate.py
	$(BIN)/python scripts/settings_table.py

# In this version the only client is the Python one; in process, over gRPC and over HTTP it gives the same answers.
conformance: setup
	$(BIN)/pytest tests/doors $(ARGS)

soak: setup
	SILTSTONE_SOAK=1 $(BIN)/pytest tests/engine/test_rules_machine.py $(ARGS)

soak-load: setup
	$(BIN)/python benches/soak_load.py $(ARGS)

fuzz: setup
	SILTSTONE_FUZZ=1000 $(BIN)/pytest tests/fuzz --timeout=3600 $(ARGS)
	scripts/fuzz.sh $(BIN)/python $(or $(SECONDS_EACH),60)

torture: setup
	SILTSTONE_TORTURE=$(or $(KILLS),2000) $(BIN)/pytest tests/torture tests/store/test_lost_power.py $(ARGS)

bench: setup
	$(BIN)/python benches/first.py $(ARGS)

# One by one: what the registry does not offer for this machine is skipped, and named.
bench-peers: setup
	test -d .venv-peers || $(PYTHON) -m venv .venv-peers
	grep -v '^#' benches/peers/requirements.txt | while read -r peer; do \
		.venv-peers/bin/python -m pip install --quiet "$$peer" || echo "skipped: $$peer cannot be installed"; done
	$(BIN)/python benches/peers/run.py --python .venv-peers/bin/python $(ARGS)
