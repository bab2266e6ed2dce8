//! Over HTTP, as any program would.

use serde_json::{Value as Json, json};
use trackside_protocol::{Client, ClientError, EffectResult, TakeEffects, Told};

use super::ask::{Answer, Ask};
use crate::moment::list;
use crate::route::Route;

/// `POST /v1/… {…}`.
pub(super) fn words(ask: &Ask) -> String {
    match ask {
        Ask::Settle { effect, ok, detail } => {
            let how = if *ok { "done" } else { "failed" };
            format!(
                "POST /v1/effects/take {{\"kind\":\"{effect}\"}}, then its result: {how} {}",
                json!(detail)
            )
        }
        Ask::Explain { .. } => format!("GET {}", route(ask).as_str()),
        Ask::Sweep => format!("POST {}", route(ask).as_str()),
        _ => format!("POST {} {}", route(ask).as_str(), ask.text()),
    }
}

fn route(ask: &Ask) -> Route {
    let entity = ask.entity().map(|it| (it.lifecycle.as_str(), it.id.as_str()));
    let (lifecycle, id) = entity.unwrap_or_default();
    match ask {
        Ask::Create { .. } => Route::new(&["entities", lifecycle]),
        Ask::Fire { .. } => Route::new(&["entities", lifecycle, id, "transitions"]),
        Ask::Claim { lifecycle, .. } => Route::new(&["entities", lifecycle, "claim"]),
        Ask::Heartbeat { .. } => Route::new(&["entities", lifecycle, id, "heartbeat"]),
        Ask::Correct { .. } => Route::new(&["entities", lifecycle, id, "correct"]),
        Ask::Explain { .. } => Route::new(&["entities", lifecycle, id, "explain"]),
        Ask::Decide { id, .. } => Route::new(&["approvals", id, "decision"]),
        Ask::Settle { .. } => Route::new(&["effects", "take"]),
        Ask::Advance { .. } => Route::new(&["clock", "advance"]),
        Ask::Sweep => Route::new(&["sweep"]),
    }
}

pub(super) fn ask(client: &Client, ask: &Ask) -> Result<Answer, String> {
    let told = match ask {
        Ask::Settle { effect, ok, detail } => {
            let wanted = TakeEffects { kind: Some(effect.clone()), ..TakeEffects::default() };
            let taken = client.post(route(ask).as_str(), &wanted).map_err(|it| it.to_string())?;
            let Some(first) = list(&taken.body, "items").first() else {
                return Err(format!("nobody asked for the effect {effect}"));
            };
            let number = |name: &str| first.get(name).and_then(Json::as_u64).unwrap_or_default();
            let result = EffectResult { ok: *ok, detail: detail.clone(), fence: number("fence") };
            let route = Route::new(&["effects", &number("id").to_string(), "result"]);
            client.post(route.as_str(), &result)
        }
        Ask::Explain { .. } => client.get(route(ask).as_str()),
        _ => client.post(route(ask).as_str(), &ask.body()),
    };
    answer(told)
}

fn answer(told: Result<Told, ClientError>) -> Result<Answer, String> {
    match told {
        Ok(told) if told.status == 204 => Ok(Answer::Nothing),
        Ok(told) => Ok(Answer::Done(told.body)),
        Err(ClientError::Refused(problem)) => Ok(Answer::Refused(problem)),
        Err(error) => Err(error.to_string()),
    }
}
