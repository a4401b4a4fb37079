# The targets of this repository; `make help` lists them.
.DEFAULT_GOAL := test

# Published numbers come from the build that is distributed.
DIST = --profile dist

# The virtual environment of the Python package.
VENV = target/python/venv

.PHONY: help
help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- Tests ---

.PHONY: test lint clippy beside
# These tests wait for real time, so they have the machine first. All others run meanwhile, and give way. What they say
# follows at the end, unless one of the first fails: then that stands at the end.
WAITING = emulate emulation files generate host kernel lab linux loopback monitor owners proxy serve transfer
TEST_FILES = $(wildcard crates/*/tests/*.rs crates/*/tests/*/main.rs benches/*/tests/*.rs)
OTHERS = $(sort $(filter-out $(WAITING), $(basename $(notdir $(patsubst %/main.rs,%,$(filter-out \
	crates/python/% crates/quic/%, $(TEST_FILES)))))))
TESTED = features="$$($(KERNEL_FEATURES))"; cargo test --workspace $$features

test: clippy ## everything that a change must pass; as root it installs what it needs
	@mkdir -p target; nice -n 19 $(MAKE) -s beside > target/beside.log 2>&1 & beside=$$!; \
	trap 'kill $$beside 2>/dev/null' EXIT; trap 'exit 130' INT TERM; \
	$(TESTED) --no-run && $(TESTED) $(addprefix --test ,$(WAITING)) && ( $(IN_BROWSER) ); tested=$$?; \
	test $$tested = 0 || { echo "what other tests said until then: target/beside.log" >&2; exit $$tested; }; \
	echo "the other tests run until they end: target/beside.log"; wait $$beside; tested=$$?; \
	cat target/beside.log; exit $$tested
	@{ $(KERNEL_TOOLS); } || \
		echo "SKIPPED: eBPF controllers: clang, llvm-strip, bpftool, libelf or the kernel's BTF is missing"

lint: clippy ## its first part: formatting, clippy, documentation
	$(DOCUMENTED)

# Warnings are errors. With the tools for eBPF everything is checked with the feature `kernel`, too.
clippy: tools ## formatting and clippy
	cargo fmt --all --check
	for workspace in fuzz benches/quic crates/quic crates/python; do (cd $$workspace && cargo fmt --check) || exit 1; done
	cargo clippy --workspace --all-targets -- -D warnings
	features="$$($(KERNEL_FEATURES))"; test -z "$$features" || cargo clippy --workspace --all-targets $$features -- -D warnings

DOCUMENTED = RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps -q

# What only other targets build would stay broken until somebody needs it.
CHECKED = RUSTFLAGS="--cfg fuzzing -D warnings" cargo check -q --manifest-path fuzz/Cargo.toml --target-dir target/fuzz && \
	cargo check -q --manifest-path benches/quic/Cargo.toml --target-dir target/quic

# The tests wait for cargo's lock until all of them are built.
beside: $(VENV)/ready ## what `make test` does while tests wait: other tests, Python, QUIC, documentation, fuzz targets
	$(QUIC_TESTED) --no-run
	$(TESTED) --no-fail-fast --lib --bins $(addprefix --test ,$(OTHERS))
	$(TESTED) --doc
	$(DOCUMENTED)
	$(CHECKED)
	$(MAKE) python
	$(QUIC_TESTED)

# The tools that the feature `kernel` needs.
KERNEL_TOOLS = command -v clang >/dev/null && command -v llvm-strip >/dev/null && \
	PATH="$$PATH:/usr/sbin" command -v bpftool >/dev/null && \
	echo '\#include <libelf.h>' | cc -E - >/dev/null 2>&1 && test -e /sys/kernel/btf/vmlinux
KERNEL_FEATURES = if { $(KERNEL_TOOLS); }; then echo --features ackclock/kernel,ackclock-kernel/load; fi

# Debian's packages with these tools.
KERNEL_PACKAGES = clang llvm bpftool libelf-dev zlib1g-dev iproute2

# Installs Debian's packages, if this is root.
install = { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
	export DEBIAN_FRONTEND=noninteractive && \
	{ apt-get install -y -q $(1) || { apt-get update -q && apt-get install -y -q $(1); }; }; }

.PHONY: tools
tools: ## installs what the tests need, as root on Debian
	@command -v cc >/dev/null || $(call install,gcc libc6-dev) || \
		{ echo "a C compiler is needed: install gcc and libc6-dev, or your system's packages of that kind" >&2; exit 1; }
	@{ $(KERNEL_TOOLS); } || $(call install,$(KERNEL_PACKAGES)) || \
		echo "the tools for eBPF controllers cannot be installed: their tests are left out" >&2
	@command -v tshark >/dev/null || $(call install,tshark) || \
		echo "tshark cannot be installed: what ackclock trace tells is not compared with it" >&2
	@command -v tcptrace >/dev/null || $(call install,tcptrace) || \
		echo "tcptrace cannot be installed: ackclock trace is compared with what it once printed" >&2
	@command -v curl >/dev/null || $(call install,curl) || \
		echo "curl cannot be installed: what the pages do with it is left out" >&2
	@command -v iperf3 >/dev/null || $(call install,iperf3) || \
		echo "iperf3 cannot be installed: the tests with its clients and servers are left out" >&2
	@{ $(BROWSER_TOOLS); } || { $(call install,chromium nodejs) && { command -v npm >/dev/null || $(call install,npm); }; } || \
		echo "chromium, nodejs and npm cannot be installed: the tests of pages in a browser are left out" >&2

# --- Python ---

# A workspace of its own for the extension. Some tests compare the package with the program,
# if target/debug has it: `make test` builds it before.
PYTHON = $(CURDIR)/$(VENV)/bin/python
MATURIN = env -u CONDA_PREFIX VIRTUAL_ENV=$(CURDIR)/$(VENV) CARGO_TARGET_DIR=$(CURDIR)/target/python \
	$(CURDIR)/$(VENV)/bin/maturin
WHEEL = rm -rf target/python/tested; cd crates/python && $(MATURIN) build -q --out ../../target/python/tested
MAX_WHEEL = 12582912

.PHONY: python python-clusters pcc-rl wheel
# What is tested is a wheel, so that a file that it lacks is missed. It takes seconds more than `maturin develop`.
python: $(VENV)/ready ## the Python package: builds it, installs it into target/python/venv, and runs its tests
	$(WHEEL)
	$(VENV)/bin/pip install -q --disable-pip-version-check --no-deps --force-reinstall target/python/tested/*.whl
	cd crates/python && $(PYTHON) -m pytest -q -rs

$(VENV)/ready: crates/python/tests/requirements.txt
	@command -v python3 >/dev/null && python3 -c 'import ensurepip, venv' || $(call install,python3-venv) || \
		{ echo "the package needs Python 3.11 or newer with venv: install python3 and python3-venv" >&2; exit 1; }
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install -q --disable-pip-version-check -r $<
	touch $@

# Some ten minutes, and half a gigabyte to download.
python-clusters: $(VENV)/ready wheel ## the wheel that is distributed: its speeds, an empty environment, sweeps of a million points on Dask, and Ray
	$(VENV)/bin/pip install -q --disable-pip-version-check --force-reinstall --no-deps target/python/wheels/*.whl "ray>=2.40"
	$(VENV)/bin/pip install -q --disable-pip-version-check "ray>=2.40"
	cd crates/python && $(PYTHON) -m pytest -q -s tests/long

# A checkout of PCC-RL.
PCC_RL =

pcc-rl: $(VENV)/ready ## steps per second of Aurora-v0 beside PCC-RL's own environment (PCC_RL=DIRECTORY)
	@test -n "$(PCC_RL)" || { echo "make pcc-rl needs a checkout of PCC-RL: PCC_RL=DIRECTORY" >&2; exit 1; }
	cd crates/python && $(MATURIN) develop -q --release
	$(PYTHON) crates/python/tests/long/beside_pcc_rl.py "$(PCC_RL)"

wheel: $(VENV)/ready ## the wheel that is distributed, in target/python/wheels
	rm -rf target/python/wheels
	cd crates/python && $(MATURIN) build -q --release --out ../../target/python/wheels
	@size=$$(stat -c %s target/python/wheels/*.whl); echo "$$size bytes"; test $$size -le $(MAX_WHEEL)

# A workspace of its own. `make test` leaves out s2n-quic and the examples: they would take minutes.
QUIC = cd crates/quic && cargo
QUIC_TESTED = $(QUIC) test -q --features quinn,noq
QUIC_EVERYTHING = --features quinn-programs,noq-programs,s2n-quic-programs

.PHONY: quic
quic: ## every controller in quinn, noq and s2n-quic: examples, and connections with unmodified peers
	$(QUIC) fmt --check
	$(QUIC) clippy --all-targets $(QUIC_EVERYTHING) -- -D warnings
	$(QUIC) test -q $(QUIC_EVERYTHING)

# Root, a quarter of an hour.
.PHONY: quic-runs quic-loopback
quic-runs: ## the QUIC examples over emulated paths: docs/src/quic-runs.md; root, a quarter of an hour
	cargo build --release
	$(QUIC) build --release $(QUIC_EVERYTHING) --examples
	target/quic/release/examples/emulated target/release/ackclock scenarios/quic/bulk.toml docs/src/quic-runs.md

quic-loopback: ## our CUBIC and quinn's own on loopback, alternately
	$(QUIC) run --release -q --features quinn-programs --example loopback

# --- Pages in a browser ---

# The tests, their driver and the checker of types. What is installed is what package-lock.json says.
BROWSER = tests/browser
BROWSER_TOOLS = command -v chromium >/dev/null && command -v npm >/dev/null && \
	node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 18 ? 1 : 0)'

# A page that never answers is a failure, not a wait.
IN_TIME = timeout --verbose --foreground -k 10 1200
# With the program that is there: `make test` has built it for its other tests.
IN_BROWSER = if { $(BROWSER_TOOLS); }; then $(MAKE) -s $(BROWSER)/node_modules/ready && cd $(BROWSER) && $(IN_TIME) npm test --silent; \
	else echo "SKIPPED: pages in a browser: chromium, npm or node 18 is missing" >&2; fi

.PHONY: browser
browser: tools ## pages in a headless Chromium: they answer, look as they did, and keep nobody out
	cargo build -q -p ackclock
	@$(IN_BROWSER)

.PHONY: lab-picture lab-measured
LAB = cargo build --release -q && $(MAKE) -s $(BROWSER)/node_modules/ready && cd $(BROWSER) && ACKCLOCK=$(CURDIR)/target/release/ackclock node
lab-picture: tools ## the pictures in README.md: of its comparison, and of the lab
	$(LAB) lab-picture.mjs

lab-measured: tools ## how fast the lab and large reports answer, in a browser
	$(LAB) lab-measured.mjs

$(BROWSER)/node_modules/ready: $(BROWSER)/package-lock.json
	cd $(BROWSER) && npm ci --silent --no-audit --no-fund
	touch $@

# --- Fuzzing ---

FUZZ_TARGETS = $(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs)))
FUZZ_SECONDS = 60

# libFuzzer needs coverage from an LLVM pass, which the stable compiler has, too.
FUZZ_FLAGS = --cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
	-Cllvm-args=-sanitizer-coverage-trace-compares -Cdebug-assertions -Ccodegen-units=1

.PHONY: fuzz fuzz-hour
fuzz: ## each fuzz target for a minute (FUZZ_SECONDS=60)
	@command -v c++ >/dev/null || $(call install,g++) || { echo "libFuzzer needs a C++ compiler: install g++" >&2; exit 1; }
	RUSTFLAGS="$(FUZZ_FLAGS)" cargo build --release --manifest-path fuzz/Cargo.toml --target "$$(rustc --print host-tuple)"
	@for target in $(FUZZ_TARGETS); do fuzz/run $$target $(FUZZ_SECONDS) || exit 1; done

fuzz-hour: ## each fuzz target for an hour
	$(MAKE) fuzz FUZZ_SECONDS=3600

# --- Dependencies ---

.PHONY: deny
deny: ## licences, sources, duplicates and known advisories of the dependencies, against deny.toml
	@command -v cargo-deny >/dev/null || cargo install --locked --debug cargo-deny
	cargo deny check licenses bans sources
	@cargo deny fetch db || { echo "SKIPPED: the advisory database cannot be reached, so known advisories were not looked for" >&2; exit 0; }; \
		cargo deny check advisories

# --- Distribution ---

.PHONY: dist
dist: ## an archive of the release, profile-guided, in target/archive (FEATURES=kernel)
	dist/build

# --- Documentation, numbers, experiments ---

.PHONY: docs
docs: ## the generated pages of the book
	cargo run -q -p ackclock -- docs docs/src

# About half an hour on an idle machine. HTSIM=DIR names a copy of htsim. Without one it is fetched, if that is possible.
HTSIM = target/htsim
.PHONY: peers
peers: ## the same dumbbells in ackclock, ns-2 and htsim: docs/src/peers.md
	@command -v ns >/dev/null || $(call install,ns2) || \
		{ echo "make peers needs ns-2: install Debian's package ns2 as root (apt-get install ns2)" >&2; exit 1; }
	@test -d $(HTSIM) || git clone -q --depth 1 https://github.com/Broadcom/csg-htsim $(HTSIM) || \
		echo "htsim is left out: name a copy of github.com/Broadcom/csg-htsim with HTSIM=DIR" >&2
	cargo run $(DIST) -q -p ackclock-peers -- run $$(test ! -d $(HTSIM) || echo --htsim $(HTSIM)) \
		--results benches/results --document docs/src/peers.md

.PHONY: choosing
choosing: ## loss handling over bad paths: the tables of docs/src/choosing-recovery.md; a few minutes
	cargo run --release -q -p ackclock-recovery

# Root, nine minutes, and nothing else to do for the machine.
.PHONY: paths
paths: ## forecasts against measured throughput on twelve emulated paths; root, nine minutes
	cargo test -q -p ackclock --test monitor -- --ignored twelve_paths

# Nothing else to do for the machine; the first one as root.
.PHONY: served generated monitored
served: tools ## the numbers of `ackclock serve`: ab, wrk, h2load and curl over the thesis's path, loopback; root, minutes
	@command -v ab >/dev/null || $(call install,apache2-utils)
	@command -v wrk >/dev/null || $(call install,wrk)
	@command -v h2load >/dev/null || $(call install,nghttp2-client)
	cargo test --release -q -p ackclock --features kernel --test serve -- --ignored --nocapture served

generated: tools ## the numbers of `ackclock generate`: bursts in time, full blasts beside iperf3; a minute
	cargo test --release -q -p ackclock --test generate -- --ignored --nocapture generated

monitored: ## the numbers of `ackclock monitor`: rows a second, advice at 10^7 rows; minutes
	cargo test --release -q -p ackclock --test monitor -- --ignored --nocapture monitored

# Root, a quarter of an hour, and nothing else to do for the machine.
.PHONY: proxied
proxied: ## a proxied transfer beside the kernel's own over two bad paths; root, a quarter of an hour
	cargo test -q -p ackclock --test proxy -- --ignored beside_the_kernel

# Root, about half an hour.
.PHONY: kernel-runs
kernel-runs: tools ## paths and controllers in the simulator and in the running kernel; root, half an hour
	mkdir -p docs/src/kernel-runs
	cargo run $(DIST) -q -p ackclock --features kernel -- emulate scenarios/kernel/paths.toml --beside docs/src/kernel-runs/paths.md
	cargo run $(DIST) -q -p ackclock --features kernel -- emulate scenarios/kernel/none.toml --beside docs/src/kernel-runs/none.md
	cargo run $(DIST) -q -p ackclock --features kernel -- emulate scenarios/kernel/pert.toml --beside docs/src/kernel-runs/pert.md

# Root, 20 minutes, and nothing else to do for the machine.
.PHONY: own-host stack-long
own-host: ## our own TCP towards the kernel, beside the simulator: every controller, and late packets; root, 20 minutes
	cargo run $(DIST) -q -p ackclock -- emulate scenarios/kernel/stack.toml --beside docs/src/kernel-runs/stack.md
	cargo run $(DIST) -q -p ackclock -- emulate scenarios/kernel/late.toml --beside docs/src/kernel-runs/late.md

# Published experiments whose points fit beside each other into a small machine: so many of each at once.
ON_THE_WIRE = rr-fig-11:25 rr-fig-12:25 dcr-fig-23:5 ltcp-dcr-fig-59:1 pert-fig-55:1

# Root, an hour, and nothing else to do for the machine.
.PHONY: on-the-wire
on-the-wire: ## published experiments from our own TCP towards the kernel, judged beside the simulator; root
	@for it in $(ON_THE_WIRE); do \
		id=$${it%:*}; out=target/reproduction/wire/$$id; echo "$$id" >&2; \
		cargo run $(DIST) -q -p ackclock -- reproduce $$id --emulate --own-host --at-once $${it#*:} --out $$out > /dev/null && \
		cp $$out/reproduction.md docs/src/kernel-runs/$$id.md && mkdir -p $$out/pictures docs/src/kernel-runs/pictures && \
		cp -r $$out/pictures/. docs/src/kernel-runs/pictures/ || exit 1; \
	done

stack-long: ## our own TCP: 10^9 bytes over a bad path, 5 GiB, gigabits per core; minutes, the last one as root
	cargo test --release -p ackclock-stack -- --ignored

# Replaces what stands between the marks of a page by a table.
verdicts = awk 'NR == FNR { table = table $$0 "\n"; next } \
	/^<!-- begin: verdicts/ { print; printf "%s", table; inside = 1 } /^<!-- end: verdicts/ { inside = 0 } !inside' \
	target/reproduction/summary.md $(1) > $(1).new && mv $(1).new $(1)

# Most runs of a point that takes some ten seconds, if a claim is undecided.
SEEDS_MAX = 60

# All pages from one build. Finished points are kept, so what was interrupted goes on where it was. As root, and with
# the tools for eBPF, the transfers without congestion control are also emulated. That takes 20 minutes and needs the
# processors at once, but seldom: meanwhile simulations have what it leaves.
.PHONY: reproduction
reproduction: ## every published experiment, and the book's pages on them; one to two hours (SEEDS_MAX=60)
	@pages=docs/src/reproduction; made=target/reproduction; mkdir -p $$pages/pictures $$made; \
	feature=; idle=; emulation=; families="$(basename $(notdir $(wildcard docs/src/reproduction/*.md)))"; \
	if [ "$$(id -u)" = 0 ] && { { $(KERNEL_TOOLS); } || { $(call install,$(KERNEL_PACKAGES)) >&2; }; }; then \
		feature="--features kernel"; idle="chrt -i 0"; \
	else \
		echo "nocc is simulated only: emulation needs root, and $(KERNEL_PACKAGES)" >&2; \
	fi; \
	cargo build $(DIST) -q -p ackclock $$feature || exit 1; \
	reproduce="cargo run $(DIST) -q -p ackclock $$feature -- reproduce --seeds-max $(SEEDS_MAX)"; \
	if [ -n "$$idle" ]; then \
		echo "nocc is emulated meanwhile: $$made/emulated.log" >&2; \
		$$reproduce nocc --emulate --at-once 2 --out $$made/emulated > $$made/emulated.log 2>&1 & emulation=$$!; \
		trap 'kill $$emulation 2>/dev/null' EXIT; trap 'exit 130' INT TERM; \
	fi; \
	$$idle $$reproduce all --by-family --out $$made > /dev/null || exit 1; \
	test -z "$$emulation" || wait $$emulation || { cat $$made/emulated.log >&2; exit 1; }; emulation=; \
	for family in $$families; do \
		from=$$made/$$family; test $$family != nocc || test -z "$$idle" || from=$$made/emulated; \
		mkdir -p $$from/pictures && cp $$from/reproduction.md $$pages/$$family.md && \
		cp -r $$from/pictures/. $$pages/pictures/ || exit 1; \
	done
	@$(call verdicts,docs/src/reproduction.md)
	@$(call verdicts,README.md)

.PHONY: instructions instructions-accept
instructions: ## instructions of the hot path, compared with benches/results/instructions.json
	@command -v valgrind >/dev/null || $(call install,valgrind) || \
		{ echo "make instructions needs valgrind: install it as root (apt-get install valgrind)" >&2; exit 1; }
	cargo run $(DIST) -q -p ackclock-bench -- compare

instructions-accept: ## stores the present counts as the reference
	cargo run $(DIST) -q -p ackclock-bench -- accept

# Random scenarios of each kind.
ENGINE_CASES = 2000

.PHONY: engines
engines: ## both engines on thousands of random scenarios and on every scenario and experiment (ENGINE_CASES=2000)
	PROPTEST_CASES=$(ENGINE_CASES) cargo test $(DIST) -q -p ackclock-study --test engines -- --include-ignored

.PHONY: bench bench-quic
bench: ## the benches, timed; for information only
	cargo bench -p ackclock-bench

bench-quic: ## encrypted bulk data on loopback, alternately with quinn
	cargo run --release -q --manifest-path benches/quic/Cargo.toml
