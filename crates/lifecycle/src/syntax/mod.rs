//! The grammar: one struct per mapping of the language, one field per key.
//!
//! These types are the single source of three things: how a file is read, which keys are refused,
//! and the JSON Schema that editors use. They say nothing about meaning; see [`crate::compile`].

mod consequence;

mod field;
mod lifecycle;
mod pack;
mod prove;
mod rule;
mod transition;

/// An expression, or text with expressions in it, as written.
pub use crate::source::Scalar as Expr;
pub use consequence::{
    Also, Birth, Consequences, EffectCall, EffectMap, Follow, FollowMap, Grant, GrantMap, Post, Raise, Tell,
};
pub use field::{FieldDecl, TypeDecl};
pub use lifecycle::{
    CheckRule, Checks, Create, Deadline, Enter, FaceDecl, FaceMap, Gate, LifecycleFile, Ref, Retain,
    StateDecl,
};
pub use pack::{
    ExitDecl, GiveUpDecl, PackFile, PolicyDecl, PolicyRaise, PolicyRule, QueryDecl, RestartDecl, RoleDecl,
    SettingDecl, SettingMap, SuperviseDecl, ToolDecl, WaitDecl,
};
pub use prove::PropertyDecl;
pub use rule::{
    CounterDecl, EffectDecl, InvariantDecl, NotifyRule, RankingDecl, Reaction, SlotDecl, TimerDecl, Warn,
    WarnStep,
};
pub use transition::{ArmDecl, Arms, ByAsking, ByField, ByPath, Choice, Take, Takes, TargetDecl};

/// The JSON Schema of a lifecycle file, of a pack file and of a scenario file's frame.
pub fn schema(of: SchemaOf) -> serde_json::Value {
    let schema = match of {
        SchemaOf::Lifecycle => schemars::schema_for!(LifecycleFile),
        SchemaOf::Pack => schemars::schema_for!(PackFile),
    };
    schema.to_value()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaOf {
    Lifecycle,
    Pack,
}
