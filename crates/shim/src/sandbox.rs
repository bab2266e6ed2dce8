//! Restricts this process before it becomes the agent.

use std::io;
use std::path::PathBuf;

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

use crate::records::SandboxSpec;

/// Newest version of Landlock whose rights we ask for. An older kernel enforces what it knows.
const RIGHTS: ABI = ABI::V6;

/// Devices that programs expect to write.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx"];

/// Whether this kernel has Landlock.
pub fn has_landlock() -> bool {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
        .and_then(|it| it.create())
        .is_ok()
}

/// What root keeps for an agent with a sandbox of its own: the kernel demands it of a process that maps root's id into
/// a new user namespace.
pub(crate) const FOR_OWN_SANDBOX: CapabilitySet = CapabilitySet::SETFCAP;

/// Gives up every capability but `kept` for good. A program that this process becomes cannot gain one.
pub(crate) fn drop_capabilities(kept: CapabilitySet) -> io::Result<()> {
    for capability in CapabilitySet::all().iter().filter(|it| !kept.contains(*it)) {
        // A process without the right to change this set has no capability to lose.
        let _ = remove_capability_from_bounding_set(capability);
    }
    clear_ambient_capability_set()?;
    let permitted = capabilities(None)?.permitted & kept;
    set_capabilities(
        None,
        CapabilitySets { effective: permitted, permitted, inheritable: CapabilitySet::empty() },
    )?;
    Ok(())
}

/// No core files, no new privileges.
pub(crate) fn limit_privileges() -> io::Result<()> {
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    set_no_new_privs(true)?;
    Ok(())
}

/// Restricts the file system to what the spec allows.
pub(crate) fn restrict_files(spec: &SandboxSpec) -> io::Result<()> {
    let write: Vec<PathBuf> = spec.write.iter().cloned().chain(DEVICES.map(PathBuf::from)).collect();
    let missing: Vec<String> =
        spec.write.iter().filter(|it| !it.exists()).map(|it| it.display().to_string()).collect();
    if !missing.is_empty() {
        return Err(io::Error::other(format!(
            "the sandbox cannot allow {}: it does not exist",
            missing.join(", ")
        )));
    }
    let restricted = Ruleset::default()
        .handle_access(AccessFs::from_all(RIGHTS))
        .and_then(|it| it.scope(Scope::from_all(RIGHTS)))
        .and_then(|it| it.create())
        .and_then(|it| it.add_rules(path_beneath_rules(&spec.read, AccessFs::from_read(RIGHTS))))
        .and_then(|it| it.add_rules(path_beneath_rules(&write, AccessFs::from_all(RIGHTS))))
        .and_then(|it| it.restrict_self())
        .map_err(io::Error::other)?;
    match restricted.ruleset {
        RulesetStatus::NotEnforced => Err(io::Error::other("this kernel did not enforce the sandbox")),
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
    }
}
