//! `trackside doctor`: the health of a project's folder, and the next steps.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value as Json, json};
use trackside_lifecycle::hex;
use trackside_runner::shim_program::shim_program;
use trackside_runtime::{ClockAlarm, PackSource, ProjectClock};
use trackside_shim::ContainmentTier;
use trackside_store::archive::{Archive, PayloadDrops};
use trackside_store::rules::{self, ChangedRules};
use trackside_store::sqlite::FileHealth;
use trackside_store::{Artifacts, Chain, Definition, Head, Sqlite, Store, StoreError};

use crate::args::{DataArgs, DoctorArgs};
use crate::folder::{self, CliError, count_with_noun};
use crate::pinned_servers::PinnedServer;
use crate::print::{self, Colour, painted_data};
use crate::server_lookup::ServerConnection;
use crate::styled::Styled;
use crate::{exit, person, project};

pub(crate) fn run(args: &DoctorArgs) -> u8 {
    let data = match folder_of(args) {
        Ok(data) => data,
        Err(stopped) => return stopped.report(),
    };
    if args.rebuild
        && let Err(stopped) = rebuild(&data)
    {
        return stopped.report();
    }
    match inspect(&data) {
        Ok(found) => {
            print::answer(&found.to_json(), args.json, |_| found.show());
            if found.is_well() { exit::DONE } else { exit::REFUSED }
        }
        Err(stopped) => stopped.report(),
    }
}

/// The doctor reads files, so a server that is known only by its address is not enough.
fn folder_of(args: &DoctorArgs) -> Result<DataArgs, CliError> {
    if args.data.data.is_none()
        && let Some(server) = ServerConnection::from_environment()?
    {
        let why = format!(
            "doctor reads the files of a project, but TRACKSIDE_URL names a server, {}. Run it on that machine with --data DIR, or ask the server with: trackside audit verify, trackside validate",
            server.place()
        );
        return Err(CliError::unreachable(why));
    }
    project::found(&args.data)
}

/// Deletes the projections and rebuilds them from the journal.
fn rebuild(data: &DataArgs) -> Result<(), CliError> {
    let store = Arc::new(folder::open(data, "doctor --rebuild")?);
    let base = store.reader()?.base()?;
    // Check first: never delete a projection that cannot be rebuilt.
    store.archive()?.check_complete(base)?;
    store.projector()?.clear()?;
    folder::start_standing(&store, &[])?.stop();
    print::message(match base.seq {
        0 => "state.db was rebuilt from the journal",
        _ => "state.db was rebuilt from the archive and the journal",
    });
    Ok(())
}

/// The findings.
struct Found {
    owner: Option<String>,
    files: [FileHealth; 2],
    archive: Archive,
    archive_bytes: u64,
    /// Payload drops that wait for missing archive files.
    unwanted: PayloadDrops,
    head: Head,
    base: Chain,
    position: u64,
    packs: Vec<Definition>,
    /// Packs whose rules differ from the installed ones.
    changed: Vec<ChangedRules>,
    /// Stored packs that this release would not install, and those that it cannot run.
    outdated: Vec<String>,
    unrunnable: Vec<String>,
    /// Why the project would not start.
    refusal: Option<StoreError>,
    /// The last entry of journal.db without its log, if it has one.
    without_log: Option<u64>,
    damaged_artifacts: Vec<String>,
    /// Missing and damaged files of entities in long-term storage.
    archived: Vec<StoreError>,
    /// The file with the owner's credential, if this process can read it.
    credential: Option<PathBuf>,
    /// Credentials that more processes can read than should.
    exposed: Vec<String>,
    /// How this machine contains the processes of agents.
    containment: Containment,
    /// Why project time would not follow the machine's clock.
    clock: Option<ClockAlarm>,
}

