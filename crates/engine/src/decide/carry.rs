//! Writes the entries of a rule that was taken.

use std::sync::Arc;

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Consequences, Lifecycle, Notification, NotifyOn, Severity, TallyBy};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use super::count::count_change;
use super::fire::plain_scope;
use super::plan::{Aims, CountedChange, Rule, RulePlan};
use super::request::Request;
use super::scope::EntityScope;
use super::{DecisionBuilder, Stop, unanswered};
use crate::apply::evolve;
use crate::entity::{AlertCause, Entity, ids_in};
use crate::event::{Changes, Event, Shift, TallyChange};
use crate::fields::Fields;
use crate::key::{EntityKey, GroupKey};
use crate::trace::PointKind;
use crate::view::Found;

/// The result of a move that its consequences read.
pub(super) struct MoveResult<'l> {
    pub taken: Fields,
    pub was: Fields,
    pub counted: Vec<CountedChange<'l>>,
    pub entered: bool,
}

impl DecisionBuilder<'_> {
    /// Writes the move and all other changes of its own entity. Returns the result, and the consequences
    /// that are still to follow.
    pub fn carry<'l>(
        &mut self,
        life: &'l Lifecycle,
        key: &EntityKey,
        born: Option<Entity>,
        rule: &Rule<'l>,
        plan: RulePlan<'l>,
        request: &mut Request,
    ) -> Result<(MoveResult<'l>, Vec<&'l Consequences>), Stop> {
        self.count_move()?;
        let choice = rule.choice(&plan).map(|it| &it.then);
        let left = plan
            .to
            .as_ref()
            .and(born.is_none().then(|| self.existing_entity(key).map(|it| it.1.state.clone())));
        let left = left.transpose()?;
        if request.reason.is_none() {
            request.reason = self.default_reason(life, key, rule, &plan, request)?;
        }
        let (event, outcome, mut counted_all, was) = {
            let before = match &born {
                Some(_) => None,
                None => Some(self.existing_entity(key)?.1),
            };
            let Some(present) = born.as_ref().or(before) else { return Err(Stop::NotLoaded) };
            self.hit_edge(life, rule, &plan, &present.state);
            self.move_event(life, rule, &plan, before, present, request)?
        };
        self.kept.extend(rule.keep.iter().map(|it| (key.clone(), it.clone())));
        for name in plan.ignored {
            if !self.ignored.contains(&name) {
                self.ignored.push(name);
            }
        }
        let trigger = &rule.trigger;
        let mut counted_here = plan.counted;
        let assigned = life.assignee.as_ref().and_then(|field| {
            let changes = event.changes()?;
            let (_, after) = changes.fields.iter().find(|(it, _)| it == field)?;
            let before = was.value(field);
            // A slot that stays free is not worth an entry.
            let news = before != *after && !(names_no_actor(&before) && names_no_actor(after));
            news.then(|| Event::Assigned { field: field.clone(), before, after: after.clone() })
        });
        for event in counted_here.iter().filter_map(CountedChange::failure) {
            self.record(key, request, trigger, event);
        }
        let entered = matches!(event, Event::Created { .. } | Event::Transitioned { .. });
        let seq = self.record_move(request, trigger, event, outcome);
        self.root.get_or_insert(seq);
        if request.cause.is_none() {
            request.cause = self.root;
        }
        if let Some(event) = assigned {
            self.record(key, request, trigger, event);
        }
        let state = self.existing_entity(key)?.1.state.clone();
        let enter = life.state(&state).filter(|_| entered).map(|it| &it.enter);
        let exit = left.as_ref().and_then(|it| life.state(it)).map(|it| &it.exit);
        let parts: Vec<&'l Consequences> =
            [Some(rule.then), choice, exit, enter].into_iter().flatten().collect();
        let releases: Vec<Name> = parts.iter().flat_map(|it| it.release.iter().cloned()).collect();
        self.lease_events(key, request, trigger, &plan.grants, &releases)?;
        counted_here.append(&mut counted_all);
        let moved = MoveResult { taken: plan.taken, was, counted: counted_here, entered };
        for part in &parts {
            self.tell_people(life, key, trigger, part, request, &moved)?;
        }
        self.notify_rules(life, key, trigger, request, &moved)?;
        if entered && life.state(&state).is_some_and(|it| it.erase.is_some()) {
            let held: Vec<Name> = life.slots.iter().map(|it| it.name.clone()).collect();
            self.lease_events(key, request, trigger, &[], &held)?;
            let kept = self.existing_entity(key)?.1.fields.clone();
            self.record(key, request, trigger, Event::Erased { kept });
        }
        Ok((moved, parts))
    }

    /// The reason that the rule declares for requests without one; an empty text is none.
    fn default_reason(
        &self,
        life: &Lifecycle,
        key: &EntityKey,
        rule: &Rule<'_>,
        plan: &RulePlan<'_>,
        request: &Request,
    ) -> Result<Option<Arc<str>>, Stop> {
        let Some(text) = rule.default_reason else { return Ok(None) };
        let (_, entity) = self.existing_entity(key)?;
        let around = self.surroundings();
        let scope = EntityScope {
            taken: &plan.taken,
            base: &plan.sent,
            ..plain_scope(&around, life, entity, request)
        };
        Ok(Some(self.render(&scope, text)?).filter(|it| !it.trim().is_empty()))
    }

    /// The event of the move, complete with counts, clocks and shifts, and the resulting entity.
    fn move_event<'l>(
        &self,
        life: &'l Lifecycle,
        rule: &Rule<'_>,
        plan: &RulePlan<'l>,
        before: Option<&Entity>,
        present: &Entity,
        request: &Request,
    ) -> Result<(Event, Entity, Vec<CountedChange<'l>>, Fields), Stop> {
        let was = before.map(|it| it.fields.clone()).unwrap_or_default();
        let mut fields = plan.fields.clone();
        if rule.creating {
            let given = |name: &Name| plan.fields.iter().any(|(it, _)| it == name);
            let defaults = present.fields.iter().filter(|(name, _)| !given(name));
            fields.extend(defaults.map(|(name, value)| (name.clone(), value.clone())));
        }
        fields.retain(|(name, value)| was.value(name) != *value);
        let plain = plan.counted.iter().filter(|it| !it.counter.failure).map(|it| it.change.clone());
        let mut changes = Changes { fields, tallies: plain.collect(), ..Changes::default() };
        changes.tallies.extend(self.resets(life, present, rule, plan, request)?);
        changes.tallies.extend(plan.tallies.iter().cloned());
        let mut event = match (&plan.to, rule.creating) {
            (_, true) => Event::Created {
                definition: life.version,
                state: present.state.clone(),
                generation: present.generation,
                changes,
            },
            (Some(to), false) => Event::Transitioned { from: present.state.clone(), to: to.clone(), changes },
            (None, false) => Event::FieldsChanged { changes },
        };
        let mut next = present.clone();
        for event in plan.counted.iter().filter_map(CountedChange::failure) {
            evolve(&mut next, &event, self.now, present.version);
        }
        evolve(&mut next, &event, self.now, present.version + 1);
        let mut late = Changes::default();
        let around = self.surroundings();
        let mut moves = Vec::new();
        if plan.to.is_some() || rule.creating {
            let scope =
                EntityScope { taken: &plan.taken, was: &was, ..plain_scope(&around, life, &next, request) };
            if !rule.creating {
                for counter in life.counters.iter().filter(|it| it.on_moves) {
                    moves.extend(count_change(self, &scope, counter)?);
                }
            }
        }
        for it in &moves {
            late.tallies.push(it.change.clone());
            let change = Changes { tallies: vec![it.change.clone()], ..Changes::default() };
            let version = next.version;
            evolve(&mut next, &Event::FieldsChanged { changes: change }, self.now, version);
        }
        let scope =
            EntityScope { taken: &plan.taken, was: &was, ..plain_scope(&around, life, &next, request) };
        let entered = plan.to.is_some() || rule.creating;
        late.timers = self.timer_changes(&scope, before, &rule.trigger, entered)?;
        late.shifts = match self.draft.entity(&present.key) {
            Found::Here(ended) if rule.creating => self.new_life_shifts(life, ended, &next)?,
            _ => shifts(life, before, &next),
        };
        late.same = self.same_change(&scope, present.same.as_ref())?;
        if !late.timers.is_empty() || late.same.is_some() {
            let rest = Changes { timers: late.timers.clone(), same: late.same.clone(), ..Changes::default() };
            let version = next.version;
            evolve(&mut next, &Event::FieldsChanged { changes: rest }, self.now, version);
        }
        if let Some(changes) = event.changes_mut() {
            changes.tallies.append(&mut late.tallies);
            changes.timers = late.timers;
            changes.shifts = late.shifts;
            changes.same = late.same;
        }
        Ok((event, next, moves, was))
    }

    /// The ended life leaves its groups, and the new one joins its own.
    fn new_life_shifts(&self, life: &Lifecycle, ended: &Entity, next: &Entity) -> Result<Vec<Shift>, Stop> {
        let (old, _) = self.existing_entity(&ended.key)?;
        let left = |it: Shift| Shift { from: it.to, to: None, ..it };
        let mut all: Vec<Shift> = shifts(&old, None, ended).into_iter().map(left).collect();
        all.extend(shifts(life, None, next));
        Ok(all)
    }

    /// Counters that this move sets to zero.
    fn resets(
        &self,
        life: &Lifecycle,
        present: &Entity,
        rule: &Rule<'_>,
        plan: &RulePlan<'_>,
        request: &Request,
    ) -> Result<Vec<TallyChange>, Stop> {
        let mut resets = Vec::new();
        for counter in &life.counters {
            let Some(tallies) = present.tallies(&counter.name) else { continue };
            let reset = |key: Name| TallyChange { counter: counter.name.clone(), key, tally: None };
            if counter.reset_on.contains(&rule.trigger) {
                match &counter.tally {
                    // Resets only the tallies that the request names; an unnamed part matches all.
                    TallyBy::ByKey(parts) => {
                        let around = self.surroundings();
                        let mut scope = plain_scope(&around, life, present, request);
                        scope.taken = &plan.taken;
                        scope.base = &plan.sent;
                        let mut wanted = Vec::new();
                        for part in parts {
                            wanted.push(self.value(&scope, part)?);
                        }
                        let matching = tallies.by_key.iter().filter(|(key, _)| key_matches(key, &wanted));
                        resets.extend(matching.map(|(key, _)| reset(key.clone())));
                    }
                    TallyBy::One | TallyBy::PerState => resets.push(reset(Name::new(""))),
                }
            }
            if counter.reset_forward
                && let Some(to) = &plan.to
                && let (Some(from), Some(to)) = (life.rank(&present.state), life.rank(to))
                && to > from
                && !plan.counted.iter().any(|it| it.counter.name == counter.name)
            {
                resets.push(reset(present.state.clone()));
            }
        }
        Ok(resets)
    }

    /// Messages, notices, alerts and effects of one set of consequences.
    pub fn tell_people(
        &mut self,
        life: &Lifecycle,
        key: &EntityKey,
        trigger: &Name,
        from: &Consequences,
        request: &Request,
        moved: &MoveResult<'_>,
    ) -> Result<(), Stop> {
        if from.post.is_empty() && from.notify.is_empty() && from.alert.is_empty() && from.effects.is_empty()
        {
            return Ok(());
        }
        let mut events = Vec::new();
        {
            let (_, entity) = self.existing_entity(key)?;
            let around = self.surroundings();
            let scope = moved.scope(&around, life, entity, request);
            for post in &from.post {
                for it in self.elements(&scope, post.each.as_ref())? {
                    let scope = EntityScope { it: it.as_ref(), ..scope };
                    if self.condition_holds(&scope, post.when.as_ref())? {
                        let text = self.render(&scope, &post.text)?;
                        let ids = |guard: &Option<Guard>| match guard {
                            Some(guard) => Ok(Some(ids_in(Some(&self.value(&scope, guard)?)))),
                            None => Ok::<_, Stop>(None),
                        };
                        let (routed, visible) = (ids(&post.to)?, ids(&post.visible)?);
                        let from = match &post.from {
                            Some(from) => ids_in(Some(&self.value(&scope, from)?)).into_iter().next(),
                            None => None,
                        };
                        let kind = post.kind.clone();
                        events.push(Event::MessagePosted { kind, text, visible, from, routed });
                    }
                }
            }
            for tell in &from.notify {
                events.extend(self.notification_events(&scope, tell)?);
            }
            for alert in &from.alert {
                if self.condition_holds(&scope, alert.when.as_ref())? {
                    let message = self.render(&scope, &alert.message)?;
                    events.push(Event::AlertRaised {
                        kind: alert.kind.clone(),
                        severity: alert.severity,
                        message,
                        rule: None,
                        cause: life
                            .alerts
                            .contains_key(&alert.kind)
                            .then(|| AlertCause::Condition(alert.kind.clone())),
                    });
                }
            }
            for call in &from.effects {
                if !self.condition_holds(&scope, call.when.as_ref())? {
                    continue;
                }
                let declared = life.effect(&call.effect).map(|it| it.with.as_slice()).unwrap_or_default();
                let mut with = Fields::default();
                for (name, guard) in declared.iter().chain(&call.with) {
                    with.put(name, self.value(&scope, guard)?);
                }
                events.push(Event::EffectRequested { id: 0, effect: call.effect.clone(), with });
            }
        }
        for mut event in events {
            if let Event::EffectRequested { id, .. } = &mut event {
                *id = self.draft.next_seq();
            }
            self.record(key, request, trigger, event);
        }
        Ok(())
    }

    /// Notifies the audiences that the lifecycle itself declares for moves.
    fn notify_rules(
        &mut self,
        life: &Lifecycle,
        key: &EntityKey,
        trigger: &Name,
        request: &Request,
        moved: &MoveResult<'_>,
    ) -> Result<(), Stop> {
        if life.notify.is_empty() {
            return Ok(());
        }
        let mut events = Vec::new();
        {
            let (_, entity) = self.existing_entity(key)?;
            let around = self.surroundings();
            let scope = moved.scope(&around, life, entity, request);
            for rule in &life.notify {
                let applies = match &rule.on {
                    NotifyOn::Moves => moved.entered,
                    NotifyOn::Transitions(names) => names.contains(trigger),
                };
                let here = rule.within.as_ref().is_none_or(|it| it.has(&entity.state));
                if applies && here {
                    events.extend(self.notification_events(&scope, &rule.notification)?);
                }
            }
        }
        for event in events {
            self.record(key, request, trigger, event);
        }
        Ok(())
    }

    fn notification_events(&self, scope: &EntityScope<'_>, tell: &Notification) -> Result<Vec<Event>, Stop> {
        let mut events = Vec::new();
        for it in self.elements(scope, tell.each.as_ref())? {
            let scope = EntityScope { it: it.as_ref(), ..*scope };
            if !self.condition_holds(&scope, tell.when.as_ref())? {
                continue;
            }
            let to = match &tell.to {
                Some(to) => ids_in(Some(&self.value(&scope, to)?)),
                None => Vec::new(),
            };
            let message = self.render(&scope, &tell.message)?;
            events.push(Event::Notified { audience: tell.audience.clone(), to, message });
        }
        Ok(events)
    }

    /// The elements to notify about, one message each; without a list, one message.
    fn elements(&self, scope: &EntityScope<'_>, each: Option<&Guard>) -> Result<Vec<Option<Value>>, Stop> {
        let Some(each) = each else { return Ok(vec![None]) };
        let list = self.value(scope, each)?;
        Ok(list.as_list().unwrap_or_default().iter().map(|it| Some(it.clone())).collect())
    }

    /// A value in a consequence. If it cannot be computed, the whole command is refused.
    pub fn value(&self, scope: &EntityScope<'_>, guard: &Guard) -> Result<Value, Stop> {
        self.eval(scope, guard)?.map_err(|fault| unanswered(guard.source(), &fault))
    }

    pub fn render(
        &self,
        scope: &EntityScope<'_>,
        text: &trackside_lifecycle::guard::Template,
    ) -> Result<Arc<str>, Stop> {
        match text.render(scope) {
            Ok(text) => Ok(Arc::from(text)),
            Err(trackside_lifecycle::guard::Fault::NotLoaded) => Err(Stop::NotLoaded),
            Err(fault) => Err(unanswered(text.source(), &fault.to_string())),
        }
    }

    pub fn hit_edge(&self, life: &Lifecycle, rule: &Rule<'_>, plan: &RulePlan<'_>, from: &Name) {
        if !self.is_traced() {
            return;
        }
        if rule.creating {
            self.record_point(life, PointKind::Transition, || "create".to_owned());
            return;
        }
        let kind = PointKind::Transition;
        if let Aims::Choices(_) = rule.aims
            && let Some(choice) = plan.choice
        {
            self.record_point(life, kind, || format!("{}.to[{choice}]", rule.label));
        }
        if rule.trigger != "always" {
            self.record_point(life, kind, || format!("{} from {from}", rule.label));
        }
    }
}

