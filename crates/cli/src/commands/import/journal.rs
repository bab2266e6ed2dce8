//! The journal of a scenario becomes a project in a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::json;
use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, Command, Install, Seed};
use trackside_engine::event::Entry;
use trackside_engine::journal::Journal;
use trackside_engine::key::EntityKey;
use trackside_engine::project::{ProjectChange, SettingChange};
use trackside_engine::view::Project;
use trackside_engine::{Decision, Law, View, apply, decide};
use trackside_lifecycle::hex;
use trackside_lifecycle::model::Pack;
use trackside_lifecycle::time::Timestamp;
use trackside_store::{Batch, Chain, Definition, Sqlite, Store};

use crate::args::ImportArgs;
use crate::folder::{self, CliError, count_with_noun};
use crate::print::{self, ProgressBar};
use crate::{builtin, files, foreign, packs, project, project_files};

/// Entries in one commit.
const PIECE: usize = 10_000;

pub(super) fn run(args: &ImportArgs) -> u8 {
    let data = project::found_or_new(&args.data).data;
    match import(args, &data) {
        Ok(imported) => {
            let json = json!({
                "data": data, "entries": imported.entries, "entities": imported.entities,
                "packs": imported.packs, "end": { "seq": imported.end.seq, "hash": hex::encode(imported.end.hash) },
            });
            print::answer(&json, args.json, |_| {
                print::line(styled!(
                    "{} of {} in {}, with {}",
                    count_with_noun(imported.entries, "entry", "entries"),
                    count_with_noun(imported.entities, "entity", "entities"),
                    data.display(),
                    imported.packs.join(", ")
                ));
            })
        }
        Err(stopped) => stopped.report(),
    }
}

struct Imported {
    entries: u64,
    entities: u64,
    packs: Vec<String>,
    end: Chain,
}

fn import(args: &ImportArgs, data: &Path) -> Result<Imported, CliError> {
    folder::must_be_free(data)?;
    if args.dry_run {
        return Err(CliError::usage(
            "--dry-run does not work with the journal of a scenario: import it into a new folder, and delete the folder afterwards",
        ));
    }
    let journal = read(&args.file)?;
    let (law, definitions) = installed(args)?;
    let entries = completed(&journal, &law, &definitions).map_err(|why| wrong(&args.file, &why))?;
    let entities: BTreeSet<&EntityKey> = journal.entries.iter().map(|it| &it.entity).collect();
    let packs = definitions.iter().map(|it| format!("{} {}", it.pack, it.version)).collect();
    let sealed = seal(&entries).map_err(|why| wrong(&args.file, &why))?;
    let store = Sqlite::open(data, folder::owned_by("import"))?;
    project_files::write_or_warn(data);
    let mut end = store.journal()?;
    let bar = ProgressBar::new("import");
    let mut batch = Batch { definitions: definitions.clone(), ..Batch::default() };
    for piece in sealed.chunks(PIECE) {
        batch.records = piece.to_vec();
        end.append(&batch)?;
        batch.definitions.clear();
        let done = piece.last().map_or(0, |it| it.seq);
        bar.show(folder::share(done, sealed.len() as u64), &format!("{done} entries"));
    }
    bar.done();
    let at = end.head()?.chain;
    Ok(Imported { entries: journal.entries.len() as u64, entities: entities.len() as u64, packs, end: at })
}

fn read(path: &Path) -> Result<Journal, CliError> {
    let unread = |it| CliError::usage(format!("{}: {}", path.display(), files::reading(&it)));
    let text = files::read_text(path, foreign::MOST).map_err(unread)?;
    let journal = Journal::read(&text).map_err(|it| wrong(path, &it))?;
    match journal.entries.is_empty() {
        true => Err(wrong(path, "it has no entries")),
        false => Ok(journal),
    }
}

/// The error for a file that cannot be imported.
fn wrong(path: &Path, why: &str) -> CliError {
    CliError::refused(format!("{}: {why}", path.display()))
}