/// Warnings about credentials. The owner's is worth nothing where agents can read it.
fn exposed_credentials(data: &Path, credential: Option<&Path>, containment: &Containment) -> Vec<String> {
    let mut warnings = Vec::new();
    if is_readable_by_others(data) && is_readable_by_others(&data.join("journal.db")) {
        let data = data.display();
        warnings
            .push(format!("other users can read {data} and the journal in it. Run: chmod -R go-rwx {data}"));
    }
    for path in
        [&data.join("server.key"), &data.join("token")].map(PathBuf::as_path).into_iter().chain(credential)
    {
        if is_readable_by_others(path) {
            let path = path.display();
            warnings.push(format!("other users can read {path}. Run: chmod 600 {path}"));
        }
    }
    if let Some(path) = credential {
        let path = path.display();
        let advice = match containment.hides_credentials() {
            true => "run agents with `trackside work`, whose sandbox hides it, or as another Unix user",
            false => "run agents as another Unix user",
        };
        let agent =
            person::agent_variable().or(std::env::var_os("TRACKSIDE_TOKEN").map(|_| "TRACKSIDE_TOKEN"));
        warnings.push(match agent {
            Some(name) => format!(
                "this process has {name}, as agents do, and can read the owner's credential {path}: {advice}. See SECURITY.md"
            ),
            None => format!(
                "every process of your Unix user can read the owner's credential {path}: {advice}. See SECURITY.md"
            ),
        });
    }
    warnings
}

#[cfg(unix)]
fn is_readable_by_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|it| it.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_readable_by_others(_: &Path) -> bool {
    false
}

fn inspect(data: &DataArgs) -> Result<Found, CliError> {
    // Open a reader first: its error is the clearest one for a folder without a project.
    let mut reader = folder::open_to_read(data)?;
    let data = &data.data;
    let credential = PinnedServer::of_folder(data).and_then(|it| it.path());
    let archive = Archive::of(data)?;
    let packs = match reader.definitions() {
        // Unreadable packs are listed with the changed ones.
        Err(StoreError::Rules { .. }) => Vec::new(),
        usual => usual?,
    };
    let (outdated, unrunnable) = judge_packs(&packs);
    let files = Sqlite::health(data)?;
    let has_log = files.first().is_some_and(|it| it.log_bytes > 0);
    let sizes = archive.files().iter().filter_map(|it| std::fs::metadata(&it.path).ok());
    let containment = Containment::of_this_machine();
    Ok(Found {
        owner: Sqlite::owner(data)?,
        files,
        refusal: Sqlite::examine(data).err(),
        without_log: if has_log { Sqlite::end_without_log(data).ok().map(|it| it.seq) } else { None },
        damaged_artifacts: Artifacts::of(data).stats()?.damaged,
        archived: match archive.unusable_entity_files(reader.as_mut()) {
            // A damaged journal is reported as the reason why the project does not start.
            Err(StoreError::Chain { .. } | StoreError::Unreadable { .. }) => Vec::new(),
            usual => usual?,
        },
        archive_bytes: sizes.map(|it| it.len()).sum(),
        unwanted: archive.pending_drops()?,
        archive,
        // The position first: the journal is never behind it.
        position: reader.position()?,
        head: reader.head()?,
        base: reader.base()?,
        packs,
        outdated,
        unrunnable,
        changed: match rules::find_changed(reader.as_mut()) {
            // A damaged journal is reported as the reason why the project does not start.
            Err(StoreError::Chain { .. } | StoreError::Unreadable { .. }) => Vec::new(),
            usual => usual?,
        },
        exposed: exposed_credentials(data, credential.as_deref(), &containment),
        containment,
        clock: match ProjectClock::is_manual_in(data) {
            true => None,
            false => ProjectClock::alarm_at_start(reader.head()?.at),
        },
        credential,
    })
}

/// How the processes of agents are contained on this machine.
struct Containment {
    tier: Option<ContainmentTier>,
    landlock: bool,
}

impl Containment {
    /// Starts `/bin/true` in each tier until one works.
    fn of_this_machine() -> Self {
        Self {
            tier: shim_program().ok().map(|it| it.strongest_tier()),
            landlock: trackside_shim::has_landlock(),
        }
    }

    /// Whether the sandbox of a run hides files from its agent: by mounts or by Landlock.
    fn hides_credentials(&self) -> bool {
        self.tier.is_some_and(|tier| tier == ContainmentTier::Pidns || self.landlock)
    }

    fn in_words(&self) -> String {
        let Some(tier) = self.tier else {
            return "agents cannot be started: the shim was not found".to_owned();
        };
        let meaning = match tier {
            ContainmentTier::Pidns => "the kernel ends every process of a run with its shim",
            ContainmentTier::Cgroup | ContainmentTier::Tree => tier.limitation().unwrap_or_default(),
        };
        let landlock = match self.landlock {
            true => "",
            false => {
                ". This kernel has no Landlock: the sandbox does not limit the files that an agent reads and writes"
            }
        };
        format!("contained by {tier}: {meaning}{landlock}")
    }
}

