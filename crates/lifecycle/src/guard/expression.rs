//! One expression, ready to run.

use std::fmt;
use std::sync::Arc;

use super::check::{CheckedExpression, check};
use super::eval::Evaluator;
use super::ir::Ir;
use super::parse::parse;
use super::{Fault, GuardError, Names, Scope, Type, VarSlot, limits};
use crate::name::Name;
use crate::value::Value;

/// A compiled expression. Cloning it shares it.
#[derive(Clone)]
pub struct Guard(Arc<Compiled>);

struct Compiled {
    source: Box<str>,
    ir: Ir,
    ty: Type,
    reads: Vec<VariableUse>,
}

/// A variable that an expression reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableUse {
    /// The path as written, members included: `agent.state`.
    pub path: Name,
    pub slot: VarSlot,
}

impl Guard {
    /// Checks the source against the names; all mistakes at once, in their order.
    pub fn compile(source: &str, names: &mut dyn Names) -> Result<Self, Vec<GuardError>> {
        Self::compiled(source, names, None)
    }

    /// Compiles, and checks that the result has the expected type.
    pub fn compile_as(source: &str, names: &mut dyn Names, expected: &Type) -> Result<Self, Vec<GuardError>> {
        Self::compiled(source, names, Some(expected))
    }

    /// A value that was written without an expression; `source` is how.
    pub fn literal(source: &str, value: Value) -> Self {
        let ty = Type::of(&value);
        Self(Arc::new(Compiled { source: source.into(), ir: Ir::Constant(value), ty, reads: Vec::new() }))
    }

    fn compiled(
        source: &str,
        names: &mut dyn Names,
        expected: Option<&Type>,
    ) -> Result<Self, Vec<GuardError>> {
        let parsed = parse(source)?;
        let CheckedExpression { ir, ty, reads } = check(&parsed, names, expected)?;
        Ok(Self(Arc::new(Compiled { source: source.into(), ir, ty, reads })))
    }

    pub fn ty(&self) -> &Type {
        &self.0.ty
    }

    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// The variables it may read, each once, in the order of the source.
    pub fn reads(&self) -> &[VariableUse] {
        &self.0.reads
    }

    pub(super) fn ir(&self) -> &Ir {
        &self.0.ir
    }

    /// Its value, if it reads nothing.
    pub fn constant(&self) -> Option<&Value> {
        self.0.ir.constant()
    }

    pub fn eval(&self, scope: &dyn Scope) -> Result<Value, Fault> {
        Evaluator::new(scope, limits::STEPS).value(&self.0.ir)
    }

    /// The value of a condition. Anything but true or false is a fault.
    pub fn test(&self, scope: &dyn Scope) -> Result<bool, Fault> {
        Evaluator::new(scope, limits::STEPS).truth(&self.0.ir)
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Guard").field(&self.0.source).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::test_scope::task;

    #[test]
    fn guards_are_shared_between_threads() {
        fn shared<T: Clone + Send + Sync + fmt::Debug>(_: &T) {}
        let guard = task().compile("reviewCycles < 3");
        shared(&guard);
        assert_eq!(format!("{guard:?}"), r#"Guard("reviewCycles < 3")"#);
        assert_eq!(guard.clone().source(), "reviewCycles < 3");
    }

    #[test]
    fn a_literal_is_its_own_value() {
        let guard = Guard::literal("5", Value::Int(5));
        assert_eq!((guard.ty(), guard.constant()), (&Type::Int, Some(&Value::Int(5))));
        assert_eq!(guard.eval(&task()), Ok(Value::Int(5)));
    }
}
