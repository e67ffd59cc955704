# SPDX-License-Identifier: Apache-2.0
# The human's door; Meson does the work.

BUILD ?= build

.PHONY: all demo test install bench format lint clean

all: $(BUILD)/build.ninja
	ninja -C $(BUILD)

$(BUILD)/build.ninja:
	scripts/install-deps build
	meson setup $(BUILD)

demo:
	scripts/install-deps build demo
	$(MAKE) all
	scripts/demo $(BUILD)

# Reconfigured, because what a build for the demo did without may be there now.
test:
	scripts/install-deps build test
	$(MAKE) all
	meson setup --reconfigure $(BUILD) >/dev/null
	ninja -C $(BUILD)
	scripts/run-tests $(BUILD)

install: all
	meson install -C $(BUILD)

bench:
	scripts/install-deps build bench
	$(MAKE) all
	bench/run $(BUILD)

format:
	scripts/format --write

lint:
	scripts/install-deps build lint
	scripts/lint

clean:
	rm -rf $(BUILD)
