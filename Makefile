# `make test` does all the set-up for the tests and runs them.
.PHONY: test

test: kernel-tools
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps -q
	cargo test --workspace
	@if $(KERNEL_TOOLS); then \
		cargo clippy -p ackclock-kernel --features load --all-targets -- -D warnings && \
		cargo clippy -p ackclock --features kernel --all-targets -- -D warnings && \
		cargo test -p ackclock-kernel --features load && \
		cargo test -p ackclock --features kernel --bins --test kernel --test emulate; \
	else echo "SKIPPED: eBPF controllers: clang, llvm-strip, bpftool, libelf or the kernel's BTF is missing"; fi

# What the feature `kernel` is built and tested with; root installs what is missing.
KERNEL_TOOLS = command -v clang >/dev/null && command -v llvm-strip >/dev/null && \
	PATH="$$PATH:/usr/sbin" command -v bpftool >/dev/null && \
	echo '\#include <libelf.h>' | cc -E - >/dev/null 2>&1 && test -e /sys/kernel/btf/vmlinux
KERNEL_PACKAGES = clang llvm bpftool libelf-dev zlib1g-dev iproute2
.PHONY: kernel-tools
kernel-tools:
	@{ $(KERNEL_TOOLS); } || test "$$(id -u)" != 0 || \
		apt-get install -y $(KERNEL_PACKAGES) || { apt-get update && apt-get install -y $(KERNEL_PACKAGES); } || \
		echo "the tools for eBPF controllers cannot be installed" >&2

# Nine paths and seven controllers in the simulator and in the running kernel; root, about half an hour.
.PHONY: kernel-runs
kernel-runs: kernel-tools
	mkdir -p docs/src/kernel-runs
	cargo run --release -q -p ackclock --features kernel -- emulate scenarios/kernel/paths.toml --beside docs/src/kernel-runs/paths.md
	cargo run --release -q -p ackclock --features kernel -- emulate scenarios/kernel/none.toml --beside docs/src/kernel-runs/none.md
	cargo run --release -q -p ackclock --features kernel -- emulate scenarios/kernel/pert.toml --beside docs/src/kernel-runs/pert.md

.PHONY: docs
docs:
	cargo run --release -q -p ackclock -- docs docs/src

# The same dumbbells in ackclock and in ns-2; about half an hour on an idle machine.
.PHONY: peers
peers:
	@command -v ns >/dev/null || apt-get install -y ns2 || (apt-get update && apt-get install -y ns2) || \
		{ echo "make peers needs ns-2: install Debian's package ns2 as root (apt-get install ns2)" >&2; exit 1; }
	cargo run --release -q -p ackclock-peers -- run --results benches/results --document docs/src/peers.md

# Loss handling over bad paths: the tables of docs/src/choosing-recovery.md. A few minutes.
.PHONY: choosing
choosing:
	cargo run --release -q -p ackclock-recovery

# Every published experiment, and the pages of the book that show what holds. Finished points are kept. As root, and with the
# tools for eBPF, the transfers without congestion control are emulated, too, which takes a quarter of an hour.
.PHONY: reproduction
reproduction:
	mkdir -p docs/src/reproduction/pictures
	for work in ctcp ltcp rr dcr ltcp-dcr pert ltcp-pert ldp nocc; do \
		how=; feature=; \
		if [ $$work = nocc ] && [ "$$(id -u)" = 0 ] && { $(KERNEL_TOOLS); }; then how=--emulate; feature="--features kernel"; fi; \
		cargo run --release -q -p ackclock $$feature -- reproduce $$work $$how --out target/reproduction/$$work && \
		cp target/reproduction/$$work/reproduction.md docs/src/reproduction/$$work.md && \
		cp -r target/reproduction/$$work/pictures/. docs/src/reproduction/pictures/ || exit 1; \
	done

# Instructions per delivered segment, per acknowledgement and so on, held against benches/results/instructions.json.
.PHONY: instructions instructions-accept
instructions:
	@command -v valgrind >/dev/null || apt-get install -y valgrind || (apt-get update && apt-get install -y valgrind) || \
		{ echo "make instructions needs valgrind: install it as root (apt-get install valgrind)" >&2; exit 1; }
	cargo run --release -q -p ackclock-bench -- compare
instructions-accept:
	cargo run --release -q -p ackclock-bench -- accept

# Benches in time; they tell what parts take, and guard nothing.
.PHONY: bench
bench:
	cargo bench -p ackclock-bench
