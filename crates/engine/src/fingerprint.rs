//! The fingerprint of a command. It distinguishes a retry from another command under the same idempotency key.
//!
//! Journals store fingerprints, so a command must give the same bytes in every release. Every struct is destructured
//! without `..`: a new field does not compile until it is included, or excluded on purpose.

use sha2::{Digest as _, Sha256};
use trackside_lifecycle::hex;

use crate::actor::Actor;
use crate::command::{
    Ask, Claim, ClockNews, Command, Fire, ImportedEntity, Install, Migrate, PLACE, Redact, RequestDigest,
    Seed, ServerAlert, SpaceNews, TransitionRef,
};
use crate::fields::Fields;
use crate::import_origin::ImportOrigin;

impl Command {
    /// Equal commands have equal fingerprints, on every machine and in every release.
    pub(crate) fn fingerprint(&self) -> String {
        // The sender of the key and the request id are not part of the request.
        let Self { actor, on_behalf_of, idempotency_key: _, key_of: _, said, request_id: _, reason, ask } =
            self;
        if let Some(RequestDigest { digest, place }) = said {
            return place.map_or(digest.to_string(), |it| format!("{digest}{PLACE}{it}"));
        }
        // The project's rules give an actor its kind and roles. Its subject is `on_behalf_of`. A person may repeat a
        // request with another credential.
        let Actor { id, kind: _, roles: _, subject: _, via: _, scope: _ } = actor;
        let mut digest = Digest(Sha256::new());
        digest.text(id);
        digest.text(on_behalf_of.as_deref().unwrap_or_default());
        digest.text(reason.as_deref().unwrap_or_default());
        digest.text(self.entity().map_or("", |it| &it.lifecycle));
        digest.text(self.entity().map_or("", |it| &it.id));
        digest.ask(ask);
        digest.hex()
    }
}

/// Hashes each text with its length, so that different sequences of texts give different bytes.
struct Digest(Sha256);

impl Digest {
    /// The request, except for its entity. The literals are stored in journals: they stay when a variant is
    /// renamed.
    fn ask(&mut self, ask: &Ask) -> &mut Self {
        match ask {
            Ask::Create { entity: _, fields } => self.text("create").fields(fields),
            Ask::Fire(Fire { entity: _, what, fields, fence, if_version }) => {
                let (by, name) = match what {
                    TransitionRef::Event(name) => ("event", name),
                    TransitionRef::To(name) => ("to", name),
                };
                self.text(by).text(name).text(&format!("{fence:?} {if_version:?}")).fields(fields)
            }
            Ask::Claim(Claim { lifecycle, event, only, fields }) => self
                .text("claim")
                .text(lifecycle)
                .text(event.as_deref().unwrap_or_default())
                .text(only.as_ref().map_or("", |it| it.source()))
                .fields(fields),
            Ask::Heartbeat { entity: _, slot, fence } => {
                self.text("heartbeat").text(slot).text(&format!("{fence:?}"))
            }
            Ask::Due { entity: _, timer } => self.text("due").text(timer),
            Ask::EffectResult { entity: _, effect, ok, fields } => {
                self.text(&format!("settle {effect} {ok}")).fields(fields)
            }
            Ask::Correct { entity: _, to, fields } => {
                self.text("correct").text(to.as_deref().unwrap_or_default()).fields(fields)
            }
            Ask::Inspect { entity: _ } => self.text("inspect"),
            Ask::Repair { entity: _, found, ghost_places } => {
                self.text("mend").text(found);
                ghost_places.iter().for_each(|(ranking, ghost)| _ = self.text(&format!("{ranking} {ghost}")));
                self
            }
            Ask::HandleAlert { entity: _, alert, action } => {
                self.text(&format!("{} {alert}", action.as_str()))
            }
            Ask::Seed(Seed { entity: _, state, fields, tallies, leases }) => {
                self.text("plant").text(state.as_deref().unwrap_or_default()).fields(fields);
                // Without tallies and leases: the bytes that were stored before these were part of the fingerprint.
                if !(tallies.is_empty() && leases.is_empty()) {
                    self.text(&format!("{tallies:?} {leases:?}"));
                }
                self
            }
            Ask::Import(entities) => {
                self.text("adopt");
                entities.iter().for_each(|it| _ = self.imported(it));
                self
            }
            Ask::Migrate(Migrate { entity: _, to, states, fields }) => {
                self.text(&format!("migrate {to}"));
                states.iter().for_each(|(from, to)| _ = self.text(from).text(to));
                self.text("fields").fields(fields)
            }
            // The number identifies the entry.
            Ask::UndoMigration { entity: _, migration } => self.text(&format!("undo {}", migration.seq)),
            // The history is loaded from the journal, not sent.
            Ask::Redact(Redact { entity: _, entries, becomes, history: _ }) => {
                self.text(&format!("redact {entries:?}")).fields(becomes)
            }
            Ask::Configure(change) => {
                self.text("configure").text(&serde_json::to_string(change).unwrap_or_default())
            }
            Ask::Install(Install { pack, version, digest }) => {
                self.text("install").text(pack).text(&format!("{version} {digest}"))
            }
            Ask::Clock(news) => match news {
                ClockNews::Alarm { machine } => self.text(&format!("clock alarm {}", machine.0)),
                ClockNews::Agrees { alert } => self.text(&format!("clock agrees {alert}")),
                ClockNews::Moved { from, alert } => self.text(&format!("clock moved {} {alert:?}", from.0)),
            },
            Ask::RaiseAlert { entity: _, alert: ServerAlert { kind, severity, message } } => {
                self.text(&format!("raise alert {kind} {}", severity.as_str())).text(message)
            }
            Ask::Space(news) => match news {
                SpaceNews::Low { is_out, message } => self.text(&format!("space low {is_out}")).text(message),
                SpaceNews::Enough { alert } => self.text(&format!("space enough {alert}")),
            },
            Ask::Rebase { entity: _, by } => self.text(&format!("rebase {}", by.0)),
        }
    }

