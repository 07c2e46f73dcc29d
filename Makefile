# Everything runs inside .venv. `make test` and `make install` need nothing but Python 3.11-3.13.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Compiled modules are kept whatever the environment says: the tests start many interpreters.
RUN := OMP_WAIT_POLICY=PASSIVE PYTHONDONTWRITEBYTECODE=

.DEFAULT_GOAL := help
.PHONY: help install train test browser check chaos docs package showcase demo format clean

help:  ## list the commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

install: $(STAMP)  ## create .venv with everything in it

# The stamp is renewed only when what is installed changes, so a second run starts at once.
$(STAMP): pyproject.toml constraints.txt
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[atari,minatar,minigrid,look,ray,dev]"
	@touch $@

train: install  ## install when needed, then train EVaDE on MinAtar Breakout (a few minutes)
	$(BIN)/evade train quick evade --game minatar/breakout

test: install browser  ## install when needed, then lint, types, layering and tests
	@$(MAKE) --no-print-directory check

browser:  ## install chromium for the browser tests when it is absent and may be installed
	@command -v chromium >/dev/null \
		|| { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
			&& apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qqy chromium >/dev/null; } \
		|| echo "chromium is absent and cannot be installed here: the browser tests are left out."

check:  ## the same checks as `make test`, without installing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(RUN) $(BIN)/python -m pytest -n 3 --maxschedchunk 1

chaos: install  ## attack runs and commands, and print what was found (hours; CHAOS="--scale 0.05" runs a part)
	$(RUN) PYTHONPATH=tests $(BIN)/python -m chaos $(CHAOS)

docs: install  ## build the documentation into build/site; any warning or dead link is an error
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[docs]"
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

package: install  ## build wheel and sdist into dist, and check what package indexes will show
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[release]"
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	$(BIN)/twine check --strict dist/*

showcase: install  ## train the two small runs of the folder showcase again (about 20 minutes)
	$(RUN) $(BIN)/python tools/showcase.py build/showcase showcase

demo: install  ## train the run that `evade look --demo` shows, and put it into the package (a few minutes)
	$(RUN) $(BIN)/python tools/make_demo.py

format:  ## let ruff format and fix what it can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:  ## remove .venv and caches
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
