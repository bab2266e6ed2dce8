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
use crate::table::TextTable;
use crate::time_format::{self, moment, text, texts};
use crate::url::ApiPath;
use crate::{exit, print};

pub(crate) fn run(args: &WebhookArgs) -> u8 {
    let (outcome, json) = match &args.command {
        WebhookCommand::Add(args) => (add(args), args.ask.json),
        WebhookCommand::List(args) => (list(args), args.ask.json),
        WebhookCommand::Remove(args) => (remove(args), false),
        WebhookCommand::Deliveries(args) => (deliveries(args), args.ask.json),
        WebhookCommand::Replay(args) => (replay(args), args.ask.json),
    };
    refused::finish(outcome, CommandSubject::default(), json)
}

fn add(args: &WebhookAddArgs) -> Result<u8, RequestError> {
    let body = NewWebhook {
        url: args.url.clone(),
        lifecycles: args.lifecycle.clone(),
        events: args.event.clone(),
        audience: Some(args.audience.as_str().to_owned()),
        note: args.note.clone(),
    };
    let made = ServerConnection::find(&args.ask.reach)?.post(&ApiPath::new(&["webhooks"]), &body)?;
    if args.ask.json {
        print::line(&format!("{made:#}"));
        return Ok(exit::DONE);
    }
    print::line(text(&made, "secret"));
    let id = made.pointer("/details/id").and_then(Json::as_str).unwrap_or_default();
    print::message(&format!(
        "webhook {id} sends events to {} from now on. Give the secret to the receiver: it is not shown again",
        args.url
    ));
    Ok(exit::DONE)
}

fn list(args: &WebhookListArgs) -> Result<u8, RequestError> {
    let found =
        fetch_list(&ServerConnection::find(&args.ask.reach)?, &ApiPath::new(&["webhooks"]), ListSize::All)?;
    if args.ask.json {
        print::line(&format!("{:#}", found.to_json()));
        return Ok(exit::DONE);
    }
    if found.items.is_empty() {
        print::message("no webhooks. Add one with: trackside webhook add URL");
        return Ok(exit::DONE);
    }
    let mut table = TextTable::new(&["ID", "URL", "OF", "IS", "UP TO", "DEAD", "HOLDER", "NOTE"]);
    for it in &found.items {
        let number = |name: &str| it.get(name).and_then(Json::as_u64).unwrap_or_default().to_string();
        let of: Vec<&str> = texts(it, "lifecycles").into_iter().chain(texts(it, "events")).collect();
        let is = match text(it, "why") {
            "" => text(it, "state").to_owned(),
            why => format!("{}: {why}", text(it, "state")),
        };
        table.row([
            text(it, "id").to_owned(),
            text(it, "url").to_owned(),
            if of.is_empty() { "everything".to_owned() } else { of.join(", ") },
            is,
            number("cursor"),
            number("dead"),
            text(it, "holder").to_owned(),
            text(it, "note").to_owned(),
        ]);
    }
    table.show();
    Ok(exit::DONE)
}

fn remove(args: &WebhookRemoveArgs) -> Result<u8, RequestError> {
    ServerConnection::find(&args.reach)?.delete(&ApiPath::new(&["webhooks", &args.id]))?;
    print::message(&format!("webhook {} is removed", args.id));
    Ok(exit::DONE)
}

fn deliveries(args: &WebhookDeliveriesArgs) -> Result<u8, RequestError> {
    let route = ApiPath::new(&["webhooks", &args.id, "deliveries"]).with_some("state", args.state.as_ref());
    let much = ListSize::new(args.limit.map(|it| it as usize), args.all);
    let found = fetch_list(&ServerConnection::find(&args.ask.reach)?, &route, much)?;
    if args.ask.json {
        print::line(&format!("{:#}", found.to_json()));
        return Ok(exit::DONE);
    }
    if found.items.is_empty() {
        print::message("no deliveries");
        return Ok(exit::DONE);
    }
    let mut table = TextTable::new(&["SEQ", "IS", "TRIED", "LAST", "ANSWER", "NEXT", "WHY"]);
    for it in &found.items {
        let number = |name: &str| it.get(name).and_then(Json::as_u64).map(|it| it.to_string());
        let next = Some(text(it, "nextAt")).filter(|it| !it.is_empty()).map(moment);
        table.row([
            number("seq").unwrap_or_default(),
            text(it, "state").to_owned(),
            number("attempts").unwrap_or_default(),
            moment(text(it, "at")),
            number("status").unwrap_or_else(|| "-".to_owned()),
            next.unwrap_or_else(|| "-".to_owned()),
            text(it, "why").to_owned(),
        ]);
    }
    table.show();
    found.tell_more();
    Ok(exit::DONE)
}

fn replay(args: &WebhookReplayArgs) -> Result<u8, RequestError> {
    let body = ReplayWebhook { seqs: args.seqs.clone() };
    let route = ApiPath::new(&["webhooks", &args.id, "replay"]);
    let answer = ServerConnection::find(&args.ask.reach)?.post(&route, &body)?;
    if args.ask.json {
        print::line(&format!("{answer:#}"));
        return Ok(exit::DONE);
    }
    let count = answer.get("replayed").and_then(Json::as_u64).unwrap_or_default();
    let on = match answer.get("enabled").and_then(Json::as_bool) {
        Some(true) => format!("webhook {} is on again; ", args.id),
        _ => String::new(),
    };
    let passed_over: Vec<String> =
        time_format::list(&answer, "passedOver").iter().map(Json::to_string).collect();
    if !passed_over.is_empty() {
        print::message(&format!(
            "ignored, because they are not dead letters: {}. List dead letters with: trackside webhook deliveries {} --state dead",
            passed_over.join(", "),
            args.id
        ));
    }
    print::message(&format!(
        "{on}{count} to be retried. Follow them with: trackside webhook deliveries {}",
        args.id
    ));
    Ok(exit::DONE)
}
