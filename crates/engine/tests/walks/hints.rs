//! Ids and values that a pack expects beyond its declared types: they make walks deep.

/// The hints for one pack.
#[derive(Debug)]
pub(crate) struct PackHints {
    pub(crate) pack: &'static str,
    /// Roles of which more than two agents are needed.
    pub(crate) troupes: &'static [(&'static str, usize)],
    /// Lifecycles of the agents' own records, and the roles of agents that have one; empty means all.
    pub(crate) selves: &'static [(&'static str, &'static [&'static str])],
    /// Further ids of a lifecycle.
    pub(crate) ids: &'static [(&'static str, &'static [&'static str])],
    /// Lifecycles whose ids are two other ids joined by a colon.
    pub(crate) pairs: &'static [(&'static str, &'static str, &'static str)],
    /// Roles whose agents act on behalf of others.
    pub(crate) deputies: &'static [&'static str],
    /// The meaning of fields, by name.
    pub(crate) meanings: &'static [(&'static str, TextMeaning)],
    /// Settings that some walks have, so that limits are reached: name and JSON.
    pub(crate) settings: &'static [(&'static str, &'static str)],
    /// Known faults, by a part of their text, and why they may stay.
    pub(crate) known: &'static [(&'static str, &'static str)],
}

/// The meaning of a field whose type only says that it is text.
#[derive(Debug)]
pub(crate) enum TextMeaning {
    /// The id of an actor.
    Actor,
    /// The id of an agent.
    Agent,
    /// An entity of this lifecycle.
    Of(&'static str),
    /// One of these values, in JSON.
    One(&'static [&'static str]),
    /// The items of this field of the entity, in another order.
    Shuffled(&'static str),
}

use TextMeaning::{Actor, Agent, Of, One, Shuffled};

const NONE: PackHints = PackHints {
    pack: "",
    troupes: &[],
    selves: &[],
    ids: &[],
    pairs: &[],
    deputies: &[],
    meanings: &[],
    settings: &[],
    known: &[],
};

const ALL: &[PackHints] = &[
    PackHints {
        pack: "mission",
        selves: &[("mission.agent", &[])],
        meanings: &[
            ("assigneeIds", Agent),
            ("reviewerId", Agent),
            ("requestedBy", Actor),
            ("agentId", Agent),
            ("tool", One(&["\"git\"", "\"shell\""])),
            ("error", One(&["\"no space\"", "\"timeout\""])),
            ("action", One(&["\"read\"", "\"commit\"", "\"deploy\"", "\"shell\"", "\"unheard\""])),
            (
                "arguments",
                One(&["{\"command\":\"ls\"}", "{\"command\":\"rm -rf /\"}", "{\"path\":\"src/a\"}", "{}"]),
            ),
            (
                "payload",
                One(&[
                    "{\"arguments\":{\"command\":\"ls\"}}",
                    "{\"budget\":\"day\"}",
                    "{\"budget\":\"task\"}",
                ]),
            ),
            ("cost", One(&["0.01", "0.5", "4", "20"])),
            (
                "to",
                One(&[
                    "\"INBOX\"",
                    "\"ASSIGNED\"",
                    "\"IN_PROGRESS\"",
                    "\"REVIEW\"",
                    "\"BLOCKED\"",
                    "\"DONE\"",
                    "\"CANCELED\"",
                ]),
            ),
        ],
        settings: &[
            ("leadMayClose", "true"),
            ("registeredOnly", "true"),
            ("maxComments", "2"),
            ("maxAlternations", "2"),
            ("maxToolFailures", "2"),
            ("maxFailedRuns", "2"),
            ("maxErrorStreak", "2"),
            ("maxReviewCycles", "1"),
            ("maxActiveAgents", "2"),
            ("redApprovers", "3"),
        ],
        known: &[
            ("`size(assigneeIds) == # ||", "a default that is sent as null is null for good"),
            ("A title is required", "the invariant is the check of edit"),
        ],
        ..NONE
    },
    PackHints {
        pack: "build",
        meanings: &[
            ("assignedAgent", Agent),
            ("dependencies", Of("build.task")),
            ("commitMessage", One(&["\"fix: close the file\"", "\"feat(x)!: T-1 approved by ada\""])),
            (
                "qualityReport",
                One(&[
                    "{\"lint\":\"passed\",\"typeCheck\":\"passed\",\"build\":\"passed\",\"devLog\":\"skipped\",\"tests\":\"passed\"}",
                    "{\"lint\":\"failed\"}",
                    "{}",
                ]),
            ),
        ],
        settings: &[
            ("maxFailures", "1"),
            ("maxCtoAttempts", "1"),
            ("reportsRequired", "true"),
            ("guidedRetries", "2"),
        ],
        known: &[(
            "`dependencies == null || dependencies.all(",
            "a default that is sent as null is null for good",
        )],
        ..NONE
    },
    PackHints {
        pack: "coding",
        troupes: &[("coder", 3), ("code_reviewer", 3)],
        selves: &[("coding.agent", &["coder", "code_reviewer", "planner"])],
        deputies: &["supervisor"],
        meanings: &[
            ("discovery", One(&["\"D-1\"", "\"D-2\"", "\"D-9\""])),
            ("task", Of("coding.task")),
            ("during", Of("coding.task")),
            ("review_commit", One(&["\"abc1234\"", "\"0123456789abcdef0123456789abcdef01234567\""])),
            ("merge_commit", One(&["\"abc1234\"", "\"0123456789abcdef0123456789abcdef01234567\""])),
            ("at", One(&["\"src/lib.rs:12\"", "\"src/main.rs:7\""])),
            ("generation", One(&["1", "1", "2"])),
            (
                "kind",
                One(&[
                    "\"retry_loop\"",
                    "\"trade_off\"",
                    "\"workaround\"",
                    "\"external_blocker\"",
                    "\"spec_ambiguity\"",
                ]),
            ),
            ("error_pattern", One(&["\"E1\""])),
            ("root_cause", One(&["\"cause\""])),
            ("blocker_service", One(&["\"npm\""])),
        ],
        settings: &[
            ("max_failed_coders", "1"),
            ("max_review_cycles", "1"),
            ("max_coder_iterations", "2"),
            ("specs_required", "true"),
            ("findings_required", "true"),
            ("full_commits", "true"),
            ("rubber_stamp_verdicts", "1"),
            ("breaker_retry_loops", "1"),
            ("breaker_debts", "1"),
            ("breaker_root_causes", "1"),
            ("breaker_blockers", "1"),
            (
                "breaker_responses",
                "{\"ARCHITECTURE_FLAW\":\"halt\",\"SCOPE_FLAW\":\"warning\",\"SPEC_FLAW\":\"checkpoint\"}",
            ),
        ],
        known: &[
            ("`stretch ? null : sprint_id`", "a default that is sent as null is null for good"),
            ("`!(id in depends_on)`", "a default that is sent as null is null for good"),
        ],
        ..NONE
    },
    PackHints {
        pack: "turns",
        selves: &[("turns.agent", &[])],
        pairs: &[("turns.member", "turns.channel", "turns.agent")],
        meanings: &[
            ("text", One(&["\"hello\"", "\"done TURN_COMPLETE\"", "\"TURN_COMPLETE\""])),
            ("to", Agent),
            ("role", One(&["\"scribe\"", "\"critic\""])),
            ("allowedRoles", One(&["[]", "[]", "[]", "[\"scribe\"]"])),
            ("member", Of("turns.member")),
            ("order", Shuffled("queue")),
        ],
        settings: &[
            ("maxMembers", "2"),
            ("maxChannels", "2"),
            ("maxHeld", "1"),
            ("maxConsecutiveTimeouts", "2"),
            ("humanInterruptMode", "\"queue\""),
            ("humanInterruptMode", "\"interrupt\""),
            ("humanInterruptMode", "\"parallel\""),
            ("autoDetectTurnEnd", "true"),
        ],
        known: &[("size(room.allowedRoles) == # ||", "a default that is sent as null is null for good")],
        ..NONE
    },
    PackHints {
        pack: "research",
        troupes: &[("worker", 6)],
        selves: &[
            ("research.worker", &["worker"]),
            (
                "research.agent",
                &["generation", "reflection", "ranking", "evolution", "proximity", "meta_review"],
            ),
        ],
        ids: &[(
            "research.agent",
            &["generation", "evolution", "proximity", "meta_review", "reflection", "ranking"],
        )],
        meanings: &[
            (
                "safety",
                One(&[
                    "\"SAFE\"",
                    "\"SAFE\"",
                    "\"SAFE\"",
                    "\"UNSAFE\"",
                    "\"REVIEW_REQUIRED\"",
                    "{\"result\":\"SAFE\"}",
                ]),
            ),
            ("agent", Of("research.agent")),
            ("hypothesis", Of("research.hypothesis")),
            ("winner", One(&["\"draw\"", "\"H-1\"", "\"H-2\"", "\"H-3\""])),
            ("params", One(&["{\"batch\":12}", "{\"depth\":\"full\"}", "{\"depth\":\"deep\"}", "{}"])),
            ("operation", One(&["\"comparison\"", "\"session\"", "\"reading\""])),
            (
                "child",
                One(&["\"H-9\"", "{\"summary\":\"a child\"}", "{\"id\":\"H-8\",\"summary\":\"another\"}"]),
            ),
            ("confidence", One(&["0.9", "0.9", "0.5"])),
            (
                "scores",
                One(&[
                    "{\"alignment\":0.9,\"plausibility\":0.9,\"novelty\":0.9,\"testability\":0.9,\"safety\":0.9}",
                    "{\"alignment\":0.9,\"plausibility\":0.9,\"novelty\":0.9,\"testability\":0.9,\"safety\":0.9}",
                    "{\"alignment\":0.9,\"plausibility\":0.9,\"novelty\":0.9,\"testability\":0.9,\"safety\":0.4}",
                    "{\"alignment\":0.9,\"plausibility\":0.9,\"novelty\":0.9,\"testability\":0.9,\"safety\":0.1}",
                    "{\"alignment\":0.1,\"plausibility\":0.9,\"novelty\":0.9,\"testability\":0.9,\"safety\":0.9}",
                ]),
            ),
            (
                "type",
                One(&[
                    "\"generate\"",
                    "\"reflect\"",
                    "\"rank\"",
                    "\"evolve\"",
                    "\"find-similar\"",
                    "\"meta-review\"",
                    "\"dual_use\"",
                ]),
            ),
            ("capacity", One(&["2", "4", "1000"])),
        ],
        settings: &[
            ("maxSessions", "1"),
            ("maxIterations", "2"),
            ("minWorkers", "1"),
            ("evolutionRest", "0"),
            ("maxTimeouts", "1"),
            ("breakerFailures", "1"),
            ("staleAfter", "1"),
            ("selectPercent", "100"),
            ("agentQueueLimit", "1"),
            ("checkpointTasks", "1"),
        ],
        ..NONE
    },
];

pub(crate) fn of(pack: &str) -> &'static PackHints {
    ALL.iter().find(|it| it.pack == pack).unwrap_or(const { &NONE })
}
