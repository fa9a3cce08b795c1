# make setup   a virtual environment with everything in it (FFTW's development files too)
# make run     the paper's setting on the circle: settings file -> store, table, figure
# make test    style, types, import contracts and tests (five minutes on two cores)
# make test-all   everything that can be checked, hours: the same with the slow tests (claims of
#              the validation in short, wheel and sdist, the page of `mfpde view` in a browser,
#              notebooks); 1000 new examples of each property; the whole validation, and whether
#              it notices faults that are put into the package
# make mutants whether the tests notice faults in the source: one line changed at a time, an hour;
#              tests/mutants.md
# make chromium   a browser for the tests of `mfpde view`, where apt-get can bring one; `test-all`
#              asks for it, and without one skips those tests with the reason
# make bench   whole runs, first runs, the package beside what one would write instead, growth,
#              scale, a transport suite: a table (half an hour or so)
#
# make docs    the documentation, docs/_build/html/index.html; warnings are errors, and so are
#              links between its pages that lead nowhere
# make linkcheck   whether the pages elsewhere that it links to are there
# make dist    wheel and sdist
#
# `run` and `test` do the set-up that they need themselves (`run`: the package alone); a fresh
# machine needs Python 3.11, a C compiler and make.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
ALL_READY := $(VENV)/.all-ready
RUN_READY := $(VENV)/.run-ready

.PHONY: setup run test test-all mutants bench docs linkcheck dist fast check explore fftw chromium clean

setup: $(READY)

# What the package itself needs; modules are compiled when they are first imported.
$(RUN_READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "mfpde needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	@$(MAKE) --no-print-directory fftw
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e .
	@touch $@

$(READY): $(RUN_READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@echo "Compiling for this machine, once (about a minute)."
	-@for run in circle_descent sphere_descent_relu; do \
	  $(BIN)/mfpde run examples/paper_$$run.toml --quiet --set solve.t_end=1; \
	done
	@touch $@

# What is heavy and only `test-all` needs.
$(ALL_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[all]'
	@touch $@

# shtns compiles against FFTW, whose development files pip cannot bring.
fftw:
	@if echo '#include <fftw3.h>' | $${CC:-cc} -E - >/dev/null 2>&1 \
	    || [ -e /opt/homebrew/include/fftw3.h ] || [ -e /usr/local/include/fftw3.h ]; then \
	  exit 0; \
	fi; \
	echo "FFTW's development files are missing; installing them."; \
	if command -v apt-get >/dev/null; then \
	  if [ "$$(id -u)" = 0 ]; then as_root=""; \
	  elif sudo -n true 2>/dev/null; then as_root="sudo -n"; \
	  else \
	    echo "No right to install packages. Run this once, then make again:"; \
	    echo "    sudo apt-get install libfftw3-dev"; \
	    exit 1; \
	  fi; \
	  $$as_root apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive $$as_root apt-get install -y -qq libfftw3-dev; \
	elif command -v brew >/dev/null; then \
	  brew install fftw libomp; \
	else \
	  echo "Install FFTW's development files (fftw3.h) with your system's package manager,"; \
	  echo "then make again."; \
	  exit 1; \
	fi

run: $(RUN_READY)
	$(BIN)/mfpde run examples/paper_circle_descent.toml --overwrite \
	  --out results/paper_circle_descent.zarr --figure results/paper_circle_descent.pdf

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fast: $(READY)
	$(BIN)/python -m pytest -q -n 2

# The page of `mfpde view` is tested in it.
chromium:
	@for browser in chromium chromium-browser google-chrome; do \
	  if command -v $$browser >/dev/null; then exit 0; fi; \
	done; \
	if ! command -v apt-get >/dev/null; then \
	  echo "No chromium, and no apt-get to bring it: tests in a browser will be skipped."; exit 0; \
	elif [ "$$(id -u)" = 0 ]; then as_root=""; \
	elif sudo -n true 2>/dev/null; then as_root="sudo -n"; \
	else \
	  echo "No chromium, and no right to install it: tests in a browser will be skipped."; \
	  echo "To run them:  sudo apt-get install chromium"; exit 0; \
	fi; \
	echo "Installing chromium for the tests in a browser (about half a minute)."; \
	{ $$as_root apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive $$as_root apt-get install -y -qq chromium >/dev/null; } || \
	  echo "chromium could not be installed: tests in a browser will be skipped."

test: check fast

# 1000 new examples of each property; a failure prints the line that repeats it
# (@reproduce_failure).
explore: $(READY)
	$(BIN)/python -m pytest -q -n 2 -m hypothesis --hypothesis-profile=explore

test-all: check chromium $(ALL_READY)
	$(BIN)/python -m pytest -q -n 2 --run-slow
	$(MAKE) --no-print-directory explore
	$(BIN)/python -m mfpde verify --update
	$(BIN)/python -m validation.saboteurs

mutants: $(READY)
	$(BIN)/python tests/mutants.py

bench: $(READY)
	$(BIN)/python benchmarks/bench.py

# What builds it is installed when it is first asked for.
docs: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html
	@echo "docs/_build/html/index.html"

linkcheck: docs
	$(BIN)/python -m sphinx -q -b linkcheck docs docs/_build/linkcheck

dist: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build
	$(BIN)/python -m build

# Compiled kernels are cached beside their sources, and outlive a change of a kernel that they
# call in another module.
clean:
	find mfpde tests -name '*.nb[ic]' -delete
