//! Compiles one lifecycle: its outline first, then all of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::context::{CompileContext, is_id, is_ids};
use super::face::face;
use super::names::{ReadTable, computed_key, relation_key};
use super::presentation::{card, path, title, waits_for};
use super::reserved_names;
use super::rules::clash;
use super::settings::SettingDraft;
use super::shape::{LifecycleShape, PackShape, RankingShape, RefShape};
use super::types::Types;
use crate::guard::{Guard, Type};
use crate::model::{
    Consequences, Field, Gate, Invariant, Inverse, Lifecycle, Observe, Policy, Read, Ref, Relation, Severity,
    State, StateSet, Transition,
};
use crate::name::Name;
use crate::source::{At, Named, Problems};
use crate::syntax::{
    ArmDecl, Arms, Expr, LifecycleFile, ObserveDecl, StateDecl, TakeDecl, Takes, TypeDecl, WorktreeDecl,
};
use crate::value::Value;

pub(super) fn arms(from: &Arms) -> Vec<&ArmDecl> {
    match from {
        Arms::One(arm) => vec![arm],
        Arms::Many(arms) => arms.iter().collect(),
    }
}

fn taken_names(takes: &Takes) -> Vec<Name> {
    match takes {
        Takes::Optional(names) => names.iter().map(|it| it.it.clone()).collect(),
        Takes::Map(named) => named.iter().map(|(name, _)| name.it.clone()).collect(),
    }
}

