//! The environment of an agent's process.

use std::collections::BTreeMap;

/// Variables that every run gets if they are set.
const COMMON: [&str; 12] = [
    "PATH",
    "LANG",
    "LANGUAGE",
    "TERM",
    "COLORTERM",
    "TZ",
    "USER",
    "LOGNAME",
    "SHELL",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];

/// Variables that a command without a sandbox does not get either, by how their names end.
const CREDENTIAL_ENDINGS: [&str; 6] = ["_TOKEN", "_KEY", "_SECRET", "_PASSWORD", "_PASSWD", "_CREDENTIALS"];
/// By how their names begin: the owner's variables, and git's, which would send git into another repository.
const CREDENTIAL_BEGINNINGS: [&str; 2] = ["TRACKSIDE_", "GIT_"];

/// Variables that lead out of a sandbox or load code into every program. `--env` cannot name them.
const FORBIDDEN: [&str; 14] = [
    "SSH_AUTH_SOCK",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "DOCKER_HOST",
    "BASH_ENV",
    "ENV",
    "NODE_OPTIONS",
    "RUSTC_WRAPPER",
    "PYTHONSTARTUP",
    "PYTHONPATH",
    "PERL5LIB",
    "RUBYOPT",
    "PROMPT_COMMAND",
];
const FORBIDDEN_BEGINNINGS: [&str; 3] = ["LD_", "DYLD_", "TRACKSIDE_"];

/// Variables and, of these, the values that must not be written anywhere.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RunEnvironment {
    pub variables: BTreeMap<String, String>,
    pub secrets: Vec<String>,
}

impl std::fmt::Debug for RunEnvironment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunEnvironment").field("variables", &self.variables.keys()).finish_non_exhaustive()
    }
}

/// What the run may have of the caller's environment.
#[derive(Clone, Debug, Default)]
pub struct EnvironmentRequest<'a> {
    /// Named with `--env`.
    pub named: &'a [String],
    /// Named by the adapter, for the login of its program.
    pub login: &'a [String],
    /// Without a sandbox the run gets everything but credentials.
    pub sandboxed: bool,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvironmentError {
    #[error(
        "{0} cannot be passed to an agent: it leads out of the sandbox or loads code into other programs"
    )]
    Forbidden(String),
    #[error("{0} is not set, so it cannot be passed on with --env")]
    Missing(String),
}

impl RunEnvironment {
    /// Chooses from the caller's variables.
    pub fn choose(
        caller: &BTreeMap<String, String>,
        request: &EnvironmentRequest<'_>,
    ) -> Result<Self, EnvironmentError> {
        let mut chosen = Self::default();
        for (name, value) in caller {
            let common = COMMON.contains(&name.as_str()) || name.starts_with("LC_");
            if common || !request.sandboxed && !is_credential(name) && !is_forbidden(name) {
                chosen.variables.insert(name.clone(), value.clone());
            }
        }
        for name in request.login {
            if let Some(value) = caller.get(name) {
                chosen.add_secret(name, value);
            }
        }
        for name in request.named {
            if is_forbidden(name) {
                return Err(EnvironmentError::Forbidden(name.clone()));
            }
            let value = caller.get(name).ok_or_else(|| EnvironmentError::Missing(name.clone()))?;
            chosen.add_secret(name, value);
        }
        Ok(chosen)
    }

    /// Sets a variable whose value is no secret.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.variables.insert(name.to_owned(), value.into());
    }

    /// Sets a variable whose value must not be written anywhere.
    pub fn add_secret(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.to_owned());
        self.secrets.push(value.to_owned());
    }
}

/// Whether a variable's name says that its value is a credential.
pub fn is_credential(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    CREDENTIAL_ENDINGS.iter().any(|it| upper.ends_with(it) || upper == it.trim_start_matches('_'))
        || CREDENTIAL_BEGINNINGS.iter().any(|it| upper.starts_with(it))
        || ["AWS_", "AZURE_", "GOOGLE_", "CLOUDSDK_"].iter().any(|it| upper.starts_with(it))
}

fn is_forbidden(name: &str) -> bool {
    FORBIDDEN.contains(&name) || FORBIDDEN_BEGINNINGS.iter().any(|it| name.starts_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller() -> BTreeMap<String, String> {
        let names = [
            "PATH",
            "LC_ALL",
            "HOME",
            "EDITOR",
            "TRACKSIDE_TOKEN",
            "TRACKSIDE_URL",
            "GITHUB_TOKEN",
            "OPENAI_API_KEY",
            "AWS_PROFILE",
            "GIT_DIR",
            "LD_PRELOAD",
            "SSH_AUTH_SOCK",
            "DB_PASSWORD",
            "TOKEN",
        ];
        names.iter().map(|it| ((*it).to_owned(), format!("value of {it}"))).collect()
    }

    fn names(environment: &RunEnvironment) -> Vec<&str> {
        environment.variables.keys().map(String::as_str).collect()
    }

    #[test]
    fn a_sandboxed_run_gets_only_what_is_listed() {
        let request = EnvironmentRequest { sandboxed: true, ..EnvironmentRequest::default() };
        assert_eq!(names(&RunEnvironment::choose(&caller(), &request).unwrap()), ["LC_ALL", "PATH"]);
        let (named, login) = (["EDITOR".to_owned()], ["OPENAI_API_KEY".to_owned(), "NOT_SET".to_owned()]);
        let request = EnvironmentRequest { named: &named, login: &login, sandboxed: true };
        let chosen = RunEnvironment::choose(&caller(), &request).unwrap();
        assert_eq!(names(&chosen), ["EDITOR", "LC_ALL", "OPENAI_API_KEY", "PATH"]);
        assert_eq!(chosen.secrets, ["value of OPENAI_API_KEY", "value of EDITOR"]);
    }

    #[test]
    fn a_run_without_a_sandbox_gets_no_credential() {
        let chosen = RunEnvironment::choose(&caller(), &EnvironmentRequest::default()).unwrap();
        assert_eq!(names(&chosen), ["EDITOR", "HOME", "LC_ALL", "PATH"]);
    }

    #[test]
    fn a_variable_that_leads_out_of_the_sandbox_is_refused() {
        for name in ["LD_PRELOAD", "SSH_AUTH_SOCK", "TRACKSIDE_TOKEN"] {
            let named = [name.to_owned()];
            let request =
                EnvironmentRequest { named: &named, sandboxed: true, ..EnvironmentRequest::default() };
            let error = RunEnvironment::choose(&caller(), &request).unwrap_err();
            assert_eq!(error, EnvironmentError::Forbidden(name.to_owned()));
        }
        let named = ["NOT_SET".to_owned()];
        let request = EnvironmentRequest { named: &named, ..EnvironmentRequest::default() };
        assert_eq!(
            RunEnvironment::choose(&caller(), &request),
            Err(EnvironmentError::Missing("NOT_SET".to_owned()))
        );
    }

    #[test]
    fn secrets_do_not_show_in_debug_output() {
        let mut environment = RunEnvironment::default();
        environment.add_secret("X", "canary");
        assert!(!format!("{environment:?}").contains("canary"));
    }
}
