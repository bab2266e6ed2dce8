//! `trackside diff`: changes between two versions, stranded entities, and a replay of a journal.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value as Json, json};
use trackside_engine::journal::Journal;
use trackside_engine::{Law, View, apply};
use trackside_lifecycle::model::Pack;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::Sources;
use trackside_lifecycle::time::Timestamp;
use trackside_study::compare::stranded::{Stranding, find_stranded, read_entities};
use trackside_study::compare::whatif::{Actors, WhatIf, read_actors, what_if};
use trackside_study::compare::{Change, ChangeKind, Direction, compare, group_by_lifecycle};

use crate::args::{DiffArgs, FailOn};
use crate::folder::CliError;
use crate::git_revision::GitRevision;
use crate::print::{self, Colour, painted_data};
use crate::styled::Styled;
use crate::{exit, files, packs};

pub(crate) fn run(args: &DiffArgs) -> u8 {
    match compare_versions(args) {
        Ok(answer) => {
            print::answer(&answer.to_json(), args.json, |_| answer.show(args.most));
            if answer.fails(args.fail_on) { exit::REFUSED } else { exit::DONE }
        }
        Err(stopped) => stopped.report(),
    }
}

/// All requested results.
struct Answer {
    packs: Vec<(Name, Vec<Change>)>,
    stranding: Option<Stranding>,
    what_if: Option<WhatIf>,
}

fn compare_versions(args: &DiffArgs) -> Result<Answer, CliError> {
    let (old, wanted) = packs_at(&args.old)?;
    let (new, also) = packs_at(&args.new)?;
    let only = wanted.or(also);
    let mut names: Vec<Name> = old.keys().chain(new.keys()).cloned().collect();
    names.sort();
    names.dedup();
    let mut packs = Vec::new();
    for name in names {
        let mut changes = match (old.get(&name), new.get(&name)) {
            (Some(old), Some(new)) => compare(old, new),
            (before, _) => vec![pack_change(&name, before.is_some())],
        };
        changes.retain(|it| only.is_none() || it.lifecycle == only);
        packs.push((name, changes));
    }
    let mut answer = Answer { packs, stranding: None, what_if: None };
    let law = |packs: &BTreeMap<Name, Arc<Pack>>| {
        let mut law = Law::default();
        packs.values().for_each(|it| law.add(it.clone()));
        law
    };
    let (old, new) = (law(&old), Arc::new(law(&new)));
    if let Some(path) = &args.entities {
        let entities = read_entities(&text(path)?, &old).map_err(|it| wrong(path, &it))?;
        let now = entities.iter().map(|it| it.updated_at).max().unwrap_or_default();
        answer.stranding = Some(find_stranded(&old, &new, &entities, &Default::default(), now));
    }
    if let Some(path) = &args.journal {
        let journal = Journal::read(&text(path)?).map_err(|it| wrong(path, &it))?;
        answer.stranding = Some(stranded_at_end(&old, &new, &journal));
        let actors = match &args.actors {
            Some(path) => read_actors(&text(path)?).map_err(|it| wrong(path, &it))?,
            None => Actors::default(),
        };
        answer.what_if = args.what_if.then(|| what_if(&old, &new, &journal, &actors));
    }
    Ok(answer)
}

fn stranded_at_end(old: &Law, new: &Law, journal: &Journal) -> Stranding {
    let mut view = View::default();
    for entry in &journal.entries {
        apply(&mut view, entry);
    }
    let entities: Vec<_> = view.entities().into_iter().cloned().collect();
    let last = journal.entries.iter().map(|it| it.at).max();
    let now: Timestamp = journal.about.until.or(last).unwrap_or_default();
    find_stranded(old, new, &entities, &journal.about.project(), now)
}

/// Whether entities can be in the changed item: a pack, a lifecycle or a state.
fn is_place(change: &Change) -> bool {
    ["pack ", "lifecycle", "state "].iter().any(|it| change.subject.starts_with(it))
}

/// The addition or removal of a whole pack.
fn pack_change(name: &Name, gone: bool) -> Change {
    Change {
        kind: if gone { ChangeKind::Removed } else { ChangeKind::Added },
        direction: if gone { Direction::Tighter } else { Direction::Looser },
        lifecycle: None,
        subject: format!("pack {name}"),
        sentence: if gone { format!("pack {name} is gone") } else { format!("new pack {name}") },
        wording: false,
        path: true,
    }
}

fn text(path: &Path) -> Result<String, CliError> {
    std::fs::read_to_string(path).map_err(|it| CliError::usage(files::unread(path, &it)))
}

fn wrong(path: &Path, why: &str) -> CliError {
    CliError::usage(format!("{}: {why}", path.display()))
}

/// Packs by name, and the lifecycle that was named, if one was.
type Named = (BTreeMap<Name, Arc<Pack>>, Option<Name>);