    fn imported(&mut self, imported: &ImportedEntity) -> &mut Self {
        // The file and the index may differ: the same entity has the same origin.
        let ImportedEntity { entity, state, fields, tallies, leases, origin, place: _ } = imported;
        let ImportOrigin { name, file: _ } = origin;
        self.text(&entity.to_string())
            .text(state.as_deref().unwrap_or_default())
            .text(name)
            .text(&format!("{tallies:?} {leases:?}"))
            .fields(fields)
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
        self
    }

    fn fields(&mut self, fields: &Fields) -> &mut Self {
        for (name, value) in fields.iter() {
            // The stored form distinguishes all types and has one spelling for each value.
            self.text(name).text(&serde_json::to_string(value).unwrap_or_default());
        }
        self
    }

    /// The first half as hexadecimal digits.
    fn hex(self) -> String {
        hex::encode(self.0.finalize().get(..16).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use trackside_lifecycle::compile::{Filter, PackFiles, compile};
    use trackside_lifecycle::model::{Pack, Severity};
    use trackside_lifecycle::name::Name;
    use trackside_lifecycle::source::Sources;
    use trackside_lifecycle::time::{Span, Timestamp};
    use trackside_lifecycle::value::Value;

    use super::*;
    use crate::actor::ActorKind;
    use crate::command::AlertAction;
    use crate::event::{Changes, Entry, Event};
    use crate::key::EntityKey;
    use crate::project::{ProjectChange, SettingChange};

    #[test]
    fn a_command_has_one_fingerprint_in_every_release() {
        let bullets = ["Read it", "Write it", "Check it"].map(Value::from).to_vec();
        let plan = Value::map([(Name::new("bullets"), Value::list(bullets))].into_iter().collect());
        let command = |id: &str| {
            let actor = Actor::new("agent-63", ActorKind::Agent).with_roles(["specialist"]);
            let fields = [("workPlan", plan.clone())].into_iter().collect();
            Command::fire(actor, EntityKey::new("mission.task", id), "start", fields)
        };
        // From a journal that is older than this test.
        assert_eq!(command("T-22591").fingerprint(), "90074928086bfe1ada89da986b315e43");
        assert_ne!(command("T-22592").fingerprint(), command("T-22591").fingerprint());
    }

    #[test]
    fn every_kind_of_command_keeps_the_fingerprint_of_earlier_releases() {
        let found: Vec<(&str, String)> = all().iter().map(|it| (variant_name(it), of(it.clone()))).collect();
        let expected: Vec<(&str, String)> = STORED.iter().map(|(a, b)| (*a, (*b).to_owned())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_fingerprint_changes_with_every_field_of_a_command() {
        for ask in all() {
            let before = of(ask.clone());
            let count = changes(&mut ask.clone()).len();
            for nth in 0..count {
                let mut other = ask.clone();
                let (name, change) = changes(&mut other).swap_remove(nth);
                change();
                assert_ne!(of(other), before, "{name} of {ask:?} does not count");
            }
        }
    }

    #[test]
    fn who_asks_for_whom_and_why_is_part_of_a_fingerprint() {
        let command = || Command::new(Actor::new("ann", ActorKind::Human), first());
        let all = [
            command(),
            Command::new(Actor::new("bob", ActorKind::Human), first()),
            Command { on_behalf_of: Some(Name::new("carl")), ..command() },
            command().with_reason("It rains"),
        ];
        let found: std::collections::BTreeSet<String> = all.iter().map(Command::fingerprint).collect();
        assert_eq!(found.len(), all.len());
    }

    /// One command of each kind, as earlier releases stored it.
    const STORED: &[(&str, &str)] = &[
        ("Create", "86cdcb97981dc2419c5c575dcd1c8a5c"),
        ("Fire", "123e5c53d9c08613a6f0428eb4f8f09e"),
        ("Claim", "a38e713461fe81aaea069b1b02254d1d"),
        ("Heartbeat", "90fae524dfab9bdc74e637de14b42017"),
        ("Due", "f13754c57a6e53ab3847100a4084f8c0"),
        ("EffectResult", "7531ba6cf5f8cd9a537ad6a89098a10b"),
        ("Correct", "b638fb07e5c26164c8b79c5698ca7a95"),
        ("Inspect", "20cf018826d53532bfe3f78705f38e12"),
        ("Repair", "2aa568e08b616d29843f6d7f84b62094"),
        ("HandleAlert", "eff1e0ef1091fcbb0df9b28d2c12e209"),
        ("Seed", "d543be7759bf249512fb2b5743673250"),
        ("Import", "f295bba87c73d8c42023ec63676dcef1"),
        ("Migrate", "61470f46f2f938b121ba84e3ce4c44ce"),
        ("UndoMigration", "465c4756fa8efc37df3a2e3df5798fc4"),
        ("Redact", "1ce05c535b6a9b3b80bf45289499af5e"),
        ("Configure", "d6e320754be00a4c01eae27bf249e80c"),
        ("Install", "f8f173c608bef20056e8abbbf4a4c0f8"),
        ("Clock", "fc800ebfd66d8e97f6c86264a3d0fc51"),
        ("Space", "e0aa8aeb6705e01abc7e9486be7d01fe"),
        ("RaiseAlert", "e1fbb74b16dcb9d7d8009018f8ed879b"),
        ("Rebase", "32a6fb512f3a86137cbcbe0ada3e36bd"),
    ];

    fn of(ask: Ask) -> String {
        Command::new(Actor::new("ann", ActorKind::Human), ask).fingerprint()
    }

    /// One command of each kind.
    fn all() -> Vec<Ask> {
        std::iter::successors(Some(first()), after).collect()
    }

    fn first() -> Ask {
        Ask::Create { entity: key(), fields: fields() }
    }

    /// The kind of command after this one. The match has no wildcard, so a new variant must be added here.
    fn after(ask: &Ask) -> Option<Ask> {
        let name = Name::new;
        Some(match ask {
            Ask::Create { .. } => Ask::Fire(Fire {
                entity: key(),
                what: TransitionRef::Event(name("open")),
                fields: fields(),
                fence: Some(3),
                if_version: Some(4),
            }),
            Ask::Fire(_) => Ask::Claim(Claim {
                lifecycle: name("t.job"),
                event: Some(name("take")),
                only: Some(filter("size > 1")),
                fields: fields(),
            }),
            Ask::Claim(_) => Ask::Heartbeat { entity: key(), slot: name("work"), fence: Some(3) },
            Ask::Heartbeat { .. } => Ask::Due { entity: key(), timer: name("late") },
            Ask::Due { .. } => Ask::EffectResult { entity: key(), effect: 7, ok: true, fields: fields() },
            Ask::EffectResult { .. } => {
                Ask::Correct { entity: key(), to: Some(name("OPEN")), fields: fields() }
            }
            Ask::Correct { .. } => Ask::Inspect { entity: key() },
            Ask::Inspect { .. } => Ask::Repair {
                entity: key(),
                found: Arc::from("{}"),
                ghost_places: vec![(name("line"), key())],
            },
            Ask::Repair { .. } => {
                Ask::HandleAlert { entity: key(), alert: 9, action: AlertAction::Acknowledge }
            }
            Ask::HandleAlert { .. } => {
                Ask::Seed(Seed { state: Some(name("OPEN")), fields: fields(), ..Seed::new(key()) })
            }
            Ask::Seed(_) => Ask::Import(vec![ImportedEntity {
                entity: key(),
                state: Some(name("OPEN")),
                fields: fields(),
                tallies: vec![(name("tries"), name("all"), 2.0)],
                leases: vec![(name("work"), name("bob"))],
                origin: ImportOrigin { name: Arc::from("elsewhere 1"), file: Some(Arc::from("old.jsonl")) },
                place: 0,
            }]),
            Ask::Import(_) => Ask::Migrate(Migrate {
                states: BTreeMap::from([(name("OPEN"), name("NEW"))]),
                fields: fields(),
                ..Migrate::new(key(), 2)
            }),
            Ask::Migrate(_) => Ask::UndoMigration { entity: key(), migration: Box::new(entry(12)) },
            Ask::UndoMigration { .. } => Ask::Redact(Redact {
                entity: key(),
                entries: vec![1, 2],
                becomes: fields(),
                history: vec![entry(1)],
            }),
            Ask::Redact(_) => Ask::Configure(ProjectChange {
                settings: vec![SettingChange {
                    pack: name("t"),
                    setting: name("most"),
                    value: Value::Int(5),
                }],
                zone: Some("Europe/Berlin".to_owned()),
                people: Some(vec![name("ann")]),
            }),
            Ask::Configure(_) => {
                Ask::Install(Install { pack: name("t"), version: 2, digest: Arc::from("abc") })
            }
            Ask::Install(_) => Ask::Clock(ClockNews::Moved { from: Timestamp(5), alert: Some(3) }),
            Ask::Clock(_) => Ask::Space(SpaceNews::Low { is_out: false, message: Arc::from("low") }),
            Ask::Space(_) => Ask::RaiseAlert {
                entity: key(),
                alert: ServerAlert {
                    kind: name("late"),
                    severity: Severity::Warning,
                    message: Arc::from("It is late"),
                },
            },
            Ask::RaiseAlert { .. } => Ask::Rebase { entity: key(), by: Span(7) },
            Ask::Rebase { .. } => return None,
        })
    }

    /// The name of its variant.
    fn variant_name(ask: &Ask) -> &'static str {
        match ask {
            Ask::Create { .. } => "Create",
            Ask::Fire(_) => "Fire",
            Ask::Claim(_) => "Claim",
            Ask::Heartbeat { .. } => "Heartbeat",
            Ask::Due { .. } => "Due",
            Ask::EffectResult { .. } => "EffectResult",
            Ask::Correct { .. } => "Correct",
            Ask::Inspect { .. } => "Inspect",
            Ask::Repair { .. } => "Repair",
            Ask::HandleAlert { .. } => "HandleAlert",
            Ask::Seed(_) => "Seed",
            Ask::Import(_) => "Import",
            Ask::Migrate(_) => "Migrate",
            Ask::UndoMigration { .. } => "UndoMigration",
            Ask::Redact(_) => "Redact",
            Ask::Configure(_) => "Configure",
            Ask::Install(_) => "Install",
            Ask::Clock(_) => "Clock",
            Ask::Space(_) => "Space",
            Ask::RaiseAlert { .. } => "RaiseAlert",
            Ask::Rebase { .. } => "Rebase",
        }
    }

    type Change<'a> = (&'static str, Box<dyn FnOnce() + 'a>);

    /// One change for every field that is part of the fingerprint. The other fields are matched with `_`.
    fn changes(ask: &mut Ask) -> Vec<Change<'_>> {
        match ask {
            Ask::Create { entity, fields } => vec![other_entity(entity), other_fields(fields)],
            Ask::Fire(Fire { entity, what, fields, fence, if_version }) => vec![
                other_entity(entity),
                set("what", what, TransitionRef::To(Name::new("open"))),
                other_fields(fields),
                set("fence", fence, None),
                set("if_version", if_version, None),
            ],
            Ask::Claim(Claim { lifecycle, event, only, fields }) => vec![
                set("lifecycle", lifecycle, Name::new("t.other")),
                set("event", event, None),
                set("only", only, Some(filter("size > 2"))),
                other_fields(fields),
            ],
            Ask::Heartbeat { entity, slot, fence } => {
                vec![other_entity(entity), set("slot", slot, Name::new("other")), set("fence", fence, None)]
            }
            Ask::Due { entity, timer } => {
                vec![other_entity(entity), set("timer", timer, Name::new("other"))]
            }
            Ask::EffectResult { entity, effect, ok, fields } => vec![
                other_entity(entity),
                set("effect", effect, 8),
                set("ok", ok, false),
                other_fields(fields),
            ],
            Ask::Correct { entity, to, fields } => {
                vec![other_entity(entity), set("to", to, None), other_fields(fields)]
            }
            Ask::Inspect { entity } => vec![other_entity(entity)],
            Ask::Repair { entity, found, ghost_places } => vec![
                other_entity(entity),
                set("found", found, Arc::from("other")),
                set("ghost_places", ghost_places, Vec::new()),
            ],
            Ask::HandleAlert { entity, alert, action } => vec![
                other_entity(entity),
                set("alert", alert, 10),
                set("action", action, AlertAction::Resolve),
            ],
            Ask::Seed(Seed { entity, state, fields, tallies, leases }) => vec![
                other_entity(entity),
                set("state", state, None),
                other_fields(fields),
                set("tallies", tallies, vec![(Name::new("tries"), Name::new("all"), 2.0)]),
                set("leases", leases, vec![(Name::new("work"), Name::new("bob"))]),
            ],
            Ask::Import(entities) => entities.iter_mut().flat_map(imported_changes).collect(),
            Ask::Migrate(Migrate { entity, to, states, fields }) => vec![
                other_entity(entity),
                set("to", to, 3),
                set("states", states, BTreeMap::new()),
                other_fields(fields),
            ],
            Ask::UndoMigration { entity, migration } => {
                vec![other_entity(entity), set("migration", migration, Box::new(entry(13)))]
            }
            Ask::Redact(Redact { entity, entries, becomes, history: _ }) => {
                vec![other_entity(entity), set("entries", entries, vec![1]), other_fields(becomes)]
            }
            Ask::Configure(ProjectChange { settings, zone, people }) => vec![
                set("settings", settings, Vec::new()),
                set("zone", zone, None),
                set("people", people, None),
            ],
            Ask::Install(Install { pack, version, digest }) => vec![
                set("pack", pack, Name::new("other")),
                set("version", version, 3),
                set("digest", digest, Arc::from("other")),
            ],
            Ask::Clock(news) => vec![set("news", news, ClockNews::Agrees { alert: 3 })],
            Ask::Space(news) => vec![set("news", news, SpaceNews::Enough { alert: 3 })],
            Ask::RaiseAlert { entity, alert: ServerAlert { kind, severity, message } } => vec![
                other_entity(entity),
                set("kind", kind, Name::new("other")),
                set("severity", severity, Severity::Error),
                set("message", message, Arc::from("other")),
            ],
            Ask::Rebase { entity, by } => vec![other_entity(entity), set("by", by, Span(8))],
        }
    }

    fn imported_changes(imported: &mut ImportedEntity) -> Vec<Change<'_>> {
        let ImportedEntity { entity, state, fields, tallies, leases, origin, place: _ } = imported;
        let ImportOrigin { name, file: _ } = origin;
        vec![
            other_entity(entity),
            set("state", state, None),
            other_fields(fields),
            set("tallies", tallies, Vec::new()),
            set("leases", leases, Vec::new()),
            set("origin", name, Arc::from("elsewhere 2")),
        ]
    }

    fn set<'a, T: 'a>(name: &'static str, field: &'a mut T, value: T) -> Change<'a> {
        (name, Box::new(move || *field = value))
    }

