//! Raises the limit of open files and connections of this process.

/// Raises the bound as far as the system lets everybody: the usual one is less than a thousand subscribers need.
pub(crate) fn raise() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        // If it cannot be raised, connections beyond it are refused with a message.
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).ok();
    }
}
