# Two commands matter: `make run` and `make test`. The rest is for people who work on the code.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
HOST ?= 127.0.0.1
PORT ?= 8000

.PHONY: run test test-most test-alone test-thorough check format docs bench bench-audit bench-steering gpu-test gpu-bench gpu-kernelbench gpu-search lock migrations clean

# --- install: once for each state of the lock files ---------------------------------------------------------------
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; this is %s" % sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

$(VENV)/.run: requirements.lock requirements-headers.lock pyproject.toml | $(BIN)/python
	$(INSTALL) -r requirements.lock
	$(INSTALL) --no-deps -r requirements-headers.lock
	$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.test: requirements-test.lock $(VENV)/.run
	$(INSTALL) -r requirements-test.lock
	@touch $@

# --- the two commands ---------------------------------------------------------------------------------------------
run: $(VENV)/.run
	@exec $(BIN)/python manage.py serve --host $(HOST) --port $(PORT)

# Much of a test is waiting for a child process, so there are two testers more than there are cores.
TESTERS ?= $(shell expr $$(nproc) + 2)

# Types are checked beside the tests. Real stacks come after them, and what is timed has the machine to itself: a stack
# measures this machine's peaks, and what is measured on a busy machine is no bound.
test: $(VENV)/.test
	@$(MAKE) --no-print-directory -j2 check test-most
	@$(MAKE) --no-print-directory test-alone

# The order is that of tests/conftest.py: long files first.
test-most: $(VENV)/.test
	$(BIN)/python -m pytest -n $(TESTERS) --dist loadfile --no-loadscope-reorder -m "not stack and not alone and not thorough"

# Two stacks at a time: each waits for its own workers most of the time, and those take turns to measure.
test-alone: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --dist loadfile -m stack tests/stack
	$(BIN)/python -m pytest -m alone tests/harness

# What `make test` leaves out: more cases of what compiles, a few minutes each core.
test-thorough: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist loadfile -m "thorough"

# --- for people who work on the code ------------------------------------------------------------------------------
check: $(VENV)/.test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy kernels sol agent runs mucutlass_web tests
	$(BIN)/djade --check --target-version 5.2 $$(git ls-files 'templates/*.html')
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python manage.py check

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	-$(BIN)/djade --target-version 5.2 $$(git ls-files 'templates/*.html')

lock: $(VENV)/.test
	$(BIN)/python .ci/lock.py

migrations: $(VENV)/.run
	$(BIN)/python manage.py makemigrations

docs: $(VENV)/.run
	$(BIN)/mucutlass reference > docs/language.md

bench: $(VENV)/.test
	$(BIN)/python -m tests.bench
	$(BIN)/python -m tests.bench.spread
	$(BIN)/python -m tests.bench.gap_page
	$(BIN)/python -m tests.bench.triage_page
	$(BIN)/python -m tests.bench.replay
	$(BIN)/python -m tests.bench.engine

# The confusion table of the static audit over its corpus; with KERNELBENCH beside what KernelBench's own checker says.
bench-audit: $(VENV)/.test
	$(BIN)/python -m tests.bench.audit $(if $(KERNELBENCH),--kernelbench $(KERNELBENCH)) -o docs/measurements/audit.md

# Ten problems, both sides: an hour on a quiet machine. What is done is kept in build/steering.
bench-steering: $(VENV)/.test
	$(BIN)/python -m tests.bench.steering --state build/steering --json build/steering/report.json

# On a box with a card: needs torch, nvcc and the packages of pyproject's first list, no Django.
gpu-test:
	$(PYTHON) -m tests.gpu.run_suite --cache build/gpu --jobs 4 --json build/gpu/suite.json
	$(PYTHON) -m tests.gpu.floors build/gpu/suite.json
	$(PYTHON) -m tests.gpu.harness_languages --json build/gpu/languages.json
	$(PYTHON) -m tests.gpu.harness_correctness --json build/gpu/correctness.json
	$(PYTHON) -m tests.gpu.harness_faults --cache build/gpu --json build/gpu/faults.json
	$(PYTHON) -m tests.gpu.harness_profile --cache build/gpu --out build/gpu/profiles --json build/gpu/profile.json

gpu-bench:
	$(PYTHON) -m tests.gpu.bench --cache build/gpu --json build/gpu/figures.json
	$(PYTHON) -m tests.gpu.floors build/gpu/figures.json
	$(PYTHON) -m tests.gpu.harness_timing --cache build/gpu --json build/gpu/timing.json

# KERNELBENCH is the source folder of a checkout: make gpu-kernelbench KERNELBENCH=~/KernelBench/src
gpu-kernelbench:
	$(PYTHON) -m tests.gpu.kernelbench_compare --kernelbench $(KERNELBENCH) --cache build/gpu --json build/gpu/kernelbench.json

gpu-search:
	$(PYTHON) -m tests.gpu.search --cache build/gpu --json build/gpu/search.json

clean:
	rm -rf $(VENV) var .mypy_cache .ruff_cache .pytest_cache .hypothesis
