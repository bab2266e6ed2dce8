//! Lists, takes and answers effects.

use serde_json::{Map, Value, json};
use trackside_protocol::{EffectBody, EffectTaken, Page};

use crate::launch::new_uuid;
use crate::server_api::{ApiError, ServerApi};

/// An effect that this runner may carry out now.
#[derive(Clone, Debug)]
pub(crate) struct HeldEffect {
    pub id: u64,
    pub lifecycle: String,
    pub entity: String,
    pub with: Map<String, Value>,
    pub fence: u64,
}

impl HeldEffect {
    /// An argument as text; none if it is missing or null.
    pub fn text(&self, name: &str) -> Option<String> {
        match self.with.get(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            other => Some(other.to_string()),
        }
    }

    pub fn entity_key(&self) -> String {
        format!("{}/{}", self.lifecycle, self.entity)
    }
}

/// Effects of one kind that have no result, oldest first.
pub(crate) fn open_effects(api: &ServerApi, kind: &str) -> Result<Vec<EffectBody>, ApiError> {
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let listed = api.get(&format!("/v1/effects?kind={kind}&limit=200{cursor}"))?;
        let page: Page<EffectBody> = serde_json::from_value(listed)
            .map_err(|it| ApiError::Unreachable(format!("unreadable answer: {it}")))?;
        found.extend(page.items);
        match page.next_cursor {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return Ok(found),
        }
    }
}

/// An effect as it is now; none if it has a result.
pub(crate) fn still_open(api: &ServerApi, effect: &EffectBody) -> Result<Option<EffectBody>, ApiError> {
    Ok(open_effects(api, &effect.kind)?.into_iter().find(|it| it.id == effect.id))
}

/// Takes an effect, or continues with it if this runner's actor has taken it before. None if another actor has it.
pub(crate) fn take_effect(
    api: &ServerApi,
    effect: &EffectBody,
    lease: u64,
) -> Result<Option<HeldEffect>, ApiError> {
    if let Some(fence) = effect.fence {
        return Ok(Some(HeldEffect {
            id: effect.id,
            lifecycle: effect.lifecycle.clone(),
            entity: effect.entity.clone(),
            with: effect.with.clone(),
            fence,
        }));
    }
    if effect.taken_by.is_some() {
        return Ok(None);
    }
    let entity = format!("{}/{}", effect.lifecycle, effect.entity);
    let body = json!({ "kind": effect.kind, "entity": entity, "limit": 1, "lease": format!("{lease}s") });
    let taken = api.post_report("/v1/effects/take", &body, &new_uuid())?;
    let page: Page<EffectTaken> = serde_json::from_value(taken)
        .map_err(|it| ApiError::Unreachable(format!("unreadable answer: {it}")))?;
    Ok(page.items.into_iter().next().map(|it| HeldEffect {
        id: it.id,
        lifecycle: it.lifecycle,
        entity: it.entity,
        with: it.with,
        fence: it.fence,
    }))
}

/// Reports the result of an effect. A result that another worker reported first is no error.
pub(crate) fn settle_effect(
    api: &ServerApi,
    effect: &HeldEffect,
    ok: bool,
    fields: Value,
) -> Result<(), ApiError> {
    let body = json!({ "ok": ok, "fence": effect.fence, "detail": fields });
    let path = format!("/v1/effects/{}/result", effect.id);
    match api.post_report(&path, &body, &format!("effect-{}-{}", effect.id, effect.fence)) {
        Err(error) if error.is_refusal() => Ok(()),
        other => other.map(|_| ()),
    }
}
