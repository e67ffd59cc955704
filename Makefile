# SPDX-License-Identifier: Apache-2.0
# The human's door; Meson does the work.

BUILD ?= build

.PHONY: fuzz all demo test soak soak-tsan install deb bench format lint clean

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

# SOAK=SECONDS: the server among hostile targets and clients, under ASan and UBSan or under TSan, in builds of their own.
# PROOF=CYCLES: attaching to each of the servers under load so often.
SOAK ?= 600
PROOF ?= 20
SANITIZE_soak := address,undefined
SANITIZE_soak-tsan := thread
soak soak-tsan:
	scripts/install-deps build test soak
	[ -f $(BUILD)-$@/build.ninja ] || meson setup $(BUILD)-$@ --buildtype=debugoptimized -Db_sanitize=$(SANITIZE_$@) -Db_lundef=false
	ninja -C $(BUILD)-$@ soak
	tests/soak/serve $(BUILD)-$@ $(SOAK)
	[ $@ != soak ] || $(MAKE) all
	[ $@ != soak ] || scripts/build-jemallocs $(BUILD)-jemallocs
	[ $@ != soak ] || tests/soak/matrix $(BUILD) $(BUILD)-jemallocs
	[ $@ != soak ] || tests/soak/aarch64 $(BUILD)-jemallocs
	[ $@ != soak ] || tests/soak/cgroup2 $(BUILD)
	[ $@ != soak ] || JESCOPE_PROOF=$(PROOF) scripts/run-tests $(BUILD) --timeout-multiplier 0 live-attach_proof live-attach_storm live-battery live-blackbox live-doctor live-doctor_services live-fleet live-fleet_store live-push live-push_proof live-sampler_truth

install: all
	meson install -C $(BUILD)

# Debian packages, in build/packages.
deb:
	scripts/install-deps build package
	scripts/package $(BUILD)/packages

bench:
	scripts/install-deps build bench
	$(MAKE) all
	bench/run $(BUILD)

# Seconds per target; what is found on the way is kept for the next run.
FUZZ_TIME ?= 3600
fuzz:
	scripts/install-deps build lint
	[ -f build-fuzz/build.ninja ] || CC=clang-14 CXX=clang++-14 meson setup build-fuzz -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false
	ninja -C build-fuzz fuzzers
	scripts/fuzz build-fuzz --seconds $(FUZZ_TIME) --keep build-fuzz/corpus

format:
	scripts/format --write

lint:
	scripts/install-deps build lint
	scripts/lint

clean:
	rm -rf $(BUILD)
