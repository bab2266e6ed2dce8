//! `trackside migrate`: running entities move to another version of their definition, or back.

mod served;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value as Json, json};
use trackside_engine::Law;
use trackside_engine::actor::Actor;
use trackside_lifecycle::guard::{did_you_mean, did_you_mean_or_all};
use trackside_lifecycle::name::Name;
use trackside_protocol::Problem;
use trackside_runtime::{Failure, MigratedEntity, Migration, MigrationRange, PackSource, Runtime};
use trackside_store::{Sqlite, Store};

use crate::args::{DataArgs, MigrateArgs, MigrateCommand, MigrateToArgs, MigrateUndoArgs};
use crate::exit;
use crate::folder::{self, CliError, count_with_noun};
use crate::print::{self, Colour, ProgressBar, painted_data};
use crate::project::ProjectLocation;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::RequestError;
use crate::time_format::{list, text};
use crate::{packs, values};

/// Entities that are named in one line; `--json` names all.
const NAMED: usize = 10;

pub(crate) fn run(args: &MigrateArgs) -> u8 {
    let (data, lifecycle, json) = match &args.command {
        MigrateCommand::Plan(args) | MigrateCommand::Apply(args) => (&args.data, &args.lifecycle, args.json),
        MigrateCommand::Undo(args) => (&args.data, &args.lifecycle, args.json),
    };
    let outcome = ProjectLocation::find(data).map_err(RequestError::from).and_then(|it| match it {
        ProjectLocation::Server(server) => served::run(&args.command, &server),
        ProjectLocation::Folder(data) => Ok(match &args.command {
            MigrateCommand::Plan(args) => plan(args, &data)?,
            MigrateCommand::Apply(args) => apply(args, &data)?,
            MigrateCommand::Undo(args) => undo(args, &data)?,
        }),
    });
    let answer = outcome.map(|moves| {
        print::answer(&moves.to_json(), json, |_| moves.show());
        if moves.stuck().next().is_some() { exit::REFUSED } else { exit::DONE }
    });
    refused::finish(answer, CommandSubject::lifecycle(lifecycle), json)
}

/// The planned or actual result of a migration.
struct Moves {
    lifecycle: Name,
    /// The verb for people: `would move`, and the key in JSON.
    verb: &'static str,
    code: &'static str,
    all: Vec<One>,
}

/// The result for one entity.
struct One {
    id: String,
    /// The version it lived by.
    from: u32,
    /// The new state, or the refusal with the reason why it cannot move.
    outcome: Result<String, Json>,
}

impl From<&MigratedEntity> for One {
    fn from(it: &MigratedEntity) -> Self {
        let outcome = it
            .outcome
            .as_ref()
            .map(Name::to_string)
            .map_err(|it| serde_json::to_value(Problem::from(&**it)).unwrap_or_default());
        Self { id: it.entity.id.to_string(), from: it.from, outcome }
    }
}

fn plan(args: &MigrateToArgs, data: &DataArgs) -> Result<Moves, CliError> {
    let (migration, packs) = read_migration(args)?;
    let owner = folder::owner("migrate plan")?;
    let store = Arc::new(folder::open(data, "migrate plan")?);
    let all = match packs.is_empty() {
        true => planned(&owner, &store, &migration, &[])?,
        false => {
            // A pack that is only tried must not be installed: it is, in a copy.
            let copy = Scratch::make(data.data.join("plan"))?;
            let bar = ProgressBar::new("copy");
            let copied = store.backup(&copy.0, &mut |done, all| {
                bar.show(folder::share(done, all), &format!("{done} of {all} pages"));
            });
            bar.done();
            copied?;
            let copied = Arc::new(Sqlite::open(&copy.0, folder::owned_by("migrate plan"))?);
            planned(&owner, &copied, &migration, &packs)?
        }
    };
    Ok(Moves { lifecycle: migration.lifecycle, verb: "would move", code: "planned", all })
}

fn planned(
    owner: &Actor,
    store: &Arc<Sqlite>,
    migration: &Migration,
    packs: &[PackSource],
) -> Result<Vec<One>, CliError> {
    let runtime = folder::start_standing(store, packs)?;
    known(&runtime.law(), &migration.lifecycle, migration.to)?;
    let all = followed("plan", store, migration.lifecycle.clone(), &mut |answer| {
        runtime.plan_migration(owner.clone(), migration, &MigrationRange::default(), answer).map(|_| ())
    })?;
    runtime.stop();
    Ok(all)
}

