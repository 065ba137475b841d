# `make demo` and `make test` each do all their set-up themselves.
BIN := .venv/bin
TRAIN := .venv-train/bin

.PHONY: help setup setup-train setup-android demo link-demo site lint test test-train androidworld-check study e2e bench clean

help:
	@echo "make demo         play PocketPhone and write the report; then agents with known faults in three protocols (about 75 s)"
	@echo "make link-demo    the second chapter of the demo alone"
	@echo "make site         verify every submission in leaderboards/ and build the boards' page in out/site"
	@echo "make test         lint, type-check and run all tests, with coverage; the trainer's in an environment of their own"
	@echo "make test-train   the trainer's tests alone (makes .venv-train)"
	@echo "make androidworld-check CHECKOUT=DIR [PYTHON=..]   AndroidWorld's own tasks on the simulated phone (DIR: a checkout, or what androidworld install made)"
	@echo "make study        teach a tiny model by SFT, offline and semi-online RL, and compare (hours; goes on where it was stopped)"
	@echo "make e2e          run the harness against a real vLLM server (a tiny model made here)"
	@echo "make bench        print the throughput of the harness and of the converter"

setup:
	@scripts/setup.sh

setup-train: setup
	@$(BIN)/python scripts/setup_train.py

setup-android: setup
	@$(BIN)/python scripts/setup_android.py

demo: setup
	@scripts/demo.sh

link-demo: setup
	@$(BIN)/python scripts/link_demo.py --out out/link

site: setup
	@$(BIN)/sopbench board build --out out/site

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test:
	@scripts/setup.sh browser
	@$(MAKE) --no-print-directory setup-android
	@$(MAKE) --no-print-directory lint
	@rm -f .coverage .coverage.*
	$(BIN)/pytest -n 2 --dist loadfile --cov --cov-report=term
	@$(MAKE) --no-print-directory test-train

test-train: setup-train
	$(TRAIN)/pytest -n 2 --dist loadfile tests/train

androidworld-check: setup-android
	SOPBENCH_ANDROIDWORLD=$(CHECKOUT) SOPBENCH_ANDROIDWORLD_PYTHON=$(PYTHON) $(BIN)/pytest tests/androidworld -s

study: setup-train
	$(TRAIN)/python -m uis1_train.tiny study --out out/study

e2e: setup-train
	@tests/e2e/setup_vllm.sh
	$(BIN)/pytest tests/e2e -m e2e -o addopts="--strict-markers"

bench: setup
	$(BIN)/python -m tests.benchmarks.bench_throughput
	$(BIN)/python -m tests.benchmarks.bench_convert
	$(BIN)/python -m tests.benchmarks.bench_phone
	$(BIN)/python -m tests.benchmarks.bench_miniwob
	$(BIN)/python -m tests.benchmarks.bench_learning_signal
	$(BIN)/python -m tests.benchmarks.bench_rollout_barrier --speed 20

clean:
	rm -rf .venv .venv-* .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist out runs