/// The packs at a path, compiled, and the lifecycle it names if it is a file.
fn packs_at(path: &Path) -> Result<Named, CliError> {
    let past = GitRevision::of(path).map_err(CliError::usage)?;
    let path: PathBuf = past.as_ref().map_or_else(|| path.to_owned(), |it| it.path().to_owned());
    let mut sources = Sources::default();
    let found = packs::find(std::slice::from_ref(&path), &mut sources)?;
    let mut all = BTreeMap::new();
    for pack in found {
        match packs::compile(&sources, &pack.files) {
            Ok((compiled, _)) => all.insert(compiled.name.clone(), Arc::new(compiled)),
            Err(problems) => return Err(CliError::refused(print::rendered(&problems, &sources))),
        };
    }
    let only = path.is_file().then(|| std::fs::read_to_string(&path).unwrap_or_default());
    let only = only.and_then(|it| {
        it.lines().find_map(|it| it.strip_prefix("lifecycle:")).map(|it| Name::new(it.trim()))
    });
    Ok((all, only))
}

impl Answer {
    fn changes(&self) -> impl Iterator<Item = &Change> {
        self.packs.iter().flat_map(|(_, it)| it)
    }

    fn fails(&self, on: Option<FailOn>) -> bool {
        let stranded = self.stranding.as_ref().is_some_and(|it| it.count() > 0)
            || self.what_if.as_ref().is_some_and(|it| !it.differences.is_empty());
        let tighter = |it: &Change| {
            matches!(it.direction, Direction::Tighter | Direction::Shorter)
                || (it.kind == ChangeKind::Removed && it.path)
        };
        match on {
            None => false,
            Some(FailOn::Any) => stranded || self.changes().next().is_some(),
            Some(FailOn::Tighter) => self.changes().any(tighter),
            // Without data, assume that every state has entities.
            Some(FailOn::Stranded) if self.stranding.is_none() => {
                self.changes().any(|it| it.kind == ChangeKind::Removed && it.path && is_place(it))
            }
            Some(FailOn::Stranded) => stranded,
        }
    }

    fn to_json(&self) -> Json {
        let packs = self.packs.iter().map(|(name, changes)| {
            let groups = group_by_lifecycle(changes).into_iter().flat_map(|(_, it)| it);
            json!({ "pack": name, "changes": groups.collect::<Vec<_>>() })
        });
        json!({
            "packs": packs.collect::<Vec<_>>(),
            "stranded": self.stranding,
            "whatIf": self.what_if,
        })
    }

    fn show(&self, most: usize) {
        if self.changes().next().is_none() {
            print::line("Nothing changed.");
        }
        for (name, changes) in &self.packs {
            for (lifecycle, list) in group_by_lifecycle(changes) {
                let title = lifecycle.map_or_else(|| format!("pack {name}"), |it| it.to_string());
                print::line(painted_data(&title, Colour::Bold));
                for change in list {
                    print::line(told_of(change));
                }
            }
        }
        if let Some(it) = &self.stranding {
            show_stranded(it, most);
        }
        if let Some(it) = &self.what_if {
            show_what_if(it, most);
        }
    }
}

fn told_of(change: &Change) -> Styled {
    let mark = match change.kind {
        ChangeKind::Added => '+',
        ChangeKind::Removed => '-',
        ChangeKind::Changed => '~',
    };
    let direction = match change.direction {
        Direction::Neutral => "",
        it => it.as_str(),
    };
    let colour = match change.direction {
        Direction::Tighter | Direction::Shorter => Colour::Red,
        Direction::Looser | Direction::Longer => Colour::Green,
        Direction::Neutral => Colour::Dim,
    };
    styled!("  {mark} {} {}", painted_data(styled!("{direction:<7}"), colour), change.sentence)
}

fn show_stranded(stranding: &Stranding, most: usize) {
    print::line("");
    let (count, all) = (stranding.count(), stranding.looked_at);
    print::line(painted_data(styled!("Stranded: {count} of {all} entities"), Colour::Bold));
    for group in stranding.groups.iter().take(most) {
        let here = stranding
            .states
            .get(&(group.lifecycle.clone(), group.state.clone()))
            .copied()
            .unwrap_or_default();
        print::line(styled!(
            "  {} in {}, {} of {here} ({}): {}",
            group.lifecycle,
            group.state,
            group.ids.len(),
            group.ids_text(5),
            group.why
        ));
        print::line(styled!("    {}", group.advice));
    }
    more(stranding.groups.len(), most);
}

fn show_what_if(answer: &WhatIf, most: usize) {
    print::line("");
    let again = answer.commands;
    let refused = answer.first_hand().count();
    print::line(painted_data(
        styled!(
            "What if: {again} commands replayed, {refused} differences and {} that follow from them",
            answer.follow_ups()
        ),
        Colour::Bold,
    ));
    for (id, roles) in &answer.inferred {
        let roles: Vec<&str> = roles.iter().map(Name::as_str).collect();
        print::line(styled!("  the roles of {id} are unknown; the old rules require {}", roles.join(", ")));
    }
    if answer.inexact > 0 {
        print::line(styled!("  {} of them without texts that were not stored", answer.inexact));
    }
    for it in answer.first_hand().take(most) {
        print::line(styled!("  {}", it.line()));
    }
    more(refused, most);
    for it in answer.ends.iter().take(most) {
        print::line(styled!("  {}", it.line()));
    }
    more(answer.ends.len(), most);
    for it in answer.not_run.iter().take(most) {
        print::line(painted_data(styled!("  {}: cannot be replayed: {}", it.of.head(), it.why), Colour::Dim));
    }
    more(answer.not_run.len(), most);
}

fn more(all: usize, most: usize) {
    if all > most {
        print::line(styled!("  and {} more", all - most));
    }
}