fn apply(args: &MigrateToArgs, data: &DataArgs) -> Result<Moves, CliError> {
    let (migration, packs) = read_migration(args)?;
    let owner = folder::owner("migrate apply")?;
    let store = Arc::new(folder::open(data, "migrate apply")?);
    let runtime = started(data, &store, &packs, &migration.lifecycle, migration.to)?;
    let all = followed("migrate", &store, migration.lifecycle.clone(), &mut |answer| {
        runtime.apply_migration(owner.clone(), &migration, &MigrationRange::default(), answer).map(|_| ())
    })?;
    runtime.stop();
    Ok(Moves { lifecycle: migration.lifecycle, verb: "moved", code: "moved", all })
}

/// Starts the project with new packs. Wrong usage installs nothing.
fn started(
    data: &DataArgs,
    store: &Arc<Sqlite>,
    packs: &[PackSource],
    lifecycle: &Name,
    version: u32,
) -> Result<Runtime, CliError> {
    let mut law = Law::default();
    for definition in store.reader()?.definitions()? {
        law.add(Arc::new(PackSource { files: definition.files }.compile_stored()?.0));
    }
    for pack in packs {
        law.add(Arc::new(pack.compile()?.0));
    }
    known(&law, lifecycle, version)?;
    folder::start(data, store, packs)
}

fn undo(args: &MigrateUndoArgs, data: &DataArgs) -> Result<Moves, CliError> {
    let owner = folder::owner("migrate undo")?;
    let store = Arc::new(folder::open(data, "migrate undo")?);
    let lifecycle = Name::new(&args.lifecycle);
    let runtime = started(data, &store, &[], &lifecycle, args.version)?;
    let all = followed("undo", &store, lifecycle.clone(), &mut |answer| {
        runtime
            .undo_migration(owner.clone(), &lifecycle, args.version, &MigrationRange::default(), answer)
            .map(|_| ())
    })?;
    runtime.stop();
    Ok(Moves { lifecycle, verb: "moved back", code: "undone", all })
}

/// States that have another name there.
fn states(typed: &[String]) -> Result<BTreeMap<Name, Name>, CliError> {
    let mut states = BTreeMap::new();
    for typed in typed {
        let Some((old, new)) = typed.split_once('=').filter(|(old, new)| !old.is_empty() && !new.is_empty())
        else {
            return Err(CliError::usage(format!("--state {typed}: write OLD=NEW")));
        };
        states.insert(Name::new(old), Name::new(new));
    }
    Ok(states)
}

fn read_migration(args: &MigrateToArgs) -> Result<(Migration, Vec<PackSource>), CliError> {
    let states = states(&args.state)?;
    let packs = packs::sources(args.pack.as_slice())?;
    let (lifecycle, fields) = (Name::new(&args.lifecycle), values::fields(&args.field)?);
    Ok((Migration { lifecycle, to: args.to, states, fields }, packs))
}

/// Fails if the lifecycle has no such version.
fn known(law: &Law, lifecycle: &Name, version: u32) -> Result<(), CliError> {
    let versions: Vec<String> = law.versions(lifecycle).map(|it| it.to_string()).collect();
    if versions.is_empty() {
        let near =
            did_you_mean_or_all(lifecycle, "Lifecycles", law.lifecycle_names().iter().map(Name::as_str));
        return Err(CliError::usage(format!("no pack of this project has a lifecycle {lifecycle}{near}")));
    }
    if law.definition(lifecycle, version).is_none() {
        return Err(CliError::usage(format!(
            "{lifecycle} has no version {version} here, only {}. Pass a newer pack with --pack PATH",
            versions.join(", ")
        )));
    }
    Ok(())
}

/// Fails if a pack to install for a migration does not contain the target version.
fn must_bring(pack: &Path, lifecycle: &str, version: u32) -> Result<(), CliError> {
    let mut law = Law::default();
    for source in packs::sources(&[pack.to_path_buf()])? {
        law.add(Arc::new(source.compile()?.0));
    }
    let shown = pack.display();
    let Some(newest) = law.newest(&Name::new(lifecycle)) else {
        let hint = did_you_mean(lifecycle, law.lifecycle_names().iter().map(Name::as_str));
        let hint = if hint.is_empty() { ".".to_owned() } else { hint };
        let why = format!("{shown} has no lifecycle {lifecycle}{hint} Nothing was installed");
        return Err(CliError::usage(why));
    };
    if newest.version != version {
        let why = format!(
            "{shown} has version {} of {lifecycle}, and --to says {version}. Nothing was installed",
            newest.version
        );
        return Err(CliError::usage(why));
    }
    Ok(())
}