/// Compiles the stored packs as a start does. Returns those that run although this release would not install them, and
/// those that it cannot run.
fn judge_packs(packs: &[Definition]) -> (Vec<String>, Vec<String>) {
    let (mut outdated, mut unrunnable) = (Vec::new(), Vec::new());
    for Definition { pack, version, files, .. } in packs {
        match (PackSource { files: files.clone() }).compile_stored() {
            Ok((.., spared)) if spared.is_empty() => {}
            Ok((.., spared)) => outdated.push(format!(
                "{pack} {version} keeps running, but this release would not install it: {}. Correct it and install it with a higher `version:`",
                spared.join("; ")
            )),
            Err(error) => unrunnable.push(format!(
                "this release cannot run the stored pack {pack} {version}. Use the release that was used before. See docs/operating/upgrades.md\n{error}"
            )),
        }
    }
    (outdated, unrunnable)
}

impl Found {
    fn is_well(&self) -> bool {
        self.files.iter().all(|it| it.problems.is_empty())
            && self.cut_off().is_none()
            && self.missing().is_none()
            && self.unwanted.is_empty()
            && self.changed.is_empty()
            && self.unrunnable.is_empty()
            && self.refusal.is_none()
            && self.damaged_artifacts.is_empty()
            && self.archived.is_empty()
    }

    /// The finding for a journal that ends before its projections.
    fn cut_off(&self) -> Option<String> {
        trackside_store::audit::missing(self.position, self.head.chain.seq)
    }

    fn lag(&self) -> u64 {
        self.head.chain.seq.saturating_sub(self.position)
    }

    /// The last entry of a missing part of the archive.
    fn missing(&self) -> Option<u64> {
        let mut known = 0;
        for file in self.archive.files() {
            if file.before.seq > known {
                return Some(file.before.seq);
            }
            known = known.max(file.last());
        }
        (self.base.seq > known).then_some(self.base.seq)
    }

    /// The next steps, the most pressing first.
    fn next(&self) -> Vec<String> {
        let mut next = Vec::new();
        let [journal, state] = &self.files;
        if !journal.problems.is_empty() {
            next.push("journal.db is damaged: copy the folder, then restore a backup. See docs/operating/recovery.md".to_owned());
        } else if !state.problems.is_empty() {
            next.push("state.db is damaged. Rebuild it with: trackside doctor --rebuild".to_owned());
        }
        if let Some(what) = self.cut_off() {
            next.push(format!("journal.db: {what}. See docs/operating/recovery.md"));
        } else if let Some(refusal) = self.refusal.as_ref().filter(|_| self.changed.is_empty()) {
            next.push(format!("the project does not start: {refusal}"));
        }
        if let Some(first) = self.damaged_artifacts.first() {
            next.push(format!(
                "{} damaged, {first} first: send the content again, or copy the file from a backup",
                count_with_noun(self.damaged_artifacts.len() as u64, "artifact is", "artifacts are")
            ));
        }
        next.extend(self.archived.iter().map(ToString::to_string));
        for it in &self.changed {
            next.push(format!(
                "{it}. The project cannot start until the original text is restored, or a backup is restored into another folder. See docs/operating/recovery.md"
            ));
        }
        next.extend(self.unrunnable.iter().chain(&self.outdated).cloned());
        if let Some(upto) = self.missing() {
            let missing = format!(
                "entries up to {upto} were archived, but some archive files are missing: put them back into archive/"
            );
            // A rebuild needs the archive files.
            next.insert(0, missing);
        }
        if !self.unwanted.is_empty() {
            next.push("missing archive files may still contain erased or redacted values: put them back, and the values are dropped when the project starts".to_owned());
        }
        if let Some(alarm) = &self.clock {
            next.push(format!("{alarm}. See docs/operating/recovery.md"));
        }
        if self.lag() > 0 && self.owner.is_none() {
            let entries = count_with_noun(self.lag(), "entry", "entries");
            next.push(format!("state.db is {entries} behind: it catches up when the project starts"));
        }
        if next.is_empty() {
            next.push("nothing to do. Verify the whole hash chain with: trackside audit verify".to_owned());
        }
        next
    }

