# The front door. Every target first runs scripts/bootstrap, which gets what the target needs and does nothing when all is
# there, and builds what the target runs: tests are built by `make check` alone.
# Variables given on the command line reach the recipes through the environment, so that any file name may be used.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.ONESHELL:
MAKEFLAGS += --no-print-directory

# Two checkouts share what the compiler made: paths count from their own root.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1

# What scripts/bootstrap unpacked where it could not install: read by bash before each recipe.
export BASH_ENV := $(CURDIR)/.cache/environment

BUILD ?= build
LAB ?= spmm
BACKEND ?= auto
CASE ?=
CASES ?=
POLICY ?=
RUN ?=
SUBMISSIONS ?= submissions
DEMO_CLASS := grader/tests/demo_class
DEMO_RUN := runs/demo
PARAMS ?=
SUBMISSION ?=
OUTPUT ?=
REMOTE ?=
INPUT ?=
ARCHITECTURES ?=
MINUTES ?=
export MINUTES
export PARAMS SUBMISSION OUTPUT REMOTE INPUT ARCHITECTURES
export BUILD LAB BACKEND CASE CASES POLICY RUN SUBMISSIONS DEMO_CLASS DEMO_RUN

# With its name as messages are to spell it.
WARPGRADE := WARPGRADE_COMMAND="$$BUILD/bin/warpgrade" "$$BUILD/bin/warpgrade"
# Optional arguments, as bash arrays: an empty variable adds nothing.
optional = $${$(2):+$(1) "$$$(2)"}
# Where bubblewrap does not work: only for submissions that you trust.
UNBOXED := $(if $(ALLOW_UNSANDBOXED),--allow-unsandboxed)
$(if $(filter-out 1,$(ALLOW_UNSANDBOXED)),$(error ALLOW_UNSANDBOXED=$(ALLOW_UNSANDBOXED): say 1, or leave it out))
JUDGING := --lab "$$LAB" --backend "$$BACKEND" $(call optional,--cases,CASES) $(call optional,--policy,POLICY) \
           $(call optional,--run,RUN) $(UNBOXED)
# Small matrices with one trap each, and real graphs; those whose source is not on this machine are left out.
DEMO_CASES := public,?cora,?pubmed,?ego-Facebook,?wordnet-k32,?debian-packages-k32
DEMO := $(WARPGRADE) grade "$$DEMO_CLASS" --reference reference/spmm/naive --reference reference/spmm/optimized --lab spmm \
        --cases '$(DEMO_CASES)' --run "$$DEMO_RUN" --backend "$$BACKEND" --speed-budget 2 --allow-unsandboxed --fresh
# Our own C++ and CUDA; the corpora are students' writing.
OUR_SOURCES := git ls-files -z -- '*.h' '*.cpp' '*.cu' '*.cuh' ':!grader/tests/submissions' ':!$(DEMO_CLASS)'
# Without pages of which a program writes a part, between marks, or the whole.
OUR_PAGES := git grep -LzE '^<!-- ([a-z]+: begin|cases: made|limits)' -- '*.md' ':!reports/published/h?00/*' ':!*/records/*'
OUR_SCRIPTS := git grep -lzE '^\#!/(usr/bin/env bash|bin/bash|bin/sh)' -- ':!*.py' ':!*.cpp' ':!*.md' ':!*.cu'
PYTHON := .venv/bin/python

.PHONY: help
help:  ## this list
	@echo "Warpgrade: harness and grader for GPU-programming courses. Works with and without a GPU."
	@echo
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/\1 \2/p' Makefile |
	  while read -r target about; do printf '  make %-14s %s\n' "$$target" "$$about"; done
	@echo
	@echo "Variables: LAB=$(LAB)  BACKEND=auto|cuda|emulator  CASE, CASES  SUBMISSIONS  POLICY  RUN  BUILD=$(BUILD)  ARCHITECTURES=75-virtual,90 (GPUs of the judge)"
	@echo "           ALLOW_UNSANDBOXED=1 (grade, bench, sweep, profile: go on where bubblewrap does not work; for code that you trust)"
	@echo 'Example:   make grade LAB=spmm SUBMISSIONS="hand-ins/week 7" RUN=runs/week7'

