# Needs Go, git, make and a POSIX shell. Modules are found by their go.mod; every one is built, tested and linted by
# itself (GOWORK=off), as its users build it. go.work serves editors and work on several modules at once.

SHELL := /bin/sh
.DEFAULT_GOAL := help

# A module is a directory with a go.mod. tools pins the lint tools and has no code of its own.
MODULES := $(shell find . -name go.mod ! -path '*/testdata/*' ! -path '*/node_modules/*' ! -path './.*' | sed 's|/go.mod$$||' | sort)
CODE_MODULES := $(filter-out ./tools,$(MODULES))

BIN := $(CURDIR)/.bin
LINT := $(BIN)/golangci-lint

# Set these on the command line: make demo SECONDS=10
SECONDS = 20
FUZZTIME = 30s
BENCH = .
BENCHTIME = 1s
ROUNDS = 5
SHORT =
TOLERANCE = 1.15
GATE_TOLERANCE = 4
MODULE =

# $(call each,COMMAND) runs COMMAND in every module with code; if it fails in one, the rest still run and make fails.
define each
@status=0; for m in $(CODE_MODULES); do echo "$@ $$m"; (cd "$$m" && GOWORK=off $(1)) || status=1; done; exit $$status
endef

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r t d; do printf '%-14s %s\n' "$$t" "$$d"; done

.PHONY: demo
demo: command ## show the gateway guard a small service for SECONDS (20)
	@$(BIN)/tidegate demo -seconds $(SECONDS)

.PHONY: test
test: ## run every module's tests with the race detector, then the allocation tests without it
	@GOWORK=off go build -buildvcs=false -o $(BIN)/ ./internal/testall
	@$(BIN)/testall

.PHONY: fuzz
fuzz: ## run each fuzz target of every module for FUZZTIME (30s)
	@GOWORK=off go build -buildvcs=false -o $(BIN)/ ./internal/testall
	@$(BIN)/testall -fuzz $(FUZZTIME)

.PHONY: bench
bench: bench-command ## measure a guarded call beside its peers in ROUNDS (5) and write benchmarks/RESULTS.md; SHORT=1 is one round in under a minute and writes nothing; fails where a budget is missed by more than the factor TOLERANCE (1.15)
	@cd proxy && GOWORK=off go test -run '^$$' -bench '^BenchmarkGateway$$' -benchtime $(if $(SHORT),20x,200x) . >$(BIN)/gateway.txt || { cat $(BIN)/gateway.txt; exit 1; }
	@cd benchmarks && $(BIN)/bench -rounds $(if $(SHORT),1 -short,$(ROUNDS) -results RESULTS.md) -tolerance $(TOLERANCE) -gateway $(BIN)/gateway.txt

.PHONY: bench-command
bench-command:
	@mkdir -p $(BIN)
	@cd benchmarks && GOWORK=off go build -buildvcs=false -o $(BIN)/ ./cmd/bench ./cmd/icount

.PHONY: microbench
microbench: ## run the packages' own benchmarks whose names match BENCH (.) for BENCHTIME (1s) each
	$(call each,go test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem ./...)

.PHONY: instructions
instructions: bench-command ## store the instructions per guarded call that gate-instructions compares with
	@cd benchmarks && $(BIN)/icount -update

.PHONY: build
build: command ## build every module, and the command into .bin
	$(call each,go build -o /dev/null ./...)

.PHONY: command
command:
	@mkdir -p $(BIN)
	@cd cmd/tidegate && GOWORK=off CGO_ENABLED=0 go build -buildvcs=false -o $(BIN)/tidegate .

.PHONY: vet
vet: ## run go vet on every module
	$(call each,go vet ./...)

.PHONY: lint
lint: $(LINT) ## run the pinned golangci-lint on every module
	$(call each,$(LINT) run --allow-serial-runners --config $(CURDIR)/.golangci.yml ./...)

.PHONY: fmt
fmt: $(LINT) ## format all Go files with gofumpt and gci
	$(call each,$(LINT) fmt --config $(CURDIR)/.golangci.yml ./...)

.PHONY: tidy
tidy: ## run go mod tidy on every module
	$(call each,go mod tidy)

.PHONY: work
work: ## write go.work anew from the modules that exist
	@rm -f go.work
	@go work init $(CODE_MODULES)
	@go work edit -go=1.26.0
	@cat go.work

# The lint tools come from tools/go.mod, at the versions pinned there. The first build takes some minutes.
$(LINT): tools/go.mod tools/go.sum
	@mkdir -p $(BIN)
	@echo "building the lint tools pinned in tools/go.mod"
	@cd tools && GOWORK=off go build -buildvcs=false -o $(BIN)/ tool || { \
		echo "make: golangci-lint could not be built from tools/go.mod; is the Go module proxy (go env GOPROXY) reachable?" >&2; exit 1; }
	@touch $(LINT)

.PHONY: rename
rename: ## give the repository another module path: make rename MODULE=host/owner/name
	@test -n "$(MODULE)" || { echo "usage: make rename MODULE=host/owner/name" >&2; exit 2; }
	@GOWORK=off go run ./internal/rename "$(MODULE)"

# Short gates: checks of under two minutes each that are no tests. CI runs them before the tests; add one as a
# prerequisite here.
.PHONY: gates
gates: gate-rename gate-allocs gate-instructions gate-bench ## run the short checks that are no tests

# The renamed repository builds, its tests compile, and the old path stands nowhere in it.
.PHONY: gate-rename
gate-rename:
	@echo "gate: a renamed copy builds"
	@set -e; copy=$$(mktemp -d); trap 'rm -rf "$$copy"' EXIT; old=$$(GOWORK=off go list -m); \
		tar -cf - --exclude=./.git --exclude=./.bin --exclude=node_modules . | tar -xf - -C "$$copy"; \
		cd "$$copy"; $(MAKE) --no-print-directory rename MODULE=rename.example/acme/flood; \
		if grep -rIlF "$$old" .; then echo "these files still name $$old" >&2; exit 1; fi; \
		$(MAKE) --no-print-directory vet

# A guarded call allocates nothing.
.PHONY: gate-allocs
gate-allocs:
	@echo "gate: no allocation per call"
	@mkdir -p $(BIN)
	@GOWORK=off go test -count=1 -run Allocs ./... >$(BIN)/allocs.txt || { cat $(BIN)/allocs.txt; exit 1; }
	@cd benchmarks && GOWORK=off go test -count=1 -run Allocs . >$(BIN)/allocs.txt || { cat $(BIN)/allocs.txt; exit 1; }

# A guarded call needs no more instructions than stored, give or take a tenth. Skipped, with a word, without valgrind
# and under another Go version than the stored numbers have.
.PHONY: gate-instructions
gate-instructions: bench-command
	@echo "gate: instructions per call"
	@cd benchmarks && $(BIN)/icount

# No budget is missed by far. One round on a machine that does other things as well says no more than that.
.PHONY: gate-bench
gate-bench: bench-command
	@echo "gate: one short round of the benchmarks"
	@cd benchmarks && $(BIN)/bench -short -rounds 1 -tolerance $(GATE_TOLERANCE)

.PHONY: clean
clean: ## remove what make built
	rm -rf $(BIN)
