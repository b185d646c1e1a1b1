# The commands people type. Each installs what is missing (Debian packages, only those), builds, and does its job.
SHELL := /bin/bash -o pipefail
BUILD ?= build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
TEST_JOBS ?= $(shell echo $$((2 * $$(nproc))))  # tests wait more than they work

.PHONY: run test test-all build programs coverage bench install clean

run: programs
	@scripts/install.sh charts
	@scripts/demo.sh $(BUILD)

build: $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS) | scripts/progress.sh

programs: $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS) --target paddock paddock-launch paddock-egress paddock-guest paddock-server paddock-probe | scripts/progress.sh

test: build
	@scripts/install.sh test
	@scripts/install.sh fuzz
	@scripts/install.sh style
	@scripts/fuzz.sh 10
	@python3 scripts/tidy.py changed
	@ctest --test-dir $(BUILD) --output-on-failure -j $(TEST_JOBS) --repeat until-pass:2

test-all: test
	@scripts/test_all.sh

# Branch coverage of each layer by its unit tests alone.
coverage:
	@scripts/install.sh build
	@scripts/coverage.sh

bench: programs
	@bench/run.sh $(BUILD)

install: programs
	@cmake --build $(BUILD) -j $(JOBS) --target paddock_library | scripts/progress.sh
	@cmake --install $(BUILD) --prefix $(PREFIX)

clean:
	@rm -rf build build-dev build-asan build-tsan build-fuzz build-coverage

$(BUILD)/build.ninja: CMakeLists.txt CMakePresets.json
	@scripts/install.sh build
	@cmake --preset release -B $(BUILD) > $(BUILD).log 2>&1 || { cat $(BUILD).log; rm -f $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log