# What scripts/bootstrap gets: what builds and judges; for a report its Python packages, too; for the tests, all.
FOR_TESTS := bootstrap release fuzz check check-quick lint tidy format ctest pytest build-tests bench-emulator
WITHOUT_REPORTS := build test submit cases contract check-input package handout wheel wheel-emulator
# What is tested or travels is compiled whole; what is used here, as quickly as possible.
WHOLE := $(filter $(FOR_TESTS) package handout wheel wheel-emulator,$(MAKECMDGOALS))
# A student's machine without a GPU needs no kernels of the judge's; a cluster's, where others compile for all, does.
HAS_GPU := $(wildcard /dev/nvidiactl /dev/dxg /proc/driver/nvidia/version)
LEAN := $(if $(MAKECMDGOALS),$(if $(HAS_GPU)$(filter-out demo test report submit,$(MAKECMDGOALS)),,yes))
# What judges and shows what was judged; the other commands of warpgrade are built when a target wants them.
JUDGES := demo test submit grade bench report cases check-input
EVERY_COMMAND := $(filter-out $(JUDGES),$(MAKECMDGOALS))
BUILT_AS := -DWARPGRADE_FOR_USE=$(if $(WHOLE),OFF,ON) -DWARPEMU_LEVELS="$(if $(WHOLE),v2;v3;v4,machine)" \
            -DWARPGRADE_GPU_SIDE=$(if $(LEAN),OFF,ON) -DWARPGRADE_EVERY_COMMAND=$(if $(EVERY_COMMAND),ON,OFF)
PURPOSE := $(if $(filter $(FOR_TESTS),$(MAKECMDGOALS)),tests,core $(if $(filter test,$(MAKECMDGOALS)),oracle) $(if $(filter-out $(WITHOUT_REPORTS),$(MAKECMDGOALS)),reports))
# Nothing that is compiled needs Python's packages: they come meanwhile, for targets that build.
PYTHON_BESIDE := $(if $(filter-out $(JUDGES) sweep profile,$(MAKECMDGOALS)),,$(filter oracle reports,$(PURPOSE)))

.PHONY: bootstrap
bootstrap:  ## install what the project needs (each other target gets what it needs itself)
	@$(if $(PYTHON_BESIDE),WARPGRADE_PYTHON_LATER=1) scripts/bootstrap $(PURPOSE)

.PHONY: configure
configure: bootstrap
	@if [[ ! -f "$$BUILD/build.ninja" || .cache/toolchain.env -nt "$$BUILD/build.ninja" ]]; then
	  cmake --fresh -S . -B "$$BUILD" -G Ninja -DWARPGRADE_FEW_UNITS=ON $(BUILT_AS) \
	    -DCMAKE_CUDA_COMPILER="$$(sed -n 's/^NVCC=//p' .cache/toolchain.env)" \
	    $${ARCHITECTURES:+"-DCMAKE_CUDA_ARCHITECTURES=$${ARCHITECTURES//[, ]/;}"}
	elif [[ -n $$ARCHITECTURES ]] && ! grep -q "^CMAKE_CUDA_ARCHITECTURES:.*=$${ARCHITECTURES//[, ]/;}$$" "$$BUILD/CMakeCache.txt"; then
	  cmake -S . -B "$$BUILD" "-DCMAKE_CUDA_ARCHITECTURES=$${ARCHITECTURES//[, ]/;}"
	elif [[ -n "$(WHOLE)" ]] && grep -q '^WARPGRADE_FOR_USE:BOOL=ON\|^WARPEMU_LEVELS:STRING=machine\|^GTest_DIR:PATH=GTest_DIR-NOTFOUND' "$$BUILD/CMakeCache.txt"; then
	  cmake -S . -B "$$BUILD" $(BUILT_AS)  # it was configured for use, without tests
	elif [[ -z "$(LEAN)" ]] && grep -q '^WARPGRADE_GPU_SIDE:BOOL=OFF' "$$BUILD/CMakeCache.txt"; then
	  cmake -S . -B "$$BUILD" -DWARPGRADE_GPU_SIDE=ON
	fi
	if [[ -n "$(EVERY_COMMAND)" ]] && grep -q '^WARPGRADE_EVERY_COMMAND:BOOL=OFF' "$$BUILD/CMakeCache.txt"; then
	  cmake -S . -B "$$BUILD" -DWARPGRADE_EVERY_COMMAND=ON
	fi

