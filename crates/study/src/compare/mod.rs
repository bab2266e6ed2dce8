//! Compares two versions of a pack.
//!
//! Pure: texts and values in, values out.

pub mod change;
mod describe;
mod expression;
mod facts;
mod fits;
mod item;
mod pairs;
mod renames;
pub mod stranded;
pub mod whatif;

use trackside_lifecycle::model::Pack;
use trackside_lifecycle::name::Name;

pub use change::{Change, ChangeKind, Direction, group_by_lifecycle};

use describe::ChangeWriter;

/// The differences between two versions of a pack. Formatting is no difference.
pub fn compare(old: &Pack, new: &Pack) -> Vec<Change> {
    let mut teller = ChangeWriter::new(None);
    teller.things(&facts::pack(old), &facts::pack(new));
    let mut changes = teller.changes;
    let named = |pack: &'_ Pack, name: &Name| pack.lifecycles.iter().find(|it| it.name == *name).cloned();
    for before in &old.lifecycles {
        let Some(after) = named(new, &before.name) else {
            changes.push(lifecycle_change(ChangeKind::Removed, &before.name));
            continue;
        };
        let mut teller = ChangeWriter::new(Some(before.name.clone()));
        let (was, is) = (facts::lifecycle(before, old), facts::lifecycle(&after, new));
        teller.things(&was, &is);
        changes.extend(teller.changes);
        changes.extend(renames::guess_renames(before, &after));
    }
    for after in new.lifecycles.iter().filter(|it| named(old, &it.name).is_none()) {
        changes.push(lifecycle_change(ChangeKind::Added, &after.name));
    }
    changes
}

/// The addition or removal of a lifecycle.
fn lifecycle_change(kind: ChangeKind, name: &Name) -> Change {
    let gone = kind == ChangeKind::Removed;
    Change {
        kind,
        direction: if gone { Direction::Tighter } else { Direction::Looser },
        lifecycle: Some(name.clone()),
        subject: "lifecycle".to_owned(),
        sentence: if gone { format!("lifecycle {name} is gone") } else { format!("new lifecycle {name}") },
        wording: false,
        path: true,
    }
}
