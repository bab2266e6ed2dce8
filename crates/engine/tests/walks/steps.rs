//! One step of a walk: a request, a time span, or an actor that crashes or comes back.

use trackside_engine::command::Command;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_random::Random;

use crate::ids;
use crate::request_chooser::RequestChooser;
use crate::setup::WalkSetup;

#[derive(Clone, Debug)]
pub(crate) enum WalkStep {
    Ask(Box<Command>),
    /// Time passes. If attended, the present actors renew their leases.
    Pass {
        span: Span,
        attended: bool,
    },
    Sweep,
    Crash(Name),
    ComeBack(Name),
}

/// Values around the spans in the packs.
const SPANS: &[i64] = &[
    1, 5, 9, 11, 29, 31, 61, 125, 301, 601, 901, 1_801, 3_601, 7_201, 14_401, 29_000, 90_000, 260_000,
    700_000,
];

/// The number of short spans at the start of `SPANS`.
const CALM: usize = 9;

impl WalkStep {
    /// Chooses the next step.
    pub(crate) fn next(
        asking: &RequestChooser<'_>,
        setup: &WalkSetup,
        again: Option<&Command>,
        dice: &mut Random,
    ) -> Self {
        let open = asking.world.view.entities().iter().filter(|it| ids::goes_on(asking.ground, it)).count();
        let wanted = 3 * asking.ground.pack.lifecycles.len();
        let weights = [
            120,                                   // guided
            if open < wanted { 50 } else { 12 },   // create
            12,                                    // claim
            8,                                     // heartbeat
            14,                                    // settle
            20,                                    // blind
            24,                                    // time
            3,                                     // sweep
            4,                                     // crash
            6,                                     // come back
            if setup.corrections { 4 } else { 0 }, // correct
            if again.is_some() { 3 } else { 0 },   // the same again
            5,                                     // attend to an alert
        ];
        let command = match dice.pick_weighted(&weights) {
            0 => asking.choose_guided(dice),
            1 => asking.create(dice),
            2 => asking.claim(dice),
            3 => asking.heartbeat(dice),
            4 => asking.settle(dice),
            5 => asking.choose_blind(dice),
            6 => return Self::pass(asking, setup, dice),
            7 => return Self::Sweep,
            8 => match dice.pick(&asking.cast.present()) {
                Some(actor) => return Self::Crash(actor.id.clone()),
                None => None,
            },
            9 => match dice.pick(&asking.cast.absent()) {
                Some(actor) => return Self::ComeBack(actor.clone()),
                None => None,
            },
            10 => asking.correct(dice),
            11 => again.cloned(),
            _ => asking.attend(dice),
        };
        match command.or_else(|| asking.choose_guided(dice)).or_else(|| asking.create(dice)) {
            Some(mut command) => {
                if command.idempotency_key.is_none() && dice.percent(5) {
                    command.idempotency_key = Some(Name::from(format!("k-{}", dice.below(4))));
                }
                Self::Ask(Box::new(command))
            }
            None => Self::Sweep,
        }
    }

    /// Some time, or until a moment before or after the next timer.
    fn pass(asking: &RequestChooser<'_>, setup: &WalkSetup, dice: &mut Random) -> Self {
        let world = asking.world;
        let entities = world.view.entities();
        let due = entities.iter().flat_map(|it| it.timers.iter().filter_map(|(_, timer)| timer.due)).min();
        let span = match due {
            Some(due) if dice.percent(50) => {
                Span(due.since(world.now).0.saturating_add(dice.between(-1, 1)).max(0))
            }
            // Long spans are rare: they end most of the work under way.
            _ => {
                let most = if setup.calm { CALM } else { SPANS.len() };
                let place = dice.below(most).min(dice.below(most));
                Span::seconds(SPANS[place])
            }
        };
        Self::Pass { span, attended: dice.percent(85) }
    }
}
