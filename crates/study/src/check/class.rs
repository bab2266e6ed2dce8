//! The classes of findings, each with its code.

use crate::check::finding::ProblemSeverity;

/// Declares every class once: its code, how much it matters, and one sentence about it.
macro_rules! classes {
    ($($name:ident $code:literal $severity:ident $about:literal)*) => {
        /// The class of a finding. Its code is stable.
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

            /// The usual severity of such a finding.
            pub const fn severity(self) -> ProblemSeverity {
                match self { $(Self::$name => ProblemSeverity::$severity,)* }
            }

            pub const fn about(self) -> &'static str {
                match self { $(Self::$name => $about,)* }
            }
        }
    };
}

classes! {
    UnreachableState "unreachable-state" Warning "This state cannot be reached from creation."
    TrapState "trap-state" Error "A state that is not final and cannot be left."
    NoWayToTheEnd "no-way-to-the-end" Warning "States from which no final state can be reached."
    DeadConsequence "dead-consequence" Error "A rule fires a transition that the engine cannot take."
    SilentDeadline "silent-deadline" Warning "A timer or deadline without a consequence."
    NobodyMay "nobody-may" Error "A `by` that no actor can satisfy."
    RoleCircle "role-circle" Warning "Roles that include each other and so mean the same."
    UnusedRole "unused-role" Note "A role that no rule uses."
    UnmeetableRequirement "unmeetable-requirement" Error "A required field that no path to the state sets."
    FrozenChange "frozen-change" Warning "A transition changes a field that is frozen in its state."
    NeverGranted "never-granted" Error "A rule requires a lease that is never granted."
    ImpossibleApproval "impossible-approval" Error "A success or verdict that no actor can give."
    WaitsUntold "waits-untold" Warning "A state waits for people who are not notified."
    EndlessLoop "endless-loop" Warning "A cycle of transitions that can repeat forever without a limit."
    NeverTrue "never-true" Warning "A condition that is never true."
    AlwaysTrue "always-true" Note "A condition that is always true."
    UnhandledEffect "unhandled-effect" Warning "An effect whose result no rule handles."
    EngineLoop "engine-loop" Error "Engine moves that trigger each other without end."
    ShortLease "short-lease" Error "A lease that expires before its heartbeat is due."
    UnwatchedLease "unwatched-lease" Warning "A lease that no rule releases and whose loss has no consequence."
    SettingOutOfRange "setting-out-of-range" Error "A setting whose value makes a rule pointless."
    UnusedSetting "unused-setting" Note "A setting that no rule reads."
    SharedClaim "shared-claim" Warning "A claim that returns the same entity to every caller."
    ShareOfNobody "share-of-nobody" Error "A share that moves no entity, or compares values of different types."
    ShadowedArm "shadowed-arm" Warning "An arm that is never taken because an earlier one matches first."
    NobodyFires "nobody-fires" Warning "A transition for the engine alone that no rule fires."
    LateTimer "late-timer" Warning "A timer that can never fire before its entity moves on."
    UnusedField "unused-field" Note "A field that no rule sets."
    UnusedName "unused-name" Note "A declaration that no rule uses."
    DeadWork "dead-work" Error "Work of agents that names an event their role can never fire."
}
