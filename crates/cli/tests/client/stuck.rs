//! Explanations of stuck entities: typical situations, each in a built-in pack, asked by an observer. Every
//! answer contains since when, why, who must act, and what comes next.

use crate::ground::ClientServer;

/// The commands that lead there and their actors; then the question, and words that the answer must have.
struct StuckCase {
    steps: &'static [(&'static str, &'static [&'static str])],
    asks: (&'static str, &'static str),
    told: &'static [&'static str],
    /// Words that it must not have.
    never: &'static [&'static str],
}

const SPEC: [&str; 4] = ["description=a", "spec_ref=s", "done_when=d", "scope=x"];

/// Actors: their kind and roles.
const ACTORS: [(&str, &str, &[&str]); 9] = [
    ("ada", "agent", &["mission:specialist"]),
    ("quin", "agent", &["mission:specialist"]),
    ("plan", "agent", &["coding:planner"]),
    ("coder-1", "agent", &["coding:coder"]),
    ("coder-2", "agent", &["coding:coder"]),
    ("nobody", "agent", &[]),
    ("a1", "agent", &[]),
    ("a2", "agent", &[]),
    ("sue", "human", &[]),
];

const CASES: &[StuckCase] = &[
    // It has no assignee (multica#7024).
    StuckCase {
        steps: &[("owner", &["new", "mission.task", "--id", "new", "title=t"])],
        asks: ("nobody", "mission.task/new"),
        told: &["INBOX: New task", "waits for another actor", "human or (agent and lead): assign", "nothing"],
        never: &[],
    },
    // A required field is missing, and the actor that must send it is named.
    StuckCase {
        steps: &[
            ("owner", &["new", "mission.task", "--id", "given", "title=t"]),
            ("owner", &["fire", "mission.task/given", "assign", "assigneeIds:=[\"ada\"]"]),
        ],
        asks: ("ada", "mission.task/given"),
        told: &["ASSIGNED", "ada: assigned to it", "workPlan: Work plan required for IN_PROGRESS"],
        never: &[],
    },
    // Blocked: who can unblock it (paperclip#11117).
    StuckCase {
        steps: &[
            ("owner", &["new", "mission.task", "--id", "blocked", "title=t"]),
            ("owner", &["fire", "mission.task/blocked", "block", "blockReason=no access"]),
        ],
        asks: ("nobody", "mission.task/blocked"),
        told: &["BLOCKED", "human: assign, cancel, unblock", "Must have at least one assignee"],
        never: &[],
    },
    // It waits for an approval, and the request ends by itself (paperclip#2718).
    StuckCase {
        steps: &[
            ("owner", &["new", "mission.task", "--id", "asked", "title=t"]),
            ("owner", &["fire", "mission.task/asked", "escalate", "justification=costly"]),
        ],
        asks: ("ada", "mission.approval/asked.A1"),
        told: &[
            "PENDING",
            "human and not requester",
            "in 1d, 2026-01-02 00:00:00Z: expiry expires, then expire → EXPIRED",
        ],
        never: &[],
    },
    StuckCase {
        steps: &[],
        asks: ("owner", "mission.task/asked"),
        told: &[
            "NEEDS_APPROVAL: Waiting for human approval",
            "decisionNote: A decision note is required",
            // The request, its text, who must decide, and when it ends.
            "It waits for a decision on mission.approval/asked.A1",
            "justification: costly",
            "human and not requester and not approver: approve mission.approval/asked.A1",
            "human and not requester: deny mission.approval/asked.A1",
            "mission.approval/asked.A1: in 1d, 2026-01-02 00:00:00Z: expiry expires, then expire → EXPIRED",
        ],
        never: &["You can move it to"],
    },
    StuckCase {
        steps: &[],
        asks: ("sue", "mission.task/asked"),
        told: &["you (human and not requester and not approver): approve mission.approval/asked.A1"],
        never: &[],
    },
    // A loop stopped it: how, after what, and the proposal of the Loop Summary. Its former assignee cannot
    // help.
    StuckCase {
        steps: &[
            ("ada", &["new", "mission.agent", "--id", "ada"]),
            ("owner", &["new", "mission.task", "--id", "looped", "title=t"]),
            ("owner", &["fire", "mission.task/looped", "assign", "assigneeIds:=[\"ada\"]"]),
            ("ada", &["fire", "mission.task/looped", "start", "workPlan:={\"bullets\":[\"a\",\"b\",\"c\"]}"]),
            ("ada", &["fire", "mission.task/looped", "report_tool_failure", "tool=git", "error=refused"]),
            ("ada", &["fire", "mission.task/looped", "report_tool_failure", "tool=git", "error=refused"]),
            ("ada", &["fire", "mission.task/looped", "report_tool_failure", "tool=git", "error=refused"]),
        ],
        asks: ("owner", "mission.task/looped"),
        told: &[
            "how it got here",
            "stop_loop from IN_PROGRESS",
            "after report_tool_failure by ada",
            "blockReason: Loop detected: tool_failures",
            "loopSummary.disagreement: git fails repeatedly: refused",
            "loopSummary.attempts: 3",
            "loopSummary.proposedResolution: Repair the tool or do without it.",
            "loopSummary.nextAction: A person looks at the error and unblocks.",
        ],
        never: &["ada: assigned to it"],
    },
    // It waits for another task (vibe-kanban#154).
    StuckCase {
        steps: &[
            ("plan", &["new", "coding.task", "--id", "first", SPEC[0], SPEC[1], SPEC[2], SPEC[3]]),
            (
                "plan",
                &[
                    "new",
                    "coding.task",
                    "--id",
                    "second",
                    SPEC[0],
                    SPEC[1],
                    SPEC[2],
                    SPEC[3],
                    "depends_on:=[\"first\"]",
                ],
            ),
            ("plan", &["fire", "coding.task/first", "finalize"]),
            ("plan", &["fire", "coding.task/second", "finalize"]),
        ],
        asks: ("coder-1", "coding.task/second"),
        told: &[
            "UNCLAIMED",
            "depends_on: second waits for its dependencies: 0 of 1 are merged",
            "you: claim",
        ],
        never: &[],
    },
    // A live worker has it, until when (hatchet#322), and what follows if the worker stops responding
    // (gascity#4387).
    StuckCase {
        steps: &[
            ("coder-1", &["new", "coding.agent", "--id", "coder-1", "role=coder"]),
            ("coder-1", &["fire", "coding.task/first", "claim"]),
        ],
        asks: ("coder-2", "coding.task/first"),
        told: &[
            "coder-1 holds it (work) until 2026-01-01 00:30:00Z, in 30m",
            "coder-1: holds it",
            "the lease work expires, then lose_work",
            // And it waits for an effect (vibe-kanban#1571).
            "It waits for an effect: worktree.create",
        ],
        never: &[],
    },
    // A person has paused its parent (temporal#3006).
    StuckCase {
        steps: &[
            ("owner", &["new", "coding.sprint", "--id", "S1"]),
            (
                "plan",
                &["new", "coding.task", "--id", "third", SPEC[0], SPEC[1], SPEC[2], SPEC[3], "sprint_id=S1"],
            ),
            ("plan", &["fire", "coding.task/third", "finalize"]),
            ("owner", &["fire", "coding.sprint/S1", "pause"]),
        ],
        asks: ("coder-2", "coding.task/third"),
        told: &[
            "A gate blocks every move you can make: Sprint S1 is paused",
            "human: resume coding.sprint/S1",
        ],
        never: &["you: claim", "breaker", "Every move"],
    },
    StuckCase {
        steps: &[],
        asks: ("owner", "coding.task/third"),
        told: &["you (human): resume coding.sprint/S1"],
        never: &[],
    },
    StuckCase {
        steps: &[],
        asks: ("plan", "coding.sprint/S1"),
        told: &["what others can do without moving it", "human: resume"],
        never: &[],
    },
    // A draft that the planner has forgotten.
    StuckCase {
        steps: &[("plan", &["new", "coding.task", "--id", "draft", SPEC[0]])],
        asks: ("coder-1", "coding.task/draft"),
        told: &["DRAFT", "planner: finalize", "in 30m, 2026-01-01 00:30:00Z: the deadline in DRAFT passes"],
        never: &[],
    },
    // A role is missing in the team, and the clock runs (kandev#3712).
    StuckCase {
        steps: &[
            ("owner", &["new", "build.task", "--id", "rot", "title=t"]),
            ("owner", &["correct", "build.task/rot", "--to", "planning", "--reason", "a test"]),
        ],
        asks: ("nobody", "build.task/rot"),
        told: &[
            "planning",
            "solution_validator: validate",
            "in 24m, 2026-01-01 00:24:00Z: warning for timeout",
            "in 30m",
        ],
        never: &[],
    },
    // Every attempt failed: a person must decide (OpenHands#2067).
    StuckCase {
        steps: &[
            ("owner", &["new", "build.task", "--id", "stuck", "title=t"]),
            ("owner", &["correct", "build.task/stuck", "--to", "human_escalation", "--reason", "a test"]),
        ],
        asks: ("nobody", "build.task/stuck"),
        told: &["human_escalation: A person must decide", "human: complete, resume, abandon"],
        never: &[],
    },
    StuckCase {
        steps: &[],
        asks: ("owner", "build.task/stuck"),
        told: &["to: Say where to: one of planning", "nothing: you can do it now"],
        never: &[],
    },
    // It has ended already.
    StuckCase {
        steps: &[
            ("owner", &["new", "build.task", "--id", "over", "title=t"]),
            ("owner", &["correct", "build.task/over", "--to", "abandoned", "--reason", "a test"]),
        ],
        asks: ("nobody", "build.task/over"),
        told: &["abandoned", "It is in a final state"],
        never: &[],
    },
    // It is not its turn: the engine gives it (gastown#930).
    StuckCase {
        steps: &[
            ("owner", &["new", "turns.channel", "--id", "c1"]),
            ("a1", &["new", "turns.agent", "--id", "a1"]),
            ("a2", &["new", "turns.agent", "--id", "a2"]),
            ("a1", &["fire", "turns.agent/a1", "connect"]),
            ("a2", &["fire", "turns.agent/a2", "connect"]),
            ("a1", &["new", "turns.member", "--id", "c1:a1"]),
            ("a2", &["new", "turns.member", "--id", "c1:a2"]),
        ],
        asks: ("a2", "turns.member/c1:a2"),
        told: &["QUEUED", "when its rules apply: grant → ACTIVE"],
        never: &[],
    },
    // A check by a machine has no result yet, and it fails by itself (temper#384).
    StuckCase {
        steps: &[("owner", &["new", "research.session", "--id", "rs", "goal=a cure"])],
        asks: ("nobody", "research.session/rs"),
        told: &[
            "INITIALIZING",
            "There is no plan",
            "The safety result must be SAFE",
            "in 1m, 2026-01-01 00:01:00Z",
            "then fail → FAILED",
        ],
        never: &[],
    },
    // A task that is ready waits for those who may claim it, for every observer.
    StuckCase {
        steps: &[
            ("plan", &["new", "coding.task", "--id", "ready", SPEC[0], SPEC[1], SPEC[2], SPEC[3]]),
            ("plan", &["fire", "coding.task/ready", "finalize"]),
        ],
        asks: ("owner", "coding.task/ready"),
        told: &[
            "UNCLAIMED",
            "It waits to be claimed, with claim: by coder or supervisor.",
            "coder or supervisor: claim",
        ],
        never: &["You can move it to", "owner is not registered"],
    },
    StuckCase {
        steps: &[],
        asks: ("coder-1", "coding.task/ready"),
        told: &["you (coder or supervisor): claim"],
        never: &[],
    },
    // A paused entity names the actors that can resume it.
    StuckCase {
        steps: &[
            ("owner", &["new", "coding.goal", "--id", "G1", "description=d"]),
            ("owner", &["fire", "coding.goal/G1", "pause"]),
        ],
        asks: ("plan", "coding.goal/G1"),
        told: &["what others can do without moving it", "  human: resume, note"],
        never: &["human: pause"],
    },
    // A gate refuses an agent whose own record is quarantined: closed moves are not shown as open.
    StuckCase {
        steps: &[
            ("quin", &["new", "mission.agent", "--id", "quin", "role=specialist"]),
            ("owner", &["new", "mission.task", "--id", "quins", "title=t"]),
            ("owner", &["fire", "mission.task/quins", "assign", "assigneeIds:=[\"quin\"]"]),
            ("owner", &["fire", "mission.agent/quin", "quarantine", "--reason", "Too many errors"]),
        ],
        asks: ("quin", "mission.task/quins"),
        told: &[
            "A gate blocks every move you can make: Your agent record is QUARANTINED",
            "human: resume mission.agent/quin",
            "what you can do without moving it\n  report_run\n",
        ],
        never: &["you: ", "quin: assigned to it", "you ("],
    },
    StuckCase {
        steps: &[("owner", &["fire", "mission.agent/quin", "resume"])],
        asks: ("quin", "mission.task/quins"),
        told: &["you: ", "quin: assigned to it"],
        never: &["mission.agent/quin"],
    },
    // A worker stopped responding: the actors that may take over are named.
    StuckCase {
        steps: &[("owner", &["clock", "advance", "1h"])],
        asks: ("owner", "coding.task/first"),
        told: &[
            "CLAIMED",
            "It waits to be claimed, with claim: by (coder or supervisor) and",
            "supervisor) and not mine",
        ],
        never: &["coder-1: holds it"],
    },
];

