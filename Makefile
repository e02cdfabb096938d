# Every target sets up what it needs: a .venv with the package and its tools, made again only when
# pyproject.toml changes. Needs Python 3.11 or newer and make. The demo needs far less than the rest: no torch,
# no Dask, no Sphinx.
PYTHON ?= python3
BIN := .venv/bin
READY_FOR_DEMO := .venv/.ready-for-demo
READY := .venv/.ready
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
BENCHMARKS := core growth inputs streams wide distributed cluster jobs metrics neighbors ensembles search files deep cli

.PHONY: help setup demo test slow test-browser check coverage mutants soak bench reproduce certify docs clean

help:            ## this list
	@sed -n 's/^\([a-z-]*\):.*## */\1\t/p' $(MAKEFILE_LIST)

setup: $(READY)  ## the virtual environment, with everything

# Without --no-compile, pip would compile every file of every package: the demo imports few of them.
$(READY_FOR_DEMO): pyproject.toml
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'modae needs Python 3.11 or newer')"
	$(PYTHON) -m venv .venv
	$(PIP) install --no-compile --editable ".[demo]"
	@touch $@

$(READY): $(READY_FOR_DEMO)
	$(PIP) install "pip>=25.1"  # the first that knows groups
	$(PIP) install --editable ".[all]" --group dev
	@touch $@

demo: $(READY_FOR_DEMO) ## the quick tour: a tuned ensemble on digits, a table, pictures
	@$(BIN)/modae demo --out results/demo

test: $(READY)   ## the tests
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow and not browser"

slow: $(READY)   ## the tests that take longer: large problems, clusters, many interruptions; 100 examples of each property
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "(slow or properties) and not browser" --hypothesis-profile=slow

test-browser: $(READY) ## the report in a real browser; pictures of it in results/browser
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
		{ echo "These tests need a browser: apt-get install chromium chromium-driver" >&2; exit 1; }
	@command -v npm >/dev/null || { echo "These tests need npm: apt-get install nodejs npm" >&2; exit 1; }
	@cd tests/browser && npm install --no-package-lock --no-audit --no-fund --silent
	$(BIN)/python -m pytest -m browser tests/browser

check: $(READY)  ## lint, format, types, layers, duplicated code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_layers.py
	$(BIN)/pylint --disable=all --enable=duplicate-code --min-similarity-lines=8 --ignore-patterns='.*[.]pyi$$' src benchmarks

coverage: $(READY) ## branches that the tests run, subprocesses too; fails below the limits
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q -n 2 --dist worksteal -m "not browser"
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage json --quiet -o .coverage.json
	$(BIN)/python -m benchmarks.branches .coverage.json

mutants: $(READY) ## small mistakes in the code, one at a time: do the tests notice?
	$(BIN)/python -m benchmarks.mutation

soak: $(READY)   ## everything in random order for 20 minutes, then properties with many examples
	$(BIN)/python -m benchmarks.soak --minutes 20
	$(BIN)/python -m pytest -n 2 --dist worksteal --hypothesis-profile=soak -m properties

bench: $(READY)  ## speed, as ratios inside one run
	@status=0; for part in $(BENCHMARKS); do $(BIN)/python -m benchmarks.$$part || status=1; done; exit $$status

reproduce: $(READY) ## the paper's tables, figures and theorems on small samples
	@$(BIN)/modae reproduce --out results/reproduction

certify: $(READY) ## the certificate on a full grid of problems; writes docs/certification.md
	$(BIN)/python -m benchmarks.certify --out docs/certification.md

docs: $(READY) docs/_pages/digits.html ## the documentation, in docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

docs/_pages/digits.html: $(READY) $(wildcard src/modae/report/*.py src/modae/report/assets/*)
	@$(BIN)/python docs/pictures/report.py

clean:           ## remove everything that can be made again
	rm -rf .venv build dist docs/_build docs/_pages docs/api docs/recipes tests/browser/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage* results
