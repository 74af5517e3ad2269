# The commands of a working day. `make help` lists them.

CARGO ?= cargo
LISTEN ?= 127.0.0.1:8080
SITE ?= examples/site
FUZZ_SECONDS ?= 60
SOAK_SECONDS ?= 600
SOAK_ROUNDS ?= 40
# Where cargo builds; a relative CARGO_TARGET_DIR counts from here.
TARGET := $(or $(CARGO_TARGET_DIR),target)

# Where `make install` puts things. DESTDIR stands before all of it, for packages.
prefix ?= /usr/local
bindir ?= $(prefix)/bin
# Where the server looks for PHP's module file: ../lib/trivet from its own folder.
moduledir ?= $(prefix)/lib/trivet
sysconfdir ?= $(if $(filter /usr,$(prefix)),/etc,$(prefix)/etc)
datadir ?= $(prefix)/share
docdir ?= $(datadir)/doc/trivet
mandir ?= $(datadir)/man
unitdir ?= $(prefix)/lib/systemd/system
# What is installed; built if it is not there.
BINARY ?= $(TARGET)/release/trivet
# Installed only if it was built: make php-module PROFILE=release.
PHP_MODULE ?= $(TARGET)/release/libtrivet_php.so

# rustup installs here, and not every shell has it on its path.
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

.DEFAULT_GOAL := help
.PHONY: help run test bench fuzz soak check build php-module install uninstall

help: ## print this list
	@echo 'usage: make TARGET [LISTEN=address:port] [SITE=folder] [prefix=folder]'
	@sed -n 's/^\([a-z-]*\): .*## \(.*\)/  \1\t\2/p' Makefile | expand -t 14

run: ## build quickly and serve SITE at http://LISTEN (examples/site, 127.0.0.1:8080)
	$(CARGO) build --profile quick --locked -p trivet
	@exec '$(TARGET)/quick/trivet' serve '$(SITE)' --listen '$(LISTEN)'

test: ## install what the tests need (apt) and run every test
	scripts/test-setup
	$(CARGO) build --profile quick --locked -p trivet -p php-module
	@: > '$(TARGET)/not-run.txt'
	TRIVET_BIN='$(abspath $(TARGET))/quick/trivet' \
	TRIVET_NOT_RUN='$(abspath $(TARGET))/not-run.txt' \
	$(CARGO) --config "target.'cfg(unix)'.runner='$(CURDIR)/scripts/test-runner'" \
	test --locked --workspace --no-fail-fast; status=$$?; \
	echo "$$(wc -l < '$(TARGET)/not-run.txt') checks not run here:"; \
	cat '$(TARGET)/not-run.txt'; exit $$status

bench: ## measure trivet beside other servers (installs them)
	$(CARGO) xtask bench

fuzz: ## run every fuzz target for FUZZ_SECONDS (60)
	$(CARGO) xtask fuzz --seconds '$(FUZZ_SECONDS)'

soak: ## break things under load for SOAK_SECONDS (600), then SOAK_ROUNDS (40) of random tests
	$(CARGO) xtask soak --seconds '$(SOAK_SECONDS)'
	TRIVET_BIN='$(abspath $(TARGET))/release/trivet' TRIVET_ROUNDS='$(SOAK_ROUNDS)' \
	$(CARGO) test --locked -p blackbox --test mpm_restarts --test mpm_faults --test mpm_life
	TRIVET_BIN='$(abspath $(TARGET))/release/trivet' TRIVET_SEED="$$(date +%s)" \
	TRIVET_MAZES='$(SOAK_ROUNDS)' TRIVET_RULE_SETS=2000 \
	$(CARGO) test --locked -p blackbox --test spellings --test sharing --test rewrite_random \
	--test rewrite_secrets

check: ## everything that must pass before a change is merged
	.ci/run

build: ## build the server as it is installed: slower to compile, faster to run
	$(CARGO) build --release --locked -p trivet

# The program that says where PHP's headers and library are.
PHP_CONFIG ?= php-config
export PHP_CONFIG
php_module = libtrivet_php.so
PROFILE ?= quick

