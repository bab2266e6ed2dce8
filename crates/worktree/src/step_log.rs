//! The log of an operation: each step is written down before it is taken and confirmed after it.
//!
//! A process that is killed leaves its log behind. [`logs`] finds it, and the operation is carried out again from the
//! first step that was not confirmed. Each step can be repeated.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{AtPath as _, WorktreeError};
use crate::files::{FileLock, random_id, remove_file};

/// Called before and after each step with its name, such as `remove.save:begun`. An error ends the operation there as a
/// kill would. For tests.
#[derive(Clone, Default)]
pub struct StepHook(Option<Arc<StopAt>>);

type StopAt = dyn Fn(&str) -> bool + Send + Sync;

impl std::fmt::Debug for StepHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("StepHook").field(&self.0.is_some()).finish()
    }
}

impl StepHook {
    /// A hook that ends an operation where it returns true.
    pub fn new(hook: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(hook)))
    }

    pub(crate) fn pass(&self, moment: &str) -> Result<(), WorktreeError> {
        match &self.0 {
            Some(hook) if hook(moment) => Err(WorktreeError::Stopped(moment.to_owned())),
            _ => Ok(()),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum LogLine {
    Operation { kind: String, request: Value },
    Begun(String),
    Done(String),
}

/// An operation under way.
#[derive(Debug)]
pub struct LoggedOperation {
    path: PathBuf,
    log: FileLock,
    kind: String,
    done: Vec<String>,
    hook: StepHook,
}

/// An operation whose process ended in the middle.
#[derive(Debug)]
pub struct UnfinishedOperation {
    pub kind: String,
    pub request: Value,
    pub(crate) log: LoggedOperation,
}

impl LoggedOperation {
    /// Writes down the request.
    pub(crate) fn begin(
        folder: &Path,
        kind: &str,
        request: &impl Serialize,
        hook: &StepHook,
    ) -> Result<Self, WorktreeError> {
        fs::create_dir_all(folder).at(folder)?;
        let name = format!("{}-{kind}-{}", now_as_name(), random_id());
        let draft = folder.join(format!(".{name}"));
        let path = folder.join(name);
        let request = serde_json::to_value(request).map_err(io::Error::from).at(&path)?;
        // The lock comes before the name: a log without a lock belongs to a dead process.
        let log = FileLock::wait(&draft)?;
        let mut operation = Self { path, log, kind: kind.to_owned(), done: Vec::new(), hook: hook.clone() };
        operation.write(&LogLine::Operation { kind: kind.to_owned(), request })?;
        fs::rename(&draft, &operation.path).at(&draft)?;
        Ok(operation)
    }

    fn write(&mut self, line: &LogLine) -> Result<(), WorktreeError> {
        let mut text = serde_json::to_vec(line).map_err(io::Error::from).at(&self.path)?;
        text.push(b'\n');
        let file = self.log.file();
        let written = file.write_all(&text).and_then(|()| file.sync_data());
        written.at(&self.path)
    }

    /// Takes a step, unless it was confirmed before.
    pub(crate) fn step(
        &mut self,
        name: &str,
        act: impl FnOnce() -> Result<(), WorktreeError>,
    ) -> Result<(), WorktreeError> {
        if self.is_done(name) {
            return Ok(());
        }
        let moment = format!("{}.{name}", self.kind);
        self.write(&LogLine::Begun(name.to_owned()))?;
        self.hook.pass(&format!("{moment}:begun"))?;
        act()?;
        self.hook.pass(&format!("{moment}:taken"))?;
        self.write(&LogLine::Done(name.to_owned()))?;
        self.done.push(name.to_owned());
        self.hook.pass(&format!("{moment}:done"))
    }

    pub(crate) fn is_done(&self, name: &str) -> bool {
        self.done.iter().any(|it| it == name)
    }

    /// Ends the operation with its result. The log stays only if the operation was killed.
    pub(crate) fn conclude<T>(self, result: Result<T, WorktreeError>) -> Result<T, WorktreeError> {
        match result {
            Err(stopped @ WorktreeError::Stopped(_)) => Err(stopped),
            result => {
                self.hook.pass(&format!("{}:end", self.kind))?;
                remove_file(&self.path)?;
                result
            }
        }
    }
}

/// The logs of operations, oldest first. They are under way, or their processes ended in the middle.
pub(crate) fn logs(folder: &Path) -> Result<Vec<PathBuf>, WorktreeError> {
    let mut names: Vec<PathBuf> = match fs::read_dir(folder) {
        Ok(entries) => entries.filter_map(|it| Some(it.ok()?.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error).at(folder),
    };
    // A draft: its operation has not begun.
    names.retain(|it| it.file_name().is_some_and(|it| !it.as_encoded_bytes().starts_with(b".")));
    names.sort();
    Ok(names)
}

/// The kind and the request of a log; none if it is gone.
pub(crate) fn read_request(path: &Path) -> Option<(String, Value)> {
    let text = fs::read_to_string(path).ok()?;
    match serde_json::from_str(text.lines().next()?).ok()? {
        LogLine::Operation { kind, request } => Some((kind, request)),
        _ => None,
    }
}

/// Continues the log of a dead process. None if its operation was finished before the lock was taken.
pub(crate) fn continue_log(
    path: PathBuf,
    log: FileLock,
    hook: &StepHook,
) -> Result<Option<UnfinishedOperation>, WorktreeError> {
    let Some((kind, request)) = read_request(&path) else {
        remove_file(&path)?;
        return Ok(None);
    };
    let text = fs::read_to_string(&path).at(&path)?;
    let lines = text.lines().filter_map(|it| serde_json::from_str::<LogLine>(it).ok());
    let done = lines.filter_map(|it| if let LogLine::Done(name) = it { Some(name) } else { None }).collect();
    let log = LoggedOperation { path, log, kind: kind.clone(), done, hook: hook.clone() };
    Ok(Some(UnfinishedOperation { kind, request, log }))
}

/// The present moment as a name that sorts by time.
pub(crate) fn now_as_name() -> String {
    jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S%3fZ").to_string().replace('.', "")
}
