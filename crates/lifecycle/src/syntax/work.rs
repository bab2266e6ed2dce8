//! The grammar of `work` and `control`: what an agent is asked, what ends its task, and the files that people use to
//! stop agents.

use crate::name::Name;
use crate::source::{At, Named, OneOrMany, keys, shapes};

use super::Expr;
use super::lifecycle::Checks;

keys! {
    /// The work of one role on an entity: what an agent is asked, and the events that follow its run.
    pub struct WorkDecl {
        /// One sentence for people.
        pub about: Option<String>,
        /// The transition by which an agent takes an entity.
        pub claim: Option<At<Name>>,
        /// The query that lists the entities that wait for this role; by default `work` of its `supervise` rules,
        /// unless a ranking claims with `claim`.
        pub query: Option<At<Name>>,
        /// The instructions: text with expressions over the entity, `agent`, `role` and `settings`.
        pub ask: Expr,
        /// The events that the instructions offer, if the agent may fire them; all by default.
        pub offers: Option<OneOrMany<At<Name>>>,
        /// The lifecycles in which the agent may create entities during a run, besides its own record; none by default.
        pub creates: Option<OneOrMany<At<Name>>>,
        /// What the last review said, or null: an expression.
        pub feedback: Option<Expr>,
        /// The notes of the process before, or null: an expression.
        pub handoff: Option<Expr>,
        /// Checks that must pass before an agent starts. Until then its runner waits.
        pub ready: Option<Checks>,
        /// The event that is fired when the process of the agent starts.
        pub begin: Option<WorkEventDecl>,
        /// The event that is fired when a run ended well and the agent did not move the entity.
        pub done: Option<WorkEventDecl>,
        /// The event that is fired when a run failed for good.
        pub failed: Option<WorkEventDecl>,
        /// The event that charges metered cost.
        pub meter: Option<WorkEventDecl>,
        /// The event that stores handoff notes.
        pub note: Option<WorkEventDecl>,
        /// The agent's own record, which is registered before the work and left after it.
        pub agent: Option<WorkAgentDecl>,
    }
}

shapes! {
    /// An event of the entity that follows a run: its name, or a map.
    pub enum WorkEventDecl {
        Fire(At<Name>) if scalar,
        Map(Box<WorkEventMap>) if map,
    }
}

keys! {
    /// An event of the entity that follows a run.
    pub struct WorkEventMap {
        /// The transition.
        pub fire: At<Name>,
        /// Its fields, as expressions over the entity, `run`, `agent`, `role` and `settings`.
        pub with: Named<Expr>,
        /// Fires it only if this is true.
        pub when: Option<Expr>,
        /// The reason of the request: an expression.
        pub reason: Option<Expr>,
    }
}

keys! {
    /// The record of an agent that a runner registers before work and leaves after it.
    pub struct WorkAgentDecl {
        /// The lifecycle of the record. Its id is the id of the agent.
        pub r#in: At<Name>,
        /// The fields of the record, as expressions over `agent`, `role` and `settings`.
        pub with: Named<Expr>,
        /// The transition that is fired after the registration.
        pub ready: Option<At<Name>>,
        /// The transition that is fired after the work.
        pub leave: Option<At<Name>>,
    }
}

keys! {
    /// A control file: creating it in the project folder fires an event, and removing it fires another.
    pub struct ControlDecl {
        /// One sentence for people.
        pub about: Option<String>,
        /// The queries of the entities that the file moves.
        pub on: OneOrMany<At<Name>>,
        /// The event that is fired on each of them when the file appears.
        pub fire: At<Name>,
        /// The event that is fired when the file is removed, on each entity of `while`.
        pub undo: Option<At<Name>>,
        /// The queries of the entities because of which the file exists: while one of them has a row.
        pub r#while: OneOrMany<At<Name>>,
    }
}
