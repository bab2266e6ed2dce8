//! Turns the output of an agent program into transcript lines and figures.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::definition::{AdapterDefinition, EventMeaning, EventRule, Transport, UsageScope};
use super::pattern::ValuePath;

/// Longest text of one transcript line.
const LONGEST: usize = 64 * 1024;
/// Largest number of tokens that is believed. The server refuses reports with numbers that it cannot store.
const MOST_TOKENS: u64 = 1 << 50;
/// Largest cost that is believed, in US dollars.
const MOST_COST: f64 = 1e9;
/// Longest name of a session or model.
const LONGEST_NAME: usize = 200;

/// Tokens and cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunUsage {
    /// Without cached tokens.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// In US dollars. `None` if the program does not say it.
    pub cost: Option<f64>,
}

impl RunUsage {
    fn plus(self, other: Self) -> Self {
        let cost = match (self.cost, other.cost) {
            (None, None) => None,
            (one, two) => Some((one.unwrap_or(0.0) + two.unwrap_or(0.0)).min(MOST_COST)),
        };
        Self {
            input: added(self.input, other.input),
            output: added(self.output, other.output),
            cache_read: added(self.cache_read, other.cache_read),
            cache_write: added(self.cache_write, other.cache_write),
            cost,
        }
    }

    /// The larger number of each kind of tokens.
    fn at_least(self, other: Self) -> Self {
        Self {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            cache_read: self.cache_read.max(other.cache_read),
            cache_write: self.cache_write.max(other.cache_write),
            ..self
        }
    }

    fn minus(self, earlier: Self) -> Self {
        Self {
            input: self.input.saturating_sub(earlier.input),
            output: self.output.saturating_sub(earlier.output),
            cache_read: self.cache_read.saturating_sub(earlier.cache_read),
            cache_write: self.cache_write.saturating_sub(earlier.cache_write),
            cost: self.cost.map(|it| (it - earlier.cost.unwrap_or(0.0)).max(0.0)),
        }
    }
}

fn added(one: u64, two: u64) -> u64 {
    one.saturating_add(two).min(MOST_TOKENS)
}

/// What an account may still use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QuotaWindow {
    /// As the program says it; `rejected` or the like when nothing is left.
    pub status: Option<String>,
    /// Seconds since 1970.
    pub resets_at: Option<i64>,
    /// Everything that the program says about its windows.
    pub windows: Value,
}

/// A tool call that waits for a permission.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingApproval {
    pub id: String,
    pub tool: String,
    pub input: Value,
    /// What it permits runs outside the program's own sandbox, which is the only one that an adapter with
    /// `own_sandbox` has. Without a policy that allows it, deny it.
    pub leaves_sandbox: bool,
    /// The id as the program wrote it, and the answers of its rule.
    pub(crate) original_id: Value,
    pub(crate) allow: Option<Value>,
    pub(crate) deny: Option<Value>,
}

/// The content of one transcript line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum TranscriptContent {
    Session {
        id: String,
        model: Option<String>,
        version: Option<String>,
    },
    Message {
        text: String,
    },
    Thinking {
        text: String,
    },
    /// What a person or the runner said.
    User {
        text: String,
    },
    ToolCall {
        id: String,
        name: String,
        input: Value,
    },
    ToolResult {
        id: String,
        text: String,
        failed: bool,
    },
    Retry {
        text: String,
    },
    Quota {
        window: QuotaWindow,
    },
    Warning {
        text: String,
    },
    Approval {
        id: String,
        tool: String,
        input: Value,
    },
    Error {
        text: String,
    },
    End {
        ok: bool,
        text: String,
        usage: RunUsage,
    },
    /// A line that is no event.
    Output {
        text: String,
    },
}

/// Reads the output of one run, line by line.
#[derive(Debug)]
pub struct AdapterReader {
    adapter: AdapterDefinition,
    /// Totals of the session before this run.
    earlier: RunUsage,
    /// Totals of the session after this run, as the program counts them.
    session_total: RunUsage,
    turns: RunUsage,
    steps: RunUsage,
    seen: BTreeSet<(usize, String)>,
    session: Option<String>,
    model: Option<String>,
    used: u64,
    window: Option<u64>,
    quota: Option<QuotaWindow>,
    detail: Value,
    end: Option<Value>,
    ok: bool,
    answer: Option<String>,
    message: Option<String>,
    retries: u32,
    /// The last thing that the program said is that it waits for the network.
    waits_for_network: bool,
    /// The session that the run was to continue.
    resumes: Option<String>,
    turn: Option<String>,
    /// Asked for and not withdrawn, oldest first.
    approvals: Vec<PendingApproval>,
}

