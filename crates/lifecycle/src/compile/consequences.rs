//! Consequences, from their keys.

use super::context::CompileContext;
use crate::guard::{Guard, Type};
use crate::model::{
    Also, Assign, AssignTarget, Consequences, EffectCall, FollowUp, Grant, Notification, Post, RaiseAlert,
    RankingShare, Severity, ShareAmount, ShareRange, Spawn, With,
};
use crate::name::Name;
use crate::source::{At, Named, Percent, Place};
use crate::syntax;
use crate::syntax::Expr;

impl CompileContext<'_> {
    pub fn consequences(&mut self, from: &syntax::ConsequencesDecl) -> Consequences {
        Consequences {
            set: from.set.iter().filter_map(|(name, value)| self.assign(name, value)).collect(),
            clear: from.clear.iter().map(|it| self.settable(it)).collect(),
            reset: from.reset.iter().map(|it| self.counter(it)).collect(),
            lease: from.lease.as_ref().and_then(|it| self.grant(it)),
            release: from.release.iter().map(|it| self.slot(it)).collect(),
            then: from.then.iter().filter_map(|it| self.follow(it)).collect(),
            also: from.also.iter().filter_map(|it| self.compile_also(it)).collect(),
            create: from.create.iter().filter_map(|it| self.spawn(it)).collect(),
            post: from.post.iter().filter_map(|it| self.post(it)).collect(),
            notify: from
                .notify
                .iter()
                .filter_map(|it| {
                    self.notification(&it.audience, &it.to, &it.message, it.each.as_ref(), &it.when)
                })
                .collect(),
            alert: from.alert.iter().filter_map(|it| self.raise(it)).collect(),
            effects: from.effects.iter().filter_map(|it| self.call(it)).collect(),
        }
    }

    /// A step of a `warn` may only change fields and send notifications; other consequences need a
    /// transition.
    pub fn warning_step(&mut self, from: &syntax::ConsequencesDecl) -> Consequences {
        let counters = from.set.iter().map(|(name, _)| name).filter(|it| self.sets_counter(it));
        let mut refused: Vec<(Place, &str)> = counters.map(|it| (it.at, "set a counter")).collect();
        refused.extend(from.reset.iter().map(|it| (it.at, "reset a counter")));
        refused.extend(from.lease.iter().map(|it| (leased(it).at, "grant a lease")));
        refused.extend(from.release.iter().map(|it| (it.at, "release a lease")));
        for (at, what) in refused {
            self.error("warn-step", at, format!("a step of `warn` cannot {what}"))
                .hint("use `then` to fire a transition that does it");
        }
        self.consequences(from)
    }

    fn sets_counter(&self, name: &Name) -> bool {
        let bare = name.split('[').next().unwrap_or(name);
        self.shape.counters.contains_key(bare) && !self.shape.fields.contains_key(name)
    }

    fn assign(&mut self, name: &At<Name>, value: &Expr) -> Option<Assign> {
        if let Some((counter, key)) =
            name.it.split_once('[').and_then(|(a, b)| Some((a, b.strip_suffix(']')?)))
        {
            let counter = At { it: Name::new(counter), at: name.at };
            if self.shape.counters.get(&counter.it).is_some_and(|(_, several)| !several) {
                self.error("no-such-tally", name.at, format!("counter `{}` has only one tally", counter.it));
            }
            let (ty, _) = self.shape.counters.get(&counter.it).cloned().unwrap_or((Type::Any, true));
            let spot = self.counter(&counter);
            let key = Expr::within(key, name.at);
            let key = match self.try_guard(&key) {
                Ok(guard) => guard,
                Err(errors) => {
                    for error in errors {
                        self.error("expression", name.at, error.message);
                    }
                    return None;
                }
            };
            return Some(Assign {
                target: AssignTarget::CounterAt(spot, key),
                value: self.guard(value, &ty)?,
            });
        }
        if let Some((ty, _)) = self.shape.counters.get(&name.it).cloned() {
            if self.shape.keyed.contains(&name.it) {
                self.error("which-tally", name.at, format!("counter `{}` has several tallies", name.it))
                    .hint(format!("say which: `{}[KEY]`", name.it));
            }
            return Some(Assign {
                target: AssignTarget::Counter(name.it.clone()),
                value: self.guard(value, &ty)?,
            });
        }
        let field = self.settable(name);
        let ty = self.shape.fields.get(&field).map_or(Type::Any, |it| it.ty());
        Some(Assign { target: AssignTarget::Field(field), value: self.listing_guard(value, &ty)? })
    }

    /// A field that rules may write: stored, not computed.
    fn settable(&mut self, name: &At<Name>) -> Name {
        if self.shape.computed.contains(&name.it) {
            self.error(
                "computed-field",
                name.at,
                format!("`{}` is computed when it is read, so a rule cannot set it", name.it),
            );
            return name.it.clone();
        }
        self.field(name)
    }

    fn grant(&mut self, from: &syntax::GrantDecl) -> Option<Grant> {
        Some(match from {
            syntax::GrantDecl::Slot(name) => Grant { slot: self.slot(name), to: None },
            syntax::GrantDecl::Map(map) => Grant {
                slot: self.slot(&map.slot),
                to: match &map.to {
                    Some(to) => Some(self.guard(to, &Type::Text)?),
                    None => None,
                },
            },
        })
    }

    pub fn follow(&mut self, from: &syntax::FollowUpDecl) -> Option<FollowUp> {
        let own = self.shape.name.clone();
        Some(match from {
            syntax::FollowUpDecl::Fire(name) => {
                FollowUp { fire: self.transition(name), with: Vec::new(), when: None, subject: None }
            }
            syntax::FollowUpDecl::Map(map) => FollowUp {
                fire: self.transition(&map.fire),
                with: self.with(&map.with, &own, &map.fire),
                when: self.when(&map.when),
                subject: map.r#for.as_ref().and_then(|it| self.guard(it, &Type::Text)),
            },
        })
    }

    fn compile_also(&mut self, from: &syntax::AlsoDecl) -> Option<Also> {
        let (name, each) = match (&from.on, &from.each) {
            (Some(name), None) => (name, false),
            (None, Some(name)) => (name, true),
            _ => {
                self.error(
                    "on-or-each",
                    from.fire.at,
                    "`also` needs `on` (one other) or `each` (many others)",
                );
                return None;
            }
        };
        let many_ref = self.shape.refs.get(&name.it).cloned();
        let to = match (&many_ref, self.shape.inverses.get(&name.it)) {
            (Some(it), _) if it.many == each => it.to.clone(),
            (None, Some(other)) if each => other.clone(),
            (Some(_), _) | (_, Some(_)) => {
                let message = if each {
                    format!("`{}` names one entity: use `on`", name.it)
                } else {
                    format!("`{}` names many entities: use `each`", name.it)
                };
                self.error("on-or-each", name.at, message);
                return None;
            }
            (None, None) => {
                let known: Vec<&str> =
                    self.shape.refs.keys().chain(self.shape.inverses.keys()).map(Name::as_str).collect();
                self.unknown_in(Some("`refs`"), "unknown-ref", "ref", name, &known);
                return None;
            }
        };
        let within = from.r#in.as_ref().map(|names| {
            let known = self.pack.lifecycles.get(&to);
            let mut chosen = Vec::new();
            for name in names.iter() {
                match known {
                    Some(other) if other.is_state(name) => chosen.push(name.it.clone()),
                    Some(other) if other.sets.contains_key(&name.it) => {
                        chosen.extend(other.sets.get(&name.it).into_iter().flatten().cloned());
                    }
                    Some(other) => {
                        let known: Vec<&str> = other.states.iter().map(Name::as_str).collect();
                        self.unknown("unknown-state", &format!("state of {to} called"), name, &known);
                    }
                    None => {}
                }
            }
            crate::model::StateSet(chosen)
        });
        let share = self.share(from, name, each, &to);
        let fire = self.transition_of(&to, &from.fire);
        let with = self.with(&from.with, &to, &from.fire);
        let when = self.when(&from.when);
        Some(Also {
            on: name.it.clone(),
            each,
            to,
            within,
            fire,
            with,
            when,
            soft: from.soft.unwrap_or(false),
            willing: from.willing.unwrap_or(false),
            share,
        })
    }

    fn spawn(&mut self, from: &syntax::SpawnDecl) -> Option<Spawn> {
        let pack = self.pack;
        let Some(other) = pack.lifecycles.get(&from.lifecycle.it) else {
            let known: Vec<&str> = pack.lifecycles.keys().map(Name::as_str).collect();
            self.unknown("unknown-lifecycle", "lifecycle", &from.lifecycle, &known);
            return None;
        };
        for (name, _) in from.fields.iter() {
            // At creation, the engine may also set the fields that only it writes.
            if !other.create_takes.contains(&name.it) && !other.owned.contains(&name.it) {
                let known: Vec<&str> = other.create_takes.iter().map(Name::as_str).collect();
                self.unknown_in(
                    Some("its `takes`"),
                    "unknown-field",
                    &format!("field that creating {} takes called", other.name),
                    name,
                    &known,
                );
            }
        }
        let fields = self.expressions(&from.fields);
        Some(Spawn {
            lifecycle: from.lifecycle.it.clone(),
            id: self.guard(&from.id, &Type::Text)?,
            fields,
            when: self.when(&from.when),
            soft: from.soft.unwrap_or(false),
        })
    }

    fn post(&mut self, from: &syntax::PostDecl) -> Option<Post> {
        let each = self.compile_each(from.each.as_ref());
        let when = self.when(&from.when);
        let to = from.to.as_ref().and_then(|it| self.guard(it, &Type::Any));
        let visible = from.visible.as_ref().and_then(|it| self.guard(it, &Type::Any));
        let author = from.from.as_ref().and_then(|it| self.guard(it, &Type::Text));
        let text = self.template(&from.text);
        self.it = None;
        Some(Post { kind: from.kind.it.clone(), text: text?, to, visible, from: author, each, when })
    }

    pub fn notification(
        &mut self,
        audience: &At<Name>,
        to: &Option<Expr>,
        message: &Expr,
        each: Option<&Expr>,
        when: &Option<Expr>,
    ) -> Option<Notification> {
        if !self.pack.audiences.contains(&audience.it) {
            let known: Vec<&str> = self.pack.audiences.iter().map(Name::as_str).collect();
            self.unknown_in(
                Some("`audiences` of pack.yaml"),
                "unknown-audience",
                "audience",
                audience,
                &known,
            );
        }
        let each = self.compile_each(each);
        let to = to.as_ref().and_then(|it| self.guard(it, &Type::Any));
        let when = self.when(when);
        let message = self.template(message);
        self.it = None;
        Some(Notification { audience: audience.it.clone(), to, message: message?, each, when })
    }

    /// The list that a message is made for each element of; from here on `it` is the element.
    pub fn compile_each(&mut self, source: Option<&Expr>) -> Option<Guard> {
        let guard = self.guard(source?, &Type::list(Type::Any))?;
        self.it = Some(match guard.ty() {
            Type::List(of) => Type::clone(of),
            _ => Type::Any,
        });
        Some(guard)
    }

    /// The part of a ranking that `also` moves.
    fn share(
        &mut self,
        from: &syntax::AlsoDecl,
        inverse: &At<Name>,
        each: bool,
        to: &Name,
    ) -> Option<RankingShare> {
        let parts = [&from.first, &from.last, &from.below].into_iter().flatten().count();
        let Some(ranking) = &from.ranked else {
            if parts > 0 {
                self.error("no-ranking", from.fire.at, "`first`, `last` and `below` need a ranking")
                    .hint("name it with `ranked`");
            }
            return None;
        };
        let other = self.pack.lifecycles.get(to);
        let Some(order) = other.and_then(|it| it.rankings.get(&ranking.it)) else {
            let known: Vec<&str> =
                other.into_iter().flat_map(|it| it.rankings.keys()).map(Name::as_str).collect();
            self.unknown("unknown-ranking", &format!("ranking of {to} called"), ranking, &known);
            return None;
        };
        let ours = |it: &Name| {
            let back = other.and_then(|other| other.refs.get(it)).and_then(|it| it.inverse.as_ref());
            back == Some(&inverse.it)
        };
        if !each || order.within.len() != 1 || !order.within.iter().all(ours) {
            self.error(
                "other-ranking",
                ranking.at,
                format!(
                    "`{}` is not a ranking within the ref that `{}` is the inverse of",
                    ranking.it, inverse.it
                ),
            )
            .hint("use `each` with the inverse of the only ref in its `within`");
        }
        if parts != 1 {
            self.error("which-part", ranking.at, "give exactly one of `first`, `last` and `below`");
        }
        let range = if let Some(it) = &from.first {
            ShareRange::First(self.share_amount(it)?)
        } else if let Some(it) = &from.last {
            ShareRange::Last(self.share_amount(it)?)
        } else {
            if !order.ascending {
                self.error(
                    "below-what",
                    ranking.at,
                    format!("`{}` does not begin with the smallest", ranking.it),
                )
                .hint("`below` needs a ranking whose first `by` has no `-`");
            }
            ShareRange::Below(self.guard(from.below.as_ref()?, &Type::Any)?)
        };
        Some(RankingShare { ranking: ranking.it.clone(), range })
    }

    fn share_amount(&mut self, from: &Expr) -> Option<ShareAmount> {
        Some(match Percent::parse(from.text.trim()) {
            Some(Percent(percent)) => {
                if !(1..=100).contains(&percent) {
                    self.error("bad-percentage", from.at, "a share must be between 1% and 100%");
                }
                ShareAmount::Percent(percent)
            }
            None => ShareAmount::Number(self.guard(from, &Type::Float)?),
        })
    }

    /// The consequences of leaving a state, besides those of the arm itself.
    pub fn leaving_step(&mut self, from: &syntax::ConsequencesDecl) -> Consequences {
        if let Some(grant) = &from.lease {
            self.error("exit-lease", leased(grant).at, "leaving a state cannot grant a lease")
                .hint("grant it in the transition, or in `enter` of the next state");
        }
        self.consequences(from)
    }

    fn raise(&mut self, from: &syntax::RaiseAlertDecl) -> Option<RaiseAlert> {
        let severity = match &from.severity {
            Some(word) => self.severity(word)?,
            None => Severity::Warning,
        };
        let when = self.when(&from.when);
        Some(RaiseAlert {
            kind: from.kind.it.clone(),
            severity,
            message: self.template(&from.message)?,
            when,
        })
    }

    pub fn severity(&mut self, word: &At<Name>) -> Option<Severity> {
        Some(match word.it.as_str() {
            "info" => Severity::Info,
            "warning" => Severity::Warning,
            "error" => Severity::Error,
            "critical" => Severity::Critical,
            _ => {
                self.unknown("unknown-severity", "severity", word, &["info", "warning", "error", "critical"]);
                return None;
            }
        })
    }

    fn call(&mut self, from: &syntax::EffectCallDecl) -> Option<EffectCall> {
        let (name, with, when) = match from {
            syntax::EffectCallDecl::Effect(name) => (name, Vec::new(), None),
            syntax::EffectCallDecl::Map(map) => {
                let with = self.expressions(&map.with);
                (&map.effect, with, self.when(&map.when))
            }
        };
        if !self.shape.effects.contains(&name.it) {
            let known: Vec<&str> = self.shape.effects.iter().map(Name::as_str).collect();
            self.unknown_in(Some("`effects`"), "unknown-effect", "effect", name, &known);
        }
        Some(EffectCall { effect: name.it.clone(), with, when })
    }

    pub fn when(&mut self, from: &Option<Expr>) -> Option<Guard> {
        from.as_ref().and_then(|it| self.guard(it, &Type::Bool))
    }

    /// Fields of a further move: only those that one of its arms takes.
    pub fn with(&mut self, from: &Named<Expr>, lifecycle: &Name, fire: &At<Name>) -> With {
        let pack = self.pack;
        if let Some(takes) = pack.lifecycles.get(lifecycle).and_then(|it| it.transitions.get(&fire.it)) {
            for (name, _) in from.iter() {
                if !takes.contains(&name.it) && name.it != "to" {
                    let known: Vec<&str> = takes.iter().map(Name::as_str).collect();
                    self.unknown_in(
                        Some("its `takes`"),
                        "unknown-field",
                        &format!("field that {} takes called", fire.it),
                        name,
                        &known,
                    );
                }
            }
        }
        self.expressions(from)
    }

    pub fn expressions(&mut self, from: &Named<Expr>) -> With {
        from.iter()
            .filter_map(|(name, it)| Some((name.it.clone(), self.listing_guard(it, &Type::Any)?)))
            .collect()
    }
}

fn leased(grant: &syntax::GrantDecl) -> &At<Name> {
    match grant {
        syntax::GrantDecl::Slot(name) => name,
        syntax::GrantDecl::Map(map) => &map.slot,
    }
}
