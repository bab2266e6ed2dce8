//! Settings of worktrees, from `.trackside/worktree.yaml` in the main checkout and from the request.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};

use crate::error::WorktreeError;

/// Where the settings are, below the main checkout.
pub const SETTINGS_FILE: &str = ".trackside/worktree.yaml";

/// How the folder of a task is separated from the main checkout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorktreeKind {
    /// A linked worktree: it shares refs and objects with the main checkout.
    #[default]
    Worktree,
    /// A clone that only reads the objects of the main checkout.
    Clone,
}

/// The settings of all worktrees of a repository.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorktreeSettings {
    pub kind: Option<WorktreeKind>,
    /// Ready worktrees that a runner keeps.
    pub pool: u32,
    /// Ignored files of the main checkout that are copied.
    pub copy: Vec<PathBuf>,
    /// Ignored files and folders of the main checkout that are linked.
    pub link: Vec<PathBuf>,
    /// Commands that prepare a worktree.
    pub setup: Vec<CommandRule>,
    pub ports: Option<PortRule>,
    /// Variables that name folders below the main checkout which all worktrees share.
    pub caches: BTreeMap<String, PathBuf>,
    /// Commands that must succeed on the merged commit before it becomes the integration branch.
    pub checks: Vec<CommandRule>,
    pub trash: TrashRules,
}

impl Default for WorktreeSettings {
    fn default() -> Self {
        Self {
            kind: None,
            pool: 1,
            copy: Vec::new(),
            link: Vec::new(),
            setup: Vec::new(),
            ports: None,
            caches: BTreeMap::new(),
            checks: Vec::new(),
            trash: TrashRules::default(),
        }
    }
}

/// What a request says about its worktree.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct RequestedSettings {
    pub kind: Option<WorktreeKind>,
    /// How long removed work is kept.
    #[serde(deserialize_with = "read_optional_span")]
    pub keep: Option<Duration>,
    /// Checks of merges, after those of the repository.
    #[serde(deserialize_with = "read_rules")]
    pub checks: Vec<CommandRule>,
}

/// A command with a time limit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandRule {
    /// For people.
    #[serde(default)]
    pub name: Option<String>,
    /// Run by `sh -c` in the worktree.
    #[serde(alias = "command")]
    pub run: String,
    #[serde(alias = "timeout", default = "ten_minutes", deserialize_with = "read_span")]
    pub limit: Duration,
}

/// A range of ports for each worktree.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortRule {
    pub from: u16,
    pub count: u16,
}

/// How long removed work is kept, and which ignored files are.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrashRules {
    #[serde(deserialize_with = "read_optional_span")]
    pub retention: Option<Duration>,
    /// Mebibytes of one ignored file or folder that are stored in git. A larger one is moved aside.
    pub ignored_mib: u64,
    /// Names of ignored files and folders that can be made again, such as `target`. They are not saved.
    pub discard: Vec<String>,
}

impl Default for TrashRules {
    fn default() -> Self {
        Self { retention: None, ignored_mib: 64, discard: Vec::new() }
    }
}

fn ten_minutes() -> Duration {
    Duration::from_secs(600)
}

impl WorktreeSettings {
    /// Reads the settings of a repository. What its file does not say is as requested, else the default.
    pub(crate) fn read(root: &Path, requested: &RequestedSettings) -> Result<Self, WorktreeError> {
        let path = root.join(SETTINGS_FILE);
        let unfit = |why: String| WorktreeError::Unfit { path: path.clone(), why };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => "{}".to_owned(),
            Err(error) => return Err(unfit(error.to_string())),
        };
        let mut settings: Self = serde_saphyr::from_str(&text).map_err(|it| unfit(it.to_string()))?;
        for path in settings.copy.iter().chain(&settings.link).chain(settings.caches.values()) {
            if !path.components().all(|it| matches!(it, Component::Normal(_))) {
                return Err(unfit(format!("{} must be a path below the main checkout", path.display())));
            }
        }
        if settings.ports.is_some_and(|it| it.count == 0) {
            return Err(unfit("`ports.count` must be at least 1".to_owned()));
        }
        settings.kind = settings.kind.or(requested.kind);
        settings.trash.retention = settings.trash.retention.or(requested.keep);
        settings.checks.extend(requested.checks.iter().cloned());
        Ok(settings)
    }
}

impl TrashRules {
    /// How long removed work is kept: thirty days unless said otherwise.
    pub(crate) fn kept_for(&self) -> Duration {
        self.retention.unwrap_or(Duration::from_secs(30 * 24 * 3_600))
    }
}

fn read_optional_span<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    Option::<SpanText>::deserialize(from).map(|it| it.map(|it| it.0))
}

/// A list of commands; null is none.
fn read_rules<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<CommandRule>, D::Error> {
    Option::<Vec<CommandRule>>::deserialize(from).map(Option::unwrap_or_default)
}

/// A span as text.
#[derive(Deserialize)]
struct SpanText(#[serde(deserialize_with = "read_span")] Duration);

/// A span such as `90s`, `15m`, `24h` or `7d`.
fn read_span<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(from)?;
    let wrong = || serde::de::Error::custom(format!("{text:?} is no span such as 90s, 15m, 24h or 7d"));
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return Err(wrong()),
    };
    let number: u64 = text.strip_suffix(unit).and_then(|it| it.parse().ok()).ok_or_else(wrong)?;
    Ok(Duration::from_secs(number.saturating_mul(seconds)))
}