/// The outline that its own expressions and other lifecycles see.
pub(super) fn outline(
    file: &LifecycleFile,
    pack_types: &Named<TypeDecl>,
    problems: &mut Problems,
) -> LifecycleShape {
    let states: Arc<Vec<Name>> = Arc::new(file.states.iter().map(|(name, _)| name.it.clone()).collect());
    let is_final = |decl: &Option<StateDecl>| decl.as_ref().is_some_and(|it| it.r#final.unwrap_or(false));
    let types = Types::new(states.clone(), &[pack_types, &file.types]);
    let mut fields = BTreeMap::new();
    let mut owned = Vec::new();
    let mut computed = Vec::new();
    for (name, decl) in file.fields.iter() {
        if decl.is.is_some() {
            computed.push(name.it.clone());
            continue;
        }
        fields.insert(name.it.clone(), types.build(&decl.type_decl(), name.at, problems));
        if decl.by.is_some() {
            owned.push(name.it.clone());
        }
    }
    let mut sets: BTreeMap<Name, Vec<Name>> = BTreeMap::new();
    for (name, members) in file.sets.iter() {
        let mut chosen: Vec<Name> = Vec::new();
        for member in members.iter() {
            if states.contains(&member.it) {
                chosen.push(member.it.clone());
            } else if let Some(set) = sets.get(&member.it) {
                chosen.extend(set.iter().cloned());
            } else {
                problems.error("unknown-state", member.at, format!("there is no state `{}`", member.it));
            }
        }
        sets.insert(name.it.clone(), chosen);
    }
    let create_takes = match file.create.as_ref().and_then(|it| it.takes.as_ref()) {
        Some(takes) => taken_names(takes),
        None => fields.keys().filter(|it| !owned.contains(it)).cloned().collect(),
    };
    LifecycleShape {
        name: file.lifecycle.it.clone(),
        one: file.one.unwrap_or(false),
        finals: file.states.names_where(is_final),
        erasing: file.states.names_where(|decl| decl.as_ref().is_some_and(|it| it.erase.is_some())),
        sets,
        path: file.path.iter().flatten().map(|it| it.it.clone()).collect(),
        refs: file.refs.map_each(|it| {
            let inverse = it.inverse.as_ref().map(|it| it.it.clone());
            RefShape { to: it.to.it.clone(), many: it.many.unwrap_or(false), inverse }
        }),
        inverses: BTreeMap::new(),
        counters: file.counters.map_each(|it| {
            let ty = if it.add.is_some() { Type::Float } else { Type::Int };
            (ty, it.per.is_some() || it.key.is_some())
        }),
        keyed: file.counters.names_where(|it| it.key.is_some()),
        windowed: file.counters.names_where(|it| it.within.is_some()),
        slots: file.slots.names_where(|_| true),
        rankings: file.rankings.map_each(|it| {
            let within = super::arms::syntax_list(&it.within).into_iter().map(|it| it.it).collect();
            let first = it.by.iter().flat_map(|it| it.iter()).next();
            RankingShape { within, ascending: first.is_some_and(|it| !it.text.starts_with('-')) }
        }),
        me: file.me.as_ref().map(|it| it.it.clone()),
        effects: file.effects.names_where(|_| true),
        transitions: file.transitions.map_each(|it| {
            arms(it).into_iter().filter_map(|arm| arm.takes.as_ref()).flat_map(taken_names).collect()
        }),
        // With `anew`, a final state is left only by a new life.
        again: file
            .create
            .as_ref()
            .filter(|it| it.anew != Some(true))
            .and_then(|it| it.again.as_ref())
            .map(|it| it.it.clone()),
        create_takes,
        states,
        fields,
        owned,
        computed,
    }
}

/// Compiles the whole lifecycle. Also returns the pack's settings that could not be compiled here.
pub(super) fn compile(
    file: &LifecycleFile,
    pack: &PackShape,
    version: u32,
    pack_types: &Named<TypeDecl>,
    drafts: &[SettingDraft],
    policy: Option<Arc<Policy>>,
    problems: &mut Problems,
) -> Option<(Lifecycle, Vec<(usize, Expr)>)> {
    let shape = pack.lifecycles.get(&file.lifecycle.it)?;
    let types = Types::new(shape.states.clone(), &[pack_types, &file.types]);
    let mut context = CompileContext {
        pack,
        shape,
        table: ReadTable::default(),
        settings: drafts.iter().map(|it| it.setting.clone()).collect(),
        relations: Vec::new(),
        computed: Vec::new(),
        taken: BTreeMap::new(),
        ask: None,
        it: None,
        listing: false,
        leaving: Vec::new(),
        problems,
    };
    names_are_free(&mut context, file);
    reserved_names::check_names(&mut context, file);
    let strangers = context.settings_from(drafts);
    let mut fields = fields(&mut context, file);
    for (name, source) in file.relations.iter() {
        let key = relation_key(&name.it);
        let guard = context.with_cost(key, &name.it, name.at, |context| context.guard(source, &Type::Bool));
        if let Some(guard) = guard {
            context.relations.push((name.it.clone(), guard));
        }
    }
    restrict_fields(&mut context, file, &mut fields);
    let refs = refs(&mut context, file);
    let gates = gates(&mut context, file, &types);
    let path = path(&mut context, file);
    let transitions: Vec<Transition> = file
        .transitions
        .iter()
        .map(|(name, decl)| Transition {
            name: name.it.clone(),
            arms: arms(decl)
                .into_iter()
                .enumerate()
                .filter_map(|(n, arm)| context.arm(name, n, arm, &types))
                .collect(),
        })
        .collect();
    context.leaving = transitions.iter().map(leaving).collect();
    if file.create.is_none() && !shape.one {
        context
            .problems
            .error("missing-key", file.lifecycle.at, "the lifecycle has no `create`")
            .hint("add for example `create: { by: human }`; `by` says who may create an entity");
    }
    let create = context.create(file.create.as_ref(), &types);
    let mut timers = Vec::new();
    let mut invariants = Vec::new();
    let mut states = Vec::new();
    for (name, decl) in file.states.iter() {
        states.push(state(&mut context, name, decl.as_ref()));
        let Some(decl) = decl else { continue };
        if decl.r#final.unwrap_or(false) {
            context.stays_final(name, decl);
        } else {
            timers.extend(decl.deadline.as_ref().and_then(|it| context.deadline(&name.it, it)));
            timers.extend(decl.retain.as_ref().and_then(|it| context.retain(&name.it, it)));
        }
        if let Some(source) = &decl.holds
            && let Some(holds) = context.guard(source, &Type::Bool)
        {
            context.timeless(&holds, source, "`holds`");
            invariants.push(Invariant {
                name: name.it.clone(),
                holds,
                within: Some(StateSet(vec![name.it.clone()])),
                severity: Severity::Error,
                says: crate::guard::Template::text(&format!(
                    "In state {} this must be true: {}",
                    name.it, source.text
                )),
                repair: None,
                alert: None,
                needs_now: false,
            });
        }
    }
    timers.extend(file.timers.iter().filter_map(|(name, it)| context.timer(name, it)));
    let mut counters = Vec::new();
    for (name, it) in file.counters.iter() {
        context.taken = counted_values(&transitions, &create, &name.it);
        counters.extend(context.tally(name, it));
        context.taken.clear();
    }
    invariants.extend(file.invariants.iter().filter_map(|(name, it)| context.invariant(name, it)));
    let (kind, own_pack) = match file.lifecycle.it.split_once('.') {
        Some((pack, kind)) => (Name::new(kind), Name::new(pack)),
        None => (file.lifecycle.it.clone(), Name::new("")),
    };
    if *own_pack != *pack.pack {
        context.error("wrong-pack", file.lifecycle.at, format!("its name must start with `{}.`", pack.pack));
    }
    let face = face(&mut context, file, &transitions, &states);
    let title = file.title.as_ref().map(|it| title(&mut context, file, it));
    let card = card(&mut context, file);
    let alerts = alerts(&mut context, file);
    let initial = initial(&mut context, file)?;
    context.warn_unreached(&file.states, &initial, &transitions, &states);
    let lifecycle = Lifecycle {
        name: file.lifecycle.it.clone(),
        pack: own_pack,
        kind,
        version,
        about: file.about.clone().unwrap_or_default(),
        one: shape.one,
        face,
        title,
        card,
        assignee: file.assignee.as_ref().map(|it| assignee(&mut context, it)),
        me: me(&mut context, file),
        read: file.read.as_ref().and_then(|it| context.guard(it, &Type::Bool)),
        observe: file.observe.as_ref().and_then(|it| observe(&mut context, it)),
        initial,
        slots: file.slots.iter().filter_map(|(name, it)| context.lease_slot(name, it)).collect(),
        rankings: context.rankings(&file.rankings),
        evidence: super::arms::syntax_list(&file.evidence).iter().map(|it| context.transition(it)).collect(),
        watchers: Vec::new(),
        closes: Vec::new(),
        reactions: file.reactions.iter().filter_map(|(name, it)| context.reaction(name, it)).collect(),
        properties: file.prove.iter().flatten().filter_map(|it| context.property(it)).collect(),
        notify: file.notify.iter().flatten().filter_map(|it| context.notify_rule(it)).collect(),
        effects: file.effects.iter().map(|(name, it)| context.effect(name, it)).collect(),
        indexes: file.indexes.iter().flatten().map(|it| context.field(it)).collect(),
        log: file.log.as_ref().map(|it| context.log_format(it, file.lifecycle.at)),
        work: context.work(file, &transitions, &gates),
        worktree: file.worktree.as_ref().map(|it| worktree(&mut context, it)).unwrap_or_default(),
        relations: context
            .relations
            .iter()
            .map(|(name, it)| Relation { name: name.clone(), guard: it.clone() })
            .collect(),
        inverses: inverses(pack, &file.lifecycle.it),
        fields,
        gates,
        refs,
        path,
        create,
        states,
        transitions,
        timers,
        counters,
        invariants,
        alerts,
        reads: std::mem::take(&mut context.table.reads),
        settings: std::mem::take(&mut context.settings),
        policy,
    };
    let raised: BTreeSet<&str> =
        lifecycle.consequences().iter().flat_map(|it| &it.alert).map(|it| it.kind.as_str()).collect();
    let raised: Vec<&str> = raised.into_iter().collect();
    for (kind, _) in file.alerts.iter().filter(|(it, _)| !raised.contains(&it.it.as_str())) {
        context.unknown("unknown-alert", "kind of alert", kind, &raised);
    }
    Some((lifecycle, strangers))
}