# Where two sources that are compiled as one have a local name in common, each is compiled alone. Not after an
# interruption, which ninja answers with another code than 1.
COMPILE = ninja -C "$$BUILD" $(1) || { [[ $$? -eq 1 ]] && grep -q '^WARPGRADE_FEW_UNITS:BOOL=ON' "$$BUILD/CMakeCache.txt" && \
	  echo "make: once more, each source alone" >&2 && cmake -S . -B "$$BUILD" -DWARPGRADE_FEW_UNITS=OFF && ninja -C "$$BUILD" $(1); }

.PHONY: build
build: configure  ## compile every command of warpgrade (demo, test, submit, grade, bench and report: those that judge)
	@$(if $(PYTHON_BESIDE),scripts/bootstrap $(PURPOSE) & python=$$!; trap 'kill "$$python" 2>/dev/null || true' EXIT)
	$(call COMPILE,warpgrade)
	$(if $(PYTHON_BESIDE),wait "$$python"; trap - EXIT)

.PHONY: build-tests
build-tests: configure  ## compile everything, the tests as well
	@$(call COMPILE,)

.PHONY: demo
demo: build  ## grade a small class and the reference solutions, render the report
	@$(DEMO)
	$(WARPGRADE) report "$$DEMO_RUN"

.PHONY: check
check: build-tests lint ctest pytest  ## build, lint and run all tests

.PHONY: check-quick
check-quick: build-tests lint ctest  ## build, lint and the C++ tests: about two minutes once built

.PHONY: lint
lint: configure  ## formatting of C++ and of pages; ruff and mypy for Python, shellcheck for scripts, clang-tidy for changed sources
	$(OUR_SOURCES) | xargs -0 .venv/bin/clang-format --dry-run -Werror
	$(PYTHON) -m ruff check --quiet
	$(PYTHON) -m ruff format --check --quiet
	$(PYTHON) -m mypy
	$(PYTHON) -m mypy grader/tests scripts/python
	MYPYPATH=grader/judge/runner/triton $(PYTHON) -m mypy grader/judge --exclude runner/triton/triton/
	$(PYTHON) -m mypy reports/tests
	$(OUR_SCRIPTS) | xargs -0 .venv/bin/shellcheck --external-sources --source-path=SCRIPTDIR --severity=warning
	$(OUR_PAGES) | xargs -0 .venv/bin/mdformat --check
	@if git grep -lI '^#!.*python' -- ':!*.py'; then echo "make lint: Python without .py: neither ruff nor mypy reads it" >&2; exit 1; fi
	@scripts/line-readers
	@scripts/tidy "$$BUILD"

.PHONY: tidy
tidy: configure  ## clang-tidy over every C++ source that was not found clean yet: most of an hour on two cores, the first time
	@scripts/tidy "$$BUILD" --all

.PHONY: format
format: bootstrap  ## format C++, CUDA, Python and pages in place
	$(OUR_SOURCES) | xargs -0 .venv/bin/clang-format -i
	$(PYTHON) -m ruff check --quiet --fix
	$(PYTHON) -m ruff format --quiet
	$(OUR_PAGES) | xargs -0 .venv/bin/mdformat

.PHONY: ctest
ctest: build-tests  ## C++ and CUDA tests
	ctest --test-dir "$$BUILD" --output-on-failure -j "$${CTEST_JOBS:-$$(nproc)}" --output-junit ctest.xml
	[ -z "$${CI:-}" ] || $(PYTHON) .ci/listed_skips.py "$$BUILD/ctest.xml"

# A run for each room: both have a conftest.py, and a module of that name is loaded once. One worker more than cores,
# since many tests wait; conftest.py says which files begin first.
.PHONY: pytest
pytest: build-tests  ## Python tests: reports, the corpus of submissions
	export WARPGRADE="$$(realpath "$$BUILD")/bin/warpgrade"
	status=0 log="$$BUILD/pytest-reports.log"
	$(PYTHON) -m pytest reports/tests >"$$log" 2>&1 & reports=$$!  # beside the grader's, which often wait
	trap 'kill "$$reports"' EXIT
	$(PYTHON) -m pytest --durations 25 -n "$${PYTEST_JOBS:-$$(($$(nproc) + 1))}" --dist loadfile --no-loadscope-reorder -m "not alone" grader/tests || status=$$?
	$(PYTHON) -m pytest -m alone grader/tests || status=$$?  # they look at the whole machine
	wait "$$reports" || status=$$?
	trap - EXIT
	cat "$$log"
	exit $$status

