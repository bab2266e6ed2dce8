//! The time at which an entity becomes overdue is known beforehand and is right.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod folder;

use std::path::Path;
use std::sync::Arc;

use trackside_engine::Law;
use trackside_engine::overdue::{is_overdue, overdue_at};
use trackside_engine::trace::Trace;
use trackside_lifecycle::source::Problems;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_study::scenario;

use folder::{add, pack, yaml_in};

#[test]
fn an_entity_is_overdue_from_the_predicted_moment() {
    let (mut told, mut never) = (0, 0);
    for folder in ["tests/constructs", "../../packs/mission", "../../packs/coding", "../../packs/turns"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let (compiled, mut sources) = pack(&folder);
        let law = Arc::new(Law::new([compiled]));
        for path in yaml_in(&folder.join("scenarios")) {
            let file = add(&mut sources, &path);
            let mut problems = Problems::default();
            let scenarios = scenario::read_file(&sources, file, &mut problems).expect("a scenario file");
            let mut watch = |played: &scenario::Played<'_>| {
                let now = played.world.now;
                for entity in played.world.view.entities() {
                    let life =
                        law.definition(&entity.key.lifecycle, entity.definition).expect("its lifecycle");
                    let far = now.plus(Span::seconds(1_000_000_000));
                    let Some(at) = overdue_at(life, entity) else {
                        assert!(
                            !is_overdue(life, entity, now) && !is_overdue(life, entity, far),
                            "{entity:?}"
                        );
                        never += 1;
                        continue;
                    };
                    told += 1;
                    assert!(!is_overdue(life, entity, Timestamp(at.0 - 1)), "not before {at}: {entity:?}");
                    assert!(is_overdue(life, entity, at), "at {at}: {entity:?}");
                    assert_eq!(is_overdue(life, entity, now), at <= now, "{entity:?}");
                }
            };
            scenario::run_watched(&law, &scenarios, &Arc::new(Trace::default()), &mut problems, &mut watch);
        }
    }
    assert!(told > 100 && never > 100, "{told} told, {never} never");
}
