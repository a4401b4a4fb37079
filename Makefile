# `make test` does all the set-up for the tests and runs them.
.PHONY: test

test:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps -q
	cargo test --workspace

.PHONY: docs
docs:
	cargo run --release -q -- docs docs/src
