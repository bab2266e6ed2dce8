//! Resolves roles to `pack:role`, so that a pack installed later cannot give an existing token more rights.

use trackside_engine::Law;
use trackside_engine::entity::Entity;
use trackside_lifecycle::guard::nearest;
use trackside_lifecycle::model::Pack;
use trackside_lifecycle::name::Name;
use trackside_protocol::ProblemCode;
use trackside_runtime::{Failure, Runtime};

use crate::problem::Refused;

/// The role of administrators, which belongs to no pack.
pub(crate) const ADMIN: &str = "admin";

/// Whether a role names its pack, or needs none.
fn is_resolved(role: &str) -> bool {
    role == ADMIN || role.contains(':')
}

/// The roles of these packs that a text can mean, as `pack:role`.
fn meanings<'a>(packs: impl Iterator<Item = &'a Pack>, role: &str) -> Vec<Name> {
    let declared = packs.flat_map(|pack| pack.roles.keys().map(move |name| (pack, name)));
    let meant = declared.filter_map(|(pack, name)| {
        let whole = format!("{}:{name}", pack.name);
        (**name == *role || whole == role).then(|| Name::new(&whole))
    });
    meant.collect()
}

/// Resolves the roles of a new token. The name of the pack may be omitted if only one pack has the role.
pub(crate) fn resolve(law: &Law, roles: &[String]) -> Result<Vec<Name>, Refused> {
    let mut resolved = Vec::new();
    for role in roles {
        if role == ADMIN {
            resolved.push(Name::new(ADMIN));
            continue;
        }
        let mut meant = meanings(law.packs().map(|it| &**it), role);
        match (meant.pop(), meant.is_empty()) {
            (Some(one), true) => resolved.push(one),
            (Some(last), false) => {
                let mut choices: Vec<String> = meant.iter().map(Name::to_string).collect();
                choices.push(last.to_string());
                let detail = format!("Several packs have a role {role}: write {}", choices.join(" or "));
                return Err(Refused::new(ProblemCode::AmbiguousRole, detail));
            }
            (None, _) => return Err(unknown(law, role)),
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    resolved.retain(|it| seen.insert(it.clone()));
    Ok(resolved)
}

fn unknown(law: &Law, role: &str) -> Refused {
    let known = law.packs().flat_map(|pack| {
        let names = pack.roles.keys();
        names.flat_map(|name| [format!("{}:{name}", pack.name), name.to_string()])
    });
    let known: Vec<String> = known.collect();
    let near = nearest(role, known.iter().map(String::as_str));
    let hint = near.map(|it| format!(" Did you mean {it}?")).unwrap_or_default();
    let detail =
        format!("No pack has a role {role}.{hint} Write it as pack:role; `trackside pack list` shows them");
    Refused::new(ProblemCode::UnknownRole, detail)
}

/// The roles of a stored token or link. Earlier releases stored them as they were written. A role without a pack is
/// resolved with the packs that were installed before the token was created; packs installed later do not count.
pub(super) fn stored(runtime: &Runtime, entity: &Entity) -> Result<Vec<Name>, Failure> {
    let roles: Vec<Name> = entity.fields.texts("roles").map(Name::new).collect();
    if roles.iter().all(|it| is_resolved(it)) {
        return Ok(roles);
    }
    // Without its first entry the time of its creation is not known, and such a role gives no rights.
    let history = runtime.reads()?.history(&entity.key, 0, 1, true);
    let history = history.map_err(|it| Failure::Unavailable(it.to_string()))?;
    let created =
        history.records.first().filter(|_| history.archived_before.is_none()).map_or(0, |it| it.seq);
    let packs = runtime.packs_before(created)?;
    let meant = roles.into_iter().flat_map(|it| match is_resolved(&it) {
        true => vec![it],
        false => meanings(packs.iter().map(|it| &**it), &it),
    });
    Ok(meant.collect())
}
