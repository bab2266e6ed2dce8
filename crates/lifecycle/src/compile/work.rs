//! Compiles `work` of a lifecycle and `control` of a pack.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::arms::syntax_list;
use super::context::CompileContext;
use super::queries::PackCompiler;
use crate::guard::{Type, VariableUse, nearest};
use crate::model::{
    ANY_AGENT, ControlFile, Gate, Lifecycle, Read, RoleWork, SlotAttribute, Supervise, Take, Transition,
    WorkAgent, WorkEvent, WorkStep, run_members,
};
use crate::name::Name;
use crate::source::{At, OneOrMany};
use crate::syntax::{ControlDecl, Expr, LifecycleFile, PackFile, WorkAgentDecl, WorkDecl, WorkEventDecl};

impl CompileContext<'_> {
    /// Compiles every role's work. The query and the agent's record follow with the pack.
    pub fn work(
        &mut self,
        file: &LifecycleFile,
        transitions: &[Transition],
        gates: &[Gate],
    ) -> BTreeMap<Name, RoleWork> {
        let mut all = BTreeMap::new();
        for (role, decl) in file.work.iter() {
            if !self.pack.roles.contains_key(&role.it) && *role.it != *ANY_AGENT {
                let known: Vec<&str> = self.pack.roles.keys().map(Name::as_str).chain([ANY_AGENT]).collect();
                self.unknown("unknown-role", "role", role, &known);
            }
            if let Some(work) = self.work_of(role, decl, transitions, gates) {
                all.insert(role.it.clone(), work);
            }
        }
        all
    }

    fn work_of(
        &mut self,
        role: &At<Name>,
        decl: &WorkDecl,
        transitions: &[Transition],
        gates: &[Gate],
    ) -> Option<RoleWork> {
        let claim = decl.claim.as_ref().map(|it| self.transition(it));
        let offers = syntax_list(&decl.offers).iter().map(|it| self.transition(it)).collect();
        let given = ["agent", "role"].map(|it| (Name::new(it), Type::Text));
        self.taken = BTreeMap::from(given);
        let ask = self.template(&decl.ask);
        let feedback = decl.feedback.as_ref().and_then(|it| self.guard(it, &Type::Any));
        let handoff = decl.handoff.as_ref().and_then(|it| self.guard(it, &Type::Any));
        let ready = self.checks(decl.ready.as_ref());
        self.refuse_fence(&decl.ask, ask.iter().flat_map(|it| it.reads()));
        let shown = [(&decl.feedback, &feedback), (&decl.handoff, &handoff)];
        for (source, guard) in shown {
            if let (Some(source), Some(guard)) = (source, guard) {
                self.refuse_fence(source, guard.reads().iter());
            }
        }
        self.taken.insert(Name::new("run"), Type::record(run_members()));
        let events = [
            (WorkStep::Begin, &decl.begin),
            (WorkStep::Done, &decl.done),
            (WorkStep::Failed, &decl.failed),
            (WorkStep::Meter, &decl.meter),
            (WorkStep::Note, &decl.note),
        ];
        let mut compiled = Vec::new();
        for (step, event) in events {
            if let Some(event) = event {
                compiled.push((step, self.work_event(event, transitions, gates)));
            }
        }
        self.taken.clear();
        Some(RoleWork {
            role: role.it.clone(),
            about: decl.about.clone().unwrap_or_default(),
            claim,
            query: None,
            ask: ask?,
            offers,
            creates: Vec::new(),
            feedback,
            handoff,
            ready,
            events: compiled,
            agent: None,
        })
    }

    /// A fence belongs to the runner: an agent that knows it could act after its lease is lost.
    fn refuse_fence<'g>(&mut self, source: &Expr, mut reads: impl Iterator<Item = &'g VariableUse>) {
        let table = &self.table.reads;
        let is_fence = |it: &VariableUse| {
            matches!(table.get(it.slot.0 as usize), Some(Read::Fence | Read::Slot(_, SlotAttribute::Fence)))
        };
        if reads.any(is_fence) {
            self.error("fence-shown", source.at, "the instructions of an agent cannot contain a fence")
                .hint("leave it out: the runner sends the fence itself");
        }
    }

    fn work_event(&mut self, decl: &WorkEventDecl, transitions: &[Transition], gates: &[Gate]) -> WorkEvent {
        let map = match decl {
            WorkEventDecl::Fire(name) => {
                let fire = self.transition(name);
                return WorkEvent { fire, with: Vec::new(), when: None, reason: None };
            }
            WorkEventDecl::Map(map) => map,
        };
        let fire = self.transition(&map.fire);
        let declared = transitions.iter().find(|it| it.name == fire);
        let arms = declared.into_iter().flat_map(|it| &it.arms).flat_map(|it| &it.takes);
        let of_gates = gates.iter().filter(|it| it.binds(&fire)).flat_map(|it| &it.takes);
        let takes: Vec<&Take> = arms.chain(of_gates).collect();
        let mut with = Vec::new();
        for (name, source) in map.with.iter() {
            let mut types = takes.iter().filter(|it| it.name == name.it).map(|it| it.fits.ty());
            let first = types.next();
            if first.is_none() && declared.is_some() {
                let known: Vec<&str> = takes.iter().map(|it| it.name.as_str()).collect();
                let what = format!("field that {fire} takes called");
                self.unknown_in(Some("its `takes`"), "unknown-field", &what, name, &known);
            }
            // Arms may take different types under one name.
            let expected = first.filter(|it| types.all(|other| other == *it)).unwrap_or(Type::Any);
            with.extend(self.listing_guard(source, &expected).map(|it| (name.it.clone(), it)));
        }
        let when = self.when(&map.when);
        let reason = map.reason.as_ref().and_then(|it| self.guard(it, &Type::Text));
        WorkEvent { fire, with, when, reason }
    }
}

