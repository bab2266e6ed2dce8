//! Codes of problem documents: those of the engine's refusals, and those of HTTP and MCP.

use std::fmt;

use trackside_engine::refusal::Code;

/// `Variant = "text", HTTP status, ["next step", …];` with next steps as in the engine's table.
macro_rules! problem_codes {
    ($($variant:ident = $text:literal, $status:literal, $next:expr;)+) => {
        /// The reason why a request was refused or failed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ProblemCode { Refusal(Code), $($variant),+ }

        impl ProblemCode {
            const OWN: &[Self] = &[$(Self::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self { Self::Refusal(code) => code.as_str(), $(Self::$variant => $text),+ }
            }

            pub const fn http_status(self) -> u16 {
                match self { Self::Refusal(code) => code.http_status(), $(Self::$variant => $status),+ }
            }

            /// Templates of the next step, in order of preference. If there are none, the unmet conditions decide.
            pub const fn next_steps(self) -> &'static [&'static str] {
                match self { Self::Refusal(code) => code.next_steps(), $(Self::$variant => &$next),+ }
            }
        }
    };
}

const LATER: &str = "try again in a moment";

problem_codes! {
    AmbiguousApproval = "ambiguous-approval", 409, [];
    AmbiguousRole = "ambiguous-role", 422, [];
    ArchiveMissing = "archive-missing", 409, [];
    ArtifactDamaged = "artifact-damaged", 500,
        ["send the content again: `PUT` replaces a damaged file"];
    BatchRefused = "batch-refused", 422, [];
    BeyondTheEnd = "beyond-the-end", 422, [];
    ClockNotCorrected = "clock-not-corrected", 409, [];
    ClockNotManual = "clock-not-manual", 409, [];
    ForeignHost = "foreign-host", 421, [];
    HashMismatch = "hash-mismatch", 422, [];
    InThePast = "in-the-past", 422, [];
    Internal = "internal", 500, [];
    InvalidArguments = "invalid-arguments", 400, [];
    InvalidAudience = "invalid-audience", 422, [];
    InvalidBody = "invalid-body", 400, [];
    InvalidCursor = "invalid-cursor", 400, [];
    InvalidPack = "invalid-pack", 422, [];
    InvalidParameter = "invalid-parameter", 400, [];
    InvalidQuery = "invalid-query", 422, [];
    InvalidRequest = "invalid-request", 400, [];
    InvalidToken = "invalid-token", 422, [];
    InvalidWebhook = "invalid-webhook", 422, [];
    InvalidWhere = "invalid-where", 422, [];
    JournalDamaged = "journal-damaged", 409,
        ["leave the folder as it is and compare it with a backup: docs/operating/recovery.md"];
    MadeBefore = "made-before", 409, [];
    MethodNotAllowed = "method-not-allowed", 405, [];
    NoPolicy = "no-policy", 422, [];
    NoSpace = "no-space", 507, ["free some space, then try again: docs/operating/data-folder.md"];
    NoSuchDecision = "no-such-decision", 422, [];
    NoWork = "no-work", 404, [];
    NotDone = "not-done", 424, [];
    NotJson = "not-json", 400, [];
    NotYet = "not-yet", 422, [];
    OlderVersion = "older-version", 409, [];
    Overloaded = "overloaded", 429, [LATER];
    PolicyFailed = "policy-failed", 422, [];
    RateLimited = "rate-limited", 429, [];
    ReportMissing = "report-missing", 422, [];
    ReportMoves = "moves", 422, [];
    ReservedPack = "reserved-pack", 409, [];
    RulesChanged = "rules-changed", 409, [];
    Stopping = "stopping", 503, [LATER];
    Timeout = "timeout", 503, [];
    TooExpensive = "too-expensive", 422, [];
    TooFar = "too-far", 422, [];
    TooLarge = "too-large", 413, [];
    TooManyWebhooks = "too-many-webhooks", 422, [];
    TranscriptGap = "transcript-gap", 409, [];
    Unauthorized = "unauthorized", 401,
        ["set TRACKSIDE_TOKEN to a valid token, or name the server's data folder with --data"];
    Unavailable = "unavailable", 503, [LATER];
    UnknownAlert = "unknown-alert", 404, [];
    UnknownApproval = "unknown-approval", 404, [];
    UnknownArtifact = "unknown-artifact", 404, [];
    UnknownAudience = "unknown-audience", 404, [];
    UnknownChange = "unknown-change", 404, [];
    UnknownEffect = "unknown-effect", 404, [];
    UnknownEntry = "unknown-entry", 404, [];
    UnknownQuery = "unknown-query", 404, [];
    UnknownRole = "unknown-role", 422, [];
    UnknownRoute = "unknown-route", 404, [];
    UnknownWorktree = "unknown-worktree", 404, [];
    VersionInUse = "version-in-use", 409, [];
    WorkFailed = "work-failed", 422, [];
}

impl ProblemCode {
    /// None for an unknown code, such as one of a newer server.
    pub fn parse(text: &str) -> Option<Self> {
        let own = || Self::OWN.iter().copied().find(|it| it.as_str() == text);
        Code::parse(text).map(Self::Refusal).or_else(own)
    }
}

impl From<Code> for ProblemCode {
    fn from(code: Code) -> Self {
        Self::Refusal(code)
    }
}

impl fmt::Display for ProblemCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_read_back_as_itself() {
        for code in ProblemCode::OWN {
            assert_eq!(ProblemCode::parse(code.as_str()), Some(*code), "{code} is a refusal code too");
        }
        assert_eq!(ProblemCode::parse("lease-held"), Some(Code::LeaseHeld.into()));
        assert_eq!(ProblemCode::parse("from-the-future"), None);
    }
}