impl AdapterReader {
    /// `earlier` are the totals of the session, if the run resumes one.
    pub fn new(adapter: AdapterDefinition, earlier: RunUsage) -> Self {
        let window = adapter.usage.window;
        Self {
            adapter,
            earlier,
            session_total: earlier,
            turns: RunUsage::default(),
            steps: RunUsage::default(),
            seen: BTreeSet::new(),
            session: None,
            model: None,
            used: 0,
            window,
            quota: None,
            detail: Value::Null,
            end: None,
            ok: false,
            answer: None,
            message: None,
            retries: 0,
            waits_for_network: false,
            resumes: None,
            turn: None,
            approvals: Vec::new(),
        }
    }

    /// Names the session that the run continues.
    pub fn resuming(mut self, session: Option<&str>) -> Self {
        self.resumes = session.map(str::to_owned);
        self
    }

    /// Reads one line of standard output.
    pub fn read_line(&mut self, line: &str) -> Vec<TranscriptContent> {
        let line = line.trim_end_matches(['\r', '\n']);
        if line.is_empty() {
            return Vec::new();
        }
        let event: Value = match (self.adapter.transport, serde_json::from_str(line)) {
            (Transport::Plain, _) => {
                if !line.trim().is_empty() {
                    self.answer = Some(line.trim().to_owned());
                }
                return vec![TranscriptContent::Output { text: cut(line) }];
            }
            (_, Err(_)) => return vec![TranscriptContent::Output { text: cut(line) }],
            (_, Ok(event)) => event,
        };
        let rules = std::mem::take(&mut self.adapter.events);
        let read = self.read_event(&rules, &event);
        self.adapter.events = rules;
        let waits = |text: &str| self.adapter.limits.network_wait.as_ref().is_some_and(|it| it.matches(text));
        self.waits_for_network = match read.last() {
            Some(TranscriptContent::Retry { text }) => waits(text),
            Some(_) => false,
            None => self.waits_for_network,
        };
        read
    }

    fn read_event(&mut self, rules: &[EventRule], event: &Value) -> Vec<TranscriptContent> {
        let mut lines = Vec::new();
        let mut consumed = BTreeSet::new();
        for (number, rule) in rules.iter().enumerate().filter(|(_, it)| it.when.matches(event)) {
            if let Some(path) = &rule.once_by
                && let Some(value) = path.find(event)
                && !self.seen.insert((number, value.to_string()))
            {
                continue;
            }
            match &rule.each {
                Some(path) => {
                    let elements =
                        path.find(event).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                    for (position, element) in elements.iter().enumerate() {
                        if rule.matching.matches(element) && consumed.insert(position) {
                            lines.extend(self.apply(rule, element));
                        }
                    }
                }
                None => {
                    lines.extend(self.apply(rule, event));
                    if !rule.also {
                        break;
                    }
                }
            }
        }
        lines
    }

