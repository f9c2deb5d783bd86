# Two commands a newcomer needs: `make demo` and `make test`. Everything else is for the people who build it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
# In the order of their folders: the long tests come first, and the short ones fill the gaps at the end.
SIDE_BY_SIDE := -n auto --dist loadscope --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help demo test lint types check docs bench daemon browser older soak registry reference lock clean

help:  ## Show what there is
	@sed -n 's/^\([a-z]*\):.*##/\1 -/p' $(MAKEFILE_LIST)

# Set-up runs again only when the lock or the project's metadata changed.
$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "drysweep needs Python 3.11 or newer; say make PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $(STAMP)

demo: $(STAMP)  ## Sweep a made-up registry of 400 services to its outcome
	$(BIN)/drysweep demo

test: $(STAMP)  ## Run the tests
	$(BIN)/python -m pytest -q $(SIDE_BY_SIDE)

lint: $(STAMP)  ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)  ## Check types
	$(BIN)/mypy

check: lint types test  ## All of lint, types and test

docs: $(STAMP)  ## Build the documentation as a site, its links checked
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --config-file .mkdocs/mkdocs.yml
	@echo 'build/site/index.html; its search works at http://127.0.0.1:8000 after: $(BIN)/python -m http.server --bind 127.0.0.1 --directory build/site'

bench: $(STAMP)  ## Measure intake, a round and the command line, as ratios
	$(BIN)/python -m benchmarks

daemon: $(STAMP)  ## Take campaigns through real Dagster processes, and kill them on the way
	$(BIN)/python -m pytest -q -m daemon --timeout 3600

browser: $(STAMP)  ## Open reports in a real browser, which CHROMIUM names or the path has
	$(BIN)/python -m pytest -q -m "browser and not soak" --timeout 900

OLDER := build/duckdb-1.5
older: $(STAMP)  ## Run the core's tests on the older DuckDB line that is supported
	test -d $(OLDER)/duckdb || $(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--target $(OLDER) 'duckdb>=1.5.5,<2'
	PYTHONPATH=$(OLDER) $(BIN)/python -m pytest -q $(SIDE_BY_SIDE) tests/unit/test_fingerprint.py \
		tests/integration/test_engine.py tests/integration/test_history*.py tests/integration/test_campaign_diff.py

soak: $(STAMP)  ## Run the long tests, and those with examples on new ones
	$(BIN)/python -m pytest -q -m "soak or hypothesis" --hypothesis-profile anew --timeout 3600

registry: $(STAMP)  ## Write the made-up registry that assets/sweeps/config_registry looks at
	test -d examples/registry || $(BIN)/drysweep demo --registry examples/registry

reference: $(STAMP)  ## Write the references of commands and tables again, from what they describe
	$(BIN)/python -m drysweep_pipeline.cli.reference > docs/reference/command_line.md
	$(BIN)/python -m drysweep_pipeline.history.page > docs/reference/tables.md

lock: ## Make the lock again from pyproject.toml (needs uv)
	uv pip compile pyproject.toml --group dev --universal --generate-hashes --no-emit-index-url --no-annotate \
		--no-strip-extras --python-version 3.11 -o requirements.lock -q

clean:  ## Remove what was built, not what was found
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
