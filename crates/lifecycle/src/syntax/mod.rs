//! The grammar: one struct per mapping of the language, one field per key.
//!
//! These types are the single source of three things: how a file is read, which keys are refused, and the
//! JSON Schema that editors use. The meaning is in [`crate::compile`].

mod consequence;

mod field;
mod lifecycle;
mod pack;
mod prove;
mod rule;
mod transition;
mod work;

/// An expression, or text with expressions in it, as written.
pub use crate::source::Scalar as Expr;
pub use consequence::{
    AlsoDecl, ConsequencesDecl, EffectCallDecl, EffectCallMap, FollowUpDecl, FollowUpMap, GrantDecl,
    GrantMap, NotificationDecl, PostDecl, RaiseAlertDecl, SpawnDecl,
};
pub use field::{FieldDecl, TypeDecl};
pub use lifecycle::{
    CheckRule, Checks, CreateDecl, Deadline, DecisionDecl, Enter, FaceDecl, FaceMap, GateDecl, LifecycleFile,
    LogDecl, ObserveDecl, RefDecl, Retain, StateDecl, StateToolsDecl, WaitsForDecl, WorktreeDecl,
};
pub use pack::{
    ExitDecl, GiveUpDecl, GroupTableDecl, PackFile, PolicyDecl, PolicyRaiseDecl, PolicyRuleDecl, QueryDecl,
    RestartDecl, RoleDecl, SettingDecl, SettingMap, SuperviseDecl, ToolDecl, WaitDecl,
};
pub use prove::PropertyDecl;
pub use rule::{
    CounterDecl, EffectDecl, InvariantDecl, NotifyRuleDecl, RankingDecl, ReactionDecl, SlotDecl, TimerDecl,
    WarnDecl, WarnStep,
};
pub use transition::{ArmDecl, Arms, ByAsking, ByField, ByPath, ChoiceDecl, TakeDecl, Takes, TargetDecl};
pub use work::{ControlDecl, WorkAgentDecl, WorkDecl, WorkEventDecl, WorkEventMap};

/// The JSON Schema of a lifecycle file or of a pack file.
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
