//! Refusal codes and condition codes, each from one table. Scenarios, HTTP statuses, the next step that the CLI
//! prints and `docs/reference/refusals.md` all read these tables.

use std::fmt;

use serde::{Serialize, Serializer};
use trackside_lifecycle::model::MisfitCode;

use crate::refusal::Stage;

/// `Variant = "text", stages (the usual one first), HTTP status, "meaning", ["next step", …];`
///
/// A next step may contain `{entity}` and `{lifecycle}`. The CLI prints the first one it can fill in.
macro_rules! codes {
    ($($variant:ident = $text:literal, $($stage:ident)|+, $status:literal, $meaning:literal, $next:expr;)+) => {
        /// Why a command was refused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $($variant),+ }

        impl Code {
            /// Every code, sorted by its text.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The text in answers, scenarios and the journal.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The stages that refuse with it, the usual one first.
            pub const fn stages(self) -> &'static [Stage] {
                match self { $(Self::$variant => &[$(Stage::$stage),+]),+ }
            }

            pub const fn http_status(self) -> u16 {
                match self { $(Self::$variant => $status),+ }
            }

            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning),+ }
            }

            /// Templates of the next step, in order of preference. Empty: the unmet conditions decide.
            pub const fn next_steps(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &$next),+ }
            }
        }
    };
}

const EXPLAIN: &str = "trackside explain {entity} shows what you can do now";
const LIFECYCLES: &str = "trackside lifecycles lists them";
const MAY: &str = "trackside explain {entity} shows what you can do; trackside whoami shows who you are";
const WHO: &str = "trackside whoami shows who you are";
const HOLDER: &str = "trackside show {entity} shows the holder and the fence";

codes! {
    AlertResolved = "alert-resolved", Edge, 409, "the alert is already resolved, or the entity never had it", [];
    AlreadyExists = "already-exists", Edge, 409, "an entity with this id exists",
        ["trackside show {entity} shows the existing entity; choose another --id"];
    AlwaysRefused = "always-refused", Follow, 422, "the entity entered a state with `always`, and no rule of it applies", [];
    Archived = "archived", Follow, 422, "it needs journal entries whose archive file is missing", [];
    CannotImport = "cannot-import", Requirements | Invariants, 422, "an imported entity does not fit; nothing was imported", [];
    CannotMigrate = "cannot-migrate", Requirements | Edge, 422,
        "the entity does not fit the other version of its definition, or the migration can no longer be undone", [];
    CannotRedact = "cannot-redact", Requirements, 422, "a rule needs a value that would be dropped, or an entry number is wrong",
        [
            "trackside history {entity} shows the entries; name others with --entry, or set the new value of a field with --set",
            "set the new value of a field with --set, or name other entries with --entry",
        ];
    CircularReference = "circular-reference", Invariants, 422,
        "a ref with `acyclic` would lead from an entity back to itself; the message names the circle", [];
    EffectSettled = "effect-settled", Edge, 409, "the effect already has a result, or was never requested", [];
    EvaluationFailed = "evaluation-failed", Requirements | Who | Follow, 422, "an expression of the definition failed", [];
    FinalState = "final-state", Edge, 422, "the entity is in a final state", [EXPLAIN];
    Frozen = "frozen", Requirements | Follow, 422, "the field cannot change in this state", [];
    GateClosed = "gate-closed", Who, 403, "a gate refused the request, for example a budget or the operator's mode",
        [MAY, WHO];
    GuardFailed = "guard-failed", Requirements, 422, "a condition of the transition is false", [];
    IdempotencyConflict = "idempotency-conflict", Replay, 409, "the key was used for another request",
        ["choose another --key: this one was used for another command"];
    InvalidField = "invalid-field", Requirements, 422, "a value does not fit the type of its field", [];
    InvalidId = "invalid-id", Edge | Follow, 400, "the id contains characters that ids cannot have", [];
    InvalidSetting = "invalid-setting", Requirements, 422, "a setting, the time zone or the list of people is invalid", [];
    InvariantViolated = "invariant-violated", Invariants, 422, "it would violate an invariant", [];
    LeaseHeld = "lease-held", Requirements, 409, "someone else holds the lease", [HOLDER];
    NoSuchEdge = "no-such-edge", Edge, 422, "no transition with this name or target leaves the current state", [EXPLAIN];
    NotDue = "not-due", Edge, 422, "the timer is not due", [];
    NotPermitted = "not-permitted", Who, 403, "this actor may not do it", [MAY, WHO];
    NothingClaimable = "nothing-claimable", Edge, 422, "this caller can claim no entity of this lifecycle now", [];
    RequirementMissing = "requirement-missing", Requirements, 422, "a required field, reason or fence is missing", [];
    SearchLimit = "search-limit", Edge, 422, "none of the candidates that one claim inspects matches, and there are more", [];
    StaleFence = "stale-fence", Version, 409, "the caller does not hold the lease, or sent an earlier fence", [HOLDER];
    TooManyMoves = "too-many-moves", Follow, 422, "the rules caused more moves than one command may make", [];
    TooManyReferences = "too-many-references", Invariants, 422,
        "a ref with `acyclic` leads to more entities than one command may follow", [];
    UnexpectedField = "unexpected-field", Requirements, 422, "the transition does not take this field", [];
    UnknownEntity = "unknown-entity", Edge, 404, "the entity does not exist, or the caller may not see it",
        ["trackside list {lifecycle} lists them"];
    UnknownEvent = "unknown-event", Edge, 422, "the lifecycle has no event with this name", [EXPLAIN];
    UnknownLifecycle = "unknown-lifecycle", Edge, 404, "the lifecycle does not exist", [LIFECYCLES];
    UnknownPack = "unknown-pack", Edge, 404, "the pack does not exist, or not in this version",
        ["trackside pack list shows the packs"];
    UnknownSlot = "unknown-slot", Edge, 422, "the lifecycle has no lease slot with this name", [];
    UnknownState = "unknown-state", Edge | Requirements, 422, "the lifecycle has no state with this name", [EXPLAIN];
    UnknownVersion = "unknown-version", Edge, 422, "the lifecycle has no version with this number", [];
    VersionMismatch = "version-mismatch", Version, 412, "the entity changed since the caller read it",
        ["read it again with trackside show {entity}, then send its version"];
}

