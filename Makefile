# `make test` does all the set-up for the tests and runs them.
.PHONY: test

test:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps -q
	cargo test --workspace

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

# Every published experiment, and the pages of the book that show what holds. Finished points are kept.
.PHONY: reproduction
reproduction:
	mkdir -p docs/src/reproduction/pictures
	for work in ctcp ltcp rr dcr ltcp-dcr; do \
		cargo run --release -q -p ackclock -- reproduce $$work --out target/reproduction/$$work && \
		cp target/reproduction/$$work/reproduction.md docs/src/reproduction/$$work.md && \
		cp target/reproduction/$$work/pictures/* docs/src/reproduction/pictures/ || exit 1; \
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