    fn apply(&mut self, rule: &EventRule, from: &Value) -> Option<TranscriptContent> {
        let taken = Taken { rule, from };
        match rule.meaning {
            EventMeaning::Session => {
                let id = taken.text("id")?;
                if !is_session_id(&id) {
                    let text = "the program named a session whose id cannot be used".to_owned();
                    return Some(TranscriptContent::Warning { text });
                }
                let is_new = self.session.as_ref() != Some(&id);
                self.session = Some(id.clone());
                let model = taken.text("model").map(|it| it.chars().take(LONGEST_NAME).collect());
                self.model = model.or(self.model.take());
                if let Some(asked) = self.resumes.take().filter(|it| *it != id) {
                    // A program that does not find a session may begin another one, whose totals start at nothing.
                    (self.earlier, self.session_total) = (RunUsage::default(), RunUsage::default());
                    let text = format!("the program did not continue the session {asked}: it began {id}");
                    return Some(TranscriptContent::Warning { text });
                }
                // Some programs repeat it at every turn.
                is_new.then(|| TranscriptContent::Session {
                    id,
                    model: self.model.clone(),
                    version: taken.text("version"),
                })
            }
            EventMeaning::Message => {
                let text = taken.text("text")?;
                self.message = Some(text.clone());
                Some(TranscriptContent::Message { text })
            }
            EventMeaning::Thinking => Some(TranscriptContent::Thinking { text: taken.text("text")? }),
            EventMeaning::User => Some(TranscriptContent::User { text: taken.text("text")? }),
            EventMeaning::ToolCall => Some(TranscriptContent::ToolCall {
                id: taken.text("id").unwrap_or_default(),
                name: taken.text("name").unwrap_or_default(),
                input: taken.value("input").cloned().unwrap_or(Value::Null),
            }),
            EventMeaning::ToolResult => Some(TranscriptContent::ToolResult {
                id: taken.text("id").unwrap_or_default(),
                text: taken.text("text").unwrap_or_default(),
                failed: taken.is_failure(&self.adapter.succeeded),
            }),
            EventMeaning::Step => {
                let step = self.usage_of(&taken);
                self.used = added(step.input, added(step.cache_read, step.cache_write));
                self.steps = self.steps.plus(step);
                None
            }
            EventMeaning::Context => {
                self.used = taken.number("used").unwrap_or(self.used);
                self.window = taken.number("window").or(self.window);
                None
            }
            EventMeaning::Retry => {
                self.retries += 1;
                let parts: Vec<String> =
                    ["text", "reason", "status"].iter().filter_map(|it| taken.text(it)).collect();
                Some(TranscriptContent::Retry { text: parts.join(" ") })
            }
            EventMeaning::Quota => {
                let window = QuotaWindow {
                    status: taken.text("status"),
                    resets_at: taken.value("reset").and_then(Value::as_i64),
                    windows: taken.value("windows").cloned().unwrap_or(Value::Null),
                };
                self.quota = Some(window.clone());
                Some(TranscriptContent::Quota { window })
            }
            EventMeaning::Warning => Some(TranscriptContent::Warning { text: taken.text("text")? }),
            EventMeaning::Turn => {
                self.turn = taken.text("id");
                None
            }
            EventMeaning::Approval => {
                let asked = PendingApproval {
                    id: taken.text("id")?,
                    tool: taken.text("tool").unwrap_or_default(),
                    input: taken
                        .members("input")
                        .or_else(|| taken.value("input").cloned())
                        .unwrap_or(Value::Null),
                    leaves_sandbox: rule.leaves_sandbox,
                    original_id: taken.value("id")?.clone(),
                    allow: rule.allow.clone(),
                    deny: rule.deny.clone(),
                };
                let line = TranscriptContent::Approval {
                    id: asked.id.clone(),
                    tool: asked.tool.clone(),
                    input: asked.input.clone(),
                };
                self.approvals.push(asked);
                Some(line)
            }
            EventMeaning::ApprovalEnd => {
                let id = taken.text("id")?;
                self.approvals.retain(|it| it.id != id);
                None
            }
            EventMeaning::ErrorDetail => {
                let detail = rule
                    .take
                    .iter()
                    .filter_map(|(name, path)| Some((name.clone(), path.find(from)?.clone())));
                self.detail = Value::Object(detail.collect());
                Some(TranscriptContent::Error { text: taken.text("text").unwrap_or_default() })
            }
            EventMeaning::End => Some(self.end_of_turn(&taken, from)),
            EventMeaning::Ignore => None,
        }
    }

    fn end_of_turn(&mut self, taken: &Taken<'_>, event: &Value) -> TranscriptContent {
        let mut told = self.usage_of(taken);
        let rule = &self.adapter.usage;
        if !rule.cost_unknown.is_empty() && rule.cost_unknown.matches(event) {
            told.cost = None;
        }
        let cost = match rule.cost {
            UsageScope::Session => told.cost.map(|it| (it - self.session_total.cost.unwrap_or(0.0)).max(0.0)),
            UsageScope::Turn => told.cost,
            UsageScope::Steps => self.steps.cost,
        };
        let tokens = match rule.tokens {
            UsageScope::Session => told.minus(self.session_total),
            // An end without figures, as after an error, takes nothing back.
            UsageScope::Turn => told.at_least(self.steps),
            UsageScope::Steps => self.steps,
        };
        let usage = RunUsage { cost, ..tokens };
        self.turns = self.turns.plus(usage);
        self.session_total = self.earlier.plus(self.turns);
        self.steps = RunUsage::default();
        self.window = taken.number("window").or(self.window);
        self.turn = None;
        self.approvals.clear();
        self.ok = self.adapter.end.ok.matches(event);
        self.answer = taken.text("text").or_else(|| self.message.clone());
        self.end = Some(event.clone());
        TranscriptContent::End { ok: self.ok, text: cut(self.answer.as_deref().unwrap_or_default()), usage }
    }

