# Two commands for everybody: `make demo` and `make test`. Each makes .venv when it is missing and
# refreshes it when one of the files that say what belongs in it has changed. `make docs` builds the
# site in docs/_build/html.

PYTHON ?= python3
VENV ?= .venv
# A CUDA build of torch brings the Triton that belongs to it; a CPU build brings none, then this one.
TRITON ?= 3.9.0

# Tests of one file stay in one process, and those that need a browser, too (tests/conftest.py).
PYTEST = --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

PIP = $(VENV)/bin/python -m pip --disable-pip-version-check
RECIPES = pyproject.toml constraints.txt Makefile

.PHONY: demo test lint docs clean

demo: $(VENV)/.installed
	@$(VENV)/bin/protonlab demo

test: $(VENV)/.installed-test
	$(VENV)/bin/python -m pytest $(PYTEST)

lint: $(VENV)/.installed-test
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/ruff check
	$(VENV)/bin/mypy

docs: $(VENV)/.installed-docs
	$(VENV)/bin/python -m sphinx --fail-on-warning --keep-going --jobs auto --quiet $(SPHINX) \
	  docs docs/_build/html

clean:
	rm -rf $(VENV) .venv-oldest docs/_build

$(VENV)/.installed: EXTRAS =
$(VENV)/.installed-test: EXTRAS = [test]
$(VENV)/.installed-docs: EXTRAS = [docs]
$(VENV)/.installed $(VENV)/.installed-test $(VENV)/.installed-docs: $(VENV)/.created $(RECIPES)
	$(PIP) install --constraint constraints.txt torch
	$(VENV)/bin/python -c 'import importlib.util as i; exit(not i.find_spec("triton"))' \
	  || $(PIP) install triton==$(TRITON)
	$(PIP) install --constraint constraints.txt --editable '.$(EXTRAS)'
	@touch $@

$(VENV)/.created:
	@command -v $(PYTHON) >/dev/null \
	  || { echo "protonlab needs Python 3.11 or newer, but there is no $(PYTHON) here." >&2; \
	       echo "Install it (Debian, Ubuntu: apt install python3 python3-venv)," >&2; \
	       echo "or name yours: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "protonlab needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version)." >&2; \
	       echo "Name a newer one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "$(PYTHON) cannot make virtual environments: its venv module is missing." >&2; \
	       echo "Debian, Ubuntu: apt install python3-venv   (then run make again)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@
