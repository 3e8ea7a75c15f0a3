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
# Where bubblewrap does not work: ALLOW_UNSANDBOXED=1, for code that you trust.
UNBOXED := $(if $(ALLOW_UNSANDBOXED),--allow-unsandboxed)
$(if $(filter-out 1,$(ALLOW_UNSANDBOXED)),$(error ALLOW_UNSANDBOXED=$(ALLOW_UNSANDBOXED): say 1, or leave it out))
export LAB BACKEND CASE REMOTE SUBMISSION PARAMS POLICY
optional = $${$(2):+$(1) "$$$(2)"}

.PHONY: help
help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/\1 \2/p' Makefile |
	  while read -r target about; do printf '  make %-10s %s\n' "$$target" "$$about"; done

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
