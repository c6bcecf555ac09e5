# Each target makes its own virtual environment and installs what it needs.
PYTHON ?= python3
TEST := .venv/test
DEMO := .venv/demo
BENCH := .venv/bench
BENCH01 := .venv/bench01
SOURCES := $(shell find src -type f ! -name '*.pyc') pyproject.toml README.md LICENSE
OUT ?= $(if $(filter taxi,$(MAKECMDGOALS)),paper-taxi,demo-output)
DATA ?= --help
ONLY ?=

.PHONY: demo test fuzz check calibrate bench docs taxi clean help

help:
	@echo "make demo        a model of the bundled data is rejected, and mended: text, reports, a figure"
	@echo "make test        all tests, under five minutes on two cores"
	@echo "make fuzz        odd data, options and models for some minutes: a right answer or one CondgofError"
	@echo "make check       ruff, mypy, import-linter"
	@echo "make calibrate   level and power over thousands of trials, resumable; ONLY=name picks cells"
	@echo "make bench       speed and memory, against the textbook method and version 0.1"
	@echo "make docs        write docs/cli.md from the commands themselves"
	@echo "make taxi        the paper's taxi experiment; DATA=\"--train FILES --test FILE\" (docs/paper/taxi)"

demo: $(DEMO)/.installed
	$(DEMO)/bin/condgof demo --out $(OUT)

test: $(TEST)/.installed
	$(TEST)/bin/python -m pytest -n 2 --durations=10

fuzz: $(TEST)/.installed
	CONDGOF_FUZZ=2000 $(TEST)/bin/python -m pytest -n 2 tests/test_fuzz.py

check: $(TEST)/.installed
	$(TEST)/bin/ruff check .
	$(TEST)/bin/ruff format --check .
	$(TEST)/bin/mypy
	$(TEST)/bin/lint-imports

calibrate: $(TEST)/.installed
	$(TEST)/bin/python tests/calibration/run.py --only "$(ONLY)" --table docs/calibration.md

bench: $(BENCH)/.installed $(BENCH01)/.installed
	$(BENCH)/bin/python benchmarks/run.py --only "$(ONLY)"

docs: $(TEST)/.installed
	$(TEST)/bin/python -m condgof.cli._help docs/cli.md

taxi: $(TEST)/.installed
	$(TEST)/bin/python docs/paper/taxi/taxi.py $(DATA) --out $(OUT)

clean:
	rm -rf .venv dist build demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

# The wheel is what gets tested: nothing is installed in editable mode.
$(TEST)/.installed: $(TEST)/.tools $(SOURCES)
	$(TEST)/bin/python -m pip install --quiet --force-reinstall --no-deps .
	@touch $@

# torch before the extras that need it, in this very version: it has a CPU build.
$(TEST)/.tools: pyproject.toml
	$(PYTHON) -m venv $(TEST)
	$(TEST)/bin/python -m pip install --quiet --upgrade pip
	$(TEST)/bin/python -m pip install --quiet torch==2.13.0
	$(TEST)/bin/python -m pip install --quiet --group dev '.[all]'
	@touch $@

$(DEMO)/.installed: $(SOURCES)
	$(PYTHON) -m venv $(DEMO)
	$(DEMO)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade '.[cli,plot]'
	@touch $@

$(BENCH)/.installed: $(SOURCES)
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade '.[torch,arrow,cli]'
	@touch $@

# Version 0.1, which times are compared with.
$(BENCH01)/.installed:
	$(PYTHON) -m venv $(BENCH01)
	mkdir -p $(BENCH01)/source
	git archive 6cd78e5 | tar x -C $(BENCH01)/source
	$(BENCH01)/bin/python -m pip install --quiet --disable-pip-version-check ./$(BENCH01)/source
	@touch $@