impl Code {
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.as_str() == text)
    }

    /// The stage that usually refuses with it.
    pub fn stage(self) -> Stage {
        self.stages().first().copied().unwrap_or(Stage::Requirements)
    }

    /// True if the command named something that does not exist.
    pub fn is_unknown_name(self) -> bool {
        matches!(
            self,
            Self::UnknownEntity
                | Self::UnknownEvent
                | Self::UnknownLifecycle
                | Self::UnknownPack
                | Self::UnknownSlot
                | Self::UnknownState
                | Self::UnknownVersion
        )
    }

    /// True if the command named something that does not exist, or sent an id that is no id.
    pub fn is_about_name(self) -> bool {
        self.is_unknown_name() || self == Self::InvalidId
    }
}

/// `Variant = "text", refusal with only this condition, "meaning";`
macro_rules! condition_codes {
    ($($variant:ident = $text:literal, $refusal:ident, $meaning:literal;)+) => {
        /// Why one condition is unmet: a code of its own, or that of the refusal.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ConditionCode { Refusal(Code), $($variant),+ }

        impl ConditionCode {
            /// Every code that is not a refusal code too, sorted by its text.
            pub const OWN: &[Self] = &[$(Self::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self { Self::Refusal(code) => code.as_str(), $(Self::$variant => $text),+ }
            }

            /// The code of a refusal with only this condition.
            pub const fn refusal(self) -> Code {
                match self { Self::Refusal(code) => code, $(Self::$variant => Code::$refusal),+ }
            }

            pub const fn meaning(self) -> &'static str {
                match self { Self::Refusal(code) => code.meaning(), $(Self::$variant => $meaning),+ }
            }
        }
    };
}

