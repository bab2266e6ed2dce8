//! The words of a stage file.

use crate::scenario::ActorDecl;
use trackside_lifecycle::keys;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::{At, Json, Named, OneOrMany};

keys! {
    /// A stage: the actors, the entities at the start, and the sample requests.
    pub struct StageFile {
        /// Its name.
        pub stage: At<Name>,
        /// One sentence for people.
        pub about: Option<String>,
        /// The pack it is of.
        pub pack: At<Name>,
        /// The moment it starts.
        pub now: Option<At<String>>,
        /// The project's time zone.
        pub zone: Option<String>,
        /// Ids of the people known to the project.
        pub people: Option<Vec<Name>>,
        /// Overrides of the project's settings.
        pub settings: Named<Json>,
        /// Who plays: name to kind and roles.
        pub actors: Named<ActorDecl>,
        /// Entities that exist at the start.
        pub given: Option<Vec<Named<Named<Json>>>>,
        /// Sample requests of a transition: `LIFECYCLE.TRANSITION` to fields, or several of them.
        pub asks: Named<OneOrMany<Named<Json>>>,
        /// Entities that may be created: `LIFECYCLE/ID` to fields.
        pub creates: Named<Named<Json>>,
        /// Only these are asked for: lifecycles, or `LIFECYCLE.TRANSITION`.
        pub only: Option<OneOrMany<At<Name>>>,
        /// These are not asked for: lifecycles, or `LIFECYCLE.TRANSITION`.
        pub without: Option<OneOrMany<At<Name>>>,
        /// How many worlds `check` looks at.
        pub worlds: Option<u32>,
        /// How many moves from the start `check` goes.
        pub depth: Option<u32>,
    }
}