impl PackCompiler<'_> {
    /// Completes the work of every lifecycle: its query and the record of the agent.
    pub fn work(
        &mut self,
        file: &PackFile,
        lifecycles: &[LifecycleFile],
        supervise: &BTreeMap<Name, Supervise>,
        compiled: &mut [Arc<Lifecycle>],
    ) {
        let queries: Vec<Name> = file.queries.iter().map(|(name, _)| name.it.clone()).collect();
        let lists = |query: &Name, life: &Name| {
            let found = file.queries.iter().find(|(it, _)| it.it == *query);
            found.is_some_and(|(_, it)| it.of.as_ref().is_some_and(|of| of.it == *life))
        };
        let claims = |file: &LifecycleFile, event: &Name| {
            let claims = file.rankings.iter().filter_map(|(_, it)| it.claims.as_ref());
            claims.into_iter().any(|it| it.it == *event)
        };
        for lifecycle in lifecycles {
            let name = &lifecycle.lifecycle.it;
            for (role, decl) in lifecycle.work.iter() {
                let query = match &decl.query {
                    Some(query) => {
                        let known = self.asked_of(file, query, &queries);
                        if queries.contains(&known) && !lists(&known, name) {
                            let message = format!("`{known}` does not list entities of {name}");
                            self.problems.error("work-query", query.at, message);
                        }
                        Some(known)
                    }
                    // A ranking by which the role claims already lists its entities.
                    None if decl.claim.as_ref().is_some_and(|it| claims(lifecycle, &it.it)) => None,
                    None => {
                        let usual = supervise.get(&role.it).and_then(|it| it.work.clone());
                        usual.filter(|it| lists(it, name))
                    }
                };
                if query.is_none() && decl.claim.is_none() {
                    self.problems
                        .error(
                            "no-work",
                            role.at,
                            format!("nothing says which entities wait for `{}`", role.it),
                        )
                        .hint("add `claim: TRANSITION`, or `query: NAME` of a query that lists them");
                }
                let agent = decl.agent.as_ref().and_then(|it| self.work_agent(it));
                let created = syntax_list(&decl.creates);
                let creates: Vec<Name> =
                    created.iter().filter(|it| self.is_lifecycle(it)).map(|it| it.it.clone()).collect();
                let life = compiled.iter_mut().find(|it| it.name == *name).and_then(Arc::get_mut);
                if let Some(work) = life.and_then(|it| it.work.get_mut(&role.it)) {
                    work.query = query;
                    work.agent = agent;
                    work.creates = creates;
                }
            }
        }
    }

    /// Whether the pack has a lifecycle; an error if not.
    fn is_lifecycle(&mut self, name: &At<Name>) -> bool {
        let pack = self.pack;
        if pack.lifecycles.contains_key(&name.it) {
            return true;
        }
        let message = format!("there is no lifecycle `{}`", name.it);
        let problem = self.problems.error("unknown-lifecycle", name.at, message);
        if let Some(near) = nearest(&name.it, pack.lifecycles.keys().map(Name::as_str)) {
            problem.hint(format!("did you mean `{near}`?"));
        }
        false
    }

    fn work_agent(&mut self, decl: &WorkAgentDecl) -> Option<WorkAgent> {
        let pack = self.pack;
        let Some(shape) = pack.lifecycles.get(&decl.r#in.it) else {
            self.is_lifecycle(&decl.r#in);
            return None;
        };
        let given = [("agent", Type::Text), ("role", Type::Text)];
        let mut with = Vec::new();
        for (name, source) in decl.with.iter() {
            if !shape.create_takes.contains(&name.it) {
                let known: Vec<&str> = shape.create_takes.iter().map(Name::as_str).collect();
                let message = format!("creating {} does not take `{}`", shape.name, name.it);
                self.problems
                    .error("unknown-field", name.at, message)
                    .hint(format!("it takes {}", known.join(", ")));
            }
            let expected = shape.fields.get(&name.it).map_or(Type::Any, |it| it.ty());
            let guard = self.value(source, &expected, &BTreeMap::new(), &[], &given);
            with.extend(guard.map(|it| (name.it.clone(), it)));
        }
        let mut event = |name: &Option<At<Name>>| {
            let name = name.as_ref()?;
            if !shape.transitions.contains_key(&name.it) {
                self.unknown_transition(&shape.name, name, shape.transitions.keys());
            }
            Some(name.it.clone())
        };
        let (ready, leave) = (event(&decl.ready), event(&decl.leave));
        Some(WorkAgent { lifecycle: decl.r#in.it.clone(), with, ready, leave })
    }

    fn unknown_transition<'n>(
        &mut self,
        lifecycle: &Name,
        name: &At<Name>,
        known: impl Iterator<Item = &'n Name>,
    ) {
        let message = format!("{lifecycle} has no transition `{}`", name.it);
        let problem = self.problems.error("unknown-transition", name.at, message);
        if let Some(near) = nearest(&name.it, known.map(Name::as_str)) {
            problem.hint(format!("did you mean `{near}`?"));
        }
    }

    /// Compiles the control files of the pack.
    pub fn control(&mut self, file: &PackFile) -> Vec<ControlFile> {
        file.control.iter().filter_map(|(name, decl)| self.control_file(file, name, decl)).collect()
    }

    fn control_file(&mut self, file: &PackFile, name: &At<Name>, decl: &ControlDecl) -> Option<ControlFile> {
        let longest = 64;
        let plain = |it: char| it.is_ascii_uppercase() || it.is_ascii_digit() || it == '_' || it == '-';
        if name.it.len() > longest
            || !name.it.chars().all(plain)
            || !name.it.starts_with(|it: char| it.is_ascii_uppercase())
        {
            self.problems
                .error(
                    "bad-file-name",
                    name.at,
                    format!("`{}` cannot be the name of a control file", name.it),
                )
                .hint("use capital letters, digits, `-` and `_`, as in PAUSE");
            return None;
        }
        let on = self.control_queries(file, &decl.on, &[&decl.fire]);
        let undone: Vec<&At<Name>> = decl.undo.iter().collect();
        let exists_while = self.control_queries(file, &decl.r#while, &undone);
        Some(ControlFile {
            name: name.it.clone(),
            about: decl.about.clone().unwrap_or_default(),
            on,
            fire: decl.fire.it.clone(),
            undo: decl.undo.as_ref().map(|it| it.it.clone()),
            exists_while,
        })
    }

    /// Queries without parameters, whose lifecycles have these transitions.
    fn control_queries(
        &mut self,
        file: &PackFile,
        names: &OneOrMany<At<Name>>,
        events: &[&At<Name>],
    ) -> Vec<Name> {
        let queries: Vec<Name> = file.queries.iter().map(|(name, _)| name.it.clone()).collect();
        let names = syntax_list(&Some(names.clone()));
        for name in &names {
            self.known_query(name, &queries);
            self.has_rows(file, name, &[]);
            let of = file.queries.iter().find(|(it, _)| it.it == name.it).and_then(|(_, it)| it.of.as_ref());
            let pack = self.pack;
            let Some(shape) = of.and_then(|it| pack.lifecycles.get(&it.it)) else { continue };
            for event in events.iter().filter(|it| !shape.transitions.contains_key(&it.it)) {
                self.unknown_transition(&shape.name, event, shape.transitions.keys());
            }
        }
        names.into_iter().map(|it| it.it).collect()
    }
}
