//! Over HTTP, as any program would.

use serde_json::{Value as Json, json};
use trackside_protocol::{Client, ClientError, EffectResult, HttpReply, TakeEffects};

use super::request::{DemoAnswer, DemoRequest};
use crate::time_format::list;
use crate::url::ApiPath;

/// `POST /v1/… {…}`.
pub(super) fn words(ask: &DemoRequest) -> String {
    match ask {
        DemoRequest::AnswerEffect { effect, ok, detail } => {
            let how = if *ok { "done" } else { "failed" };
            format!(
                "POST /v1/effects/take {{\"kind\":\"{effect}\"}}, then its result: {how} {}",
                json!(detail)
            )
        }
        DemoRequest::Explain { .. } => format!("GET {}", route(ask).as_str()),
        DemoRequest::Sweep => format!("POST {}", route(ask).as_str()),
        _ => format!("POST {} {}", route(ask).as_str(), ask.text()),
    }
}

fn route(ask: &DemoRequest) -> ApiPath {
    let entity = ask.entity().map(|it| (it.lifecycle.as_str(), it.id.as_str()));
    let (lifecycle, id) = entity.unwrap_or_default();
    match ask {
        DemoRequest::Create { .. } => ApiPath::new(&["entities", lifecycle]),
        DemoRequest::Fire { .. } => ApiPath::new(&["entities", lifecycle, id, "transitions"]),
        DemoRequest::Claim { lifecycle, .. } => ApiPath::new(&["entities", lifecycle, "claim"]),
        DemoRequest::Heartbeat { .. } => ApiPath::new(&["entities", lifecycle, id, "heartbeat"]),
        DemoRequest::Correct { .. } => ApiPath::new(&["entities", lifecycle, id, "correct"]),
        DemoRequest::Explain { .. } => ApiPath::new(&["entities", lifecycle, id, "explain"]),
        DemoRequest::Decide { id, .. } => ApiPath::new(&["approvals", id, "decision"]),
        DemoRequest::AnswerEffect { .. } => ApiPath::new(&["effects", "take"]),
        DemoRequest::Advance { .. } => ApiPath::new(&["clock", "advance"]),
        DemoRequest::Sweep => ApiPath::new(&["sweep"]),
    }
}

pub(super) fn ask(client: &Client, ask: &DemoRequest) -> Result<DemoAnswer, String> {
    let response = match ask {
        DemoRequest::AnswerEffect { effect, ok, detail } => {
            let wanted = TakeEffects { kind: Some(effect.clone()), ..TakeEffects::default() };
            let taken = client.post(route(ask).as_str(), &wanted).map_err(|it| it.to_string())?;
            let Some(first) = list(&taken.body, "items").first() else {
                return Err(format!("no command requested the effect {effect}"));
            };
            let number = |name: &str| first.get(name).and_then(Json::as_u64).unwrap_or_default();
            let result = EffectResult { ok: *ok, detail: detail.clone(), fence: number("fence") };
            let route = ApiPath::new(&["effects", &number("id").to_string(), "result"]);
            client.post(route.as_str(), &result)
        }
        DemoRequest::Explain { .. } => client.get(route(ask).as_str()),
        _ => client.post(route(ask).as_str(), &ask.body()),
    };
    answer(response)
}

fn answer(response: Result<HttpReply, ClientError>) -> Result<DemoAnswer, String> {
    match response {
        Ok(response) if response.status == 204 => Ok(DemoAnswer::Nothing),
        Ok(response) => Ok(DemoAnswer::Done(response.body)),
        Err(ClientError::Refused(problem)) => Ok(DemoAnswer::Refused(problem)),
        Err(error) => Err(error.to_string()),
    }
}