impl MoveResult<'_> {
    /// The scope of consequences: the entity after the move, and the fields of the request.
    pub fn scope<'s>(
        &'s self,
        around: &'s super::scope::Surroundings<'s>,
        life: &'s Lifecycle,
        entity: &'s Entity,
        request: &'s Request,
    ) -> EntityScope<'s> {
        EntityScope { taken: &self.taken, was: &self.was, ..plain_scope(around, life, entity, request) }
    }
}

/// The groups that an entity is in.
pub fn groups_of(life: &Lifecycle, entity: &Entity) -> Vec<GroupKey> {
    shifts(life, None, entity).into_iter().map(|it| it.group).collect()
}

/// The changes to the group counts of the entities it refers to.
pub(super) fn shifts(life: &Lifecycle, before: Option<&Entity>, after: &Entity) -> Vec<Shift> {
    let mut shifts = Vec::new();
    for reference in &life.refs {
        let Some(name) = &reference.inverse else { continue };
        // The single entity of a lifecycle is referred to by all.
        let ids = |entity: &Entity| match &reference.by {
            // An id that is listed twice is referred to once.
            Some(field) => without_duplicates(entity.ids(field)),
            None => vec![super::scope::kind_of(&reference.to)],
        };
        let old = before.map(ids).unwrap_or_default();
        let new = ids(after);
        let was = before.map(|it| it.state.clone());
        let group = |id: &Name| GroupKey {
            of: EntityKey { lifecycle: reference.to.clone(), id: id.clone() },
            name: name.clone(),
        };
        for id in &old {
            if !new.contains(id) {
                shifts.push(Shift { group: group(id), from: was.clone(), to: None });
            }
        }
        for id in &new {
            let stayed = old.contains(id);
            if !stayed {
                shifts.push(Shift { group: group(id), from: None, to: Some(after.state.clone()) });
            } else if was.as_ref() != Some(&after.state) {
                shifts.push(Shift { group: group(id), from: was.clone(), to: Some(after.state.clone()) });
            }
        }
    }
    shifts
}

/// Whether a value names no actor.
fn names_no_actor(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::List(all) => all.is_empty(),
        Value::Text(text) => text.is_empty(),
        _ => false,
    }
}

/// Removes duplicates, and keeps the order.
fn without_duplicates(ids: Vec<Name>) -> Vec<Name> {
    let mut all = Vec::with_capacity(ids.len());
    for id in ids {
        if !all.contains(&id) {
            all.push(id);
        }
    }
    all
}

/// Whether the parts of a tally's key match. Null matches any part.
fn key_matches(key: &Name, wanted: &[Value]) -> bool {
    let parts: Vec<&str> = key.split(super::count::SEPARATOR).collect();
    parts.len() == wanted.len()
        && parts
            .iter()
            .zip(wanted)
            .all(|(part, wanted)| wanted.is_null() || *part == super::count::key_part(wanted))
}

/// An alert in plain words.
pub(super) fn alert(kind: &str, severity: Severity, message: String) -> Event {
    Event::AlertRaised {
        kind: Name::new(kind),
        severity,
        message: Arc::from(message),
        rule: None,
        cause: None,
    }
}
