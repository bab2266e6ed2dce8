//! `trackside webhook`: receivers of webhooks, and their deliveries.

use serde_json::Value as Json;
use trackside_protocol::{NewWebhook, ReplayWebhook};

use crate::args::{
    WebhookAddArgs, WebhookArgs, WebhookCommand, WebhookDeliveriesArgs, WebhookListArgs, WebhookRemoveArgs,
    WebhookReplayArgs,
};
use crate::paging::{ListSize, fetch_list};
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::print_table;
use crate::time_format::{self, is_true, moment, moment_at, number, text, texts};
use crate::url::ApiPath;
use crate::{exit, print};

pub(crate) fn run(args: &WebhookArgs) -> u8 {
    let (outcome, json) = match &args.command {
        WebhookCommand::Add(args) => (add(args), args.ask.json),
        WebhookCommand::List(args) => (list(args), args.ask.json),
        WebhookCommand::Remove(args) => (remove(args), false),
        WebhookCommand::Deliveries(args) => (deliveries(args), args.list.ask.json),
        WebhookCommand::Replay(args) => (replay(args), args.ask.json),
    };
    refused::finish(outcome, CommandSubject::default(), json)
}

fn add(args: &WebhookAddArgs) -> Result<u8, RequestError> {
    let body = NewWebhook {
        url: args.url.clone(),
        lifecycles: args.lifecycle.clone(),
        events: args.event.clone(),
        audience: Some(args.audience.clone()),
        note: args.note.clone(),
    };
    let made = ServerConnection::find(&args.ask.reach)?.post(&ApiPath::new(&["webhooks"]), &body)?;
    Ok(print::answer(&made, args.ask.json, |made| {
        print::line(text(made, "secret"));
        let id = made.pointer("/details/id").and_then(Json::as_str).unwrap_or_default();
        print::message(styled!(
            "webhook {id} sends events to {} from now on. Give the secret to the receiver: it is not shown again",
            args.url
        ));
    }))
}

fn list(args: &WebhookListArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?;
    let found = fetch_list(&server, &ApiPath::new(&["webhooks"]), ListSize::All)?;
    Ok(found.print(args.ask.json, "no webhooks. Add one with: trackside webhook add URL", show_webhooks))
}

fn show_webhooks(webhooks: &[Json]) {
    print_table(["ID", "URL", "OF", "IS", "UP TO", "DEAD", "HOLDER", "NOTE"], webhooks, |it| {
        let of: Vec<&str> = texts(it, "lifecycles").into_iter().chain(texts(it, "events")).collect();
        let is = match text(it, "why") {
            "" => text(it, "state").to_owned(),
            why => format!("{}: {why}", text(it, "state")),
        };
        [
            text(it, "id").to_owned(),
            text(it, "url").to_owned(),
            if of.is_empty() { "everything".to_owned() } else { of.join(", ") },
            is,
            number(it, "cursor").to_string(),
            number(it, "dead").to_string(),
            text(it, "holder").to_owned(),
            text(it, "note").to_owned(),
        ]
    });
}

fn remove(args: &WebhookRemoveArgs) -> Result<u8, RequestError> {
    ServerConnection::find(&args.reach)?.delete(&ApiPath::new(&["webhooks", &args.id]))?;
    print::message(styled!("webhook {} is removed", args.id));
    Ok(exit::DONE)
}

fn deliveries(args: &WebhookDeliveriesArgs) -> Result<u8, RequestError> {
    let route = ApiPath::new(&["webhooks", &args.id, "deliveries"]).with_some("state", args.state.as_ref());
    let found = fetch_list(&ServerConnection::find(&args.list.ask.reach)?, &route, &args.list.page)?;
    Ok(found.print(args.list.ask.json, "no deliveries", show_deliveries))
}

fn show_deliveries(deliveries: &[Json]) {
    print_table(["SEQ", "IS", "TRIED", "LAST", "ANSWER", "NEXT", "WHY"], deliveries, |it| {
        let number = |name: &str| it.get(name).and_then(Json::as_u64).map(|it| it.to_string());
        [
            number("seq").unwrap_or_default(),
            text(it, "state").to_owned(),
            number("attempts").unwrap_or_default(),
            moment(text(it, "at")),
            number("status").unwrap_or_else(|| "-".to_owned()),
            moment_at(it, "nextAt"),
            text(it, "why").to_owned(),
        ]
    });
}

fn replay(args: &WebhookReplayArgs) -> Result<u8, RequestError> {
    let body = ReplayWebhook { seqs: args.seqs.clone() };
    let route = ApiPath::new(&["webhooks", &args.id, "replay"]);
    let answer = ServerConnection::find(&args.ask.reach)?.post(&route, &body)?;
    Ok(print::answer(&answer, args.ask.json, |answer| show_replay(answer, &args.id)))
}

fn show_replay(answer: &Json, id: &str) {
    let on = if is_true(answer, "enabled") { format!("webhook {id} is on again; ") } else { String::new() };
    let passed_over: Vec<String> =
        time_format::list(answer, "passedOver").iter().map(Json::to_string).collect();
    if !passed_over.is_empty() {
        print::message(styled!(
            "ignored, because they are not dead letters: {}. List dead letters with: trackside webhook deliveries {id} --state dead",
            passed_over.join(", ")
        ));
    }
    let count = number(answer, "queued");
    print::message(styled!("{on}{count} to be retried. Follow them with: trackside webhook deliveries {id}"));
}