.PHONY: fuzz
fuzz: bootstrap  ## fuzz what reads hostile and foreign bytes, with sanitizers: [MINUTES=10], for a night
	@scripts/fuzz --minutes "$${MINUTES:-10}"

.PHONY: test
test: build  ## a student's own run of student/: [LAB=, default all; CASE= BACKEND= POLICY=; REMOTE=host: on the course's GPU]
	@$(WARPGRADE) test $(if $(filter file,$(origin LAB)),,"$$LAB") $(call optional,--case,CASE) $(call optional,--policy,POLICY) --backend "$$BACKEND" $(call optional,--remote,REMOTE)

.PHONY: cases
cases: build  ## a lab's cases, and what each is for: LAB=
	@$(WARPGRADE) labs "$$LAB"

.PHONY: contract
contract: build  ## the header that states what to write: LAB=
	@$(WARPGRADE) labs contract "$$LAB"

.PHONY: check-input
check-input: build  ## judge student/LAB with a graph and numbers of your own: LAB=gcn INPUT=folder
	@$(WARPGRADE) check "student/$$LAB" --lab "$$LAB" --input "$${INPUT:?give INPUT=folder}" $(UNBOXED)

.PHONY: bench
bench: build  ## time the reference solutions against the thresholds: LAB=
	@$(WARPGRADE) bench $(JUDGING)

.PHONY: bench-emulator
bench-emulator: build-tests  ## speed of the emulator: warp instructions a second, against native code [OUTPUT=file.json SCALING=1,2,4,8,16]
	@$(PYTHON) grader/emulator/tests/bench_emulator.py "$$BUILD" $(call optional,--output,OUTPUT) $(call optional,--scaling,SCALING)

.PHONY: published
published: build  ## write the ladders, plots and tables that are made of reports/published anew
	@PYTHONPATH=reports $(PYTHON) -m warpgrade_bench.published
	PYTHONPATH=reports $(PYTHON) -m warpgrade_bench.peers_view >reports/published/h200/peers.md
	page=reports/published/limits.md folder=$$(mktemp -d)
	trap 'rm -rf -- "$$folder"' EXIT
	PYTHONPATH=reports $(PYTHON) -m warpgrade_bench.published --unpack "$$folder"
	mapfile -t sets < <(find "$$folder" \( -name launches -o -name sweeps \) -prune -o -name run.json -printf '%h\n' | sort)
	{ sed '/^<!-- limits -->$$/q' "$$page"; echo; $(WARPGRADE) limits --markdown "$${sets[@]}" | sed "s|^.$$folder/|\`|"; } >"$$page.new"
	mv -- "$$page.new" "$$page"

.PHONY: bench-peers
bench-peers: bootstrap  ## the staff's solutions beside the fastest public kernels, from reports/published [OUTPUT=folder]
	@PYTHONPATH=reports $(PYTHON) -m warpgrade_bench.peers_view reports/published $(call optional,--output,OUTPUT)

.PHONY: grade
grade: build  ## judge a class: SUBMISSIONS=folder LAB= [POLICY= RUN= CASES= BACKEND=]
	@$(WARPGRADE) grade "$$SUBMISSIONS" $(JUDGING)

.PHONY: sweep
sweep: build  ## try compile-time settings: SUBMISSION=folder PARAMS="TILE=8,16 SPLIT=32,64" [LAB= CASES=]
	@params=(); for param in $${PARAMS:?give PARAMS="NAME=1,2,4 ..."}; do params+=(--param "$$param"); done
	$(WARPGRADE) sweep "$${SUBMISSION:?give SUBMISSION=folder}" "$${params[@]}" $(JUDGING)

