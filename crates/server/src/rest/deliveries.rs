//! Deliveries: messages about what waits, and what became of them.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use trackside_engine::entity::Entity;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::guard::did_you_mean_or_all;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;
use trackside_protocol::{DeliveryBody, Page, Problem};
use trackside_runtime::read::ListQuery;
use utoipa::IntoParams;

use super::{Cursors, Parameters};
use crate::app::App;
use crate::auth::Caller;
use crate::delivery::DELIVERY;
use crate::problem::Refused;

/// Parameters of the list of deliveries.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct MessagesSentQuery {
    /// Only in this state, such as `FAILED`.
    state: Option<String>,
    /// Page size: 50 by default, 200 at most.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    cursor: Option<String>,
}

/// Lists deliveries: all of them for an admin, for other people those to them.
#[utoipa::path(
    get, path = "/v1/deliveries", tag = "delivery", operation_id = "deliveries", params(MessagesSentQuery),
    responses((status = 200, body = Page<DeliveryBody>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Parameters(which): Parameters<MessagesSentQuery>,
) -> Result<Json<Page<DeliveryBody>>, Refused> {
    let cursors = Cursors::of(&["deliveries", which.state.as_deref().unwrap_or_default()]);
    let mut query = ListQuery::of(DELIVERY, caller.actor().clone());
    (query.limit, query.cursor) = (super::limit(which.limit)?, cursors.place(which.cursor.as_deref())?);
    if let Some(state) = &which.state {
        let life = app.runtime.law().newest(&query.lifecycle).cloned();
        let known: Vec<&str> = life.iter().flat_map(|it| &it.states).map(|it| it.name.as_str()).collect();
        if !known.contains(&state.as_str()) {
            let hint = did_you_mean_or_all(state, "States", known.iter().copied());
            return Err(Refused::parameter("state", format!("A delivery has no state {state}{hint}")));
        }
        query.states = vec![Name::new(state)];
    }
    let page = app.read(move |reads| {
        let listed = reads.list(&query)?;
        let items = listed.items.iter().map(|it| delivery_body(it)).collect();
        Ok(Page { items, next_cursor: listed.next_cursor.map(|it| cursors.give(it)) })
    });
    Ok(Json(page.await?))
}

fn delivery_body(entity: &Entity) -> DeliveryBody {
    let fields = &entity.fields;
    let text = |name: &str| fields.text(name).unwrap_or_default().to_owned();
    let time = |name: &str| fields.get(name).and_then(Value::as_time).map(|it| it.to_string());
    let number = |name: &str| {
        fields.get(name).and_then(Value::as_int).and_then(|it| u64::try_from(it).ok()).unwrap_or_default()
    };
    let subject = EntityKey::parse(&text("concerns"));
    DeliveryBody {
        id: entity.key.id.to_string(),
        state: entity.state.to_string(),
        audience: text("audience"),
        address: text("address"),
        channel: text("channel"),
        person: text("person"),
        kind: text("kind"),
        lifecycle: subject.as_ref().map(|it| it.lifecycle.to_string()).unwrap_or_default(),
        entity: subject.map(|it| it.id.to_string()).unwrap_or_default(),
        number: number("number"),
        attempts: number("attempts"),
        why: fields.text("why").map(str::to_owned),
        due_at: time("dueAt").unwrap_or_else(|| entity.created_at.to_string()),
        sent_at: time("sentAt"),
        escalate_at: time("escalateAt"),
        created_at: entity.created_at.to_string(),
    }
}
