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
