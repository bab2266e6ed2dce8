# The words for daily work. Each is one command that works without just, too.

# Lists these words.
default:
    @just --list

# Format, lints, licences and bans.
check:
    .ci/run fmt clippy deny

# Unit, property, tidy and documentation tests, then every scenario.
test:
    .ci/run test packs

# Everything that CI runs.
verify:
    .ci/run

# Decisions per second, with controls.
bench:
    scripts/bench

# Fuzzes each target for this many seconds.
fuzz seconds="60":
    scripts/fuzz {{ seconds }}

# Changes the code in small ways and looks whether a test notices; slow.
mutants *args="--package trackside-engine":
    scripts/tool cargo-mutants 27.1.0
    cargo mutants --jobs 2 {{ args }}

# Simulates every pack on a faulty store with crashes; `just sim seed=7` once, `just sim seconds=600` for so long.
sim which="":
    scripts/simulate {{ which }}

# Kills a server under load 300 times and looks at what is left; `just crash kills=50 seed=7`.
crash *which:
    scripts/crash {{ which }}

# Cuts the power at every write of a long run; `just powercut commits=100 torn=4`.
powercut *which:
    scripts/powercut {{ which }}

# The documentation of the code.
docs:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items

# Runs the commands of the first ten minutes again and writes down what the program says.
guide:
    cargo build --release --package trackside
    scripts/record-guide

# Rules that no scenario exercises.
coverage:
    cargo run --release --package trackside -- test packs --coverage
