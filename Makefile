# `make demo` and `make test` each do all their set-up themselves.
BIN := .venv/bin

.PHONY: help setup demo lint test e2e bench clean

help:
	@echo "make demo   run the suite 'pocket' with the built-in noisy oracle, and write its report"
	@echo "make test   lint, type-check and run all tests, with coverage"
	@echo "make e2e    run the harness against a real vLLM server (a tiny model made here)"
	@echo "make bench  print the throughput of the harness and of the converter"

setup:
	@scripts/setup.sh

demo: setup
	@$(BIN)/sopbench run --out out/demo-$$(date +%Y%m%d-%H%M%S)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test:
	@scripts/setup.sh browser
	@$(MAKE) --no-print-directory lint
	@rm -f .coverage .coverage.*
	$(BIN)/pytest -n 2 --dist loadfile --cov --cov-report=term

e2e: setup
	@tests/e2e/setup_vllm.sh
	$(BIN)/pytest tests/e2e -m e2e -o addopts="--strict-markers"

bench: setup
	$(BIN)/python -m tests.benchmarks.bench_throughput
	$(BIN)/python -m tests.benchmarks.bench_convert

clean:
	rm -rf .venv .venv-* .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist out runs