condition_codes! {
    EffectOpen = "effect-open", CannotMigrate, "an effect has no result yet, and the other version does not declare it";
    Kept = "kept", Frozen, "the rules would change a field that the transition promises to keep";
    Missing = "missing", RequirementMissing, "a required field, member, reason, target or fence is absent or blank";
    Needed = "needed", CannotRedact, "a rule needs this field, and its value is in an entry that would be dropped";
    NoHolder = "no-holder", InvalidField, "`lease: { to: … }` names nobody";
    NoTarget = "no-target", InvalidField,
        "the rules name no target state: an empty `{ field: … }`, the end of `path`, or no choice that applies";
    NotASpan = "not-a-span", InvalidField, "not a time span such as `15m`";
    NotATime = "not-a-time", InvalidField, "not a time such as `2026-01-31T12:00:00Z`";
    NotOneOf = "not-one-of", InvalidField, "not one of the allowed values or targets";
    OutOfRange = "out-of-range", InvalidField, "below `minimum` or above `maximum`";
    Pattern = "pattern", InvalidField, "the text does not match `pattern`";
    Repeated = "repeated", InvalidField, "a list with `unique` contains a value twice";
    ReservedName = "reserved-name", InvalidField, "the name of a member starts with `$`";
    TooDeep = "too-deep", InvalidField, "the value is nested more than 32 levels deep";
    TooFew = "too-few", RequirementMissing, "a list has too few items, or a required list is empty";
    TooLong = "too-long", InvalidField, "longer than `maxLength`";
    TooMany = "too-many", InvalidField, "more items than `maxItems`";
    TooShort = "too-short", InvalidField, "shorter than `minLength`; blank text has length 0";
    UnknownCounter = "unknown-counter", CannotImport, "the lifecycle has no counter with this name";
    UnknownEntry = "unknown-entry", CannotRedact, "the entry does not belong to this entity";
    UnknownField = "unknown-field", InvalidField, "the lifecycle has no field with this name";
    UnknownSetting = "unknown-setting", InvalidSetting, "the pack has no setting with this name";
    UnknownZone = "unknown-zone", InvalidSetting, "the time zone does not exist";
    WrongType = "wrong-type", InvalidField, "a value of another type, for example text instead of a number";
}

impl From<Code> for ConditionCode {
    fn from(code: Code) -> Self {
        Self::Refusal(code)
    }
}

impl From<MisfitCode> for ConditionCode {
    fn from(code: MisfitCode) -> Self {
        match code {
            MisfitCode::Missing => Self::Missing,
            MisfitCode::NotASpan => Self::NotASpan,
            MisfitCode::NotATime => Self::NotATime,
            MisfitCode::NotOneOf => Self::NotOneOf,
            MisfitCode::OutOfRange => Self::OutOfRange,
            MisfitCode::Pattern => Self::Pattern,
            MisfitCode::Repeated => Self::Repeated,
            MisfitCode::ReservedName => Self::ReservedName,
            MisfitCode::TooDeep => Self::TooDeep,
            MisfitCode::TooFew => Self::TooFew,
            MisfitCode::TooLong => Self::TooLong,
            MisfitCode::TooMany => Self::TooMany,
            MisfitCode::TooShort => Self::TooShort,
            MisfitCode::UnexpectedField => Self::Refusal(Code::UnexpectedField),
            MisfitCode::WrongType => Self::WrongType,
        }
    }
}

impl PartialEq<Code> for ConditionCode {
    fn eq(&self, other: &Code) -> bool {
        *self == Self::Refusal(*other)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for ConditionCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Serialize for ConditionCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sorted_and_no_code_is_in_both() {
        assert!(Code::ALL.is_sorted_by(|a, b| a.as_str() < b.as_str()));
        assert!(ConditionCode::OWN.is_sorted_by(|a, b| a.as_str() < b.as_str()));
        assert!(ConditionCode::OWN.iter().all(|it| Code::parse(it.as_str()).is_none()));
        assert!(Code::ALL.iter().all(|it| it.is_unknown_name() == it.as_str().starts_with("unknown-")));
    }
}