/// The conditions under which alerts stay open.
fn alerts(context: &mut CompileContext<'_>, file: &LifecycleFile) -> BTreeMap<Name, Guard> {
    let mut alerts = BTreeMap::new();
    for (kind, source) in file.alerts.iter() {
        if let Some(guard) = context.guard(source, &Type::Bool) {
            context.timeless(&guard, source, "the condition of an alert");
            alerts.insert(kind.it.clone(), guard);
        }
    }
    alerts
}

/// Every state that some arm of it leaves.
fn leaving(transition: &Transition) -> (Name, StateSet) {
    let states = transition.arms.iter().flat_map(|it| it.from.0.iter().cloned()).collect();
    (transition.name.clone(), StateSet(states))
}

fn assignee(context: &mut CompileContext<'_>, name: &At<Name>) -> Name {
    let hint = "give it `type: string`, or `items: { type: string }` for several";
    context.field_of(name, |ty| is_id(ty) || is_ids(ty), "who works on it", hint)
}

/// Values of the requests that count it.
fn counted_values(
    transitions: &[Transition],
    create: &crate::model::Create,
    counter: &Name,
) -> BTreeMap<Name, Type> {
    let arms = transitions.iter().flat_map(|it| &it.arms).filter(|it| it.count.contains(counter));
    let takes =
        arms.flat_map(|it| &it.takes).chain(create.takes.iter().filter(|_| create.count.contains(counter)));
    takes.filter(|it| !it.stored).map(|it| (it.name.clone(), it.fits.ty())).collect()
}

