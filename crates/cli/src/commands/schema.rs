//! `trackside schema`: the grammar, for editors and validators.

use trackside_engine::scenario;
use trackside_explore::stage;
use trackside_lifecycle::syntax::{SchemaOf, schema};

use crate::args::{SchemaArgs, SchemaKind};
use crate::print;

pub(crate) fn run(args: &SchemaArgs) -> u8 {
    let json = match args.of {
        SchemaKind::Lifecycle => schema(SchemaOf::Lifecycle),
        SchemaKind::Pack => schema(SchemaOf::Pack),
        SchemaKind::Scenario => scenario::schema(),
        SchemaKind::Stage => stage::schema(),
    };
    print::line(&format!("{json:#}"));
    crate::exit::DONE
}