/// The packs to put into force, and their stored rows.
fn installed(args: &ImportArgs) -> Result<(Law, Vec<Definition>), CliError> {
    let sources = match args.packs.is_empty() {
        true => builtin::all(),
        false => packs::sources(&args.packs)?,
    };
    let both = sources.iter().map(trackside_runtime::PackSource::compile).collect::<Result<Vec<_>, _>>()?;
    let (packs, definitions): (Vec<Pack>, Vec<Definition>) = both.into_iter().unzip();
    Ok((Law::new(packs), definitions))
}

/// The entries, followed by those that install the packs, so that starting the project adds nothing.
fn completed(journal: &Journal, law: &Law, definitions: &[Definition]) -> Result<Vec<Entry>, String> {
    let mut entries = journal.entries.clone();
    let mut view = View::default();
    let mut last = Timestamp(i64::MIN);
    for entry in &entries {
        if entry.at < last {
            return Err(format!("entry {} is older than the one before it", entry.seq));
        }
        last = entry.at;
        apply(&mut view, entry);
    }
    for entity in view.entities() {
        if law.definition(&entity.key.lifecycle, entity.definition).is_none() {
            return Err(format!(
                "{} uses version {} of {}, which none of the packs has: name its pack with --packs",
                entity.key, entity.definition, entity.key.lifecycle
            ));
        }
    }
    let now = journal.about.until.map_or(last, |it| it.max(last));
    let ours = Actor::engine();
    let installs = definitions.iter().map(|it| {
        let Definition { pack, version, digest, .. } = it;
        let install = Install { pack: pack.clone(), version: *version, digest: digest.as_str().into() };
        Command::new(ours.clone(), Ask::Install(install))
    });
    let change = changed(journal.about.project());
    let configures = (!change.is_empty()).then(|| Command::new(folder::creator(), Ask::Configure(change)));
    // Lifecycles with one entity have it from the beginning.
    let single = law.lifecycle_names().iter().filter_map(|it| law.newest(it).filter(|it| it.one));
    let single = single.map(|it| EntityKey { lifecycle: it.name.clone(), id: it.kind.clone() });
    let seeds: Vec<Command> = single
        .filter(|it| view.get(it).is_none())
        .map(|it| Command::new(ours.clone(), Ask::Seed(Seed::new(it))))
        .collect();
    for command in installs.chain(configures).chain(seeds) {
        match decide(law, &view, &command, now) {
            Ok(Decision::Accepted(accepted)) => {
                accepted.entries.iter().for_each(|it| apply(&mut view, it));
                entries.extend(accepted.entries);
            }
            Ok(Decision::Refused(refusal)) => return Err(refusal.to_string()),
            Ok(Decision::Replayed { .. }) => {}
            Err(needs) => return Err(needs.to_string()),
        }
    }
    Ok(entries)
}

/// The change that gives a new project these settings, people and zone.
fn changed(project: Project) -> ProjectChange {
    let mut settings = Vec::new();
    for (pack, of_pack) in project.settings {
        for (setting, value) in of_pack {
            settings.push(SettingChange { pack: pack.clone(), setting, value });
        }
    }
    ProjectChange {
        settings,
        zone: Some(project.zone).filter(|it| !it.is_empty()),
        people: Some(project.people).filter(|it| !it.is_empty()),
    }
}

fn seal(entries: &[Entry]) -> Result<Vec<trackside_store::Record>, String> {
    let mut chain = Chain::default();
    let mut salts = trackside_runtime::SaltSource::default();
    let mut last: BTreeMap<&EntityKey, u64> = BTreeMap::new();
    let sealed = entries.iter().map(|entry| {
        let prev = last.insert(&entry.entity, entry.seq).unwrap_or(0);
        let salt = salts.next_salt().map_err(|it| it.to_string())?;
        chain.seal_salted(entry.clone(), prev, salt).map_err(|it| it.to_string())
    });
    sealed.collect()
}