    fn usage_of(&self, taken: &Taken<'_>) -> RunUsage {
        let number = |name: &str| taken.number(name).unwrap_or(0);
        let cache_read = number("cache_read");
        let cache_write = number("cache_write");
        let cached = if self.adapter.usage.input_includes_cache { added(cache_read, cache_write) } else { 0 };
        RunUsage {
            input: number("input").saturating_sub(cached),
            output: number("output"),
            cache_read,
            cache_write,
            cost: taken.value("cost").and_then(Value::as_f64).map(|it| it.clamp(0.0, MOST_COST)),
        }
    }

    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Tokens and cost of this run so far. Steps count until the end event of their turn has arrived.
    pub fn usage(&self) -> RunUsage {
        self.turns.plus(self.steps)
    }

    /// Totals of the session, for the run that resumes it.
    pub fn session_total(&self) -> RunUsage {
        self.earlier.plus(self.usage())
    }

    /// Fill of the context window in percent.
    pub fn context_percent(&self) -> Option<u8> {
        let window = self.window.filter(|it| *it > 0)?;
        u8::try_from((self.used * 100 / window).min(100)).ok()
    }

    pub fn quota(&self) -> Option<&QuotaWindow> {
        self.quota.as_ref()
    }

    /// The turn that runs, if the program names its turns.
    pub fn turn(&self) -> Option<&str> {
        self.turn.as_deref()
    }

    /// Tool calls that wait for a permission, oldest first.
    pub fn approvals(&self) -> &[PendingApproval] {
        &self.approvals
    }

    pub(crate) fn take_approval(&mut self, id: &str) -> Option<PendingApproval> {
        let at = self.approvals.iter().position(|it| it.id == id)?;
        Some(self.approvals.remove(at))
    }

    /// Retries since the start.
    pub fn retries(&self) -> u32 {
        self.retries
    }

    /// Whether the last thing that the program said is that it waits for the network.
    pub fn waits_for_network(&self) -> bool {
        self.waits_for_network
    }

    pub(crate) fn adapter(&self) -> &AdapterDefinition {
        &self.adapter
    }

    pub(crate) fn end(&self) -> Option<(&Value, bool)> {
        self.end.as_ref().map(|it| (it, self.ok))
    }

    pub(crate) fn detail(&self) -> &Value {
        &self.detail
    }

    /// The final answer; the last line of a plain command.
    pub fn answer(&self) -> Option<&str> {
        self.answer.as_deref()
    }
}

struct Taken<'a> {
    rule: &'a EventRule,
    from: &'a Value,
}

impl Taken<'_> {
    fn value(&self, name: &str) -> Option<&Value> {
        self.rule.take.get(name)?.find(self.from)
    }

    /// The members `NAME.MEMBER` of `take`, as an object; none if the rule has none.
    fn members(&self, name: &str) -> Option<Value> {
        let member = |(path, from): (&String, &ValuePath)| {
            let member = path.strip_prefix(name)?.strip_prefix('.')?;
            Some((member.to_owned(), from.find(self.from)?.clone()))
        };
        let members: serde_json::Map<String, Value> = self.rule.take.iter().filter_map(member).collect();
        (!members.is_empty()).then_some(Value::Object(members))
    }

    fn number(&self, name: &str) -> Option<u64> {
        Some(self.value(name)?.as_u64()?.min(MOST_TOKENS))
    }

    fn text(&self, name: &str) -> Option<String> {
        let fixed = || self.rule.set.get(name).cloned();
        self.value(name).map(|it| cut(&plain_text(it))).or_else(fixed)
    }

    /// `failed` is a boolean, an exit code other than 0, or a status that is not in `succeeded`.
    fn is_failure(&self, succeeded: &[String]) -> bool {
        match self.value("failed") {
            Some(Value::Bool(failed)) => *failed,
            Some(Value::Number(code)) => code.as_i64() != Some(0),
            Some(Value::String(status)) => !succeeded.contains(status),
            _ => false,
        }
    }
}

/// Whether the id of a session can be an argument of the program: it must not look like an option.
fn is_session_id(id: &str) -> bool {
    id.len() <= LONGEST_NAME
        && id.starts_with(|it: char| it.is_ascii_alphanumeric())
        && id.chars().all(|it| it.is_ascii_graphic())
}

/// A text, or the texts in a list of content blocks, or the value as JSON.
fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|it| it.get("text")?.as_str()).collect();
            if texts.is_empty() { value.to_string() } else { texts.join("\n") }
        }
        other => other.to_string(),
    }
}

fn cut(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let end = (0..=LONGEST).rev().find(|it| text.is_char_boundary(*it)).unwrap_or(0);
    format!("{}… ({} bytes more)", text.get(..end).unwrap_or_default(), text.len() - end)
}
