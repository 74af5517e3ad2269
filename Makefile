# The commands of a working day. `make help` lists them.

CARGO ?= cargo
LISTEN ?= 127.0.0.1:8080
SITE ?= examples/site
FUZZ_SECONDS ?= 60
SOAK_SECONDS ?= 600
SOAK_ROUNDS ?= 40
# Where cargo builds; a relative CARGO_TARGET_DIR counts from here.
TARGET := $(or $(CARGO_TARGET_DIR),target)

# rustup installs here, and not every shell has it on its path.
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

.DEFAULT_GOAL := help
.PHONY: help run test bench fuzz soak check

help: ## print this list
	@echo 'usage: make TARGET [LISTEN=address:port] [SITE=folder]'
	@sed -n 's/^\([a-z]*\): .*## \(.*\)/  \1\t\2/p' Makefile | expand -t 12

run: ## build and serve SITE at http://LISTEN (examples/site, 127.0.0.1:8080)
	$(CARGO) build --release --locked -p trivet
	@exec '$(TARGET)/release/trivet' serve '$(SITE)' --listen '$(LISTEN)'

test: ## install what the tests need (apt) and run every test
	scripts/test-setup
	$(CARGO) build --release --locked -p trivet
	@: > '$(TARGET)/not-run.txt'
	TRIVET_BIN='$(abspath $(TARGET))/release/trivet' \
	TRIVET_NOT_RUN='$(abspath $(TARGET))/not-run.txt' $(CARGO) test --locked --workspace
	@echo "$$(wc -l < '$(TARGET)/not-run.txt') checks not run here:"; cat '$(TARGET)/not-run.txt'

bench: ## measure trivet beside other servers (installs them)
	$(CARGO) xtask bench

fuzz: ## run every fuzz target for FUZZ_SECONDS (60)
	$(CARGO) xtask fuzz --seconds '$(FUZZ_SECONDS)'

soak: ## break things under load for SOAK_SECONDS (600), then SOAK_ROUNDS (40) times `make test`
	$(CARGO) xtask soak --seconds '$(SOAK_SECONDS)'
	TRIVET_BIN='$(abspath $(TARGET))/release/trivet' TRIVET_ROUNDS='$(SOAK_ROUNDS)' \
	$(CARGO) test --locked -p blackbox --test mpm_restarts --test mpm_faults --test mpm_life

check: ## everything that must pass before a change is merged
	.ci/run
