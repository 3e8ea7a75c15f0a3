# Warpgrade's front door: `make help` lists what there is. Everything calls scripts/bootstrap first, which brings what is missing.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory

LAB ?= spmm
CASE ?=
BACKEND ?= auto
CASES ?=
POLICY ?=
RUN ?=
SUBMISSIONS ?=
ARGS ?=

BUILD := build
WARPGRADE := $(BUILD)/bin/warpgrade
PYTHON := .venv/bin/python
# The demo's cases: small matrices with one trap each, and real graphs; those that are not on this machine are left out.
DEMO_CASES := public,cora,pubmed,ego-Facebook,wordnet-k32,debian-packages-k32
# Judged sources: formatted as their authors wrote them.
FORMATTED := $(shell git ls-files 'grader/*.cpp' 'grader/*.h' 'grader/*.cu' 'datasets/*.cpp' 'datasets/*.h' \
	'reference/*.cpp' 'reference/*.h' 'reference/*.cu' 'reference/*.cuh' 2>/dev/null | grep -v '^grader/tests/\(submissions\|demo_class\)/')

.PHONY: help bootstrap build demo check test bench grade report submit handout format lint clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  LAB=spmm CASE=synth-hub-k32 BACKEND=auto|cuda|emulator CASES=... POLICY=file RUN=folder ARGS=..."

bootstrap: ## install what is missing: packages, CUDA toolkit, Python environment
	@scripts/bootstrap

build: bootstrap ## compile everything
	@cmake -S . -B $(BUILD) -G Ninja >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log
	@ninja -C $(BUILD) $(if $(filter 1,$(VERBOSE)),-v)

demo: build ## judge a small class on real graphs and render the report
	@$(WARPGRADE) grade grader/tests/demo_class --reference reference/spmm/naive --reference reference/spmm/optimized \
	  --lab spmm --run runs/demo --fresh --cases $(DEMO_CASES) --backend $(BACKEND) --allow-unsandboxed --speed-budget 2 $(ARGS)
	@$(WARPGRADE) report runs/demo
	@echo "the report: runs/demo/report/index.html"

check: build lint ## every test of the project
	@ctest --test-dir $(BUILD) --output-on-failure -j2
	@$(PYTHON) -m pytest -q

test: build ## a student's own run: LAB=, CASE=, BACKEND=
	@$(BUILD)/bin/warpgrade-student-test --lab=$(LAB) --case='$(CASE)' --backend=$(BACKEND) $(ARGS)

bench: build ## the staff's solutions against the thresholds (on a GPU): LAB=, CASES=
	@$(WARPGRADE) bench --lab $(LAB) --backend $(BACKEND) $(if $(CASES),--cases '$(CASES)') $(if $(RUN),--run '$(RUN)') $(ARGS)

grade: build ## judge a class: SUBMISSIONS=folder LAB=, RUN=, POLICY=, CASES=
	@test -n '$(SUBMISSIONS)' || { echo 'say SUBMISSIONS=folder: one sub-folder a student'; exit 1; }
	@$(WARPGRADE) grade '$(SUBMISSIONS)' --lab $(LAB) --backend $(BACKEND) $(if $(RUN),--run '$(RUN)') \
	  $(if $(POLICY),--policy '$(POLICY)') $(if $(CASES),--cases '$(CASES)') $(ARGS)

report: build ## render a run: RUN=folder
	@test -n '$(RUN)' || { echo 'say RUN=folder: what `make grade` printed'; exit 1; }
	@$(WARPGRADE) report '$(RUN)'

submit: ## pack a submission (not in this release)
	@echo 'make submit is not in this release: hand in the folder student/$(LAB)'; exit 1

handout: ## make the tree that students get (not in this release)
	@echo 'make handout is not in this release: give students the whole tree less reference/$(LAB)/{optimized,steps}'; exit 1

format: bootstrap ## format C++, CUDA and Python
	@clang-format -i $(FORMATTED)
	@$(PYTHON) -m ruff format -q . && $(PYTHON) -m ruff check -q --fix .

lint: bootstrap ## formatting and Python checks
	@clang-format --dry-run -Werror $(FORMATTED)
	@$(PYTHON) -m ruff check -q . && $(PYTHON) -m ruff format -q --check .

clean: ## remove builds and runs; the cache of datasets and toolkits stays
	@rm -rf $(BUILD) runs/demo
