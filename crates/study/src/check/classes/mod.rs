//! The checks of a pack, one file per topic.

mod approvals;
mod bounds;
mod callers;
mod changes;
mod claims;
mod conditions;
mod consequences;
mod effects;
mod leases;
mod loops;
mod notified;
mod reach;
mod requirements;
mod rounds;
mod settings;
mod unused;
mod work;

use crate::check::finding::Finding;
use crate::check::survey::Survey;

/// Finds findings of a few classes.
pub type Question = fn(&Survey<'_>, &mut Vec<Finding>);

/// All questions.
pub const ALL: &[Question] = &[
    reach::check,
    consequences::check,
    callers::check,
    requirements::check,
    changes::check,
    approvals::check,
    notified::check,
    loops::check,
    conditions::check,
    effects::check,
    rounds::check,
    leases::check,
    settings::check,
    claims::check,
    unused::check,
    work::check,
];

/// `A`, `A and B`, `A, B and C`.
fn join_names<T: AsRef<str>>(names: &[T]) -> String {
    match names {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}
