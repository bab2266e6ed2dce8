# Short names for common jobs. Each is one command that also works without just.

# List the jobs.
default:
    @just --list

# Format, lints, licences and banned crates.
check:
    .ci/run fmt clippy deny

# Unit, property, tidy and documentation tests, then every scenario.
test:
    .ci/run test packs

# Every step of CI.
verify:
    .ci/run

# Decisions and worlds per second, with controls.
bench:
    scripts/bench

# Trackside beside SQLite, PostgreSQL and Restate: `just bench-peers --http --seconds 4`.
bench-peers *args:
    cargo build --release --package trackside --package bench-peers
    target/release/bench-peers {{ args }}

# Worktrees on 10,000 files beside bare `git worktree add`: at most 1.2 times as long, and half a second from the pool.
worktree-speed rounds="7":
    cargo bench --package trackside-worktree --bench creation -- rounds={{ rounds }} --assert

# Plant each fault of testkit/broken-packs and see how soon `check` finds it: `just broken-packs 10 mission`.
broken-packs seconds="10" only="":
    cargo run --release --package bench-explore -- broken {{ seconds }} {{ only }}

# Fuzz each target for this many seconds.
fuzz seconds="60":
    scripts/fuzz {{ seconds }}

# Mutation tests: change the code in small ways and see whether a test fails. Slow.
mutants *args="--package trackside-engine":
    scripts/tool cargo-mutants 27.1.0
    cargo mutants --jobs 2 {{ args }}

# Simulate every pack on a faulty store with crashes: `just sim seed=7` runs one seed, `just sim seconds=600` runs that long.
sim which="":
    scripts/simulate {{ which }}

# Clock jumps and stops of 2, 7 and 30 s on a real server.
clock:
    scripts/check-clock long

# Kill a server under load 300 times and verify the data: `just crash kills=50 seed=7`.
crash *which:
    scripts/crash {{ which }}

# Kill runners, shims, agents and the server 200 times while agents work: `just chaos kills=20 seed=7 tier=tree`.
chaos *which:
    scripts/chaos {{ which }}

# Plant each fault of testkit/broken-code and see its test fail: `just red S1 S2`.
red *which:
    scripts/check-red {{ which }}

# Five scripted agents merge ten tasks of a git repository while processes are killed: `just team runs=100 seed=7`.
team *which:
    scripts/team kills=10 {{ which }}

# Flip every bit of the rows of a small journal and of its projections, in hours: `just rot 97` flips every 97th.
rot step="1":
    TRACKSIDE_ROT={{ step }} cargo test -p trackside-runtime --test running rot::no_

# Flip bits in every region of the pages of `state.db`, also where they can hide a row: `just rot-pages 7`.
rot-pages seed="2":
    TRACKSIDE_ROT_PAGES=1 TRACKSIDE_ROT_SEED={{ seed }} cargo test -p trackside-runtime --test running rot

# Cut the power at every write of a long run: `just powercut commits=100 torn=4`.
powercut *which:
    scripts/powercut {{ which }}

# The documentation of the code.
docs:
    RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" cargo doc --workspace --no-deps --document-private-items

# Run the commands of the guides again and record their output.
guide:
    cargo build --release --package trackside
    scripts/record-guide
    scripts/record-picture

# Rules that no scenario exercises.
coverage:
    cargo run --release --package trackside -- test packs --coverage
