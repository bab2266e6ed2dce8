//! The survey of a whole pack, and all checks on it.

use trackside_lifecycle::model::{Lifecycle, Pack};
use trackside_lifecycle::name::Name;

use crate::check::check_budget::{CheckBudget, ChecksStopped};
use crate::check::classes;
use crate::check::facts::Facts;
use crate::check::finding::Finding;
use crate::check::firing::{EngineMove, engine_moves};
use crate::check::graph::MoveGraph;

/// One lifecycle with all that is known about it.
#[derive(Debug)]
pub struct Study<'a> {
    pub facts: &'a Facts<'a>,
    pub graph: MoveGraph<'a>,
}

/// The whole pack.
#[derive(Debug)]
pub struct Survey<'a> {
    pub pack: &'a Pack,
    pub studies: Vec<Study<'a>>,
    pub firings: Vec<EngineMove<'a>>,
    pub work: &'a CheckBudget<'a>,
}

impl<'a> Study<'a> {
    pub fn life(&self) -> &'a Lifecycle {
        self.facts.life
    }

    pub fn name(&self) -> &'a Name {
        &self.facts.life.name
    }
}

impl<'a> Survey<'a> {
    pub fn study(&self, lifecycle: &Name) -> Option<&Study<'a>> {
        self.studies.iter().find(|it| it.name() == lifecycle)
    }
}

/// Runs all checks of a pack, lifecycle by lifecycle, however long it takes.
pub fn check(pack: &Pack) -> Vec<Finding> {
    check_within(pack, &CheckBudget::new(u64::MAX, &|| false)).unwrap_or_default()
}

/// Runs all checks of a pack within a limit of work.
pub fn check_within<'a>(pack: &'a Pack, work: &'a CheckBudget<'a>) -> Result<Vec<Finding>, ChecksStopped> {
    let facts: Vec<Facts<'_>> = pack.lifecycles.iter().map(|it| Facts::new(pack, it, work)).collect();
    let firings = engine_moves(pack, &facts);
    let studies = facts.iter().map(|it| Study { facts: it, graph: MoveGraph::new(it, &firings) }).collect();
    let survey = Survey { pack, studies, firings, work };
    let mut found = Vec::new();
    for class in classes::ALL {
        class(&survey, &mut found);
        if work.is_stopped() {
            return Err(ChecksStopped { steps: work.spent() });
        }
    }
    found.sort_by(|a, b| {
        let order = |it: &Finding| (it.of.clone(), it.way.clone(), it.class);
        order(a).cmp(&order(b))
    });
    found.dedup();
    Ok(found)
}