    fn show(&self) {
        let row = |name: &str, text: Styled| print::line(styled!("{name:<11} {text}"));
        row("owner", self.owner.as_deref().unwrap_or("none: the folder is free").into());
        for file in &self.files {
            let name = file.path.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
            let log = match file.log_bytes {
                0 => String::new(),
                some => match self.without_log.filter(|_| name == "journal.db") {
                    Some(end) => format!(", {} in its log, without which it ends at {end}", bytes(some)),
                    None => format!(", {} in its log", bytes(some)),
                },
            };
            let older = match file.schema == file.known {
                true => String::new(),
                false => format!(" (this release writes {})", file.known),
            };
            let mark = match file.problems.is_empty() {
                true => painted_data("pages ok", Colour::Green),
                false => painted_data("DAMAGED", Colour::Red),
            };
            row(&name, styled!("{}{log}, schema {}{older}, {mark}", bytes(file.bytes), file.schema));
            for problem in &file.problems {
                row("", problem.into());
            }
        }
        let files = count_with_noun(self.archive.files().len() as u64, "file", "files");
        row("archive", styled!("{files}, {}", bytes(self.archive_bytes)));
        let at = self.head.at.map(|it| format!(" at {it}")).unwrap_or_default();
        let base = match self.base.seq {
            0 => String::new(),
            some => format!(", of which {some} are archived"),
        };
        row("journal", styled!("{}{at}{base}", count_with_noun(self.head.chain.seq, "entry", "entries")));
        let behind = match self.cut_off() {
            None => styled!("{} behind", self.lag()),
            Some(_) => painted_data("BEYOND THE END OF THE JOURNAL", Colour::Red),
        };
        row("projections", styled!("written up to {}, {behind}", self.position));
        let packs: Vec<String> = self.packs.iter().map(|it| format!("{} {}", it.pack, it.version)).collect();
        let mark = match self.changed.is_empty() {
            true => Styled::default(),
            false => styled!(", {}", painted_data("RULES CHANGED", Colour::Red)),
        };
        row(
            "packs",
            styled!("{}{mark}", if packs.is_empty() { "none".to_owned() } else { packs.join(", ") }),
        );
        row("runs", self.containment.in_words().into());
        for warning in &self.exposed {
            row("warning", warning.into());
        }
        for next in self.next() {
            row("do next", next.into());
        }
    }

    fn to_json(&self) -> Json {
        let file = |it: &FileHealth| {
            json!({
                "path": it.path, "bytes": it.bytes, "logBytes": it.log_bytes, "schema": it.schema,
                "knownSchema": it.known, "problems": it.problems,
            })
        };
        let pack = |it: &Definition| json!({ "pack": it.pack, "version": it.version, "digest": it.digest });
        let changed = |it: &ChangedRules| json!({ "pack": it.pack, "version": it.version, "seq": it.seq, "message": it.to_string() });
        json!({
            "well": self.is_well(), "owner": self.owner, "files": self.files.iter().map(file).collect::<Vec<_>>(),
            "archive": { "files": self.archive.files().len(), "bytes": self.archive_bytes, "upto": self.base.seq },
            "journal": { "seq": self.head.chain.seq, "hash": hex::encode(self.head.chain.hash), "at": self.head.at.map(|it| it.to_string()) },
            "projections": { "position": self.position, "lag": self.lag() },
            "packs": self.packs.iter().map(pack).collect::<Vec<_>>(),
            "refusal": self.refusal.as_ref().map(ToString::to_string), "damagedArtifacts": self.damaged_artifacts,
            "archivedEntities": self.archived.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "rulesChanged": self.changed.iter().map(changed).collect::<Vec<_>>(),
            "outdatedPacks": self.outdated, "unrunnablePacks": self.unrunnable, "next": self.next(),
            "containment": { "tier": self.containment.tier.map(ContainmentTier::name), "landlock": self.containment.landlock },
            "credentials": { "owner": self.credential, "warnings": self.exposed },
        })
    }
}

/// A number of bytes, for people.
fn bytes(count: u64) -> String {
    match count {
        0..1_024 => format!("{count} B"),
        1_024..1_048_576 => format!("{:.1} KiB", count as f64 / 1_024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", count as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", count as f64 / 1_073_741_824.0),
    }
}
