//! Runs the commands of the settings, each with a time limit.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::{AtPath as _, WorktreeError};
use crate::files::random_id;
use crate::settings::CommandRule;

/// Bytes of output that are kept, from its end, and bytes at which a command is stopped.
const KEPT: u64 = 256 << 10;
const MOST: u64 = 256 << 20;
const TICK: Duration = Duration::from_millis(20);

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandEnding {
    pub succeeded: bool,
    /// How it ended, in words.
    pub ending: String,
    /// The end of its output.
    pub output: String,
}

/// Runs a command in a folder. `scratch` is a folder for its output.
pub(crate) fn run_command(
    rule: &CommandRule,
    folder: &Path,
    environment: &BTreeMap<String, String>,
    scratch: &Path,
) -> Result<CommandEnding, WorktreeError> {
    fs::create_dir_all(scratch).at(scratch)?;
    let path = scratch.join(format!("output-{}", random_id()));
    let output = File::create(&path).at(&path)?;
    let errors = output.try_clone().at(&path)?;
    let mut child = Command::new("sh")
        .args(["-c", &rule.run])
        .current_dir(folder)
        .env_clear()
        .envs(environment)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .process_group(0)
        .spawn()
        .at(Path::new("sh"))?;
    let ending = wait(&mut child, rule.limit, &path);
    // The processes that it started end with it.
    end_group(&child);
    let (succeeded, ending) = match ending {
        Ok(ending) => ending,
        Err(error) => (false, error.to_string()),
    };
    let text = tail(&path);
    let _ = fs::remove_file(&path);
    Ok(CommandEnding { succeeded, ending, output: text.at(&path)? })
}

fn wait(child: &mut Child, limit: Duration, output: &Path) -> std::io::Result<(bool, String)> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((status.success(), status.to_string()));
        }
        let is_full = output.metadata().is_ok_and(|it| it.len() > MOST);
        if begun.elapsed() > limit || is_full {
            end_group(child);
            child.wait()?;
            let why = if is_full {
                "stopped: too much output".to_owned()
            } else {
                format!("stopped after {} s", limit.as_secs())
            };
            return Ok((false, why));
        }
        std::thread::sleep(TICK);
    }
}

fn end_group(child: &Child) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

fn tail(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(KEPT)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
