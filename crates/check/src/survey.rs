//! A pack looked at as a whole, and everything that is asked about it.

use trackside_lifecycle::model::{Lifecycle, Pack};
use trackside_lifecycle::name::Name;

use crate::classes;
use crate::facts::Facts;
use crate::finding::Finding;
use crate::firing::{Firing, firings};
use crate::graph::Graph;

/// One lifecycle with all that is known about it.
#[derive(Debug)]
pub struct Study<'a> {
    pub facts: &'a Facts<'a>,
    pub graph: Graph<'a>,
}

/// The whole pack.
#[derive(Debug)]
pub struct Survey<'a> {
    pub pack: &'a Pack,
    pub studies: Vec<Study<'a>>,
    pub firings: Vec<Firing>,
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

/// Everything that can be found in a pack without running it, lifecycle by lifecycle.
pub fn check(pack: &Pack) -> Vec<Finding> {
    let facts: Vec<Facts<'_>> = pack.lifecycles.iter().map(|it| Facts::new(pack, it)).collect();
    let firings = firings(pack, &facts);
    let studies = facts.iter().map(|it| Study { facts: it, graph: Graph::new(it, &firings) }).collect();
    let survey = Survey { pack, studies, firings };
    let mut found = Vec::new();
    for class in classes::ALL {
        class(&survey, &mut found);
    }
    found.sort_by(|a, b| {
        let order = |it: &Finding| (it.of.clone(), it.way.clone(), it.class);
        order(a).cmp(&order(b))
    });
    found.dedup();
    found
}