#[test]
fn explain_says_why_who_since_when_and_what_next() {
    let ground = ClientServer::with_all_packs();
    let tokens: Vec<(&str, String)> =
        ACTORS.iter().map(|(name, kind, roles)| (*name, ground.token(name, kind, roles))).collect();
    let ask = |who: &str, args: &[&str]| match tokens.iter().find(|(name, _)| *name == who) {
        Some((_, token)) => ground.ask_as(token, args),
        None => ground.ask(args),
    };
    for case in CASES {
        for (who, args) in case.steps {
            assert_eq!(ask(who, args).code, 0, "{who}: {args:?}: {:?}", ask(who, args));
        }
        let (who, entity) = case.asks;
        let told = ask(who, &["explain", entity]);
        told.says(0, case.told);
        for words in case.never {
            assert!(!told.data.contains(words), "{entity}: {words}: {}", told.data);
        }
        told.says(0, &["since", "2026-01-01 00:00:00Z", "what happens next"]);
        let movable = told.data.contains("You can move it to");
        let heading = if movable { "it can move now" } else { "why it is not moving" };
        told.says(0, &[heading]);
        let json = ask(who, &["explain", entity, "--json"]).json();
        for member in [
            "entity",
            "since",
            "summary",
            "transitions",
            "waitingFor",
            "timers",
            "next",
            "arrival",
            "requests",
        ] {
            assert!(json.get(member).is_some(), "{entity}: {member}");
        }
    }
    assert!(CASES.len() >= 12);
}
