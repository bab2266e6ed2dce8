//! What expressions read, through relations and computed fields.

use trackside_lifecycle::guard::Guard;
use trackside_lifecycle::model::{Lifecycle, Read};

/// Whether it reads something like this, directly or by way of a relation or a computed field.
pub fn depends(life: &Lifecycle, guard: &Guard, wanted: &dyn Fn(&Read) -> bool) -> bool {
    guard.reads().iter().filter_map(|it| life.reads.get(it.slot.0 as usize)).any(|read| {
        wanted(read)
            || match read {
                Read::Relation(inner) | Read::Computed(inner) => depends(life, inner, wanted),
                _ => false,
            }
    })
}
