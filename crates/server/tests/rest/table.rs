//! The access table: the callers that each route admits. A new route needs a row here.

/// Every kind of caller, in the order of the columns.
pub(crate) const CALLERS: [&str; 11] = [
    "none",
    "bad",
    "revoked",
    "expired",
    "agent",
    "foreign",
    "acting-for",
    "not-for",
    "system",
    "person",
    "admin",
];

/// The owner of the entity in the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntityOwner {
    /// No particular entity.
    None,
    /// The caller's own, which no other actor may see.
    Own,
    /// Another actor's, which all may see.
    Other,
    /// Another actor's, which only its holder and admins may see.
    Hidden,
}

/// The expected answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Done,
    /// 401.
    Unknown,
    /// 403.
    Forbidden,
    /// 404.
    Hidden,
    /// Admitted, and refused because of the request itself.
    Refused,
}

/// A route, a request, and the expected answer for each caller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessRow {
    pub method: &'static str,
    pub path: &'static str,
    pub query: &'static str,
    pub body: &'static str,
    pub subject: EntityOwner,
    /// `2` done, `1` unknown, `3` forbidden, `4` hidden, `r` refused; blanks are for the eye.
    cells: &'static str,
    /// Whether the caller has no access afterwards.
    pub ends_its_caller: bool,
}

impl AccessRow {
    pub fn cell(&self, place: usize) -> Cell {
        let cells: Vec<char> = self.cells.chars().filter(|it| *it != ' ').collect();
        assert_eq!(cells.len(), CALLERS.len(), "{} {}", self.method, self.path);
        match cells[place] {
            '2' => Cell::Done,
            '1' => Cell::Unknown,
            '3' => Cell::Forbidden,
            '4' => Cell::Hidden,
            'r' => Cell::Refused,
            other => panic!("{other} is no cell"),
        }
    }
}

const fn row(
    method: &'static str,
    path: &'static str,
    subject: EntityOwner,
    cells: &'static str,
    body: &'static str,
) -> AccessRow {
    AccessRow { method, path, query: "", body, subject, cells, ends_its_caller: false }
}

const fn with(query: &'static str, row: AccessRow) -> AccessRow {
    AccessRow { query, ..row }
}

use EntityOwner::{Hidden, None, Other, Own};

//                       none bad revoked expired | agent foreign | acting-for not-for | system person admin
const EVERYBODY: &str = "2222 22 22 222";
const ANYONE: &str = "1111 22 23 222";
const ADMIN: &str = "1111 33 33 332";
const PEOPLE: &str = "1111 33 33 322";
const TAKERS: &str = "1111 33 23 232";
/// Another actor's hidden entity: only admins see it.
const SECRET: &str = "1111 44 43 442";
/// A change whose artifact does not exist.
const CHANGE: &str = r#"{"from":"aaaa","to":"bbbb","artifact":"0000000000000000000000000000000000000000000000000000000000000000"}"#;
/// The caller's own.
const MINE: &str = "1111 22 23 222";

/// The next line of a transcript that has one.
const LINE: &str = r#"{"lines":[{"number":2,"at":1,"kind":"message","text":"x"}]}"#;