    fn other_entity(entity: &mut EntityKey) -> Change<'_> {
        set("entity", entity, EntityKey::new("t.job", "J-2"))
    }

    fn other_fields(fields: &mut Fields) -> Change<'_> {
        set("fields", fields, [("title", Value::text("Other"))].into_iter().collect())
    }

    fn key() -> EntityKey {
        EntityKey::new("t.job", "J-1")
    }

    fn fields() -> Fields {
        [("title", Value::text("Title")), ("size", Value::Int(3))].into_iter().collect()
    }

    fn entry(seq: u64) -> Entry {
        Entry {
            seq,
            at: Timestamp(0),
            entity: key(),
            version: 1,
            actor: Name::new("ann"),
            actor_kind: ActorKind::Human,
            on_behalf_of: None,
            via: None,
            trigger: Name::new("edit"),
            reason: None,
            origin: None,
            cause: None,
            condition: None,
            key: None,
            request_id: None,
            event: Event::FieldsChanged { changes: Changes::default() },
            reranked: Vec::new(),
        }
    }

    fn filter(source: &str) -> Filter {
        let pack = pack();
        let life = pack.lifecycles.iter().find(|it| it.name == "t.job").expect("the pack has it");
        Filter::new(life, source).expect("it compiles")
    }

    fn pack() -> Pack {
        let mut sources = Sources::default();
        let pack = sources.add("pack.yaml", "pack: t\nversion: 1\n");
        let job = "lifecycle: t.job\nfields: { size: { type: integer } }\ncreate: { by: human }\nstates: { OPEN: { initial: true, final: true } }\n";
        let lifecycles = vec![sources.add("job.yaml", job)];
        match compile(&sources, &PackFiles { pack, lifecycles }) {
            Ok((pack, _)) => pack,
            Err(problems) => panic!("{}", problems.render(&sources, false)),
        }
    }
}