/// The work to do; it calls back with the result of each entity.
type Work<'a> = dyn FnMut(&mut dyn FnMut(&MigratedEntity)) -> Result<(), Failure> + 'a;

/// Does the work with a progress bar, and records the result of each entity.
fn followed(
    title: &str,
    store: &Arc<Sqlite>,
    lifecycle: Name,
    work: &mut Work<'_>,
) -> Result<Vec<One>, CliError> {
    let all: u64 = store.reader()?.states(&lifecycle)?.value.values().sum();
    let bar = ProgressBar::new(title);
    let mut moves = Vec::new();
    let done = work(&mut |moved| {
        moves.push(One::from(moved));
        bar.show(folder::share(moves.len() as u64, all), &format!("{} of {all} entities", moves.len()));
    });
    bar.done();
    done?;
    Ok(moves)
}

/// A folder beside the target files, removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn make(path: PathBuf) -> Result<Self, CliError> {
        // A leftover is from a plan that was killed: the folder around it is ours.
        if path.exists() {
            std::fs::remove_dir_all(&path)
                .map_err(|it| CliError::unreachable(format!("{}: {it}", path.display())))?;
        }
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Moves {
    fn moved(&self) -> impl Iterator<Item = (&One, &str)> {
        self.all.iter().filter_map(|it| Some((it, it.outcome.as_ref().ok()?.as_str())))
    }

    fn stuck(&self) -> impl Iterator<Item = (&One, &Json)> {
        self.all.iter().filter_map(|it| Some((it, it.outcome.as_ref().err()?)))
    }

    fn show(&self) {
        let mut moved: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (it, state) in self.moved() {
            moved.entry(format!("{state}, from version {}", it.from)).or_default().push(&it.id);
        }
        for (how, ids) in moved {
            print::line(styled!("{} {how}: {}", painted_data(self.verb, Colour::Green), some_of(&ids)));
        }
        let mut stuck: BTreeMap<Vec<String>, Vec<&str>> = BTreeMap::new();
        for (it, refusal) in self.stuck() {
            stuck.entry(reasons(refusal)).or_default().push(&it.id);
        }
        for (why, ids) in &stuck {
            print::line(styled!("{} {}", painted_data("cannot move", Colour::Red), some_of(ids)));
            why.iter().for_each(|it| print::line(styled!("  {it}")));
        }
        let (moved, kept) = (self.moved().count() as u64, self.stuck().count() as u64);
        let moved = count_with_noun(moved, "entity", "entities");
        print::line(styled!("{}: {moved} {}, {kept} cannot", self.lifecycle, self.verb));
        if kept > 0 {
            print::message(match self.code {
                "undone" => "Entities that have changed since the migration cannot be undone.",
                _ => {
                    "Map states and fields with --state OLD=NEW and --field name=value, or change those entities first."
                }
            });
        }
    }

    fn to_json(&self) -> Json {
        let moved = self.moved().map(|(it, state)| json!({ "id": it.id, "from": it.from, "state": state }));
        let stuck =
            self.stuck().map(|(it, refusal)| json!({ "id": it.id, "from": it.from, "refusal": refusal }));
        let (moved, stuck): (Vec<Json>, Vec<Json>) = (moved.collect(), stuck.collect());
        json!({ "lifecycle": self.lifecycle, self.code: moved, "cannot": stuck })
    }
}

/// Every reason of a refusal, a line each, without the entity's name, so that entities with the same reasons are grouped.
fn reasons(refusal: &Json) -> Vec<String> {
    let reason = |it: &Json| match text(it, "field") {
        "" => text(it, "message").to_owned(),
        field => format!("{field}: {}", text(it, "message")),
    };
    let reasons: Vec<String> = list(refusal, "errors").iter().map(reason).collect();
    if reasons.is_empty() { vec![text(refusal, "detail").to_owned()] } else { reasons }
}

/// The first few, and how many more there are.
fn some_of(ids: &[&str]) -> String {
    let named: Vec<&str> = ids.iter().take(NAMED).copied().collect();
    match ids.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}
