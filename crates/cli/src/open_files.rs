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
