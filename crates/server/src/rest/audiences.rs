//! Audiences: who gets messages about waiting work, and where.

use std::collections::{BTreeMap, BTreeSet};

use axum::Json;
use axum::extract::{Path, State};
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command, Fire, TransitionRef};
use trackside_engine::fields::Fields;
use trackside_engine::key::{EntityKey, is_valid_id};
use trackside_lifecycle::guard::did_you_mean;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_lifecycle::value::Value;
use trackside_protocol::{
    AddressPut, AddressTested, AudienceAddressBody, AudienceBody, AudiencePut, AudienceQuiet, DeliveryTest,
    DeliveryTested, Page, Problem, ProblemCode,
};
use trackside_runtime::CommandAnswer;

use super::commands::submit;
use super::{Body, Cursors, Paging, Parameters, Required};
use crate::app::App;
use crate::auth::{Caller, resolve_roles};
use crate::delivery::{
    self, AUDIENCE, AddressValues, AlertChoice, AudienceMember, DeliveryAudience, DeliveryChannel,
    DeliveryMessage, MessageRecipient, QuietHours, ROLE,
};
use crate::problem::Refused;

/// Most members and addresses of an audience.
const MOST: usize = 64;
/// The longest value of an address, in bytes.
const LONGEST: usize = 4_096;

