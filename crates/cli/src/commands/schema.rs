//! `trackside schema`: the grammar, for editors and validators.

use serde_json::Value as Json;
use trackside_lifecycle::syntax::{SchemaOf, schema};
use trackside_runner::adapter::AdapterDefinition;
use trackside_study::explore::stage;
use trackside_study::scenario;

use crate::args::{SchemaArgs, SchemaKind};
use crate::print;

pub(crate) fn run(args: &SchemaArgs) -> u8 {
    print::json(&of(args.of));
    crate::exit::DONE
}

/// The schema of one kind of file.
pub(crate) fn of(kind: SchemaKind) -> Json {
    match kind {
        SchemaKind::Lifecycle => schema(SchemaOf::Lifecycle),
        SchemaKind::Pack => schema(SchemaOf::Pack),
        SchemaKind::Scenario => scenario::schema(),
        SchemaKind::Stage => stage::schema(),
        SchemaKind::Adapter => AdapterDefinition::schema(),
    }
}
