//! Sends imported entities to the project in batches. Every batch is a dry run first, so that a problem in one leaves
//! the project unchanged.

use trackside_engine::refusal::Code;
use trackside_protocol::{Import, ImportEntity, Problem, UnmetBody};

use crate::folder::share;
use crate::foreign::ImportProblem;
use crate::print::ProgressBar;
use crate::project_access::ProjectAccess;
use crate::server_lookup::RequestError;

/// Most entities, and about the most bytes, per request.
const MOST: usize = 1_000;
const BYTES: usize = 12 * 1024 * 1024;

/// The result of an import.
#[derive(Clone, Debug, Default)]
pub(super) struct Sent {
    pub(super) imported: u64,
    /// Entities that an earlier import brought.
    pub(super) already: Vec<String>,
}

/// The advice for a problem with an entity, if there is one.
pub(super) type ToDo<'a> = dyn Fn(&ImportEntity, &UnmetBody) -> Option<String> + 'a;

/// Imports the entities, each with its place in the file; or returns every problem and imports none.
pub(super) fn send(
    door: &ProjectAccess,
    entities: &[(ImportEntity, String)],
    file: &str,
    dry_run: bool,
    to_do: &ToDo<'_>,
) -> Result<Result<Sent, Vec<ImportProblem>>, RequestError> {
    let pieces = pieces(entities);
    let bar = ProgressBar::new("import");
    let steps = pieces.len() as u64 * if dry_run { 1 } else { 2 };
    let (mut done, mut troubles, mut sent) = (0, Vec::new(), Sent::default());
    let rounds: &[bool] = if dry_run { &[true] } else { &[true, false] };
    for trying in rounds {
        sent = Sent::default();
        for piece in &pieces {
            let all = piece.iter().map(|(it, _)| it.clone()).collect();
            let body = Import { entities: all, file: Some(file.to_owned()) };
            match door.import(&body, *trying) {
                Ok(answer) => {
                    sent.imported += answer.imported;
                    sent.already.extend(answer.already);
                }
                Err(RequestError::Refused(problem)) if problem.has_code(Code::CannotImport) => {
                    troubles.extend(locate_problems(&problem, piece, to_do));
                }
                Err(other) => return Err(other),
            }
            done += 1;
            bar.show(share(done, steps), if *trying { "trying" } else { "writing" });
        }
        if !troubles.is_empty() {
            bar.done();
            return Ok(Err(troubles));
        }
    }
    bar.done();
    Ok(Ok(sent))
}

/// Splits the entities into batches that fit into one request, in order.
fn pieces(entities: &[(ImportEntity, String)]) -> Vec<&[(ImportEntity, String)]> {
    let (mut pieces, mut rest) = (Vec::new(), entities);
    while !rest.is_empty() {
        let mut bytes = 0_usize;
        let fitting = rest.iter().take(MOST).take_while(|(it, _)| {
            bytes = bytes.saturating_add(serde_json::to_string(it).map_or(0, |it| it.len()));
            bytes <= BYTES
        });
        let (piece, more) = rest.split_at(fitting.count().max(1));
        pieces.push(piece);
        rest = more;
    }
    pieces
}

/// Problems with their places in the file: `entities.3.fields.title` is of the fourth.
fn locate_problems(
    problem: &Problem,
    piece: &[(ImportEntity, String)],
    to_do: &ToDo<'_>,
) -> Vec<ImportProblem> {
    let answer = |it: &UnmetBody| {
        let path = it.field.as_deref().and_then(|it| it.strip_prefix("entities."));
        let (place, rest) = path.map_or(("", ""), |it| it.split_once('.').unwrap_or((it, "")));
        let Some((entity, at)) = place.parse::<usize>().ok().and_then(|it| piece.get(it)) else {
            return ImportProblem::new("", it.message.clone());
        };
        let mut what = match rest.strip_prefix("fields.").unwrap_or(rest) {
            "" => format!("{}: {}", entity.id, it.message),
            part => format!("{}: {part}: {}", entity.id, it.message),
        };
        if let Some(to_do) = to_do(entity, it) {
            what = format!("{}. {to_do}", what.trim_end_matches('.'));
        }
        ImportProblem::new(at, what)
    };
    problem.errors.iter().map(answer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entity(id: usize) -> (ImportEntity, String) {
        (ImportEntity { id: format!("E-{id}"), ..ImportEntity::default() }, format!("line {id}"))
    }

    #[test]
    fn every_entity_is_in_a_piece() {
        let all: Vec<_> = (0..2_500).map(entity).collect();
        let pieces = pieces(&all);
        assert_eq!(pieces.iter().map(|it| it.len()).collect::<Vec<_>>(), [1_000, 1_000, 500]);
        assert!(super::pieces(&[]).is_empty());
        let mut large = entity(1);
        large.0.origin = "x".repeat(BYTES + 1);
        assert_eq!(
            super::pieces(&[large.clone(), large]).len(),
            2,
            "each goes alone, for the server to judge"
        );
    }

    #[test]
    fn problems_are_reported_with_their_line() {
        let mut problem = Problem::new(Code::CannotImport, "x");
        let first = problem.errors[0].clone();
        problem.errors = ["entities.1.fields.size", "entities.0", "entities.9.id", "entities.0.state"]
            .map(|field| UnmetBody { field: Some(field.to_owned()), ..first.clone() })
            .to_vec();
        let answer: Vec<String> = locate_problems(&problem, &[entity(7), entity(8)], &|_, _| None)
            .iter()
            .map(|it| it.describe("f"))
            .collect();
        assert_eq!(answer, ["f line 8: E-8: size: x", "f line 7: E-7: x", "f: x", "f line 7: E-7: state: x"]);
    }
}