php-module: ## build what runs PHP inside the server (PROFILE=quick, as make run; or release)
	@command -v '$(PHP_CONFIG)' >/dev/null || { \
		echo 'make php-module: there is no $(PHP_CONFIG); apt-get install php-dev libphp-embed,'; \
		echo 'or name that of another PHP (--enable-embed): PHP_CONFIG=/path/of/php-config'; \
		exit 1; } >&2
	$(CARGO) build --profile '$(PROFILE)' --locked -p php-module
	@grep -q php_request_startup '$(TARGET)/$(PROFILE)/$(php_module)' || { \
		echo 'make php-module: $(PHP_CONFIG) knows no library libphp;'; \
		echo 'apt-get install libphp-embed, or build PHP with --enable-embed'; exit 1; } >&2

# Only if there is none: root, who installs, need not have a compiler.
$(TARGET)/release/trivet:
	$(CARGO) build --release --locked -p trivet

# Texts name the paths of the default prefix.
place = sed -e 's|/usr/local/bin|$(bindir)|g' -e 's|/usr/local/etc|$(sysconfdir)|g' \
	-e 's|/usr/local/share/doc/trivet|$(docdir)|g' -e 's|/usr/local/share|$(datadir)|g'
units = trivet.service trivet.socket
config = $(DESTDIR)$(sysconfdir)/trivet/trivet.conf
# Folders of the repository, and where they go.
folders = examples/site:$(datadir)/trivet/site docs:$(docdir)/docs
texts = README.md CHANGELOG.md ARCHITECTURE.md STYLE.md LICENSE

install: $(BINARY) ## install below prefix (/usr/local), DESTDIR before it; a configuration is kept
	install -d '$(DESTDIR)$(bindir)' '$(DESTDIR)$(unitdir)' '$(DESTDIR)$(mandir)/man8' \
		'$(DESTDIR)$(docdir)' '$(dir $(config))'
	install -m 755 '$(BINARY)' '$(DESTDIR)$(bindir)/trivet'
	if grep -qs php_request_startup '$(PHP_MODULE)'; then \
		install -D -m 644 '$(PHP_MODULE)' '$(DESTDIR)$(moduledir)/$(php_module)'; fi
	for unit in $(units); do \
		$(place) "packaging/systemd/$$unit" > "$(DESTDIR)$(unitdir)/$$unit" \
		&& chmod 644 "$(DESTDIR)$(unitdir)/$$unit" || exit; done
	$(place) packaging/man/trivet.8 > '$(DESTDIR)$(mandir)/man8/trivet.8'
	$(place) packaging/trivet.conf > '$(config).new' && chmod 644 '$(config).new' \
		'$(DESTDIR)$(mandir)/man8/trivet.8'
	if [ -e '$(config)' ]; then rm '$(config).new'; else mv '$(config).new' '$(config)'; fi
	install -m 644 $(texts) '$(DESTDIR)$(docdir)'
	for pair in $(folders); do \
		(cd "$${pair%%:*}" && find . -type f) | while read -r file; do \
			install -D -m 644 "$${pair%%:*}/$$file" "$(DESTDIR)$${pair#*:}/$$file" || exit; \
		done || exit; done

uninstall: ## remove what install has put there, but for a configuration that was changed
	rm -f '$(DESTDIR)$(moduledir)/$(php_module)'
	if [ -d '$(DESTDIR)$(moduledir)' ]; then \
		rmdir --ignore-fail-on-non-empty '$(DESTDIR)$(moduledir)'; fi
	rm -f '$(DESTDIR)$(bindir)/trivet' $(units:%='$(DESTDIR)$(unitdir)/%') \
		'$(DESTDIR)$(mandir)/man8/trivet.8'
	cd '$(DESTDIR)$(docdir)' && rm -f $(texts)
	for pair in $(folders); do \
		(cd "$${pair%%:*}" && find . -type f) | while read -r file; do \
			rm -f "$(DESTDIR)$${pair#*:}/$$file"; \
		done; done
	find '$(DESTDIR)$(docdir)' '$(DESTDIR)$(datadir)/trivet' -depth -type d -empty -delete
	if $(place) packaging/trivet.conf | cmp -s - '$(config)'; then \
		rm '$(config)' && rmdir --ignore-fail-on-non-empty '$(dir $(config))'; fi
