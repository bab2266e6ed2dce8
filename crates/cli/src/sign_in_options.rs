//! Options of `up` that let people sign in without a credential of Trackside. They decide who is the owner, so a project
//! that has people accepts only those that a person chose.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use trackside_server::BoundServer;

use crate::args::UpArgs;
use crate::folder::CliError;
use crate::person::NoPerson;
use crate::styled::BREAK;
use crate::{files, person};

/// The file in the data folder with the accepted options.
const FILE: &str = "sign-in.json";

/// The options that decide who signs in, as they were given.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SignInOptions {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    trusted_proxies: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_header: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    issuer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    issuer_certificates: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    people: Option<PathBuf>,
}

impl SignInOptions {
    /// The options of this start; none if people sign in with links alone.
    fn of(args: &UpArgs) -> Option<Self> {
        if args.proxy_user_header.is_none() && args.oidc_issuer.is_none() {
            return None;
        }
        let absolute = |it: &PathBuf| std::path::absolute(it).unwrap_or_else(|_| it.clone());
        Some(Self {
            // Without the header, a proxy names no person.
            trusted_proxies: match args.proxy_user_header {
                Some(_) => args.trust_proxy.clone(),
                None => Vec::new(),
            },
            user_header: args.proxy_user_header.clone(),
            issuer: args.oidc_issuer.clone(),
            client_id: args.oidc_client_id.clone(),
            issuer_certificates: args.oidc_ca.as_ref().map(absolute),
            people: args.people.as_ref().map(absolute),
        })
    }

    /// The options that were accepted for this folder.
    fn read(path: &Path) -> Option<Self> {
        serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()
    }
}

/// Checks the options and stores them: those of a new project, those that the folder has already, and those of the owner.
pub(crate) fn check(args: &UpArgs, bound: &BoundServer, is_new: bool) -> Result<(), CliError> {
    let Some(wanted) = SignInOptions::of(args) else { return Ok(()) };
    let path = args.data.data.join(FILE);
    if SignInOptions::read(&path).as_ref() == Some(&wanted) {
        return Ok(());
    }
    if !is_new && !has_owner_token(bound)? {
        person::check_without_server().map_err(not_accepted)?;
    }
    let text = serde_json::to_string_pretty(&wanted).map_err(|it| CliError::unreachable(it.to_string()))?;
    files::write_secret(&path, &format!("{text}\n")).map_err(|error| CliError::unwritten(&path, &error))
}

fn has_owner_token(bound: &BoundServer) -> Result<bool, CliError> {
    let Ok(token) = std::env::var("TRACKSIDE_TOKEN") else { return Ok(false) };
    Ok(bound.is_any_owner_token(token.trim())?)
}

fn not_accepted(why: NoPerson) -> CliError {
    let reason = match why {
        NoPerson::Token => "TRACKSIDE_TOKEN is not a token of the owner".to_owned(),
        why => why.reason(),
    };
    CliError::forbidden(styled!(
        "The options for OpenID and proxies decide who acts as the owner, and they are not those that this project had. Only a person at a terminal may change them, and {reason}.{BREAK}\
         Ask the owner to start the server with them at a terminal once, or set TRACKSIDE_TOKEN to a token of the owner"
    ))
}
