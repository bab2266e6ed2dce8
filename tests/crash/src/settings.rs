//! Settings of a run, from the environment.

/// The seed of `TRACKSIDE_SEED`, or one of the clock. A test prints it, so that a failure can be repeated.
pub fn seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    match std::env::var("TRACKSIDE_SEED") {
        Ok(seed) => seed.parse().expect("TRACKSIDE_SEED is a number"),
        Err(_) => now.as_nanos() as u64 % 1_000_000,
    }
}

/// A number of the environment: how long a long run is.
pub fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |it| it.parse().expect("a number"))
}
