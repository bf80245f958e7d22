# `make demo` and `make test` are all that a newcomer needs; each does its own set-up.
.DEFAULT_GOAL := help
PYTHON ?=
export PYTHON
BIN := .venv/bin
CODE := $(wildcard packer cloud extender tuner_shim perf examples)

.PHONY: help demo test test-all lint format bench clean

help: ## what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## plan examples/cluster.json and show what it saves (about a minute, set-up included)
	@sh .ci/venv.sh
	@$(BIN)/python examples/demo.py

test: ## the tests that need Python alone (about three minutes); with CI=true all of them
ifeq ($(CI),true)
	@$(MAKE) --no-print-directory test-all
else
	@sh .ci/venv.sh test
	@$(BIN)/python -m pytest -q
endif

test-all: ## every test, also those with Go and a browser; a skip is a failure
	@sh .ci/venv.sh test
	@sh .ci/system.sh
	@BAYPLAN_TEST_ALL=1 $(BIN)/python -m pytest -q

lint: ## ruff, mypy --strict, import contracts
	@sh .ci/venv.sh test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy $(CODE)
	@$(BIN)/lint-imports

format: ## let ruff format and mend
	@sh .ci/venv.sh test
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: ## the benchmark ladder (minutes); `.venv/bin/packer bench -h` has more
	@sh .ci/venv.sh test
	@$(BIN)/packer bench

clean: ## remove what was made, .venv included
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis report.html
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