/// The callers that each route admits.
pub(crate) const ROWS: &[AccessRow] = &[
    // Entities.
    row("POST", "/v1/entities/{lifecycle}", None, ANYONE, r#"{"fields":{"holder":"x"}}"#),
    row("GET", "/v1/entities/{lifecycle}", None, ANYONE, ""),
    with("?limit=200", row("GET", "/v1/entities/{lifecycle}", Hidden, ANYONE, "")),
    with("?where=secret%20!=%20null", row("GET", "/v1/entities/{lifecycle}", Hidden, ANYONE, "")),
    row("GET", "/v1/entities/{lifecycle}/{id}", Own, MINE, ""),
    row("GET", "/v1/entities/{lifecycle}/{id}", Other, ANYONE, ""),
    row("GET", "/v1/entities/{lifecycle}/{id}", Hidden, SECRET, ""),
    with("?at=1", row("GET", "/v1/entities/{lifecycle}/{id}", Hidden, "1111 44 43 444", "")),
    row("POST", "/v1/entities/{lifecycle}/{id}/transitions", Own, MINE, r#"{"event":"take"}"#),
    row("POST", "/v1/entities/{lifecycle}/{id}/transitions", Other, "1111 33 33 332", r#"{"event":"take"}"#),
    row("POST", "/v1/entities/{lifecycle}/{id}/transitions", Hidden, SECRET, r#"{"event":"take"}"#),
    with(
        "?dryRun=true",
        row("POST", "/v1/entities/{lifecycle}/{id}/transitions", Hidden, SECRET, r#"{"event":"take"}"#),
    ),
    row("GET", "/v1/entities/{lifecycle}/{id}/history", Own, MINE, ""),
    row("GET", "/v1/entities/{lifecycle}/{id}/history", Other, ANYONE, ""),
    row("GET", "/v1/entities/{lifecycle}/{id}/history", Hidden, SECRET, ""),
    row("GET", "/v1/entities/{lifecycle}/{id}/messages", Own, MINE, ""),
    row("GET", "/v1/entities/{lifecycle}/{id}/messages", Other, ANYONE, ""),
    row("GET", "/v1/entities/{lifecycle}/{id}/messages", Hidden, SECRET, ""),
    row("GET", "/v1/entities/{lifecycle}/{id}/explain", Own, MINE, ""),
    row("GET", "/v1/entities/{lifecycle}/{id}/explain", Other, ANYONE, ""),
    row("GET", "/v1/entities/{lifecycle}/{id}/explain", Hidden, SECRET, ""),
    // Worktrees and changes. None was reported, and there is no such artifact.
    row("GET", "/v1/entities/{lifecycle}/{id}/worktree", Own, "1111 44 43 444", ""),
    row("GET", "/v1/entities/{lifecycle}/{id}/worktree", Hidden, "1111 44 43 444", ""),
    row("GET", "/v1/entities/{lifecycle}/{id}/diff", Own, "1111 44 43 444", ""),
    row("GET", "/v1/entities/{lifecycle}/{id}/diff", Hidden, "1111 44 43 444", ""),
    row("POST", "/v1/entities/{lifecycle}/{id}/worktree", Own, "1111 33 33 232", r#"{"state":"ready"}"#),
    row("POST", "/v1/entities/{lifecycle}/{id}/worktree", Hidden, "1111 33 33 432", r#"{"state":"ready"}"#),
    row("POST", "/v1/entities/{lifecycle}/{id}/changes", Own, "1111 33 33 434", CHANGE),
    row("POST", "/v1/entities/{lifecycle}/{id}/changes", Hidden, "1111 33 33 434", CHANGE),
    with("?role=keeper", row("GET", "/v1/entities/{lifecycle}/{id}/work", Own, MINE, "")),
    with("?role=keeper", row("GET", "/v1/entities/{lifecycle}/{id}/work", Hidden, SECRET, "")),
    row("POST", "/v1/entities/{lifecycle}/claim", None, "1111 rr r3 rrr", "{}"),
    row("POST", "/v1/entities/{lifecycle}/{id}/heartbeat", Other, "1111 rr r3 rrr", r#"{"fence":1}"#),
    row("POST", "/v1/entities/{lifecycle}/{id}/heartbeat", Hidden, "1111 44 43 44r", r#"{"fence":1}"#),
    row("POST", "/v1/entities/{lifecycle}/{id}/correct", Own, ADMIN, r#"{"to":"TAKEN","reason":"so"}"#),
    row("POST", "/v1/entities/{lifecycle}/{id}/correct", Other, ADMIN, r#"{"to":"TAKEN","reason":"so"}"#),
    row(
        "POST",
        "/v1/entities/{lifecycle}/{id}/correct",
        Hidden,
        "1111 33 33 332",
        r#"{"to":"TAKEN","reason":"so"}"#,
    ),
    row(
        "POST",
        "/v1/batch",
        Other,
        ANYONE,
        r#"{"commands":[{"lifecycle":"{lifecycle}","id":"{id}","event":"take"}]}"#,
    ),
    row(
        "POST",
        "/v1/batch",
        Hidden,
        "1111 rr r3 rr2",
        r#"{"atomic":true,"commands":[{"lifecycle":"{lifecycle}","id":"{id}","event":"take"}]}"#,
    ),
    // Definitions and questions.
    row("GET", "/v1/lifecycles", None, ANYONE, ""),
    row("GET", "/v1/lifecycles/{lifecycle}", None, ANYONE, ""),
    row("GET", "/v1/lifecycles/{lifecycle}/diagram", None, ANYONE, ""),
    row("GET", "/v1/packs", None, ANYONE, ""),
    row("PUT", "/v1/packs/{pack}", None, "1111 33 33 33r", r#"{"files":{}}"#),
    row("GET", "/v1/queries/{pack}", None, ANYONE, ""),
    row("GET", "/v1/queries/{pack}/{name}", None, ANYONE, ""),
    row("GET", "/v1/settings", None, ANYONE, ""),
    row("PUT", "/v1/settings", None, ADMIN, r#"{"zone":"Europe/Berlin"}"#),
    row("GET", "/v1/settings/{pack}", None, ANYONE, ""),
    row("PUT", "/v1/settings/{pack}", None, ADMIN, "{}"),
    row("POST", "/v1/migrations", None, ADMIN, r#"{"lifecycle":"vault.open","to":1}"#),
    with("?dryRun=true", row("POST", "/v1/migrations", None, ADMIN, r#"{"lifecycle":"vault.open","to":1}"#)),
    // The journal, and notices for people.
    with("?after={seq}", row("GET", "/v1/journal", Hidden, ANYONE, "")),
    with("?audience=all", row("GET", "/v1/events", None, ANYONE, "")),
    with("?after={seq}&audience=all", row("GET", "/v1/events", Hidden, ANYONE, "")),
    row("GET", "/v1/stats", None, ANYONE, ""),
    row("GET", "/v1/alerts", None, ANYONE, ""),
    with("?all=true", row("GET", "/v1/alerts", Hidden, ANYONE, "")),
    row("POST", "/v1/alerts/{id}/acknowledge", Own, PEOPLE, "{}"),
    row("POST", "/v1/alerts/{id}/acknowledge", Other, PEOPLE, r#"{"note":"seen"}"#),
    row("POST", "/v1/alerts/{id}/acknowledge", Hidden, SECRET, "{}"),
    row("POST", "/v1/alerts/{id}/resolve", Own, PEOPLE, "{}"),
    row("POST", "/v1/alerts/{id}/resolve", Other, PEOPLE, r#"{"note":"done"}"#),
    row("POST", "/v1/alerts/{id}/resolve", Hidden, SECRET, "{}"),
    row("GET", "/v1/notifications", None, ANYONE, ""),
    row("GET", "/v1/violations", None, ANYONE, ""),
    row("POST", "/v1/sweep", None, ADMIN, ""),
    row("GET", "/v1/audit/verify", None, PEOPLE, ""),
    row("GET", "/v1/audit/export/{lifecycle}/{id}", Own, ADMIN, ""),
    row("GET", "/v1/audit/export/{lifecycle}/{id}", Other, ADMIN, ""),
    row("GET", "/v1/audit/export/{lifecycle}/{id}", Hidden, ADMIN, ""),
    row("GET", "/v1/export", Hidden, ANYONE, ""),
    with(
        "?dryRun=true",
        row(
            "POST",
            "/v1/import",
            None,
            ADMIN,
            r#"{"entities":[{"lifecycle":"vault.open","id":"I-1","origin":"x"}]}"#,
        ),
    ),
    row(
        "POST",
        "/v1/import",
        Hidden,
        "1111 33 33 33r",
        r#"{"entities":[{"lifecycle":"vault.closed","id":"{id}","origin":"x"}]}"#,
    ),
    row("POST", "/v1/archive", None, ADMIN, r#"{ "olderThan": "36500d" }"#),
    row("POST", "/v1/backup", None, ADMIN, "{}"),
    row(
        "POST",
        "/v1/redactions",
        Own,
        ADMIN,
        r#"{"lifecycle":"{lifecycle}","id":"{id}","all":true,"reason":"so"}"#,
    ),
    row(
        "POST",
        "/v1/redactions",
        Hidden,
        ADMIN,
        r#"{"lifecycle":"{lifecycle}","id":"{id}","all":true,"reason":"so"}"#,
    ),
    // Approvals, and effects.
    row("GET", "/v1/inbox", Hidden, ANYONE, ""),
    with("?kind=approval", row("GET", "/v1/inbox", Hidden, ANYONE, "")),
    row("GET", "/v1/approvals", Hidden, ANYONE, ""),
    row(
        "POST",
        "/v1/approvals/{id}/decision",
        Own,
        ADMIN,
        r#"{"decision":"approve","lifecycle":"vault.request"}"#,
    ),
    row(
        "POST",
        "/v1/approvals/{id}/decision",
        Hidden,
        SECRET,
        r#"{"decision":"approve","lifecycle":"vault.request"}"#,
    ),
    row("POST", "/v1/policy/evaluate", None, ANYONE, r#"{"action":"shell","pack":"mission"}"#),
    row("POST", "/v1/policy/request", None, ANYONE, r#"{"action":"shell","pack":"mission"}"#),
    row("GET", "/v1/runs", None, ANYONE, ""),
    // A run for the entity, by a runner of its own. It has not ended, and no caller is its runner.
    row("GET", "/v1/runs/{id}", Other, ANYONE, ""),
    row("GET", "/v1/runs/{id}", Hidden, SECRET, ""),
    row("GET", "/v1/runs/{id}/transcript", Other, ANYONE, ""),
    row("GET", "/v1/runs/{id}/transcript", Hidden, SECRET, ""),
    row("GET", "/v1/runs/{id}/verdict", Hidden, "1111 44 43 44r", ""),
    row("POST", "/v1/runs/{id}/steer", Other, "1111 44 43 322", r#"{"text":"x"}"#),
    row("POST", "/v1/runs/{id}/steer", Hidden, SECRET, r#"{"text":"x"}"#),
    row("POST", "/v1/runs/{id}/stop", Other, "1111 44 43 322", "{}"),
    row("POST", "/v1/runs/{id}/stop", Hidden, SECRET, "{}"),
    row("POST", "/v1/runs/{id}/transcript", Other, "1111 33 33 333", LINE),
    row("POST", "/v1/runs/{id}/transcript", Hidden, "1111 44 43 443", LINE),
    row("POST", "/v1/runs/{id}/apply", Other, "1111 44 43 332", r#"{"action":"done"}"#),
    row("POST", "/v1/runs/{id}/apply", Hidden, SECRET, r#"{"action":"done"}"#),
    row("GET", "/v1/effects", Hidden, ANYONE, ""),
    row("POST", "/v1/effects/take", Hidden, TAKERS, r#"{"limit":200}"#),
    // No worker has taken it under this fence.
    row("POST", "/v1/effects/{id}/result", Other, "1111 33 r3 r3r", r#"{"ok":true,"fence":1}"#),
    row("POST", "/v1/effects/{id}/result", Hidden, "1111 33 43 43r", r#"{"ok":true,"fence":1}"#),
    row("PUT", "/v1/artifacts/{sha256}", None, ANYONE, "x"),
    row("GET", "/v1/artifacts/{sha256}", None, ANYONE, ""),
    // Receivers outside.
    row("GET", "/v1/webhooks", None, ANYONE, ""),
    row(
        "POST",
        "/v1/webhooks",
        None,
        "1111 33 33 222",
        r#"{"url":"https://receiver.invalid/","events":["ERASED"]}"#,
    ),
    row("GET", "/v1/webhooks/{id}", Hidden, SECRET, ""),
    row("DELETE", "/v1/webhooks/{id}", Hidden, SECRET, ""),
    row("GET", "/v1/webhooks/{id}/deliveries", Hidden, SECRET, ""),
    row("POST", "/v1/webhooks/{id}/replay", Hidden, SECRET, "{}"),
    // Messages to people.
    row("GET", "/v1/audiences", None, "1111 33 33 222", ""),
    row("GET", "/v1/audiences/{name}", None, "1111 33 33 444", ""),
    row("PUT", "/v1/audiences/{name}", None, "1111 33 33 33r", r#"{"alerts":"loud"}"#),
    row("POST", "/v1/audiences/{name}/test", None, "1111 33 33 334", "{}"),
    row("GET", "/v1/deliveries", None, ANYONE, ""),
    // Identity.
    with("?nonce=00112233445566778899aabbccddeeff", row("GET", "/v1/identity", None, EVERYBODY, "")),
    row("GET", "/v1/whoami", None, ANYONE, ""),
    row("GET", "/v1/tokens", None, ANYONE, ""),
    row("POST", "/v1/tokens", None, ADMIN, r#"{"actor":"new","kind":"agent"}"#),
    row("POST", "/v1/tokens", Other, "1111 33 23 332", r#"{"actor":"ada","kind":"agent"}"#),
    row("POST", "/v1/tokens/rotate", None, ADMIN, ""),
    row("POST", "/v1/tokens/{id}/replace", Own, MINE, ""),
    row("POST", "/v1/tokens/{id}/replace", Hidden, "1111 44 43 443", ""),
    // None of them is a run token.
    row("POST", "/v1/tokens/{id}/extend", Own, "1111 44 43 443", ""),
    row("POST", "/v1/tokens/{id}/extend", Hidden, "1111 44 43 443", ""),
    row("DELETE", "/v1/tokens/{id}", Own, MINE, ""),
    row("DELETE", "/v1/tokens/{id}", Hidden, SECRET, ""),
    row("POST", "/v1/sign-in-links", None, PEOPLE, "{}"),
    row("POST", "/v1/sign-in-links", Other, ADMIN, r#"{"actor":"somebody"}"#),
    AccessRow { ends_its_caller: true, ..row("POST", "/v1/sign-out", None, ANYONE, "") },
    // Time and health.
    row("GET", "/v1/clock", None, ANYONE, ""),
    row("POST", "/v1/clock/advance", None, ADMIN, r#"{"by":"1s"}"#),
    row("POST", "/v1/clock/correct", None, "1111 33 33 33r", r#"{"direction":"back"}"#),
    row("GET", "/healthz", None, EVERYBODY, ""),
    row("GET", "/readyz", None, EVERYBODY, ""),
    row("GET", "/metrics", None, ANYONE, ""),
];
