//! Compiles a pack: outlines of all its lifecycles, then each of them, then the shared declarations.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::lifecycle;
use super::names::is_reserved;
use super::queries;
use super::reserved_names::has_meaning;
use super::settings::{self, SettingDraft};
use super::shape::PackShape;
use crate::model::{Lifecycle, Pack, Setting};
use crate::name::Name;
use crate::source::{At, Named, Problems};
use crate::syntax::{Expr, LifecycleFile, PackFile, RoleDecl};

pub(super) fn compile(
    file: &PackFile,
    lifecycles: &[LifecycleFile],
    problems: &mut Problems,
) -> Option<Pack> {
    let mut drafts = settings::drafts(&file.settings, problems);
    let shared = drafts.len();
    for lifecycle in lifecycles {
        for draft in settings::drafts(&lifecycle.settings, problems) {
            if drafts.iter().any(|it| it.setting.name == draft.setting.name) {
                let at = lifecycle.settings.iter().find(|(name, _)| name.it == draft.setting.name);
                let at = at.map_or(lifecycle.lifecycle.at, |(name, _)| name.at);
                problems.error(
                    "name-taken",
                    at,
                    format!("setting `{}` is declared twice", draft.setting.name),
                );
            } else {
                drafts.push(draft);
            }
        }
    }
    let plain: Vec<Setting> = drafts.iter().map(|it| it.setting.clone()).collect();
    super::reserved_names::roles_are_free(&file.roles, problems);
    let roles = roles(&file.roles, problems);
    let policy =
        file.policy.as_ref().map(|it| super::policy::compile(it, &file.pack.it, &roles, &plain, problems));
    let policy = policy.map(Arc::new);
    let mut shape = PackShape {
        pack: file.pack.it.to_string(),
        roles: roles.clone(),
        audiences: file.audiences.iter().map(|(name, _)| name.it.clone()).collect(),
        levels: file.policy.as_ref().map(super::policy::levels),
        actions: file.policy.as_ref().map(super::policy::actions),
        lifecycles: BTreeMap::new(),
    };
    for lifecycle in lifecycles {
        let outline = lifecycle::outline(lifecycle, &file.types, problems);
        if shape.lifecycles.insert(lifecycle.lifecycle.it.clone(), outline).is_some() {
            problems.error("name-taken", lifecycle.lifecycle.at, "this lifecycle is declared twice");
        }
    }
    inverses(&mut shape, lifecycles, problems);
    let mut compiled: Vec<Arc<Lifecycle>> = Vec::new();
    let mut strangers: BTreeMap<usize, Vec<Expr>> = BTreeMap::new();
    for one in lifecycles {
        let made =
            lifecycle::compile(one, &shape, file.version.it, &file.types, &drafts, policy.clone(), problems);
        if let Some((made, unknown)) = made {
            compiled.push(Arc::new(made));
            for (n, source) in unknown {
                strangers.entry(n).or_default().push(source);
            }
        }
    }
    settings_known_nowhere(&drafts, &strangers, shared, lifecycles.len(), problems);
    super::rankings::connect(&mut compiled);
    let mut compiler = queries::PackCompiler { pack: &shape, settings: &plain, problems, reads: Vec::new() };
    let queries = compiler.queries(file, &mut compiled);
    compiler.policy_request(file);
    let supervise = compiler.supervise(file);
    compiler.work(file, lifecycles, &supervise, &mut compiled);
    let control = compiler.control(file);
    let declared = [&file.settings].into_iter().chain(lifecycles.iter().map(|it| &it.settings));
    let setting_checks = compiler.setting_checks(declared);
    let reads = compiler.reads;
    Some(Pack {
        name: file.pack.it.clone(),
        version: file.version.it,
        about: file.about.clone().unwrap_or_default(),
        roles,
        audiences: file.audiences.iter().map(|(name, about)| (name.it.clone(), about.clone())).collect(),
        lifecycles: compiled,
        policy,
        queries,
        settings: plain,
        setting_checks,
        supervise,
        control,
        reads,
    })
}

/// Reports a `from` that compiles in no lifecycle; one that compiles in some is fine.
fn settings_known_nowhere(
    drafts: &[SettingDraft],
    strangers: &BTreeMap<usize, Vec<Expr>>,
    shared: usize,
    lifecycles: usize,
    problems: &mut Problems,
) {
    for (n, sources) in strangers {
        let Some(draft) = drafts.get(*n) else { continue };
        for source in &draft.from {
            let refused = sources.iter().filter(|it| it.at == source.at).count();
            if refused == lifecycles && lifecycles > 0 {
                let whose = if *n < shared { "no lifecycle of the pack" } else { "no lifecycle" };
                problems.error(
                    "setting-from",
                    source.at,
                    format!("{whose} has the names in `{}`", source.text),
                );
            }
        }
    }
}

/// Each role with all roles that it includes, itself first.
fn roles(from: &Named<RoleDecl>, problems: &mut Problems) -> BTreeMap<Name, Vec<Name>> {
    let direct: BTreeMap<Name, Vec<At<Name>>> =
        from.iter().map(|(name, it)| (name.it.clone(), super::arms::syntax_list(&it.includes))).collect();
    let mut roles = BTreeMap::new();
    for (name, _) in from.iter() {
        let mut all: Vec<Name> = vec![name.it.clone()];
        let mut next = 0;
        while let Some(role) = all.get(next).cloned() {
            next += 1;
            for included in direct.get(&role).into_iter().flatten() {
                if !direct.contains_key(&included.it) {
                    problems.error(
                        "unknown-role",
                        included.at,
                        format!("there is no role `{}`", included.it),
                    );
                } else if !all.contains(&included.it) {
                    all.push(included.it.clone());
                }
            }
        }
        roles.insert(name.it.clone(), all);
    }
    roles
}

fn inverses(shape: &mut PackShape, lifecycles: &[LifecycleFile], problems: &mut Problems) {
    for lifecycle in lifecycles {
        for (_, reference) in lifecycle.refs.iter() {
            let Some(inverse) = &reference.inverse else { continue };
            let Some(target) = shape.lifecycles.get_mut(&reference.to.it) else { continue };
            if has_meaning(problems, inverse, "inverse", is_reserved(&inverse.it)) {
                continue;
            }
            let related = lifecycles
                .iter()
                .any(|it| it.lifecycle.it == reference.to.it && it.relations.contains(&inverse.it));
            let taken = related
                || target.fields.contains_key(&inverse.it)
                || target.computed.contains(&inverse.it)
                || target.refs.contains_key(&inverse.it)
                || target.counters.contains_key(&inverse.it)
                || target.slots.contains(&inverse.it)
                || target.rankings.contains_key(&inverse.it)
                || shape.roles.contains_key(&inverse.it);
            if taken || target.inverses.insert(inverse.it.clone(), lifecycle.lifecycle.it.clone()).is_some() {
                problems.error(
                    "name-taken",
                    inverse.at,
                    format!("`{}` already has a meaning in {}", inverse.it, reference.to.it),
                );
            }
        }
    }
}
