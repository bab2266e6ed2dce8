//! The classes of findings, each with its code.

use crate::finding::Severity;

/// Declares every class once: its code, how much it matters, and one sentence about it.
macro_rules! classes {
    ($($name:ident $code:literal $severity:ident $about:literal)*) => {
        /// What kind of thing was found. Its code is stable.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Class {
            $(#[doc = $about] $name,)*
        }

        impl Class {
            /// Every class, in the order of the reference.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            pub const fn code(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// How much one of these usually matters.
            pub const fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)* }
            }

            pub const fn about(self) -> &'static str {
                match self { $(Self::$name => $about,)* }
            }
        }
    };
}

classes! {
    UnreachableState "unreachable-state" Warning "No way leads from creation to this state."
    TrapState "trap-state" Error "A state that is not final and that nobody can leave."
    NoWayToTheEnd "no-way-to-the-end" Warning "States that can be left, but never for an end of the lifecycle."
    DeadConsequence "dead-consequence" Error "A move the engine is told to make, and cannot."
    SilentDeadline "silent-deadline" Warning "A clock that runs out and nothing happens."
    NobodyMay "nobody-may" Error "A `by` that no actor can satisfy."
    RoleCircle "role-circle" Warning "Roles that include each other: several names for one."
    UnusedRole "unused-role" Note "A role that no rule asks for."
    UnmeetableRequirement "unmeetable-requirement" Error "A requirement that no way in can bring."
    FrozenChange "frozen-change" Warning "A way out changes a field that is frozen there."
    NeverGranted "never-granted" Error "A lease is asked for that nobody is ever given."
    ImpossibleApproval "impossible-approval" Error "A success or a verdict that nobody can give."
    WaitsUntold "waits-untold" Warning "It waits for people who are not told."
    EndlessLoop "endless-loop" Warning "A round of moves that can be gone for ever, with nothing that counts."
    NeverTrue "never-true" Warning "A condition that is never true."
    AlwaysTrue "always-true" Note "A condition that is always true."
    UnhandledEffect "unhandled-effect" Warning "An effect whose result nobody handles."
    EngineLoop "engine-loop" Error "Moves of the engine that set each other off without end."
    ShortLease "short-lease" Error "A lease that runs out before its heartbeat is due."
    UnwatchedLease "unwatched-lease" Warning "A lease that nothing ends and whose loss nobody notices."
    SettingOutOfRange "setting-out-of-range" Error "A setting whose value makes a rule senseless."
    UnusedSetting "unused-setting" Note "A setting that no rule reads."
    SharedClaim "shared-claim" Warning "A claim that hands the same entity to everybody."
    ShareOfNobody "share-of-nobody" Error "A share that moves nobody, or compares what cannot be compared."
    ShadowedArm "shadowed-arm" Warning "An arm that an earlier one always takes the place of."
    NobodyFires "nobody-fires" Warning "A move for the engine alone that no rule makes."
    LateTimer "late-timer" Warning "A timer that can never run out before its entity moves on."
    UnusedField "unused-field" Note "A field that nobody writes, or nobody reads."
    UnusedName "unused-name" Note "Something declared that no rule uses."
}
