# `make demo` and `make test` are each all it takes on a machine with git, make and Python 3.11 or newer.
SHELL := /bin/sh
PY := .venv/bin/python
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo up test check lint format format-check types contracts migrations mutants verdicts bench clean local dev

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

demo: local ## the whole main job on one machine against a sandbox gateway (ARGS="--once" ends by itself)
	@exec $(PY) manage.py demo $(ARGS)

up: local ## web, worker, beat and broker for real use on this machine
	@if [ -f .env ]; then set -a; . ./.env; set +a; fi; exec $(PY) manage.py up $(ARGS)

test: dev ## all tests: SQLite, PostgreSQL, whole processes, browser
	@exec $(PY) -m tests.run $(ARGS)

check: lint format-check types contracts migrations mutants test ## everything CI checks

lint: dev ## ruff
	$(PY) -m ruff check .

format: dev ## rewrite the code in the project's format
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix --select I .

format-check: dev
	$(PY) -m ruff format --check --quiet .

types: dev ## mypy, strict
	$(PY) -m mypy .

contracts: dev ## which module may import which
	.venv/bin/lint-imports

migrations: dev ## no migration is missing
	$(PY) manage.py makemigrations --check --dry-run

mutants: dev ## for each rule one change of the code that some test must notice
	$(PY) -m tests.mutants.run $(ARGS)

verdicts: dev ## measure the verdicts on labelled data
	$(PY) -m tests.benchmarks.verdicts $(ARGS)

bench: dev ## measure what building a request costs
	$(PY) -m tests.benchmarks.build_request $(ARGS)

clean: ## remove caches and what the demo left (not .venv, not the state of up)
	rm -rf .local/demo .local/demo.lock .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis test-results
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

local:
	@scripts/setup.sh local

dev:
	@scripts/setup.sh dev
