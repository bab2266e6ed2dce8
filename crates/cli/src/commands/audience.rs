//! `trackside audience`: who gets messages about waiting work, and where.

use std::io::Read as _;

use serde_json::Value as Json;
use trackside_lifecycle::keys;
use trackside_lifecycle::source::{FromNode as _, Named, Problems, Sources, read};
use trackside_protocol::{AddressPut, AudiencePut, AudienceQuiet};

use crate::args::{AudienceArgs, AudienceCommand, AudienceListArgs, AudienceSetArgs};
use crate::files;
use crate::folder::CliError;
use crate::paging::{ListSize, fetch_list};
use crate::print;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::print_table;
use crate::time_format::{list as listed, text, texts};
use crate::url::ApiPath;

keys! {
    /// An audience.
    struct AudienceDecl {
        /// Ids of people, and `role:PACK:ROLE`, in the order of escalation.
        members: Vec<String>,
        /// Addresses by name.
        addresses: Named<AddressDecl>,
        /// Only what concerns these lifecycles or packs.
        lifecycles: Vec<String>,
        /// `none`, `error` or `all`.
        alerts: Option<String>,
        /// Whether the notifications of packs to this audience are sent.
        notifications: Option<bool>,
        /// Tell members one after the other, each this long after the one before.
        escalate_after: Option<String>,
        /// Collect messages and send them at multiples of this span.
        digest: Option<String>,
        /// Hours in which only critical messages are sent.
        quiet: Option<QuietDecl>,
    }
}

keys! {
    /// An address.
    struct AddressDecl {
        /// The channel.
        channel: String,
        /// The member who reads it.
        person: Option<String>,
        /// The values that the channel needs.
        values: Option<Named<String>>,
    }
}

keys! {
    /// Hours of every day.
    struct QuietDecl {
        /// The start, such as 22:00.
        from: String,
        /// The end, such as 07:00.
        to: String,
        /// The time zone.
        zone: Option<String>,
    }
}

pub(crate) fn run(args: &AudienceArgs) -> u8 {
    let (outcome, json) = match &args.command {
        AudienceCommand::List(args) => (list(args), args.ask.json),
        AudienceCommand::Set(args) => (set(args), args.ask.json),
    };
    refused::finish(outcome, CommandSubject::default(), json)
}

fn list(args: &AudienceListArgs) -> Result<u8, RequestError> {
    let server = ServerConnection::find(&args.ask.reach)?;
    let found = fetch_list(&server, &ApiPath::new(&["audiences"]), ListSize::All)?;
    let none = "no audiences. Set one with: trackside audience set NAME FILE";
    Ok(found.print(args.ask.json, none, |audiences| {
        print_table(["AUDIENCE", "MEMBERS", "PEOPLE", "ADDRESSES", "ABOUT"], audiences, |it| {
            let addresses = listed(it, "addresses").iter().map(|it| match text(it, "problem") {
                "" => format!("{} ({})", text(it, "name"), text(it, "channel")),
                problem => format!("{}: {problem}", text(it, "name")),
            });
            [
                text(it, "name").to_owned(),
                texts(it, "members").join(", "),
                texts(it, "people").join(", "),
                addresses.collect::<Vec<_>>().join(", "),
                text(it, "about").to_owned(),
            ]
        });
    }))
}

fn set(args: &AudienceSetArgs) -> Result<u8, RequestError> {
    let body = declared(args)?;
    let server = ServerConnection::find(&args.ask.reach)?;
    let answer = server.put(&ApiPath::new(&["audiences", &args.name]), &body)?;
    Ok(print::answer(&answer, args.ask.json, |answer| {
        let people = texts(answer, "people");
        let people = if people.is_empty() { "without people so far".to_owned() } else { people.join(", ") };
        print::message(styled!(
            "audience {} is {people}. Try its addresses with: trackside delivery test {}",
            args.name,
            args.name
        ));
        unreachable_people(answer);
    }))
}

/// Says which people have no address.
fn unreachable_people(answer: &Json) {
    let has_shared = listed(answer, "addresses").iter().any(|it| text(it, "person").is_empty());
    let missing: Vec<&str> = texts(answer, "people")
        .into_iter()
        .filter(|person| !listed(answer, "addresses").iter().any(|it| text(it, "person") == *person))
        .collect();
    if !missing.is_empty() && !has_shared {
        print::message(styled!("without an address: {}", missing.join(", ")));
    }
}

fn declared(args: &AudienceSetArgs) -> Result<AudiencePut, CliError> {
    let path = args.file.display().to_string();
    let content = match path.as_str() {
        "-" => {
            let mut content = String::new();
            let done = std::io::stdin().read_to_string(&mut content);
            done.map_err(|it| CliError::usage(format!("standard input cannot be read: {it}")))?;
            content
        }
        _ => std::fs::read_to_string(&args.file)
            .map_err(|it| CliError::usage(files::unread(&args.file, &it).to_string()))?,
    };
    let (mut sources, mut problems) = (Sources::default(), Problems::default());
    let file = sources.add(&path, &content);
    let node = read(&sources, file, &mut problems);
    let declared = node.and_then(|it| AudienceDecl::from_node(&it, &mut problems));
    let Some(declared) = declared.filter(|_| !problems.has_errors()) else {
        return Err(CliError::usage(problems.render(&sources, false)));
    };
    let addresses = declared.addresses.iter().map(|(name, it)| AddressPut {
        name: name.it.to_string(),
        channel: it.channel.clone(),
        person: it.person.clone(),
        values: it
            .values
            .as_ref()
            .map(|all| all.iter().map(|(name, value)| (name.it.to_string(), value.clone())).collect()),
    });
    Ok(AudiencePut {
        addresses: addresses.collect(),
        members: declared.members,
        lifecycles: declared.lifecycles,
        alerts: declared.alerts,
        notifications: declared.notifications.unwrap_or_default(),
        escalate_after: declared.escalate_after,
        digest: declared.digest,
        quiet: declared.quiet.map(|it| AudienceQuiet { from: it.from, to: it.to, zone: it.zone }),
    })
}