fn names_are_free(context: &mut CompileContext<'_>, file: &LifecycleFile) {
    let mut taken: Vec<(Name, &'static str)> =
        context.pack.roles.keys().map(|it| (it.clone(), "role")).collect();
    // A computed field may show the envelope's own value in its own way: `timeInState` in minutes.
    clash(context, "field", &file.fields, &mut taken, |name, it| it.is.is_some() || name == "agent");
    clash(context, "relation", &file.relations, &mut taken, |_, _| false);
    clash(context, "counter", &file.counters, &mut taken, |_, _| false);
    clash(context, "slot", &file.slots, &mut taken, |_, _| false);
    clash(context, "ranking", &file.rankings, &mut taken, |_, _| false);
    clash(context, "ref", &file.refs, &mut taken, |name, _| name == "agent");
}

fn fields(context: &mut CompileContext<'_>, file: &LifecycleFile) -> BTreeMap<Name, Field> {
    let mut fields = BTreeMap::new();
    for (name, decl) in file.fields.iter() {
        let about = decl.about.clone().unwrap_or_default();
        if let Some(by) = &decl.by
            && by.it != "engine"
        {
            context.unknown("unknown-word", "owner of a field called", by, &["engine"]);
        }
        if let Some(source) = &decl.is {
            let key = computed_key(&name.it);
            let guard =
                context.with_cost(key, &name.it, name.at, |context| context.guard(source, &Type::Any));
            if let Some(guard) = guard {
                context.computed.push((name.it.clone(), guard.clone()));
                let fits = crate::model::FieldType::ANY;
                fields.insert(
                    name.it.clone(),
                    Field {
                        name: name.it.clone(),
                        fits,
                        default: Value::Null,
                        engine: true,
                        is: Some(guard),
                        read: None,
                        about,
                    },
                );
            }
            continue;
        }
        let Some(fits) = context.shape.fields.get(&name.it).cloned() else { continue };
        let default = match &decl.default {
            None => Value::Null,
            Some(json) => match fits.accept(&name.it, &json.it.0) {
                Ok(value) => value,
                Err(misfits) => {
                    for misfit in misfits {
                        context.error("bad-default", json.at, misfit.message);
                    }
                    Value::Null
                }
            },
        };
        let engine = decl.by.is_some();
        let field = Field { name: name.it.clone(), fits, default, engine, is: None, read: None, about };
        fields.insert(name.it.clone(), field);
    }
    fields
}

/// Who may read each field. The expressions may use relations, which are compiled after the fields.
fn restrict_fields(
    context: &mut CompileContext<'_>,
    file: &LifecycleFile,
    fields: &mut BTreeMap<Name, Field>,
) {
    for (name, decl) in file.fields.iter() {
        if let (Some(field), Some(read)) = (fields.get_mut(&name.it), &decl.read) {
            field.read = context.guard(read, &Type::Bool);
        }
    }
}

fn observe(context: &mut CompileContext<'_>, decl: &ObserveDecl) -> Option<Observe> {
    if let (None, Some(before)) = (&decl.since, &decl.before) {
        context
            .problems
            .error("missing-key", before.at, "`before` needs `since`")
            .hint("add `since`: the version of the entity from which the caller sees everything");
    }
    Some(Observe {
        by: context.guard(&decl.by, &Type::Bool)?,
        since: decl.since.as_ref().and_then(|it| context.guard(it, &Type::Int)),
        before: decl.before.as_ref().and_then(|it| context.guard(it, &Type::Int)),
        evidence: decl.evidence.as_ref().and_then(|it| context.guard(it, &Type::Bool)),
        says: decl.says.as_ref().and_then(|it| context.template(it)),
    })
}

fn refs(context: &mut CompileContext<'_>, file: &LifecycleFile) -> Vec<Ref> {
    let mut refs = Vec::new();
    for (name, decl) in file.refs.iter() {
        let other = context.pack.lifecycles.get(&decl.to.it);
        if other.is_none() {
            let known: Vec<&str> = context.pack.lifecycles.keys().map(Name::as_str).collect();
            context.unknown("unknown-lifecycle", "lifecycle", &decl.to, &known);
        }
        let one = other.is_some_and(|it| it.one);
        if decl.by.is_none() && !one {
            context
                .problems
                .error(
                    "missing-key",
                    name.at,
                    format!("ref `{}` does not say which field holds the id", name.it),
                )
                .hint("add `by: FIELD`; only a lifecycle with `one: true` needs none");
        }
        let acyclic = decl.acyclic.unwrap_or(false);
        if acyclic && (decl.to.it != file.lifecycle.it || one) {
            let message = format!("ref `{}` cannot form a circle: it leads to another lifecycle", name.it);
            let hint = "leave out `acyclic`, which is for refs between entities of one lifecycle";
            context.problems.error("acyclic-elsewhere", name.at, message).hint(hint);
        }
        refs.push(Ref {
            name: name.it.clone(),
            to: decl.to.it.clone(),
            by: decl.by.as_ref().map(|it| ref_field(context, it, decl.many.unwrap_or(false))),
            many: decl.many.unwrap_or(false),
            inverse: decl.inverse.as_ref().map(|it| it.it.clone()),
            acyclic,
        });
    }
    refs
}

fn ref_field(context: &mut CompileContext<'_>, name: &At<Name>, many: bool) -> Name {
    if many {
        let hint = "give it `items: { type: string }`; for a single id leave out `many`";
        context.field_of(name, is_ids, "a list of ids", hint)
    } else {
        context.field_of(name, is_id, "an id", "give it `type: string`; for a list of ids add `many: true`")
    }
}

fn inverses(pack: &PackShape, name: &Name) -> Vec<Inverse> {
    let mut inverses = Vec::new();
    if let Some(shape) = pack.lifecycles.get(name) {
        for (inverse, from) in &shape.inverses {
            inverses.push(Inverse { name: inverse.clone(), from: from.clone(), by_ref: inverse.clone() });
        }
    }
    inverses
}

fn gates(context: &mut CompileContext<'_>, file: &LifecycleFile, types: &Types<'_>) -> Vec<Gate> {
    // A gate may read the values of any request: the union of all values taken.
    let mut gates = Vec::new();
    context.taken = every_taken_value(file);
    // A request value with the name of a field does not hide the field from other requests.
    let fields = &context.shape.fields;
    context.taken.retain(|name, _| !fields.contains_key(name));
    for (_, decl) in file.gates.iter() {
        for (name, it) in decl.takes.iter() {
            let ty = types.build(it, name.at, context.problems).ty();
            context.taken.insert(name.it.clone(), ty);
        }
    }
    for (name, decl) in file.gates.iter() {
        let applies = context.when(&decl.r#for);
        let Some(open) = context.guard(&decl.open, &Type::Bool) else { continue };
        let Some(says) = context.template(&decl.says) else { continue };
        let mut list = |names: &Option<crate::source::OneOrMany<At<Name>>>| -> Vec<Name> {
            let names = super::arms::syntax_list(names);
            names
                .iter()
                .map(|it| if it.it == "create" { it.it.clone() } else { context.transition(it) })
                .collect()
        };
        let (only, except) = (list(&decl.only), list(&decl.except));
        let reads_request = open.reads().iter().any(|it| {
            matches!(context.table.reads.get(it.slot.0 as usize), Some(Read::Taken(_) | Read::Reason))
        });
        let takes = decl.takes.iter().map(|(name, it)| crate::model::Take {
            name: name.it.clone(),
            fits: types.build(it, name.at, context.problems),
            stored: false,
            required: None,
        });
        let takes = takes.collect();
        gates.push(Gate { name: name.it.clone(), applies, open, says, only, except, takes, reads_request });
    }
    context.taken.clear();
    gates
}

/// Values that some arm takes without storing, by name; of any type where they differ.
fn every_taken_value(file: &LifecycleFile) -> BTreeMap<Name, Type> {
    let mut taken = BTreeMap::new();
    for (_, decl) in file.transitions.iter() {
        for arm in arms(decl) {
            if let Some(Takes::Map(named)) = &arm.takes {
                for (name, take) in named.iter() {
                    if matches!(take, TakeDecl::Value(_)) {
                        taken.insert(name.it.clone(), Type::Any);
                    }
                }
            }
        }
    }
    taken
}

fn state(context: &mut CompileContext<'_>, name: &At<Name>, decl: Option<&StateDecl>) -> State {
    let Some(decl) = decl else {
        return State {
            name: name.it.clone(),
            about: String::new(),
            last: false,
            outcome: None,
            require: Vec::new(),
            checks: Vec::new(),
            always: Vec::new(),
            frozen: Vec::new(),
            enter: Consequences::default(),
            exit: Consequences::default(),
            erase: None,
            archive: false,
            known_as: Vec::new(),
            shows: None,
            waits_for: None,
            tools: None,
        };
    };
    if let Some(outcome) = &decl.outcome
        && !["success", "failure", "cancelled"].contains(&outcome.it.as_str())
    {
        context.unknown("unknown-outcome", "outcome", outcome, &["success", "failure", "cancelled"]);
    }
    if decl.erase.is_some() && !decl.r#final.unwrap_or(false) {
        context
            .problems
            .error("erase-final", name.at, format!("{} erases, so it must be final", name.it))
            .hint("add `final: true`: an erased entity cannot move on");
    }
    if decl.archive.unwrap_or(false) && !decl.r#final.unwrap_or(false) {
        context
            .problems
            .error("archive-final", name.at, format!("{} is long-term storage, so it must be final", name.it))
            .hint("add `final: true`: an entity in long-term storage does not move on");
    }
    let here = std::slice::from_ref(&name.it);
    State {
        name: name.it.clone(),
        about: decl.about.clone().unwrap_or_default(),
        last: decl.r#final.unwrap_or(false),
        outcome: decl.outcome.as_ref().map(|it| it.it.clone()),
        require: context.require(&decl.require),
        checks: context.checks(decl.when.as_ref()),
        always: decl.always.as_ref().and_then(|it| context.choices(it, here, name.at)).unwrap_or_default(),
        frozen: decl.frozen.iter().flatten().map(|it| context.field(it)).collect(),
        enter: decl.enter.as_ref().map(|it| context.consequences(&it.consequences())).unwrap_or_default(),
        exit: decl.exit.as_ref().map(|it| context.leaving_step(&it.consequences())).unwrap_or_default(),
        erase: decl.erase.as_ref().map(|it| it.iter().map(|it| context.field(it)).collect()),
        archive: decl.archive.unwrap_or(false),
        known_as: super::arms::syntax_list(&decl.known_as).into_iter().map(|it| it.it).collect(),
        shows: decl.shows,
        waits_for: decl.waits_for.as_ref().map(|it| waits_for(context, name, it)),
        tools: decl.tools.as_ref().and_then(|it| super::policy::state_tools(context, name, it)),
    }
}

