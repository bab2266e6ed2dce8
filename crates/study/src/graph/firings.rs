//! Every rule by which the engine fires a transition.

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Also, FollowUp, GiveUp, Lifecycle, Pack, StateSet, Timer, With};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::DefinitionPath;
use trackside_protocol::diagram::Cause;

use super::sites::{Origin, Site, sites, timer_way};

/// One rule by which the engine fires a transition.
#[derive(Clone, Debug)]
pub struct Firing<'a> {
    pub cause: Cause,
    /// The name of the timer, counter, reaction, effect, slot, invariant, transition, state or role behind it.
    pub name: Name,
    /// The lifecycle, or for supervision the pack, that contains the rule.
    pub of: Name,
    pub way: DefinitionPath,
    /// The lifecycle whose entities it moves.
    pub lifecycle: Name,
    pub fire: Name,
    pub when: Option<&'a Guard>,
    /// The states to which the rule is limited.
    pub within: Option<&'a StateSet>,
    /// The fields it sends; none if they come from outside.
    pub with: Option<&'a With>,
    /// The consequences that contain the rule, if any.
    pub site: Option<Site<'a>>,
    pub timer: Option<&'a Timer>,
    pub also: Option<&'a Also>,
}

/// The rules of one lifecycle, including those that move entities of other lifecycles (`also`).
pub fn firings(life: &Lifecycle) -> Vec<Firing<'_>> {
    let mut all = Vec::new();
    let base = |cause: Cause, name: &Name, way: DefinitionPath, fire: &Name| {
        Firing::new(cause, name, &life.name, way, fire)
    };
    let sites = sites(life);
    for timer in &life.timers {
        let of_timer =
            |it: &&Site<'_>| matches!(it.origin, Origin::Timer(other, _) if std::ptr::eq(other, timer));
        for site in sites.iter().filter(of_timer) {
            let Origin::Timer(_, percent) = site.origin else { continue };
            for (way, then) in follow_ups(site) {
                let rule = base(Cause::Warning(percent), &timer.name, way, &then.fire);
                all.push(Firing { timer: Some(timer), ..then_of(rule, then, site) });
            }
        }
        if let Some(then) = &timer.then {
            let way = timer_way(life, timer).key("then");
            let rule = base(Cause::Timer, &timer.name, way, &then.fire);
            all.push(Firing { when: then.when.as_ref(), with: Some(&then.with), timer: Some(timer), ..rule });
        }
    }
    for slot in &life.slots {
        if let Some(lost) = &slot.lost {
            all.push(base(Cause::Lease, &slot.name, DefinitionPath::of(["slots", &slot.name, "lost"]), lost));
        }
    }
    // Transitions before states: the order in which a reader meets them in a diagram.
    let of_moves = sites.iter().filter(|it| it.follows_move() && !it.is_of_state());
    for site in of_moves.chain(sites.iter().filter(|it| it.is_of_state())) {
        let cause = if matches!(site.origin, Origin::Always(..)) { Cause::Always } else { Cause::Then };
        for (way, then) in follow_ups(site) {
            all.push(then_of(base(cause, &site.name(), way, &then.fire), then, site));
        }
    }
    for counter in &life.counters {
        if let Some(then) = &counter.then {
            let way = DefinitionPath::of(["counters", &counter.name, "then"]);
            let rule = base(Cause::Counter, &counter.name, way, &then.fire);
            all.push(Firing { when: then.when.as_ref(), with: Some(&then.with), ..rule });
        }
        let of_counter = |it: &&Site<'_>| matches!(it.origin, Origin::Counter(name) if *name == counter.name);
        for site in sites.iter().filter(of_counter) {
            for (way, then) in follow_ups(site) {
                all.push(then_of(base(Cause::Counter, &counter.name, way, &then.fire), then, site));
            }
        }
    }
    for reaction in &life.reactions {
        let way = DefinitionPath::of(["reactions", &reaction.name, "fire"]);
        let rule = base(Cause::Reaction, &reaction.name, way, &reaction.fire);
        let within = reaction.within.as_ref();
        all.push(Firing { when: Some(&reaction.when), within, with: Some(&reaction.with), ..rule });
    }
    for effect in &life.effects {
        for (key, home) in [("ok", &effect.ok), ("failed", &effect.failed)] {
            if let Some(home) = home {
                all.push(base(
                    Cause::Effect,
                    &effect.name,
                    DefinitionPath::of(["effects", &effect.name, key]),
                    home,
                ));
            }
        }
    }
    for invariant in &life.invariants {
        if let Some(repair) = &invariant.repair {
            let way = DefinitionPath::of(["invariants", &invariant.name, "repair"]);
            let within = invariant.within.as_ref();
            all.push(Firing { within, ..base(Cause::Repair, &invariant.name, way, repair) });
        }
    }
    if let Some(again) = &life.create.again {
        all.push(base(Cause::Again, &life.name, DefinitionPath::of(["create", "again"]), again));
    }
    let of_moves = sites.iter().filter(|it| it.follows_move() && !it.is_of_state());
    let of_states = sites.iter().filter(|it| it.is_of_state());
    for site in of_moves.chain(of_states).chain(sites.iter().filter(|it| !it.follows_move())) {
        for (n, also) in site.then.also.iter().enumerate() {
            let way = site.way.clone().key("also").item(n);
            all.push(Firing {
                lifecycle: also.to.clone(),
                when: also.when.as_ref(),
                within: also.within.as_ref(),
                with: Some(&also.with),
                site: Some(site.clone()),
                also: Some(also),
                ..base(Cause::Also, &site.name(), way, &also.fire)
            });
        }
    }
    all
}

/// The transitions that supervision fires when it gives up on a role.
pub fn supervision(pack: &Pack) -> Vec<Firing<'_>> {
    let gives_up = pack.supervise.iter().filter_map(|(role, rules)| Some((role, rules.gives_up.as_ref()?)));
    let firing = |(role, up): (&Name, &'_ GiveUp)| Firing {
        lifecycle: up.on.clone(),
        ..Firing::new(
            Cause::Supervision,
            role,
            &pack.name,
            DefinitionPath::of(["supervise", role, "gives_up"]),
            &up.fire,
        )
    };
    gives_up.map(|it| Firing { with: Some(&it.1.with), ..firing(it) }).collect()
}

impl Firing<'_> {
    fn new(cause: Cause, name: &Name, of: &Name, way: DefinitionPath, fire: &Name) -> Self {
        Self {
            cause,
            name: name.clone(),
            of: of.clone(),
            way,
            lifecycle: of.clone(),
            fire: fire.clone(),
            when: None,
            within: None,
            with: None,
            site: None,
            timer: None,
            also: None,
        }
    }
}

/// The entries of `then` at a site, each with its place.
fn follow_ups<'s, 'a>(site: &'s Site<'a>) -> impl Iterator<Item = (DefinitionPath, &'a FollowUp)> + 's {
    let several = site.then.then.len() > 1;
    site.then.then.iter().enumerate().map(move |(n, then)| {
        let way = site.way.clone().key("then");
        (if several { way.item(n) } else { way }, then)
    })
}

fn then_of<'a>(rule: Firing<'a>, then: &'a FollowUp, site: &Site<'a>) -> Firing<'a> {
    Firing { when: then.when.as_ref(), with: Some(&then.with), site: Some(site.clone()), ..rule }
}
