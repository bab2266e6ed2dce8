//! A pack: outlines of all its lifecycles, then each of them, then what they share.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::lifecycle;
use super::names::{Table, is_reserved};
use super::settings::{self, Draft};
use super::shape::PackShape;
use super::types::Types;
use super::words::has_meaning;
use super::workbench::Workbench;
use crate::guard::Type;
use crate::model::{FieldType, Lifecycle, Order, Pack, Query, Setting};
use crate::name::Name;
use crate::source::{At, Named, Problems};
use crate::syntax::{Expr, LifecycleFile, PackFile, QueryDecl, RoleDecl};

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
    super::words::roles_are_free(&file.roles, problems);
    let roles = roles(&file.roles, problems);
    let policy =
        file.policy.as_ref().map(|it| super::policy::compile(it, &file.pack.it, &roles, &plain, problems));
    let policy = policy.map(Arc::new);
    let mut shape = PackShape {
        pack: file.pack.it.to_string(),
        roles: roles.clone(),
        audiences: file.audiences.iter().map(|(name, _)| name.it.clone()).collect(),
        levels: file.policy.as_ref().map(super::policy::levels),
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
    let queries = queries(file, &shape, &drafts, problems, &mut compiled);
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
    })
}

/// A `from` that no lifecycle understands is a mistake; one that some understand is not.
fn settings_known_nowhere(
    drafts: &[Draft],
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

/// Each role with everything it includes, itself first.
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
                || shape.roles.contains_key(&inverse.it);
            if taken || target.inverses.insert(inverse.it.clone(), lifecycle.lifecycle.it.clone()).is_some() {
                problems.error(
                    "name-taken",
                    inverse.at,
                    format!("`{}` already means something in {}", inverse.it, reference.to.it),
                );
            }
        }
    }
}

/// Queries are compiled with their lifecycle's names, so they share its table of slots.
fn queries(
    file: &PackFile,
    shape: &PackShape,
    drafts: &[Draft],
    problems: &mut Problems,
    compiled: &mut [Arc<Lifecycle>],
) -> Vec<Query> {
    let mut queries = Vec::new();
    for (name, decl) in file.queries.iter() {
        let Some(target) = shape.lifecycles.get(&decl.of.it) else {
            problems.error(
                "unknown-lifecycle",
                decl.of.at,
                format!("there is no lifecycle `{}`", decl.of.it),
            );
            continue;
        };
        let Some(lifecycle) = compiled.iter_mut().find(|it| it.name == decl.of.it).and_then(Arc::get_mut)
        else {
            continue;
        };
        let types = Types::new(target.states.clone(), &[&file.types]);
        let takes: Vec<(Name, FieldType)> = decl
            .takes
            .iter()
            .map(|(name, it)| (name.it.clone(), types.build(it, name.at, problems)))
            .collect();
        let ask: BTreeMap<Name, Type> = takes.iter().map(|(name, it)| (name.clone(), it.ty())).collect();
        let mut bench = Workbench {
            pack: shape,
            shape: target,
            table: Table::resume(std::mem::take(&mut lifecycle.reads)),
            settings: drafts.iter().map(|it| it.setting.clone()).collect(),
            relations: lifecycle.relations.iter().map(|it| (it.name.clone(), it.guard.clone())).collect(),
            computed: lifecycle
                .fields
                .values()
                .filter_map(|it| it.is.clone().map(|guard| (it.name.clone(), guard)))
                .collect(),
            taken: BTreeMap::new(),
            ask: Some(ask),
            leaving: Vec::new(),
            problems,
        };
        queries.push(query(&mut bench, name, decl, takes));
        lifecycle.reads = bench.table.reads;
    }
    queries
}

fn query(
    bench: &mut Workbench<'_>,
    name: &At<Name>,
    decl: &QueryDecl,
    takes: Vec<(Name, FieldType)>,
) -> Query {
    let mut order = Vec::new();
    for source in decl.order.iter().flat_map(|it| it.iter()) {
        let (descending, plain) = match source.text.strip_prefix('-') {
            Some(rest) => (true, Expr::within(rest, source.at)),
            None => (false, source.clone()),
        };
        if let Some(by) = bench.guard(&plain, &Type::Any) {
            order.push(Order { by, descending });
        }
    }
    Query {
        name: name.it.clone(),
        about: decl.about.clone().unwrap_or_default(),
        of: decl.of.it.clone(),
        takes,
        filter: bench.when(&decl.r#where),
        order,
        history: decl.history.as_ref().and_then(|it| bench.guard(it, &Type::Text)),
    }
}
