# Each target makes its own virtual environment and installs what it needs.
PYTHON ?= python3
TEST := .venv/test
DEMO := .venv/demo
LOWEST := .venv/lowest
BENCH := .venv/bench
RIVALS := .venv/rivals
BENCH01 := .venv/bench01
BENCH02 := .venv/bench02
SOURCES := $(shell find src -type f ! -name '*.pyc') pyproject.toml README.md LICENSE
OUT ?= $(if $(filter taxi,$(MAKECMDGOALS)),paper-taxi,demo-output)
DATA ?= --help
ONLY ?=
MINUTES ?=
EXAMPLES ?= 500
PROPERTIES ?= 60

.PHONY: demo test test-lowest fuzz check calibrate bench rivals docs docs-serve taxi clean help

help:
	@echo "make demo        a model of the bundled data is rejected, and mended: text, reports, a figure"
	@echo "make test        all tests of the library, under five minutes on two cores"
	@echo "make test-lowest the tests with the lowest versions that pyproject.toml allows (Python 3.11)"
	@echo "make fuzz        odd data, options, tables and models: a right answer or one CondgofError; MINUTES=60 goes on"
	@echo "make check       ruff, mypy, import-linter"
	@echo "make calibrate   level and power of every kind of y and function, resumable; ONLY=name picks cells, MINUTES=30 stops"
	@echo "make bench       speed and memory, against the textbook method and versions 0.1 and 0.2; ONLY=name picks parts"
	@echo "make rivals      power beside other tests, on their problems; resumable, ONLY=name picks tables, MINUTES=30 stops"
	@echo "make docs        the site, in site/: all pages run, all links checked, reports opened in a browser; make docs-serve shows it"
	@echo "make taxi        the paper's taxi experiment; DATA=\"--train FILES --test FILE\" (docs/paper/taxi)"

demo: $(DEMO)/.installed
	$(DEMO)/bin/condgof demo --out $(OUT)

# Rewritten test files are kept as bytecode, also where the environment asks for none: a third of a
# worker's time before its first test.
test: $(TEST)/.installed
	PYTHONDONTWRITEBYTECODE= $(TEST)/bin/python -m pytest -n 2 --dist worksteal --durations=10

# Deprecations that old versions meet are not ours, and the pages of the documentation show what the newest versions print.
test-lowest: $(LOWEST)/.installed
	$(LOWEST)/bin/python -m pytest -n 2 --ignore tests/test_docs.py -W default::DeprecationWarning -W default::FutureWarning

fuzz: $(TEST)/.installed
	CONDGOF_FUZZ=$(EXAMPLES) $(TEST)/bin/python -m pytest -n 2 tests/test_fuzz.py
	CONDGOF_FUZZ=$(PROPERTIES) $(TEST)/bin/python -m pytest -n 2 -m hypothesis --ignore tests/test_fuzz.py
	CONDGOF_FUZZ=$(PROPERTIES) $(TEST)/bin/python -m pytest -n 2 tests/check/test_truth.py tests/check/effects/test_explain.py
	$(TEST)/bin/python tests/fuzz_campaign.py --minutes $(or $(MINUTES),10)

check: $(TEST)/.installed
	$(TEST)/bin/ruff check .
	$(TEST)/bin/ruff format --check .
	$(TEST)/bin/mypy
	$(TEST)/bin/lint-imports

calibrate: $(TEST)/.installed
	PYTHONPATH=tests:docs/_ext $(TEST)/bin/python -m calibration.run --only "$(ONLY)" $(if $(MINUTES),--budget-minutes $(MINUTES)) \
		--page docs/measured/calibration.md

bench: $(BENCH)/.installed $(BENCH01)/.installed $(BENCH02)/.installed
	$(BENCH)/bin/python benchmarks/run.py --only "$(ONLY)"

rivals: $(RIVALS)/.installed
	PYTHONPATH=benchmarks:docs/_ext $(RIVALS)/bin/python -m rivals --only "$(ONLY)" --minutes $(or $(MINUTES),120)

docs: $(TEST)/.installed $(TEST)/.docs
	$(TEST)/bin/python docs/_ext/cli_page.py docs/reference/cli.md
	rm -rf site docs/auto_gallery docs/reference/generated
	OMP_NUM_THREADS=1 $(TEST)/bin/python -m sphinx -q -W --keep-going -E -j 2 -d $(TEST)/doctrees docs site
	rm -rf jupyter_execute
	$(TEST)/bin/python -m pytest -q -n 2 tests/browser tests/paper
	CONDGOF_SITE=1 $(TEST)/bin/python -m pytest -q -n 2 tests/site tests/test_docs.py -k 'test_site or code_blocks or example'

docs-serve: docs
	$(TEST)/bin/python -m http.server --directory site --bind 127.0.0.1 8000

taxi: $(TEST)/.installed
	$(TEST)/bin/python docs/paper/taxi/taxi.py $(DATA) --out $(OUT)

clean:
	rm -rf .venv dist build site docs/auto_gallery docs/reference/generated demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

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

$(TEST)/.docs: $(TEST)/.tools
	$(TEST)/bin/python -m pip install --quiet --group docs
	@touch $@

$(LOWEST)/.installed: $(SOURCES) tests/lowest.py
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python tests/lowest.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --upgrade pip
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade -c $(LOWEST)/constraints.txt \
		--group dev '.[all]'
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

$(RIVALS)/.installed: $(SOURCES)
	$(PYTHON) -m venv $(RIVALS)
	$(RIVALS)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade --group rivals '.[plot,frames,sklearn,statsmodels]'
	@touch $@

# Versions 0.1 and 0.2, which times are compared with.
$(BENCH01)/.installed:
	$(PYTHON) -m venv $(BENCH01)
	mkdir -p $(BENCH01)/source
	git archive 6cd78e5 | tar x -C $(BENCH01)/source
	$(BENCH01)/bin/python -m pip install --quiet --disable-pip-version-check ./$(BENCH01)/source
	@touch $@

$(BENCH02)/.installed:
	$(PYTHON) -m venv $(BENCH02)
	mkdir -p $(BENCH02)/source
	git archive 40cbccf | tar x -C $(BENCH02)/source
	$(BENCH02)/bin/python -m pip install --quiet --disable-pip-version-check ./$(BENCH02)/source
	@touch $@
