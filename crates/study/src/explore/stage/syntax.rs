//! The grammar of a stage file.

use crate::scenario::ActorDecl;
use trackside_lifecycle::keys;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::{At, Json, Named, OneOrMany};

keys! {
    /// A stage: the actors, the entities at the start, and the sample requests.
    pub struct StageFile {
        /// The name of the stage.
        pub stage: At<Name>,
        /// One sentence for people.
        pub about: Option<String>,
        /// The pack that it explores.
        pub pack: At<Name>,
        /// The time at which it starts.
        pub now: Option<At<String>>,
        /// The time zone of the project, as an IANA name.
        pub zone: Option<String>,
        /// Ids of the people known to the project.
        pub people: Option<Vec<Name>>,
        /// Overrides of the project's settings.
        pub settings: Named<Json>,
        /// The actors: name to kind and roles.
        pub actors: Named<ActorDecl>,
        /// Entities that exist at the start.
        pub given: Option<Vec<Named<Named<Json>>>>,
        /// Sample requests: `LIFECYCLE.TRANSITION` to the fields of one request, or of several.
        pub asks: Named<OneOrMany<Named<Json>>>,
        /// Entities that may be created: `LIFECYCLE/ID` to fields.
        pub creates: Named<Named<Json>>,
        /// Only these are requested: lifecycles, or `LIFECYCLE.TRANSITION`.
        pub only: Option<OneOrMany<At<Name>>>,
        /// These are not requested: lifecycles, or `LIFECYCLE.TRANSITION`.
        pub without: Option<OneOrMany<At<Name>>>,
        /// The number of worlds that `check --quick` explores; 400 by default.
        pub worlds: Option<u32>,
        /// The largest number of moves from the start; 40 by default.
        pub depth: Option<u32>,
    }
}