.PHONY: profile
profile: build  ## where a submission's work goes, line by line: SUBMISSION=folder CASE=id [LAB= OUTPUT=folder; REMOTE=host: counters of the course's GPU]
	@$(WARPGRADE) profile "$${SUBMISSION:?give SUBMISSION=folder}" --case "$${CASE:?give CASE=id}" --lab "$$LAB" $(UNBOXED) \
	  $(call optional,--output,OUTPUT) $(call optional,--remote,REMOTE)

.PHONY: report
report: build  ## render a run: RUN=folder (default: the latest in runs/)
	@run=$${RUN:-$$(find runs -mindepth 2 -maxdepth 2 -name run.json -printf '%T@ %h\n' 2>/dev/null | sort -n | tail -n 1 | cut -d ' ' -f 2-)}
	if [[ -z $$run ]]; then echo "no run in runs/: make grade first, or give RUN=folder" >&2; exit 1; fi
	$(WARPGRADE) report "$$run"

.PHONY: submit
submit: build  ## pack student/LAB for handing in: LAB= [SUBMISSION=folder] [FORCE=1: even if it does not compile]
	@$(WARPGRADE) submit "$${SUBMISSION:-student/$$LAB}" --lab "$$LAB" $(if $(FORCE),--force)

# The programs of BUILD, for machines with this one's C library or a newer one. PORTABLE=1: for all since 2020 (Debian 11's).
# ARCH=aarch64: the same for ARM, cross-compiled.
.PHONY: package
package: $(if $(PORTABLE)$(ARCH),bootstrap,build)  ## an archive that runs elsewhere, without a compiler of ours: [PORTABLE=1 ARCH=aarch64 OUTPUT=file.tar.gz]
	@scripts/package $(if $(PORTABLE)$(ARCH),,--build "$$BUILD") $(call optional,--arch,ARCH) $(call optional,--output,OUTPUT)

.PHONY: handout
handout: $(if $(PORTABLE)$(ARCH),bootstrap,build)  ## the same for students, without solutions: [PORTABLE=1 ARCH=aarch64 OFFLINE=all OUTPUT=file.tar.gz]
	@scripts/package --handout $(call optional,--offline,OFFLINE) $(if $(PORTABLE)$(ARCH),,--build "$$BUILD") $(call optional,--arch,ARCH) $(call optional,--output,OUTPUT)

.PHONY: wheel
wheel: package  ## the package as a Python wheel: pip install warpgrade-*.whl
	@scripts/wheel "$${OUTPUT:-$$(ls -t warpgrade-[0-9]*-linux-*.tar.gz | head -n 1)}" .

.PHONY: wheel-emulator
wheel-emulator: build  ## the emulator alone as a Python wheel: pip install warpemu-*.whl
	@scripts/wheel --emulator "$$BUILD/emulator" .

# Where a clean tree's version has a section in CHANGELOG.md.
.PHONY: release
release: bootstrap  ## package, hand-out, wheels, checksums and lists of parts of this version, for every machine since 2020, into release/
	@version=$$(sed -n 's/^project(warpgrade VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
	if [[ -n $$(git status --porcelain) ]]; then echo "make release: the tree has changes: commit them first" >&2; exit 1; fi
	if ! grep -q "^## $$version, 20[0-9][0-9]-" CHANGELOG.md; then
	  echo "make release: CHANGELOG.md has no line '## $$version, YEAR-MONTH-DAY': write what changed, with the day, and commit it" >&2
	  exit 1
	fi
	mkdir -p release
	$(MAKE) package PORTABLE=1 OUTPUT="release/warpgrade-$$version-linux-$$(uname -m).tar.gz"
	$(MAKE) handout PORTABLE=1 OUTPUT="release/warpgrade-handout-$$version-linux-$$(uname -m).tar.gz"
	scripts/wheel "release/warpgrade-$$version-linux-$$(uname -m).tar.gz" release
	scripts/wheel "release/warpgrade-handout-$$version-linux-$$(uname -m).tar.gz" release  # for notebooks
	scripts/wheel --emulator "release/warpgrade-$$version-linux-$$(uname -m).tar.gz" release
	cp -- student/warpgrade_remote.py release/
	scripts/release-papers release "$$version"
	echo "release/ holds version $$version; tag it: git tag v$$version"

.PHONY: clean
clean:  ## remove what was built (keeps .cache/, .venv/ and runs/)
	rm -rf -- "$$BUILD"
