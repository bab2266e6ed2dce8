//! The part of a lifecycle's `work:` block that the runner needs.

use serde_json::{Map, Value};

#[derive(Clone, Debug, Default)]
pub struct WorkRule {
    /// The event that takes an entity.
    pub claim: Option<String>,
    /// The query that lists the entities that wait.
    pub query: Option<String>,
    /// The server chooses the next entity, by the lifecycle's ranking.
    pub claims_by_ranking: bool,
    /// Actions that the block declares.
    pub actions: Vec<String>,
    pub has_meter: bool,
    /// The agent's own record.
    pub agent: Option<AgentRecordRule>,
    /// The exit code that counts when the runner ended the process on an order of the server.
    pub stopped_code: i64,
}

#[derive(Clone, Debug, Default)]
pub struct AgentRecordRule {
    pub lifecycle: String,
    pub fields: Map<String, Value>,
    /// The event after the registration, and the one after the work.
    pub ready: Option<String>,
    pub leave: Option<String>,
}

/// The key of a block for every agent, with any role or none.
const ANY_AGENT: &str = "agent";

impl WorkRule {
    /// Reads the rule of a role from the body of a lifecycle.
    pub fn read(lifecycle: &Value, role: &str) -> Option<Self> {
        let block = lifecycle.get("work")?.get(role)?;
        let text = |name: &str| block.get(name).and_then(Value::as_str).map(str::to_owned);
        let names = ["begin", "done", "failed", "meter", "note"];
        let actions: Vec<String> = names
            .iter()
            .filter(|it| block.get(**it).is_some_and(|it| !it.is_null()))
            .map(|it| (*it).to_owned())
            .collect();
        let agent = block.get("agent").and_then(|it| {
            Some(AgentRecordRule {
                lifecycle: it.get("lifecycle")?.as_str()?.to_owned(),
                fields: it.get("fields").and_then(Value::as_object).cloned().unwrap_or_default(),
                ready: it.get("ready").and_then(Value::as_str).map(str::to_owned),
                leave: it.get("leave").and_then(Value::as_str).map(str::to_owned),
            })
        });
        Some(Self {
            claim: text("claim"),
            query: text("query"),
            claims_by_ranking: block.get("claimRoute").and_then(Value::as_bool).unwrap_or(false),
            has_meter: actions.iter().any(|it| it == "meter"),
            actions,
            agent,
            stopped_code: block.get("stopped").and_then(Value::as_i64).unwrap_or(42),
        })
    }

    /// The roles of a lifecycle that have work. The one that takes an entity earliest in its life comes first.
    pub fn roles(lifecycle: &Value) -> Vec<String> {
        let list = |name: &str| lifecycle.get("definition").and_then(|it| it.get(name)?.as_array());
        let states: Vec<&str> =
            list("nodes").into_iter().flatten().filter_map(|it| it.get("name")?.as_str()).collect();
        let place = |claim: Option<&Value>| {
            let edges = list("edges").into_iter().flatten();
            let own = edges.filter(|it| claim.is_some() && it.get("transition") == claim);
            let from = own.filter_map(|it| it.get("from")?.as_str());
            from.filter_map(|it| states.iter().position(|state| *state == it)).min().unwrap_or(usize::MAX)
        };
        let block = lifecycle.get("work").and_then(Value::as_object);
        let mut roles: Vec<(usize, String)> = Vec::new();
        for (role, rule) in block.into_iter().flatten() {
            roles.push((place(rule.get("claim").filter(|it| it.is_string())), role.clone()));
        }
        roles.sort();
        roles.into_iter().map(|(_, role)| role).collect()
    }

    /// The name of a role of a pack; none if the work is for every agent.
    pub fn role_name(pack: &str, role: &str) -> Option<String> {
        (role != ANY_AGENT).then(|| format!("{pack}:{role}"))
    }

    pub fn has(&self, action: &str) -> bool {
        self.actions.iter().any(|it| it == action)
    }
}
