//! Compiles queries and supervision, which belong to the pack and not to a lifecycle.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::arms::syntax_list;
use super::context::CompileContext;
use super::names::ReadTable;
use super::shape::PackShape;
use super::types::Types;
use super::value_names::ValueNames;
use crate::guard::{Guard, Type, nearest};
use crate::model::{
    AfterExit, Exit, FieldType, GiveUp, GroupTable, Lifecycle, Order, Query, Read, Setting, Supervise, Wait,
};
use crate::name::Name;
use crate::source::{At, Named, Problems};
use crate::syntax::{ExitDecl, Expr, GroupTableDecl, PackFile, QueryDecl, SuperviseDecl};
use crate::time::Span;
use crate::value::Value;

/// Compiles the queries and supervision rules of a pack.
pub(super) struct PackCompiler<'a> {
    pub pack: &'a PackShape,
    pub settings: &'a [Setting],
    pub problems: &'a mut Problems,
    /// The source of each slot in expressions without a lifecycle.
    pub reads: Vec<Read>,
}

impl PackCompiler<'_> {
    /// Queries are compiled with their lifecycle's names, so they share its table of slots.
    pub fn queries(&mut self, file: &PackFile, compiled: &mut [Arc<Lifecycle>]) -> Vec<Query> {
        let names: Vec<Name> = file.queries.iter().map(|(name, _)| name.it.clone()).collect();
        let mut queries = Vec::new();
        for (name, decl) in file.queries.iter() {
            if !decl.answers.is_empty() {
                queries.push(self.values(file, name, decl, &names));
                continue;
            }
            let Some(of) = &decl.of else {
                self.problems
                    .error("missing-key", name.at, format!("query `{}` has no `of`", name.it))
                    .hint("add `of: LIFECYCLE`; only a query with `answers` can do without");
                continue;
            };
            let pack = self.pack;
            let Some(target) = pack.lifecycles.get(&of.it) else {
                self.problems.error("unknown-lifecycle", of.at, format!("there is no lifecycle `{}`", of.it));
                continue;
            };
            let Some(lifecycle) = compiled.iter_mut().find(|it| it.name == of.it).and_then(Arc::get_mut)
            else {
                continue;
            };
            let types = Types::new(target.states.clone(), &[&file.types]);
            let takes = takes(decl, &types, self.problems);
            let mut context = CompileContext {
                pack,
                shape: target,
                table: ReadTable::resume(std::mem::take(&mut lifecycle.reads)),
                settings: self.settings.to_vec(),
                relations: lifecycle.relations.iter().map(|it| (it.name.clone(), it.guard.clone())).collect(),
                computed: lifecycle
                    .fields
                    .values()
                    .filter_map(|it| it.is.clone().map(|guard| (it.name.clone(), guard)))
                    .collect(),
                taken: BTreeMap::new(),
                ask: Some(types_of(&takes)),
                it: None,
                listing: false,
                leaving: Vec::new(),
                problems: self.problems,
            };
            queries.push(rows(&mut context, name, decl, of, takes));
            lifecycle.reads = context.table.reads;
        }
        queries
    }

    /// A query that gives values instead of rows.
    fn values(&mut self, file: &PackFile, name: &At<Name>, decl: &QueryDecl, queries: &[Name]) -> Query {
        let types = Types::new(Arc::default(), &[&file.types]);
        let takes = takes(decl, &types, self.problems);
        let counts: Vec<At<Name>> = syntax_list(&decl.counts);
        for it in &counts {
            self.known_query(it, queries);
            let given: Vec<(&str, Option<&FieldType>)> =
                takes.iter().map(|(name, ty)| (name.as_str(), Some(ty))).collect();
            self.has_rows(file, it, &given);
        }
        let counts: Vec<Name> = counts.into_iter().map(|it| it.it).collect();
        let ask = types_of(&takes);
        let mut answers = Vec::new();
        for (name, source) in decl.answers.iter() {
            if let Some(guard) = self.value(source, &Type::Any, &ask, &counts, &[]) {
                answers.push((name.it.clone(), guard));
            }
        }
        let others = [decl.of.as_ref(), decl.ranked.as_ref()].into_iter().flatten().map(|it| it.at);
        let order = decl.order.iter().flat_map(|it| it.iter());
        let exprs =
            [&decl.r#where, &decl.history, &decl.r#for].into_iter().flatten().chain(order).map(|it| it.at);
        let tables = decl.groups.iter().map(|(name, _)| name.at);
        let members = decl.line.iter().map(|(name, _)| name.at);
        if let Some(at) = others.chain(exprs).chain(tables).chain(members).next() {
            self.problems.error(
                "answers-alone",
                at,
                "a query with `answers` has no rows, so this key has no effect",
            );
        }
        Query {
            name: name.it.clone(),
            about: decl.about.clone().unwrap_or_default(),
            of: None,
            takes,
            filter: None,
            order: Vec::new(),
            history: None,
            line: Vec::new(),
            groups: Vec::new(),
            ranked: None,
            meant_for: None,
            counts,
            answers,
        }
    }

    pub(super) fn value(
        &mut self,
        source: &Expr,
        expected: &Type,
        ask: &BTreeMap<Name, Type>,
        counts: &[Name],
        given: &[(&str, Type)],
    ) -> Option<Guard> {
        if *expected == Type::Span
            && let Some(span) = Span::parse(&source.text)
        {
            return Some(Guard::literal(&source.text, Value::Span(span)));
        }
        let mut names = ValueNames { settings: self.settings, ask, counts, given, reads: &mut self.reads };
        names.guard(source, expected, self.problems)
    }

    /// A condition that reads only settings.
    pub(super) fn condition_on_settings(&mut self, source: &Expr) -> Option<Guard> {
        self.value(source, &Type::Bool, &BTreeMap::new(), &[], &[])
    }

    pub(super) fn known_query(&mut self, name: &At<Name>, queries: &[Name]) -> Name {
        if !queries.contains(&name.it) {
            let problem =
                self.problems.error("unknown-query", name.at, format!("there is no query `{}`", name.it));
            if let Some(near) = nearest(&name.it, queries.iter().map(Name::as_str)) {
                problem.hint(format!("did you mean `{near}`?"));
            }
        }
        name.it.clone()
    }

    /// Checks that a query returns rows and needs no other parameters than these.
    pub(super) fn has_rows(
        &mut self,
        file: &PackFile,
        name: &At<Name>,
        given: &[(&str, Option<&FieldType>)],
    ) {
        let Some((_, query)) = file.queries.iter().find(|(it, _)| it.it == name.it) else { return };
        if !query.answers.is_empty() || query.history.is_some() || !query.groups.is_empty() {
            self.problems.error("counts-rows", name.at, format!("`{}` has no rows to count", name.it));
        }
        let types = Types::new(Arc::default(), &[&file.types]);
        for (param, decl) in query.takes.iter() {
            let mut quiet = Problems::default();
            let wanted = types.build(decl, param.at, &mut quiet).ty();
            let fits = given.iter().any(|(it, ty)| {
                *it == param.it.as_str() && ty.map_or(super::context::is_id(&wanted), |ty| ty.ty() == wanted)
            });
            if !fits {
                self.problems.error(
                    "counts-rows",
                    name.at,
                    format!("`{}` takes the parameter `{}`, which is not given here", name.it, param.it),
                );
            }
        }
    }

    /// A query used by supervision, which passes the agent and the role.
    pub(super) fn asked_of(&mut self, file: &PackFile, name: &At<Name>, queries: &[Name]) -> Name {
        self.has_rows(file, name, &[("agent", None), ("role", None)]);
        self.known_query(name, queries)
    }

    /// Checks the names of the policy's request: its queries, their parameters and the transitions.
    pub fn policy_request(&mut self, file: &PackFile) {
        let Some(request) = file.policy.as_ref().and_then(|it| it.request.as_ref()) else { return };
        let queries: Vec<Name> = file.queries.iter().map(|(name, _)| name.it.clone()).collect();
        let given: [(&At<Name>, &[&str]); 2] =
            [(&request.work, &["agent"]), (&request.approvals, &["agent", "entity", "action", "arguments"])];
        for (name, given) in given {
            self.known_query(name, &queries);
            let Some((_, query)) = file.queries.iter().find(|(it, _)| it.it == name.it) else { continue };
            if !query.answers.is_empty() || query.history.is_some() || !query.groups.is_empty() {
                self.problems.error("policy-request", name.at, format!("`{}` has no rows", name.it));
            }
            for (param, _) in query.takes.iter().filter(|(it, _)| !given.contains(&it.it.as_str())) {
                self.problems
                    .error(
                        "policy-request",
                        name.at,
                        format!("`{}` takes the parameter `{}`, which is not given here", name.it, param.it),
                    )
                    .hint(format!("it can take {}", given.join(", ")));
            }
        }
        let work = file.queries.iter().find(|(it, _)| it.it == request.work.it);
        let of = work.and_then(|(_, it)| it.of.as_ref());
        let Some(shape) = of.and_then(|it| self.pack.lifecycles.get(&it.it)) else { return };
        for event in [&request.fire, &request.r#use] {
            if !shape.transitions.contains_key(&event.it) {
                let problem = self.problems.error(
                    "unknown-transition",
                    event.at,
                    format!("{} has no transition `{}`", shape.name, event.it),
                );
                if let Some(near) = nearest(&event.it, shape.transitions.keys().map(Name::as_str)) {
                    problem.hint(format!("did you mean `{near}`?"));
                }
            }
        }
        let taken = |field: &Name| {
            [&request.fire, &request.r#use]
                .iter()
                .any(|event| shape.transitions.get(&event.it).is_none_or(|it| it.contains(field)))
        };
        for (field, _) in request.with.iter().filter(|(it, _)| !taken(&it.it)) {
            self.problems.error(
                "policy-request",
                field.at,
                format!("neither `{}` nor `{}` takes `{}`", request.fire.it, request.r#use.it, field.it),
            );
        }
    }

    pub fn supervise(&mut self, file: &PackFile) -> BTreeMap<Name, Supervise> {
        let queries: Vec<Name> = file.queries.iter().map(|(name, _)| name.it.clone()).collect();
        let mut roles = BTreeMap::new();
        for (role, decl) in file.supervise.iter() {
            if !self.pack.roles.contains_key(&role.it) {
                self.problems.error("unknown-role", role.at, format!("there is no role `{}`", role.it));
            }
            roles.insert(role.it.clone(), self.compile_supervise(file, role, decl, &queries));
        }
        roles
    }

    fn compile_supervise(
        &mut self,
        file: &PackFile,
        role: &At<Name>,
        from: &SuperviseDecl,
        queries: &[Name],
    ) -> Supervise {
        let none = BTreeMap::new();
        let mut exits: Vec<(Exit, AfterExit)> = Vec::new();
        let mut other = false;
        for (code, decl) in from.exits.iter() {
            let exit = match code.it.as_str() {
                "other" => Exit::Other,
                text => match text.parse().ok().filter(|it| (0..=255).contains(it)) {
                    Some(it) => Exit::Code(it),
                    None => {
                        self.problems
                            .error("bad-exit", code.at, format!("`{text}` is not an exit code"))
                            .hint("0 to 255, or `other`");
                        continue;
                    }
                },
            };
            other |= exit == Exit::Other;
            if exits.iter().any(|(it, _)| *it == exit) {
                self.problems.error("bad-exit", code.at, format!("exit code `{}` is named twice", code.it));
            }
            let after = match decl {
                ExitDecl::Stop(word) => {
                    if word.it != "stop" {
                        self.problems
                            .error("bad-exit", word.at, format!("`{}` is not an action", word.it))
                            .hint("`stop`, or `{ restart: 2s }`");
                    }
                    AfterExit::Stop
                }
                ExitDecl::Restart(it) => {
                    let mut maybe = |source: &Option<Expr>, ty: &Type| {
                        source.as_ref().and_then(|it| self.value(it, ty, &none, &[], &[]))
                    };
                    let most = maybe(&it.most, &Type::Span);
                    let growth = maybe(&it.growth, &Type::Float);
                    let limit = maybe(&it.limit, &Type::Int);
                    if let (Some(guard), Some(source)) = (&limit, &it.limit)
                        && guard.constant().and_then(Value::as_int).is_some_and(|it| it < 1)
                    {
                        self.problems.error("bad-exit", source.at, "a limit must be at least 1");
                    }
                    let Some(after) = self.value(&it.restart, &Type::Span, &none, &[], &[]) else { continue };
                    AfterExit::Restart { after, most, growth, limit }
                }
            };
            exits.push((exit, after));
        }
        exits.sort_by_key(|(exit, _)| *exit == Exit::Other);
        if !other {
            self.problems
                .error("missing-key", role.at, "`exits` has no `other` for the remaining exit codes")
                .hint("add `other: { restart: 5s }` or `other: stop`");
        }
        let stops = exits.iter().any(|(_, it)| matches!(it, AfterExit::Stop));
        if let (Some(wait), false) = (from.waits.iter().flatten().next(), stops) {
            self.problems.error(
                "no-stop",
                wait.r#while.at,
                "no exit code leads to `stop`, so `waits` has no effect",
            );
        }
        let limited = |it: &AfterExit| matches!(it, AfterExit::Restart { limit: Some(_), .. });
        if let (Some(it), None) = (&from.gives_up, &from.reruns)
            && !exits.iter().any(|(_, it)| limited(it))
        {
            self.problems
                .error("no-limit", it.fire.at, "`gives_up` can never happen")
                .hint("add a `limit` to an exit, or set `reruns`");
        }
        let waits = from.waits.iter().flatten().filter_map(|it| {
            Some(Wait {
                query: self.asked_of(file, &it.r#while, queries),
                most: it.most.as_ref().and_then(|it| self.value(it, &Type::Span, &none, &[], &[])),
                lasts: self.value(&it.r#for, &Type::Span, &none, &[], &[])?,
                says: it.says.clone().unwrap_or_default(),
            })
        });
        let waits = waits.collect();
        Supervise {
            role: role.it.clone(),
            about: from.about.clone().unwrap_or_default(),
            work: from.work.as_ref().map(|it| self.asked_of(file, it, queries)),
            exits,
            stopped: from.stopped.as_ref().and_then(|it| self.exit_code(it)),
            ends: from.ends.as_ref().map(|it| self.asked_of(file, it, queries)),
            holds: from.holds.as_ref().map(|it| self.asked_of(file, it, queries)),
            waits,
            reruns: from.reruns.as_ref().and_then(|it| self.value(it, &Type::Int, &none, &[], &[])),
            gives_up: from.gives_up.as_ref().map(|it| GiveUp {
                on: it.on.it.clone(),
                fire: self.transition_of(&it.on, &it.fire, &it.with),
                with: it
                    .with
                    .iter()
                    .filter_map(|(name, source)| {
                        let guard = self.value(
                            source,
                            &Type::Any,
                            &none,
                            &[],
                            &[("exit", Type::Int), ("restarts", Type::Int)],
                        )?;
                        Some((name.it.clone(), guard))
                    })
                    .collect(),
            }),
        }
    }

    fn exit_code(&mut self, code: &At<u32>) -> Option<i64> {
        if code.it > 255 {
            self.problems
                .error("bad-exit", code.at, format!("`{}` is not an exit code", code.it))
                .hint("0 to 255");
            return None;
        }
        Some(i64::from(code.it))
    }

    fn transition_of(&mut self, on: &At<Name>, fire: &At<Name>, with: &Named<Expr>) -> Name {
        match self.pack.lifecycles.get(&on.it) {
            None => {
                self.problems.error("unknown-lifecycle", on.at, format!("there is no lifecycle `{}`", on.it));
            }
            Some(other) => match other.transitions.get(&fire.it) {
                None => {
                    let message = format!("{} has no transition `{}`", on.it, fire.it);
                    self.problems.error("unknown-transition", fire.at, message);
                }
                Some(takes) => {
                    for (name, _) in with.iter().filter(|(name, _)| !takes.contains(&name.it)) {
                        let message = format!("{} does not take `{}`", fire.it, name.it);
                        self.problems.error("unknown-field", name.at, message);
                    }
                }
            },
        }
        fire.it.clone()
    }
}

fn takes(decl: &QueryDecl, types: &Types<'_>, problems: &mut Problems) -> Vec<(Name, FieldType)> {
    decl.takes.iter().map(|(name, it)| (name.it.clone(), types.build(it, name.at, problems))).collect()
}

/// A table of counts.
fn group_table(context: &mut CompileContext<'_>, name: &At<Name>, decl: &GroupTableDecl) -> GroupTable {
    let each = context.compile_each(decl.each.as_ref());
    let mut columns = |from: &Named<Expr>, ty: &Type| {
        let mut columns = Vec::new();
        for (column, source) in from.iter() {
            if column.it == "count" {
                context.error(
                    "column-count",
                    column.at,
                    "`count` is the number of each row: choose another name",
                );
            }
            if let Some(guard) = context.guard(source, ty) {
                columns.push((column.it.clone(), guard));
            }
        }
        columns
    };
    let by = columns(&decl.by, &Type::Any);
    let measure = columns(&decl.measure, &Type::Float);
    context.it = None;
    for (column, _) in decl.measure.iter().filter(|(it, _)| by.iter().any(|(name, _)| *name == it.it)) {
        context.error("column-twice", column.at, format!("`{}` is already a name of `by`", column.it));
    }
    GroupTable { name: name.it.clone(), each, by, measure }
}

fn types_of(takes: &[(Name, FieldType)]) -> BTreeMap<Name, Type> {
    takes.iter().map(|(name, it)| (name.clone(), it.ty())).collect()
}

fn rows(
    context: &mut CompileContext<'_>,
    name: &At<Name>,
    decl: &QueryDecl,
    of: &At<Name>,
    takes: Vec<(Name, FieldType)>,
) -> Query {
    let mut order = Vec::new();
    for source in decl.order.iter().flat_map(|it| it.iter()) {
        let (descending, plain) = match source.text.strip_prefix('-') {
            Some(rest) => (true, Expr::within(rest, source.at)),
            None => (false, source.clone()),
        };
        if let Some(by) = context.guard(&plain, &Type::Any) {
            order.push(Order { by, descending });
        }
    }
    if let Some(ranking) = &decl.ranked
        && !context.shape.rankings.contains_key(&ranking.it)
    {
        let known: Vec<&str> = context.shape.rankings.keys().map(Name::as_str).collect();
        context.unknown("unknown-ranking", "ranking", ranking, &known);
    }
    if let (None, Some(source)) = (&decl.ranked, &decl.r#for) {
        context
            .problems
            .error("no-ranking", source.at, "`for` needs a ranking")
            .hint("name it with `ranked`");
    }
    if let (Some(ranking), false) = (&decl.ranked, order.is_empty()) {
        context.error("two-orders", ranking.at, "a ranking has its own order: leave out `order`");
    }
    if let (Some(ranking), Some(_)) = (&decl.ranked, &decl.history) {
        context.error("two-orders", ranking.at, "a journal has its own order: leave out `ranked`");
    }
    let meant_for = decl.r#for.as_ref().and_then(|source| {
        let guard = context.guard(source, &Type::Text)?;
        let reads = &context.table.reads;
        let own =
            |it: &crate::guard::VariableUse| !matches!(reads.get(it.slot.0 as usize), Some(Read::Ask(_)));
        if guard.reads().iter().any(own) {
            context
                .problems
                .error("for-whom", source.at, "`for` of a query is evaluated once, not for each entity")
                .hint("use a parameter: `for: ask.agent`");
        }
        Some(guard)
    });
    let others = [decl.ranked.as_ref().map(|it| it.at), decl.history.as_ref().map(|it| it.at)];
    let others =
        others.into_iter().flatten().chain(decl.order.iter().flat_map(|it| it.iter()).map(|it| it.at));
    if let (Some(at), false) = (others.into_iter().next(), decl.groups.is_empty()) {
        context.error(
            "groups-alone",
            at,
            "a query with `groups` has tables instead of rows, so this key has no effect",
        );
    }
    let groups = decl.groups.iter().map(|(name, it)| group_table(context, name, it)).collect();
    if let Some(first) = syntax_list(&decl.counts).first() {
        context.problems.error("counts-alone", first.at, "`counts` only works with `answers`");
    }
    if let (None, Some((name, _))) = (&decl.history, decl.line.iter().next()) {
        context
            .error("line-alone", name.at, "`line` only works with `history`")
            .hint("rows of other queries are entities; name one with `history`, or leave out `line`");
    }
    let filter = match &decl.history {
        Some(_) => context.history_filter(&decl.r#where),
        None => context.when(&decl.r#where),
    };
    Query {
        name: name.it.clone(),
        about: decl.about.clone().unwrap_or_default(),
        of: Some(of.it.clone()),
        takes,
        filter,
        order,
        history: decl.history.as_ref().and_then(|it| context.guard(it, &Type::Text)),
        line: context.entry_line(&decl.line),
        groups,
        ranked: decl.ranked.as_ref().map(|it| it.it.clone()),
        meant_for,
        counts: Vec::new(),
        answers: Vec::new(),
    }
}
