//! The program that becomes the shim of a run.

use std::io;
use std::path::{Path, PathBuf};

use trackside_shim::{ContainmentTier, HIDDEN_COMMAND};

/// Name of the small program beside `trackside`.
const NAME: &str = "trackside-shim";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShimProgram {
    pub path: PathBuf,
    /// Arguments that choose the shim's role in a program that has others.
    pub role: Vec<String>,
}

impl ShimProgram {
    /// A program that calls [`trackside_shim::main`] for its hidden command.
    pub fn itself(program: PathBuf) -> Self {
        Self { path: program, role: vec![HIDDEN_COMMAND.to_owned()] }
    }

    /// The strongest containment that works on this machine.
    pub fn strongest_tier(&self) -> ContainmentTier {
        ContainmentTier::strongest(&self.path, &self.role_arguments())
    }

    /// Whether this machine supports a containment tier.
    pub fn supports(&self, tier: ContainmentTier) -> bool {
        tier.is_supported(&self.path, &self.role_arguments())
    }

    fn role_arguments(&self) -> Vec<&str> {
        self.role.iter().map(String::as_str).collect()
    }
}

/// `trackside-shim` beside this program, or this program in its hidden role.
pub fn shim_program() -> io::Result<ShimProgram> {
    let own = std::env::current_exe()?;
    if !own.exists() {
        // An upgrade replaced this program while it runs. A newer shim may speak another protocol.
        return Ok(ShimProgram::itself(PathBuf::from("/proc/self/exe")));
    }
    Ok(beside(&own))
}

fn beside(own: &Path) -> ShimProgram {
    let shim = own.with_file_name(NAME);
    if shim.is_file() {
        ShimProgram { path: shim, role: Vec::new() }
    } else {
        ShimProgram::itself(own.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_small_program_is_used_if_it_is_beside_the_large_one() {
        let folder = std::env::temp_dir().join(format!("trackside-beside-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let own = folder.join("trackside");
        assert_eq!(beside(&own), ShimProgram { path: own.clone(), role: vec!["__shim".to_owned()] });
        std::fs::write(folder.join(NAME), "").unwrap();
        assert_eq!(beside(&own), ShimProgram { path: folder.join(NAME), role: Vec::new() });
        std::fs::remove_dir_all(folder).unwrap();
    }
}
