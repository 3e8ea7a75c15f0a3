# Short names for ./warpgrade. Variables reach the recipes through the environment, so that any file name may be used.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
LAB ?= spmm
BACKEND ?= auto
CASE ?=
REMOTE ?=
SUBMISSION ?=
POLICY ?=
PARAMS ?=
INPUT ?=
RUN ?=
CASES ?=
OUTPUT ?=
SUBMISSIONS ?= submissions
# Where bubblewrap does not work: ALLOW_UNSANDBOXED=1, for code that you trust.
UNBOXED := $(if $(ALLOW_UNSANDBOXED),--allow-unsandboxed)
$(if $(filter-out 1,$(ALLOW_UNSANDBOXED)),$(error ALLOW_UNSANDBOXED=$(ALLOW_UNSANDBOXED): say 1, or leave it out))
export LAB BACKEND CASE REMOTE SUBMISSION PARAMS POLICY INPUT RUN CASES OUTPUT SUBMISSIONS
optional = $${$(2):+$(1) "$$$(2)"}
JUDGING := --lab "$$LAB" --backend "$$BACKEND" $(call optional,--cases,CASES) $(call optional,--policy,POLICY) \
           $(call optional,--run,RUN) $(UNBOXED)

.PHONY: help
help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/\1 \2/p' Makefile |
	  while read -r target about; do printf '  make %-12s %s\n' "$$target" "$$about"; done

# Messages and pages are a checkout's as well, and name these.
.PHONY: build clean
build clean:
	@echo "make $@: nothing to do, the programs came with this folder; ./warpgrade doctor tells what this machine lacks"

.PHONY: test
test:  ## your own run of student/: [LAB=, default all; CASE= BACKEND= POLICY=; REMOTE=host: on the course's GPU]
	@./warpgrade test $(if $(filter file,$(origin LAB)),,"$$LAB") $(call optional,--case,CASE) $(call optional,--policy,POLICY) --backend "$$BACKEND" $(call optional,--remote,REMOTE)

.PHONY: sweep
sweep:  ## try compile-time settings: SUBMISSION=folder PARAMS="TILE=8,16 SPLIT=32,64" [LAB=]
	@params=(); for param in $${PARAMS:?give PARAMS="NAME=1,2,4 ..."}; do params+=(--param "$$param"); done
	./warpgrade sweep "$${SUBMISSION:-student/$$LAB}" --lab "$$LAB" "$${params[@]}" $(UNBOXED)

.PHONY: profile
profile:  ## where a submission's work goes, line by line: CASE=id [SUBMISSION=folder LAB=]
	@./warpgrade profile "$${SUBMISSION:-student/$$LAB}" --case "$${CASE:?give CASE=id}" --lab "$$LAB" $(UNBOXED)

.PHONY: submit
submit:  ## pack student/LAB for handing in: LAB= [SUBMISSION=folder]
	@./warpgrade submit "$${SUBMISSION:-student/$$LAB}" --lab "$$LAB"

.PHONY: cases
cases:  ## a lab's cases, and what each is for: LAB=
	@./warpgrade labs "$$LAB"

.PHONY: contract
contract:  ## the header that states what to write: LAB=
	@./warpgrade labs contract "$$LAB"

.PHONY: check-input
check-input:  ## judge student/LAB with a graph and numbers of your own: LAB=gcn INPUT=folder
	@./warpgrade check "student/$$LAB" --lab "$$LAB" --input "$${INPUT:?give INPUT=folder}" $(UNBOXED)

.PHONY: grade
grade:  ## judge a class: SUBMISSIONS=folder LAB= [POLICY= RUN= CASES= BACKEND=]
	@./warpgrade grade "$$SUBMISSIONS" $(JUDGING)

.PHONY: bench
bench:  ## time the solutions that are here against the thresholds: LAB=
	@./warpgrade bench $(JUDGING)

.PHONY: report
report:  ## render a run: RUN=folder (default: the latest in runs/)
	@run=$${RUN:-$$(find runs -mindepth 2 -maxdepth 2 -name run.json -printf '%T@ %h\n' 2>/dev/null | sort -n | tail -n 1 | cut -d ' ' -f 2-)}
	if [[ -z $$run ]]; then echo "no run in runs/: make grade first, or give RUN=folder" >&2; exit 1; fi
	./warpgrade report "$$run"

# staff
DEMO := grader/tests/demo_class
.PHONY: demo
demo:  ## grade a small class and the reference solutions, render the report
	@./warpgrade grade $(DEMO) --reference reference/spmm/naive --reference reference/spmm/optimized --lab spmm --cases public \
	  --run runs/demo --backend "$$BACKEND" --speed-budget 2 --allow-unsandboxed --fresh
	./warpgrade report runs/demo

.PHONY: handout
handout:  ## an archive for students, without solutions, of this folder's labs: [OFFLINE=all OUTPUT=file.tar.gz]
	@scripts/package --handout $(call optional,--offline,OFFLINE) $(call optional,--output,OUTPUT)
# students
.PHONY: demo handout
demo handout:
	@echo "make $@ needs the solutions, which are the staff's: this is a hand-out" >&2
	exit 1
# end
