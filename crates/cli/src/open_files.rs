//! Raises the limit of open files and connections of this process.

/// Raises the limit as far as the system allows any process: the usual one is too low for a thousand
/// subscribers.
pub(crate) fn raise() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        // If it cannot be raised, connections beyond it are refused with a message.
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).ok();
    }
}

/// The number of files and connections that this process may have open.
pub(crate) fn limit() -> usize {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit};
        let current = getrlimit(Resource::Nofile).current;
        current.and_then(|it| usize::try_from(it).ok()).unwrap_or(usize::MAX)
    }
    #[cfg(not(unix))]
    usize::MAX
}
