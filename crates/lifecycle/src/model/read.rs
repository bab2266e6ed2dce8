//! The data that a name in an expression reads at run time.

use crate::guard::Guard;
use crate::name::Name;

/// The meaning of one slot of a lifecycle's table.
#[derive(Clone, Debug)]
pub enum Read {
    /// A field, overridden by the request's value.
    Field(Name),
    /// A value taken by this request but not stored.
    Taken(Name),
    /// A field before this command.
    Was(Name),
    /// A field that is computed: evaluate this.
    Computed(Guard),
    Id,
    State,
    PreviousState,
    Version,
    /// The number of the last journal entry before this command.
    JournalSequence,
    CreatedAt,
    UpdatedAt,
    StateEnteredAt,
    TimeInState,
    TimeByState,
    TotalTime,
    Visits,
    Overdue,
    Reason,
    Fence,
    ActorId,
    ActorKind,
    ActorRoles,
    SubjectId,
    Human,
    Agent,
    System,
    Engine,
    Admin,
    /// True if the actor has one of these roles (the named role, and those that include it).
    Role(Vec<Name>),
    Relation(Guard),
    /// A setting, by its place in the lifecycle's list.
    Setting(usize),
    /// A counter's value now.
    Counter(Name),
    /// All of a counter's tallies by key.
    Counters(Name),
    Slot(Name, SlotAttribute),
    /// The entity a ref names.
    Ref(Name, EntityAttribute),
    /// The caller's own record.
    Me(EntityAttribute),
    /// The number of entities in a many-ref or an inverse.
    Group(Name, Count),
    /// Its own place in a ranking, from one; null when it is not in it.
    Rank(Name),
    /// The size of its order in a ranking.
    RankSize(Name),
    /// The list of an inverse.
    All(Name),
    /// The first entities of an inverse that are in one state.
    Listed(Name, Name),
    /// The time of the last move within an inverse.
    MovedAt(Name),
    /// The current element of a list.
    It,
    /// The number of rows of another query.
    Rows(Name),
    /// A value passed by the caller.
    Given(Name),
    People,
    Now,
    /// A query's parameter.
    Ask(Name),
}

impl Read {
    /// True if the value depends on the caller.
    pub fn is_of_caller(&self) -> bool {
        matches!(
            self,
            Self::Fence
                | Self::ActorId
                | Self::ActorKind
                | Self::ActorRoles
                | Self::SubjectId
                | Self::Human
                | Self::Agent
                | Self::System
                | Self::Engine
                | Self::Admin
                | Self::Role(_)
                | Self::Me(_)
        )
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlotAttribute {
    Held,
    Holder,
    Fence,
    Until,
}

/// An attribute of another entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntityAttribute {
    /// Its id, or null if there is none.
    Id,
    State,
    PreviousState,
    Version,
    CreatedAt,
    StateEnteredAt,
    Final,
    Field(Name),
    Counter(Name),
    /// The number of entities in one of its inverses.
    Group(Name, Count),
}

/// The members of a group that are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Count {
    All,
    State(Name),
    /// Ids of entities that do not exist.
    Missing,
    Closed,
    Open,
    Outcome(Name),
}
