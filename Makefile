# Two commands a newcomer needs: `make demo` and `make test`. Everything else is for the people who build it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test lint types check daemon bench soak lock clean

help:  ## Show what there is
	@sed -n 's/^\([a-z]*\):.*##/\1 -/p' $(MAKEFILE_LIST)

# Set-up runs again only when the lock or the project's metadata changed.
$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "drysweep needs Python 3.11 or newer; say make PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $(STAMP)