fn initial(context: &mut CompileContext<'_>, file: &LifecycleFile) -> Option<Name> {
    let mut found = file
        .states
        .iter()
        .filter(|(_, decl)| decl.as_ref().is_some_and(|it| it.initial.unwrap_or(false)))
        .map(|(name, _)| name);
    let Some(first) = found.next() else {
        context
            .problems
            .error("no-initial-state", file.lifecycle.at, "no state has `initial: true`")
            .hint("add `initial: true` to the state in which new entities start");
        return None;
    };
    if let Some(second) = found.next() {
        context.error(
            "two-initial-states",
            second.at,
            format!("`{}` is already the initial state", first.it),
        );
    }
    Some(first.it.clone())
}

fn me(context: &mut CompileContext<'_>, file: &LifecycleFile) -> Option<Name> {
    let me = file.me.as_ref()?;
    if !context.pack.lifecycles.contains_key(&me.it) {
        let known: Vec<&str> = context.pack.lifecycles.keys().map(Name::as_str).collect();
        context.unknown("unknown-lifecycle", "lifecycle", me, &known);
    }
    Some(me.it.clone())
}

/// The events that follow reports about a worktree.
fn worktree(context: &mut CompileContext<'_>, from: &WorktreeDecl) -> Vec<(Name, Name)> {
    let reports = [
        ("making", &from.making),
        ("ready", &from.ready),
        ("vanished", &from.vanished),
        ("removed", &from.removed),
        ("elsewhere", &from.elsewhere),
        ("strayed", &from.strayed),
    ];
    let fired = reports.into_iter().filter_map(|(state, event)| Some((state, event.as_ref()?)));
    fired.map(|(state, event)| (Name::new(state), context.transition(event))).collect()
}