/// Lists audiences: those that were set, and those that packs declare.
#[utoipa::path(
    get, path = "/v1/audiences", tag = "delivery", operation_id = "audiences", params(Paging),
    responses((status = 200, body = Page<AudienceBody>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Parameters(page): Parameters<Paging>,
) -> Result<Json<Page<AudienceBody>>, Refused> {
    must_be_person(&caller)?;
    let (most, cursors) = (super::page_size(page.limit)?, Cursors::of(&["audiences"]));
    let after = cursors.place(page.cursor.as_deref())?;
    let page = app.blocking(move |app| {
        let set = DeliveryAudience::all(&app.reads)?.into_iter().map(|it| it.name);
        let mut names: BTreeSet<Name> = set.chain(declared(app).into_keys()).collect();
        names.retain(|it| after.as_deref().is_none_or(|after| it.as_str() > after));
        let shown: Vec<&Name> = names.iter().take(most).collect();
        let next_cursor = shown.last().filter(|_| names.len() > most).map(|it| cursors.give(it));
        let items = shown.into_iter().map(|name| body(app, name));
        Ok(Page { items: items.collect::<Result<_, _>>()?, next_cursor })
    });
    Ok(Json(page.await?))
}

/// Shows an audience, without the values of its addresses.
#[utoipa::path(
    get, path = "/v1/audiences/{name}", tag = "delivery", operation_id = "audience", params(("name" = String, Path)),
    responses((status = 200, body = AudienceBody), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn show(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Json<AudienceBody>, Refused> {
    must_be_person(&caller)?;
    check_name(&name)?;
    let shown = app.blocking(move |app| {
        let name = Name::new(&name);
        if app.reads.entity(&EntityKey::new(AUDIENCE, name.as_str()))?.is_none()
            && !declared(app).contains_key(&name)
        {
            let known = declared(app);
            let hint = did_you_mean(&name, known.keys().map(Name::as_str));
            return Err(Refused::new(
                ProblemCode::UnknownAudience,
                format!("There is no audience {name}{hint}"),
            ));
        }
        body(app, &name)
    });
    Ok(Json(shown.await?))
}

/// Sets an audience: its members, its addresses, and when messages are sent. Only a person with role admin may.
#[utoipa::path(
    put, path = "/v1/audiences/{name}", tag = "delivery", operation_id = "putAudience", params(("name" = String, Path)),
    request_body = AudiencePut,
    responses((status = 200, body = AudienceBody), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn put(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Required(wanted): Required<AudiencePut>,
) -> Result<Json<AudienceBody>, Refused> {
    caller.must_be_admin("set an audience")?;
    check_name(&name)?;
    let (given, by) = (name.clone(), caller.actor().id.clone());
    let (fields, values, exists) = app
        .blocking(move |app| {
            let (fields, values) = checked(app, &given, wanted)?;
            let exists = app.reads.entity(&EntityKey::new(AUDIENCE, given.as_str()))?.is_some();
            Ok((fields, values, exists))
        })
        .await?;
    // The values first: a message to a new address must find them.
    let audience = name.clone();
    app.blocking(move |app| app.delivery.secrets.set(&audience, values).map_err(Refused::broken)).await?;
    let entity = EntityKey::new(AUDIENCE, name.as_str());
    let ask = match exists {
        true => Ask::Fire(Fire {
            entity,
            what: TransitionRef::Event(Name::new("set")),
            fields,
            fence: None,
            if_version: None,
        }),
        false => {
            let mut fields = fields;
            let since = i64::try_from(app.reads.seq()).unwrap_or(i64::MAX);
            fields.put(&Name::new("since"), Value::Int(since));
            Ask::Create { entity, fields }
        }
    };
    let mut command = Command::new(Actor::engine(), ask);
    command.on_behalf_of = Some(by);
    if let CommandAnswer::Refused(refusal) = submit(&app, command).await? {
        return Err((&*refusal).into());
    }
    Ok(Json(app.blocking(move |app| body(app, &Name::new(&name))).await?))
}

/// Sends a test message to the addresses of an audience, and waits for the results. Nothing of it is journalled.
#[utoipa::path(
    post, path = "/v1/audiences/{name}/test", tag = "delivery", operation_id = "testAudience",
    params(("name" = String, Path), super::KeyHeader), request_body = Option<DeliveryTest>,
    responses((status = 200, body = DeliveryTested), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn test(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Body(wanted): Body<DeliveryTest>,
) -> Result<Json<DeliveryTested>, Refused> {
    caller.must_be_admin("send a test message")?;
    check_name(&name)?;
    let key = EntityKey::new(AUDIENCE, name.as_str());
    let found = app.read(move |reads| {
        let zone = reads.project().zone.clone();
        Ok(reads.entity(&key)?.map(|it| DeliveryAudience::of(&it, &zone)))
    });
    let unknown = || {
        Refused::new(
            ProblemCode::UnknownAudience,
            format!("The audience {name} has no addresses: set it first"),
        )
    };
    let audience = found.await?.ok_or_else(unknown)?;
    let is_meant = |it: &str| wanted.address.as_ref().is_none_or(|only| only == it);
    let mut results = Vec::new();
    for address in audience.addresses.iter().filter(|it| is_meant(&it.name)) {
        let problem = match delivery::usable_address(&app, &name, &address.name, &address.channel) {
            Err(why) => Some(why),
            Ok((channel, values)) => {
                let person = address.person.as_ref().map(Name::as_str).unwrap_or_default();
                let id = format!("test-{}", app.reads.seq());
                let to = MessageRecipient { audience: &name, person, delivery: &id };
                let message = DeliveryMessage::test(&app.public_url(), to);
                delivery::send(&app.delivery.sender, &channel, &values, &message).await.err().map(|it| it.why)
            }
        };
        results.push(AddressTested {
            address: address.name.clone(),
            channel: address.channel.clone(),
            problem,
        });
    }
    if results.is_empty() {
        let hint = did_you_mean(
            wanted.address.as_deref().unwrap_or_default(),
            audience.addresses.iter().map(|it| it.name.as_str()),
        );
        let detail = format!("The audience {name} has no such address{hint}");
        return Err(Refused::new(ProblemCode::UnknownAudience, detail));
    }
    Ok(Json(DeliveryTested { success: results.iter().all(|it| it.problem.is_none()), results }))
}

fn must_be_person(caller: &Caller) -> Result<(), Refused> {
    match caller.actor().kind {
        ActorKind::Human | ActorKind::System => Ok(()),
        ActorKind::Agent | ActorKind::Timeout => {
            Err(Refused::forbidden("Only people and systems may see audiences", "human"))
        }
    }
}

fn check_name(name: &str) -> Result<(), Refused> {
    if is_valid_id(name) && !name.contains(':') {
        return Ok(());
    }
    Err(Refused::parameter("name", "name must be 1 to 128 letters, digits and `._@-`"))
}

/// The audiences that packs declare, with what they say about them.
fn declared(app: &App) -> BTreeMap<Name, String> {
    let law = app.runtime.law();
    let all = law.packs().flat_map(|it| it.audiences.iter());
    all.map(|(name, about)| (name.clone(), about.to_string())).collect()
}

/// An audience as it is shown.
fn body(app: &App, name: &Name) -> Result<AudienceBody, Refused> {
    let entity = app.reads.entity(&EntityKey::new(AUDIENCE, name.as_str()))?;
    let about = declared(app).remove(name);
    let Some(entity) = entity else {
        return Ok(AudienceBody {
            name: name.to_string(),
            about,
            members: Vec::new(),
            addresses: Vec::new(),
            lifecycles: Vec::new(),
            alerts: "error".to_owned(),
            notifications: false,
            escalate_after: None,
            digest: None,
            quiet: None,
            people: Vec::new(),
        });
    };
    let audience = DeliveryAudience::of(&entity, &app.reads.project().zone);
    let text = |name: &str| entity.fields.text(name).map(str::to_owned);
    let addresses = audience.addresses.iter().map(|it| AudienceAddressBody {
        name: it.name.clone(),
        channel: it.channel.clone(),
        person: it.person.as_ref().map(Name::to_string),
        problem: delivery::usable_address(app, name, &it.name, &it.channel).err(),
    });
    Ok(AudienceBody {
        name: name.to_string(),
        about,
        members: entity.fields.texts("members").map(str::to_owned).collect(),
        addresses: addresses.collect(),
        lifecycles: audience.lifecycles.iter().map(Name::to_string).collect(),
        alerts: text("alerts").unwrap_or_else(|| "error".to_owned()),
        notifications: audience.notifications,
        escalate_after: audience.escalate_after.map(|it| it.to_string()),
        digest: audience.digest.map(|it| it.to_string()),
        quiet: text("quietFrom").zip(text("quietTo")).map(|(from, to)| AudienceQuiet {
            from,
            to,
            zone: text("zone"),
        }),
        people: delivery::people_of(app, &audience)?.iter().map(Name::to_string).collect(),
    })
}

fn wrong(field: &str, detail: impl Into<String>) -> Refused {
    let mut refused = Refused::new(ProblemCode::InvalidAudience, detail);
    if let Some(unmet) = refused.0.errors.first_mut() {
        unmet.field = Some(field.to_owned());
    }
    refused
}

/// The part that is stored in the journal, and the values of the addresses.
fn checked(
    app: &App,
    audience: &str,
    wanted: AudiencePut,
) -> Result<(Fields, BTreeMap<String, AddressValues>), Refused> {
    if wanted.members.len() > MOST || wanted.addresses.len() > MOST {
        return Err(wrong("members", format!("An audience has at most {MOST} members and {MOST} addresses")));
    }
    let law = app.runtime.law();
    let mut members = Vec::new();
    for member in &wanted.members {
        members.push(match AudienceMember::parse(member) {
            AudienceMember::Person(person) if is_valid_id(&person) && !person.contains(':') => {
                person.to_string()
            }
            AudienceMember::Person(person) => {
                let detail = format!("`{person}` is no id of a person. A rule is written as {ROLE}PACK:ROLE");
                return Err(wrong("members", detail));
            }
            AudienceMember::Role(role) => {
                let roles =
                    resolve_roles(&law, &[role.to_string()]).map_err(|it| wrong("members", it.0.detail))?;
                format!("{ROLE}{}", roles.first().unwrap_or(&role))
            }
        });
    }
    for name in &wanted.lifecycles {
        if law.pack(name).is_none() && law.newest(&Name::new(name)).is_none() {
            let known = law.lifecycle_names().iter().chain(law.packs().map(|it| &it.name));
            let hint = did_you_mean(name, known.map(Name::as_str));
            return Err(wrong("lifecycles", format!("There is no lifecycle and no pack {name}{hint}")));
        }
    }
    let alerts = wanted.alerts.unwrap_or_else(|| "error".to_owned());
    if AlertChoice::parse(&alerts).is_none() {
        return Err(wrong("alerts", format!("alerts is `none`, `error` or `all`, not `{alerts}`")));
    }
    let span = |field: &str, text: Option<&String>| match text {
        None => Ok(Value::Null),
        Some(text) => match Span::parse(text).filter(|it| it.0 >= 1_000) {
            Some(span) => Ok(Value::Span(span)),
            None => Err(wrong(field, format!("{field} is a span of at least 1s, such as 15m, not `{text}`"))),
        },
    };
    if let Some(AudienceQuiet { from, to, zone }) = &wanted.quiet {
        QuietHours::parse(from, to, zone.as_deref().unwrap_or_default())
            .map_err(|why| wrong("quiet", why))?;
    }
    let (mut addresses, mut values) = (Vec::new(), BTreeMap::new());
    for address in wanted.addresses {
        let (stored, own) = checked_address(app, audience, address)?;
        if values.insert(own.0.clone(), own.1).is_some() {
            return Err(wrong("addresses", format!("Two addresses have the name {}", own.0)));
        }
        addresses.push(stored);
    }
    let texts = |all: &[String]| Value::list(all.iter().map(|it| Value::text(it)).collect());
    let quiet = |part: fn(&AudienceQuiet) -> Option<&String>| {
        wanted.quiet.as_ref().and_then(part).map_or(Value::Null, |it| Value::text(it))
    };
    let fields = [
        ("members", texts(&members)),
        ("addresses", Value::list(addresses)),
        ("lifecycles", texts(&wanted.lifecycles)),
        ("alerts", Value::text(&alerts)),
        ("notifications", Value::Bool(wanted.notifications)),
        ("escalateAfter", span("escalateAfter", wanted.escalate_after.as_ref())?),
        ("digest", span("digest", wanted.digest.as_ref())?),
        ("quietFrom", quiet(|it| Some(&it.from))),
        ("quietTo", quiet(|it| Some(&it.to))),
        ("zone", quiet(|it| it.zone.as_ref())),
    ];
    Ok((fields.into_iter().collect(), values))
}

/// An address as it is stored, and its name with its values.
fn checked_address(
    app: &App,
    audience: &str,
    address: AddressPut,
) -> Result<(Value, (String, AddressValues)), Refused> {
    let AddressPut { name, channel, person, values } = address;
    if !is_valid_id(&name) || name.len() > MOST {
        return Err(wrong("addresses", "name of an address must be 1 to 64 letters, digits and `._@-`"));
    }
    let declared =
        DeliveryChannel::find(&app.options.data, &channel).map_err(|why| wrong("addresses", why))?;
    let values = match values {
        Some(values) => values,
        None => app.delivery.secrets.of(audience, &name).unwrap_or_default(),
    };
    let known = || declared.needs.iter().chain(declared.optional.keys());
    if let Some(unknown) = values.keys().find(|it| !known().any(|known| known == *it)) {
        let hint = did_you_mean(unknown, known().map(String::as_str));
        return Err(wrong("addresses", format!("The channel {channel} has no value {unknown}{hint}")));
    }
    if let Some(missing) =
        declared.needs.iter().find(|it| values.get(*it).is_none_or(|it| it.trim().is_empty()))
    {
        return Err(wrong(
            "addresses",
            format!("The address {name} needs a value {missing} for the channel {channel}"),
        ));
    }
    if let Some((long, _)) = values.iter().find(|(_, it)| it.len() > LONGEST) {
        return Err(wrong("addresses", format!("The value {long} is longer than {LONGEST} bytes")));
    }
    let mut stored = BTreeMap::from([
        (Name::new("name"), Value::text(&name)),
        (Name::new("channel"), Value::text(&channel)),
    ]);
    if let Some(person) = &person {
        stored.insert(Name::new("person"), Value::text(person));
    }
    Ok((Value::map(stored), (name, values)))
}
