# Made from the OpenAPI document by `cargo xtask clients`. Do not edit: change the routes, and make it again.
"""Every type and every route of a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, Literal, NotRequired, TypedDict, TypeVar

from ._transport import Transport, given, part

T = TypeVar("T")


class Page(TypedDict, Generic[T]):
    """A page of a list."""

    items: list[T]
    # Send it as `cursor` for the next page; null on the last.
    nextCursor: NotRequired[str | None]


class AccountHold(TypedDict):
    """An account at a model provider that starts no runs for now."""

    account: str
    # When the hold ends; null if a person has to release it.
    until: NotRequired[str | None]
    # The message of the provider.
    why: NotRequired[str | None]


class ActionAnswer(TypedDict):
    """The answer to a call of an action that may need an approval."""

    approval: NotRequired[ActionApproval | None]
    # `allow`, `approve` (a person has not decided yet) or `deny`.
    outcome: str
    why: str


class ActionApproval(TypedDict):
    """The request for the approval of an action."""

    # The entity that the request is about, such as `mission.task/T-1`.
    about: str
    id: str
    lifecycle: str
    state: str


class AddressPut(TypedDict):
    """An address to set."""

    # The channel: `slack`, `telegram`, `discord`, `matrix`, `ntfy`, `email`, `desktop`, `webhook`, or one of
    # the project's own.
    channel: str
    # Its name in the audience.
    name: str
    # The member who reads it; none if several people do.
    person: NotRequired[str | None]
    # The values that the channel needs. They are stored outside the journal and never returned. Without them,
    # the address keeps those that it has.
    values: NotRequired[dict[str, str] | None]


class AddressTested(TypedDict):
    """The result of a test message to one address."""

    address: str
    channel: str
    # Why it was not accepted; null if it was.
    problem: NotRequired[str | None]


class Advance(TypedDict):
    """An advance of the manual clock: `by` a span, or `to` a time."""

    # A span such as `90s`, `15m`, `24h` or `7d`.
    by: NotRequired[str | None]
    to: NotRequired[str | None]


class Alert(TypedDict):
    """An alert, with its acknowledgement and resolution."""

    acknowledgedAt: NotRequired[str | None]
    # The first person who acknowledged it; null if it is not acknowledged.
    acknowledgedBy: NotRequired[str | None]
    acknowledgedNote: NotRequired[str | None]
    # The id of the alert: the number of the journal entry that raised it.
    alertId: str
    # The id of that entity.
    id: str
    kind: str
    # The lifecycle of the entity that the alert is about.
    lifecycle: str
    message: str
    # True if the alert is resolved.
    resolved: bool
    resolvedAt: NotRequired[str | None]
    resolvedBy: NotRequired[str | None]
    resolvedNote: NotRequired[str | None]
    seq: int
    # `info`, `warning`, `error` or `critical`.
    severity: str
    since: str


class AlertNote(TypedDict):
    """A note on an alert."""

    # The text, stored in the journal; at most 2,000 characters.
    note: NotRequired[str | None]


class AlertReply(TypedDict):
    """The result of acknowledging or resolving an alert."""

    alert: Alert
    # False if the alert was acknowledged or resolved before. `alert` names the person who did it first.
    changed: bool
    replayed: bool
    success: bool


class AppendLines(TypedDict):
    """Lines to append to a transcript."""

    # The registration of the runner. An earlier one than the present is refused.
    generation: NotRequired[int | None]
    lines: list[RunLine]


class ApplyStep(TypedDict):
    """A step of a run whose event is to be fired on its entity."""

    # `begin`, `done`, `failed`, `meter` or `note`.
    action: str
    # The fence of the lease under which the agent works.
    fence: NotRequired[int | None]
    # Values that the runner knows better than the run: `commit`, `metered`, `meteredTokens`, `summary`,
    # `next`, `why` and other fields of the run.
    values: NotRequired[dict[str, Any]]


class Approval(TypedDict):
    """An open approval request."""

    # The target states that the rules permit the caller from the current state. Required fields are not
    # considered.
    allowedTransitions: list[str]
    # The file in the data folder with its journal entries, if it is in long-term storage.
    archiveFile: NotRequired[str | None]
    # The counters that you may see, by name. Absent if there are none.
    counters: NotRequired[dict[str, Counter]]
    createdAt: str
    # The version of the lifecycle that the entity follows.
    definition: int
    fields: dict[str, Any]
    # True if no transition leaves its state.
    final: bool
    # The number of its life, from 2 on: its id had ended and was created again.
    generation: NotRequired[int | None]
    id: str
    leases: list[Lease]
    lifecycle: str
    # The state before the current one; null if there was none.
    previousState: NotRequired[str | None]
    state: str
    stateEnteredAt: str
    # Seconds since it entered its state.
    timeInState: float
    # The running timers, and those that are paused in the current state.
    timers: list[Timer]
    # Facts about a past moment that cannot be found out and are left out: names of computed fields or
    # counters, or `allowedTransitions`. Absent if there are none.
    unknown: NotRequired[list[str]]
    updatedAt: str
    # True if the request is marked as urgent.
    urgent: bool
    # Increases when the entity changes.
    version: int


class Archive(TypedDict):
    """Old journal entries to move into archive files."""

    # The smallest age of an entry, such as `30d`, `24h` or `90m`.
    olderThan: str


class ArchiveFile(TypedDict):
    """An archive file."""

    # Its first journal entry.
    first: int
    # The hash of the chain after its last entry.
    hash: str
    # Its last journal entry.
    last: int
    # Its path in the project folder.
    path: str


class Archived(TypedDict):
    """The archive files that were written."""

    files: list[ArchiveFile]


# The transition that led to the current state.
Arrival = TypedDict(
    "Arrival",
    {
        "actor": "str",
        # `human`, `agent`, `system` or `engine`.
        "actorKind": "str",
        "after": "NotRequired[ArrivalCause | None]",
        "at": "str",
        "event": "str",
        # The current values of the fields that the transition changed.
        "fields": "dict[str, Any]",
        # The state before; null if the entity was created in this one.
        "from": "NotRequired[str | None]",
        "onBehalfOf": "NotRequired[str | None]",
        "reason": "NotRequired[str | None]",
    },
)


class ArrivalCause(TypedDict):
    """The request that a transition of the engine followed."""

    actor: str
    event: str
    onBehalfOf: NotRequired[str | None]


class ArtifactKept(TypedDict):
    """An artifact, stored under the hash of its content."""

    sha256: str
    # The size in bytes.
    size: int
    # False if it was stored before.
    stored: bool


class Attempt(TypedDict):
    """The outcome of a transition if you requested it now without fields."""

    accepted: bool
    code: NotRequired[str]
    detail: NotRequired[str]
    errors: NotRequired[list[Unmet]]
    event: str
    # The state it would lead to; null if the entity stays in its state.
    to: NotRequired[str | None]
    who: NotRequired[str | None]


class AttemptOutcome(TypedDict):
    """The rest of an attempt, by its outcome."""

    code: NotRequired[str]
    detail: NotRequired[str]
    errors: NotRequired[list[Unmet]]
    # The state it would lead to; null if the entity stays in its state.
    to: NotRequired[str | None]
    who: NotRequired[str | None]


class AudienceAddressBody(TypedDict):
    """An address, without its values."""

    channel: str
    name: str
    person: NotRequired[str | None]
    # Why no message can be sent there; null if one can.
    problem: NotRequired[str | None]


class AudienceBody(TypedDict):
    """An audience."""

    # What a pack says about an audience of this name; null if no pack has one.
    about: NotRequired[str | None]
    addresses: list[AudienceAddressBody]
    alerts: str
    digest: NotRequired[str | None]
    escalateAfter: NotRequired[str | None]
    lifecycles: list[str]
    members: list[str]
    name: str
    notifications: bool
    # The people that the members are now, in the order of escalation.
    people: list[str]
    quiet: NotRequired[AudienceQuiet | None]


class AudiencePut(TypedDict):
    """An audience to set. Keys that are left out are cleared."""

    addresses: NotRequired[list[AddressPut]]
    # `none`, `error` (the default: those of severity error and critical) or `all`.
    alerts: NotRequired[str | None]
    # Collect messages and send them at multiples of this span, such as `1h`.
    digest: NotRequired[str | None]
    # Send to members one after the other, each this long after the one before, such as `15m`. By default all
    # get it at once.
    escalateAfter: NotRequired[str | None]
    # Only what concerns these lifecycles or packs; empty means all.
    lifecycles: NotRequired[list[str]]
    # Ids of people, and `role:PACK:ROLE` for everybody with a role, in the order of escalation.
    members: NotRequired[list[str]]
    # Also send the notifications of packs to the audience of this name.
    notifications: NotRequired[bool]
    quiet: NotRequired[AudienceQuiet | None]


# Hours of every day in which only critical messages are sent.
AudienceQuiet = TypedDict(
    "AudienceQuiet",
    {
        # Such as `22:00`.
        "from": "str",
        # Such as `07:00`, which may be on the next day.
        "to": "str",
        # The time zone, such as `Europe/Berlin`; by default that of the project.
        "zone": "NotRequired[str | None]",
    },
)


# The result of an audit of the journal.
Audit = TypedDict(
    "Audit",
    {
        # The number of archive files that were read.
        "archiveFiles": "int",
        # The entries that explain why payloads are missing.
        "dropped": "list[Dropped]",
        # The number of audited entries.
        "entries": "int",
        "from": "ChainEnd",
        # True if every entry verifies.
        "intact": "bool",
        # The number of problems beyond the listed ones.
        "more": "int",
        # The number of entries without their payload.
        "payloadsDropped": "int",
        "problems": "list[AuditProblem]",
        "to": "ChainEnd",
    },
)


class AuditProblem(TypedDict):
    """A problem that an audit found."""

    code: str
    message: str
    seq: int


class Backup(TypedDict):
    """A backup to create."""

    # True: add the journal entries since to the backup in `to`.
    increment: NotRequired[bool]
    # A name in the folder `backups` of the project, or an absolute path. By default the server generates a
    # name.
    to: NotRequired[str | None]


class BackupMade(TypedDict):
    """A backup that was made and verified."""

    # The number of archive files that were copied.
    archiveFiles: int
    # The number of artifacts that were copied.
    artifacts: int
    # Artifacts that do not match their hash and were not copied.
    damagedArtifacts: list[str]
    # The last journal entry in it.
    end: ChainEnd
    # The folder of the backup.
    to: str


class Batch(TypedDict):
    """Several commands in one request; at most 1,000 by default."""

    # True: either all commands are accepted, or nothing changes. False, the default: each command has its own
    # outcome.
    atomic: NotRequired[bool]
    commands: list[BatchCommand]


# A command of a batch. With `to` or `event` it requests a transition, with `heartbeat` it extends a lease; without them it creates an entity.
BatchCommand = TypedDict(
    "BatchCommand",
    {
        # The name of the transition.
        "event": "NotRequired[str | None]",
        # The fence of the lease that the caller holds.
        "fence": "NotRequired[int | None]",
        # The fields of the request, by name.
        "fields": "NotRequired[dict[str, Any]]",
        # The id that the command acts for, instead of that in the header `Trackside-For`. An empty id: the caller
        # acts for itself.
        "for": "NotRequired[str | None]",
        "heartbeat": "NotRequired[Heartbeat | None]",
        # The id of the entity. Optional for a new entity.
        "id": "NotRequired[str | None]",
        "lifecycle": "str",
        # The reason, for the journal.
        "reason": "NotRequired[str | None]",
        # The target state.
        "to": "NotRequired[str | None]",
    },
)


class BatchReply(TypedDict):
    """The outcome of every command of a batch, in the order of the commands."""

    results: list[BatchResult]


class BatchResult(TypedDict):
    """The outcome of one command of a batch."""

    # The target states that the rules permit the caller from the current state.
    allowedTransitions: NotRequired[list[str]]
    # The code, such as `requirement-missing`.
    code: NotRequired[str]
    # In a dry run, the other journal entries that would follow, of other entities too, as far as the caller
    # may see them. Absent if there are none.
    consequences: NotRequired[list[JournalEntry]]
    # The main reason, as a sentence.
    detail: NotRequired[str]
    # True if the command was only decided and nothing changed.
    dryRun: NotRequired[bool]
    entity: NotRequired[Entity | None]
    # All unmet conditions.
    errors: NotRequired[list[Unmet]]
    # When the renewed lease expires.
    expiresAt: NotRequired[str | None]
    # The fence of the lease.
    fence: NotRequired[int | None]
    # The command with which an admin gives you a role that would admit you. Absent if no role would.
    grant: NotRequired[str | None]
    # Fields that were sent but ignored, because only the engine writes them. Absent if there are none.
    ignored: NotRequired[list[str]]
    # True if the refused request was recorded in the journal as evidence.
    kept: NotRequired[bool]
    # Notifications to the holder since its previous heartbeat.
    notices: NotRequired[list[Notification]]
    # True if the same command was sent before under its idempotency key. The response repeats the first
    # answer.
    replayed: NotRequired[bool]
    # 201 if the command created an entity, else 200.
    status: int
    stop: NotRequired[Stop | None]
    success: NotRequired[bool]
    # The code as a title, such as `Requirement missing`.
    title: NotRequired[str]
    # The journal entry of the command.
    transition: NotRequired[JournalEntry]
    # A URI that identifies the code.
    type: NotRequired[str]
    # Who may make this request, as text. Absent if the refusal does not state it.
    who: NotRequired[str | None]


class BlockingEntity(TypedDict):
    """Another entity that closes a gate."""

    id: str
    lifecycle: str
    # Transitions there that would open the gate.
    openers: list[EventOption]
    # The message of the gate.
    says: str


class Cause(TypedDict):
    """The cause for which the engine fires a transition."""

    # This percentage of a timer has passed.
    warning: NotRequired[int]


class ChainEnd(TypedDict):
    """An entry number, and the hash of the chain there."""

    hash: str
    seq: int


class ChangeStats(TypedDict):
    """Figures of a change."""

    # Added lines.
    additions: NotRequired[int]
    # Deleted lines.
    deletions: NotRequired[int]
    # Changed files.
    files: NotRequired[int]


# A reported change, without its files.
ChangeSummary = TypedDict(
    "ChangeSummary",
    {
        "additions": "int",
        "artifact": "str",
        # When it was first reported.
        "at": "str",
        "deletions": "int",
        # Changed files.
        "files": "int",
        # The commit before the change.
        "from": "str",
        # Who reported it.
        "runner": "NotRequired[str | None]",
        # The commit with the change.
        "to": "str",
    },
)


class Check(TypedDict):
    """A condition with its result."""

    message: NotRequired[str | None]
    # True if the result depends on the caller.
    ofCaller: bool
    passed: bool
    # The expression, the required field, or the slot that must be held.
    rule: str
    # The values that it read.
    saw: dict[str, Any]


class Claim(TypedDict):
    """A claim of the next available entity."""

    # The transition that claims the entity. Needed if several can.
    event: NotRequired[str | None]
    # The fields of the request, by name.
    fields: NotRequired[dict[str, Any]]
    # The reason, for the journal. Some transitions require one.
    reason: NotRequired[str | None]
    # An expression: only an entity for which it is true is claimed.
    where: NotRequired[str | None]


class ClaimOption(TypedDict):
    """A transition by which an entity can be claimed."""

    event: str
    who: str


class Clock(TypedDict):
    """The time of the server."""

    # Why project time does not follow the machine's clock, if it does not.
    alarm: NotRequired[str | None]
    # `system` (elapsed time, steered towards the clock of the machine) or `manual`.
    clock: str
    # The time of the machine's clock, unless the clock is manual.
    machine: NotRequired[str | None]
    now: str


# The correction of project time.
ClockCorrected = TypedDict(
    "ClockCorrected",
    {
        # Project time before.
        "from": "str",
        # The number of entities whose timers or leases were moved back with it.
        "moved": "int",
        # Project time after, which is the time of the machine's clock.
        "to": "str",
        # Entities whose timers could not be moved because their records cannot be read.
        "unmoved": "int",
    },
)


class Correct(TypedDict):
    """A correction: an admin override of state or fields outside the declared transitions. It is journalled and
    raises an alert.
    """

    # New values of fields, by name.
    fields: NotRequired[dict[str, Any]]
    # The reason, for the journal. Required.
    reason: NotRequired[str | None]
    # The new state; unchanged by default.
    to: NotRequired[str | None]


class CorrectClock(TypedDict):
    """A request to move project time to the machine's clock."""

    direction: CorrectionDirection
    # The reason, recorded in the journal.
    reason: NotRequired[str | None]


class CorrectionDirection(TypedDict):
    """The direction in which project time moves."""


class Counter(TypedDict):
    """The values of a counter."""

    # The tallies that are not zero, by key or by state. Absent if there are none.
    byKey: NotRequired[dict[str, float]]
    # Its limit; absent if it has none, or if the limit depends on a request.
    limit: NotRequired[float | None]
    # Its value; absent if it separates its tallies by keys. Of a counter per state, that of the present state.
    value: NotRequired[float | None]


class Create(TypedDict):
    """An entity to create."""

    # Initial values of fields, by name.
    fields: NotRequired[dict[str, Any]]
    # The id: 1 to 128 letters, digits, `.`, `_`, `@` or `-`. By default the server generates one.
    id: NotRequired[str | None]


class Decide(TypedDict):
    """A decision on an approval request."""

    # `approve` or `deny`.
    decision: str
    # The lifecycle. Needed if several lifecycles have a request with this id.
    lifecycle: NotRequired[str | None]
    # A note of the person who decides.
    note: NotRequired[str | None]
    # The target state, if the request lets people choose one.
    to: NotRequired[str | None]


class DeliveryBody(TypedDict):
    """A message to one address about something that waits."""

    address: str
    attempts: int
    audience: str
    channel: str
    createdAt: str
    # It is not sent before this.
    dueAt: str
    # The id of the entity.
    entity: str
    # The next person gets a message if there was no reaction by then.
    escalateAt: NotRequired[str | None]
    id: str
    # `item`, `alert` or `notification`.
    kind: str
    lifecycle: str
    # The number of the item in the inbox.
    number: int
    person: str
    sentAt: NotRequired[str | None]
    state: str
    # Why the last attempt failed; null if it did not.
    why: NotRequired[str | None]


class DeliveryTest(TypedDict):
    """A test of the addresses of an audience."""

    # Only this address; by default all of them.
    address: NotRequired[str | None]


class DeliveryTested(TypedDict):
    """The result of a test."""

    results: list[AddressTested]
    # True if every address accepted the message.
    success: bool


class DiagramRule(TypedDict):
    """The rule behind an edge, or behind a change without a move."""

    about: str
    # The index of the transition's rule; zero for `always`.
    arm: int
    # Its further conditions, in the words of the definition.
    checks: list[str]
    # The index of the choice.
    choice: NotRequired[int | None]
    kind: RuleKind
    # The time after which it is taken, if it is timed.
    span: NotRequired[str | None]
    # The transition; none for `always`.
    transition: NotRequired[str | None]
    # The causes for which the engine fires it.
    triggers: list[Trigger]
    # The condition of the choice as text: `reviewCycles ≥ 3`; `otherwise` for the last of several.
    when: NotRequired[str | None]
    # The callers as text; `engine` if no caller can request it.
    who: str


class Diff(TypedDict):
    """The change of an entity's work between two commits."""

    # The change that is shown.
    change: ChangeSummary
    # Every reported change, the oldest first. Each can be read with its `from` and `to`.
    changes: list[ChangeSummary]
    files: list[FileChange]
    id: str
    lifecycle: str
    stats: ChangeStats
    # True if lines or files were left out because there are too many.
    truncated: bool


class DiffHunk(TypedDict):
    """Changed lines of a file with the lines around them."""

    # The text after the second `@@`, such as the function that the lines are in.
    header: NotRequired[str]
    lines: list[DiffLine]
    newLines: int
    newStart: int
    oldLines: int
    oldStart: int


class DiffLine(TypedDict):
    """A line of a hunk."""

    kind: DiffLineKind
    # Without its line break.
    text: str


class DiffLineKind(TypedDict):
    pass


class Dropped(TypedDict):
    """An entry that dropped payloads."""

    actor: NotRequired[str | None]
    # The entity as `lifecycle/id`. Only for people with role admin, as the author and the reason.
    entity: NotRequired[str | None]
    # `REDACTED`, or `ERASED` if the whole entity was erased.
    event: str
    payloads: int
    reason: NotRequired[str | None]
    seq: int
    timestamp: NotRequired[str | None]


class Dwell(TypedDict):
    """The lengths of visits to a state, in seconds."""

    count: int
    mean: float
    p50: float
    p90: float
    p99: float


# A way from a state to a state, or back to itself by leaving and entering.
Edge = TypedDict(
    "Edge",
    {
        "about": "str",
        # The index of the transition's rule; zero for `always`.
        "arm": "int",
        # Its further conditions, in the words of the definition.
        "checks": "list[str]",
        # The index of the choice.
        "choice": "NotRequired[int | None]",
        "free": "NotRequired[OpenTarget | None]",
        "from": "str",
        "kind": "RuleKind",
        # The time after which it is taken, if it is timed.
        "span": "NotRequired[str | None]",
        "to": "str",
        # The transition; none for `always`.
        "transition": "NotRequired[str | None]",
        # The causes for which the engine fires it.
        "triggers": "list[Trigger]",
        # The condition of the choice as text: `reviewCycles ≥ 3`; `otherwise` for the last of several.
        "when": "NotRequired[str | None]",
        # The callers as text; `engine` if no caller can request it.
        "who": "str",
    },
)


# An effect that has no result yet.
Effect = TypedDict(
    "Effect",
    {
        # The effect of its queue that has to be answered first; null if it is the first.
        "behind": "NotRequired[int | None]",
        # The id of that entity.
        "entity": "str",
        # The fence to send with the result. Present only if the caller has taken the effect.
        "fence": "NotRequired[int | None]",
        "id": "int",
        "kind": "str",
        # The lifecycle of the entity that requested it.
        "lifecycle": "str",
        # When it was requested.
        "since": "NotRequired[str | None]",
        # The actor that has taken the effect; null if none has.
        "takenBy": "NotRequired[str | None]",
        # When that actor loses it without a result.
        "until": "NotRequired[str | None]",
        # The arguments of the effect, by name.
        "with": "dict[str, Any]",
    },
)


class EffectResult(TypedDict):
    """The result of an effect."""

    detail: NotRequired[Any]
    # The fence under which the caller took the effect.
    fence: int
    # True if the effect succeeded.
    ok: bool


class EffectSettled(TypedDict):
    """The recorded result of an effect."""

    # The id of the effect.
    id: int
    replayed: bool
    # The journal entry of the result.
    seq: NotRequired[int | None]
    success: bool


# An effect that the caller has taken.
EffectTaken = TypedDict(
    "EffectTaken",
    {
        # The id of that entity.
        "entity": "str",
        # The fence to send with the result.
        "fence": "int",
        "id": "int",
        "kind": "str",
        # The lifecycle of the entity that requested it.
        "lifecycle": "str",
        # When another worker can take the effect, if it has no result by then.
        "until": "str",
        # The arguments of the effect, by name.
        "with": "dict[str, Any]",
    },
)


class Entity(TypedDict):
    """An entity as the caller sees it."""

    # The target states that the rules permit the caller from the current state. Required fields are not
    # considered.
    allowedTransitions: list[str]
    # The file in the data folder with its journal entries, if it is in long-term storage.
    archiveFile: NotRequired[str | None]
    # The counters that you may see, by name. Absent if there are none.
    counters: NotRequired[dict[str, Counter]]
    createdAt: str
    # The version of the lifecycle that the entity follows.
    definition: int
    fields: dict[str, Any]
    # True if no transition leaves its state.
    final: bool
    # The number of its life, from 2 on: its id had ended and was created again.
    generation: NotRequired[int | None]
    id: str
    leases: list[Lease]
    lifecycle: str
    # The state before the current one; null if there was none.
    previousState: NotRequired[str | None]
    state: str
    stateEnteredAt: str
    # Seconds since it entered its state.
    timeInState: float
    # The running timers, and those that are paused in the current state.
    timers: list[Timer]
    # Facts about a past moment that cannot be found out and are left out: names of computed fields or
    # counters, or `allowedTransitions`. Absent if there are none.
    unknown: NotRequired[list[str]]
    updatedAt: str
    # Increases when the entity changes.
    version: int


class Evaluate(TypedDict):
    """An action for the risk policy to evaluate."""

    action: str
    arguments: NotRequired[Any]
    # The entity that the caller works on, as LIFECYCLE/ID: its state may limit the actions.
    entity: NotRequired[str | None]
    # The pack with the policy. By default the pack of the run's entity, of `entity`, of `role`, or of the
    # caller's roles.
    pack: NotRequired[str | None]
    # The role that would perform the action; the caller's own roles by default.
    role: NotRequired[str | None]


class EventOption(TypedDict):
    """A transition, who may take it, and whether you are one of them."""

    event: str
    permitted: bool
    who: str


class Explanation(TypedDict):
    """An explanation of an entity: its state, its transitions and the conditions it waits for."""

    # The assignees who could take a transition.
    ableToAct: list[str]
    # The description of the state in the definition.
    about: NotRequired[str | None]
    arrival: NotRequired[Arrival | None]
    # The outcome of each transition if you requested it now without fields.
    attempts: list[Attempt]
    # The rules that the entity violates.
    broken: list[str]
    # The transitions by which the entity can be claimed now.
    claimable: list[ClaimOption]
    entity: NotRequired[Entity | None]
    # The assignees of the entity.
    givenTo: list[str]
    # Who has to act next, how and why.
    headline: Headline
    # The headline as text.
    headlineText: str
    # Accounts of its runs that start no more runs for now.
    holds: list[AccountHold]
    # Other entities that close a gate for you, with the transitions that would open it and who may take them.
    keptBackBy: list[BlockingEntity]
    next: NotRequired[PendingTimer | None]
    # Why no agent starts to work on it yet, by role. A role without a reason to wait is left out.
    notReady: dict[str, Any]
    # The time of the answer.
    now: str
    # Effects without a result.
    openEffects: list[OpenEffect]
    # Transitions that would be accepted now without any fields.
    ready: list[str]
    # Open approval requests about the entity.
    requests: list[OpenRequest]
    # Open runs of agents for the entity.
    runs: list[RunSummary]
    # When the entity entered its state.
    since: str
    # A summary: the state and since when, the transitions that you can request, and the next timer.
    summary: str
    # The running timers.
    timers: list[PendingTimer]
    # Every transition out of the current state: who may, its fields, and each check with its result and the
    # values it read.
    transitions: list[TransitionOption]
    # Who must act, and the conditions that are not met yet.
    waitingFor: list[WaitingFor]


class Field(TypedDict):
    """A field of a lifecycle."""

    about: str
    by: FieldWriter
    enum: NotRequired[list[str] | None]
    items: NotRequired[FieldType]
    maximum: NotRequired[float | None]
    minimum: NotRequired[float | None]
    name: str
    type: Literal["any"]


class FieldType(TypedDict):
    """The type of a field, without the limits that only the engine checks."""

    enum: NotRequired[list[str] | None]
    items: NotRequired[FieldType]
    maximum: NotRequired[float | None]
    minimum: NotRequired[float | None]
    type: Literal["any"]


class FieldWriter(TypedDict):
    """The writer of a field."""


class FileChange(TypedDict):
    """A changed file."""

    additions: NotRequired[int]
    # True if its content is not text. It has no hunks.
    binary: NotRequired[bool]
    deletions: NotRequired[int]
    hunks: NotRequired[list[DiffHunk]]
    # The path before, of a file that was renamed or copied.
    oldPath: NotRequired[str | None]
    path: str
    status: FileStatus


class FileStatus(TypedDict):
    """What happened to a file. `mode`: only its permissions changed."""


class Graph(TypedDict):
    """A lifecycle to be drawn."""

    about: str
    # Who may create one, as text.
    created_by: str
    # By transition, arm, state left and target, each in declared order; then `always`.
    edges: list[Edge]
    initial: str
    kind: str
    # Its full name: `pack.kind`.
    name: str
    # In declared order.
    nodes: list[StateNode]
    pack: str
    # The declared order of states, if there is one.
    path: list[str]
    version: int


class Headline(TypedDict):
    """Who has to act next on an entity, how and why."""

    # The transitions or the work that would help, such as `approve or deny`. Null if no actor can act.
    action: NotRequired[str | None]
    # `you`, the id of another actor, or who may act; `engine` for a timer. Null if no actor can act.
    actor: NotRequired[str | None]
    # The entity of the action, as `LIFECYCLE/ID`, if it is another one. Otherwise null.
    on: NotRequired[str | None]
    reason: str
    # When the reason began.
    since: str
    # When a timer or the end of a lease changes it; null if none does.
    until: NotRequired[str | None]


class Health(TypedDict):
    """The process is running."""

    # `ok`.
    status: str
    # The version of the server.
    version: str


class Heartbeat(TypedDict):
    """A heartbeat of the holder of a lease."""

    # The fence of the lease, as it was granted.
    fence: NotRequired[int | None]
    # The slot of the lease. By default the only slot of the lifecycle, or the one that the caller holds.
    slot: NotRequired[str | None]


class HeartbeatReply(TypedDict):
    """The answer to a heartbeat."""

    # When the renewed lease expires.
    expiresAt: NotRequired[str | None]
    # The fence of the lease.
    fence: NotRequired[int | None]
    # Notifications to the holder since its previous heartbeat.
    notices: list[Notification]
    # True if the same heartbeat was sent before under its idempotency key.
    replayed: NotRequired[bool]
    stop: NotRequired[Stop | None]


class History(TypedDict):
    """A page of the journal entries of an entity, and the time it spent in each state."""

    # Entries before this one are archived and their file is missing; null if all are here.
    archivedBefore: NotRequired[int | None]
    # The entries. With `form=pack`: their log lines, as the pack declares them.
    items: list[JournalEntry]
    # The cursor of the next page: send it as `cursor`. Null on the last page.
    nextCursor: NotRequired[str | None]
    # With `runs=true`: the runs of agents for the entity, the oldest first. Absent without it.
    runs: NotRequired[list[RunSummary] | None]
    # Seconds spent in each state.
    timeInStates: dict[str, float]
    # How often the entity entered each state.
    visits: dict[str, int]


# The identity of the caller.
Identity = TypedDict(
    "Identity",
    {
        # The actor on whose behalf the caller sends this request; null if there is none.
        "actingFor": "NotRequired[str | None]",
        "actor": "str",
        # The entity that the token is limited to, as `LIFECYCLE/ID`; null if it is not limited.
        "entity": "NotRequired[str | None]",
        # When the token expires; null means never.
        "expiresAt": "NotRequired[str | None]",
        # The actors on whose behalf the caller may act.
        "for": "list[str]",
        "kind": "str",
        "roles": "list[str]",
        # The id of the caller's token.
        "token": "str",
    },
)


class Import(TypedDict):
    """Entities to import: all of them or none. At most 1,000 by default."""

    entities: list[ImportEntity]
    # The name of the imported file, for the journal.
    file: NotRequired[str | None]


class ImportCount(TypedDict):
    """The value of a counter under one key."""

    counter: str
    # The key of the tally; empty for a counter without keys.
    key: NotRequired[str]
    value: float


class ImportEntity(TypedDict):
    """An entity to import."""

    # The values of its counters.
    counts: NotRequired[list[ImportCount]]
    fields: NotRequired[dict[str, Any]]
    id: str
    # Leases to grant at the time of the import.
    leases: NotRequired[list[ImportLease]]
    lifecycle: str
    # The name of the entity in the other system. Later imports recognise the entity by it.
    origin: str
    # The state; the initial state by default.
    state: NotRequired[str | None]


class ImportLease(TypedDict):
    """A lease to grant on a slot."""

    holder: str
    slot: str


class ImportReply(TypedDict):
    """The result of an import."""

    # Entities that an earlier import created from the same origin, as `lifecycle/id`. They are not changed.
    already: list[str]
    dryRun: bool
    # The number of entities that were imported, or would be in a dry run.
    imported: int
    replayed: NotRequired[bool]


class InboxAction(TypedDict):
    """Something that the caller can do."""

    # The command that does it.
    command: str
    # `approve` or `deny`; for an alert `acknowledge` or `resolve`; else null.
    decision: NotRequired[str | None]
    # The transition; null for an alert.
    event: NotRequired[str | None]
    # What the request must send: fields, `reason` or `to`.
    fields: list[str]
    # In words.
    label: str
    # Where it may lead.
    to: list[str]


class InboxBody(TypedDict):
    """What waits for the caller."""

    items: list[InboxItem]
    # True if so much waits that not all of it was examined. The rest follows when some is decided.
    more: bool
    # The cursor of the next page: send it as `cursor`. Null on the last page.
    nextCursor: NotRequired[str | None]


class InboxItem(TypedDict):
    """Something that waits for the caller."""

    # What the caller can do.
    actions: list[InboxAction]
    # What waits, in one line.
    headline: str
    id: str
    kind: InboxKind
    lifecycle: str
    # True if the caller can act on it now.
    mayAct: bool
    # The journal entry that put it there. It names the item as long as it waits, so that a command never acts
    # on another one.
    number: int
    otherwise: NotRequired[InboxOtherwise | None]
    # `info`, `warning`, `error` or `critical`.
    severity: str
    # Since when it waits.
    since: str
    # The state of the entity; null for an alert.
    state: NotRequired[str | None]
    # When that ends by itself; null if it does not.
    until: NotRequired[str | None]


class InboxKind(TypedDict):
    """The kind of an item."""


class InboxOtherwise(TypedDict):
    """What happens without an action."""

    # When.
    at: str
    # The transition that a timer fires.
    event: str
    # Where it may lead.
    to: list[str]


# An entry of the journal.
JournalEntry = TypedDict(
    "JournalEntry",
    {
        "actor": "str",
        # The kind of actor: `human`, `agent`, `system` or `timeout`.
        "actorKind": "str",
        # The number of the entry that caused this one. Absent if there is none.
        "cause": "NotRequired[int | None]",
        # The rule that triggered it. Absent if there is none.
        "condition": "NotRequired[str | None]",
        # The kind of event, from a closed list, such as `STATE_TRANSITION`.
        "event": "str",
        # The state before. Absent if the entry does not change the state.
        "from": "NotRequired[str | None]",
        # The hash of the entry in hexadecimal. It covers the hash of the previous entry.
        "hash": "NotRequired[str | None]",
        # The id of the entity.
        "id": "str",
        # The idempotency key of the command, on its first entry.
        "idempotencyKey": "NotRequired[str | None]",
        # The lifecycle of the entity.
        "lifecycle": "str",
        # Details of the event. The members depend on its kind.
        "metadata": "dict[str, Any]",
        # The actor on whose behalf the command was sent. Absent if there is none.
        "onBehalfOf": "NotRequired[str | None]",
        "reason": "NotRequired[str | None]",
        # True if values and texts were redacted from the entry.
        "redacted": "NotRequired[bool]",
        # The id of the request, on entries that it asked for directly.
        "requestId": "NotRequired[str | None]",
        # The number of the entry. Numbers have no gaps.
        "seq": "int",
        "timestamp": "str",
        # The state after. Absent if the entry does not change the state.
        "to": "NotRequired[str | None]",
        # The requested transition or event.
        "trigger": "str",
        # The version of the entity after this entry.
        "version": "int",
        # How the person who acted was authenticated: `page` for the session of a browser, `terminal` for the
        # owner's credential, which commands use only at a terminal, `oidc` for a session that an OpenID provider
        # granted, `proxy` for the reverse proxy, `token` for any other token. Absent for other actors.
        "via": "NotRequired[str | None]",
    },
)


class JournalRange(TypedDict):
    """Journal entries after one number, up to and including another."""

    after: int
    upto: int


class Lease(TypedDict):
    """A lease with its holder."""

    expiresAt: str
    # Increases with every grant of the lease. Send it with requests under this lease.
    fence: int
    # How long after its end the lease is lost, such as `30s`.
    grace: str
    # When the holder got it; null if that is not stored.
    grantedAt: NotRequired[str | None]
    holder: str
    # The time between its last renewal and its end, such as `15m`.
    length: str
    slot: str


class Lifecycle(TypedDict):
    """A lifecycle with its fields and transitions."""

    about: str
    # The field with the actors that work on an entity; null if there is none.
    assignee: NotRequired[str | None]
    # The fields and counters that lists and cards show.
    card: list[str]
    # The states and transitions.
    definition: Graph
    # The purpose that clients may rely on, such as `approval`; null if it declares none.
    face: NotRequired[str | None]
    fields: list[Field]
    initial: str
    # Other names of states, each with its state.
    knownAs: dict[str, str]
    # The full name: `pack.kind`.
    lifecycle: str
    # True if there is only one entity of this lifecycle.
    one: bool
    pack: str
    # The declared order of states; empty if there is none.
    path: list[str]
    # The meaning of each state: `waiting`, `working`, `review`, `stuck`, `failed`, `done` or `ended`.
    shows: dict[str, str]
    states: list[str]
    # The field that names an entity in lists; null if none does.
    title: NotRequired[str | None]
    version: int
    # The versions that entities follow or may follow.
    versions: list[int]
    # The states that wait for people, and how people decide there.
    waitsForPeople: dict[str, StateDecision]
    # The work of agents on its entities, by role.
    work: dict[str, RoleWork]


class LifecycleSummary(TypedDict):
    """A lifecycle in force."""

    about: str
    # The field with the actors that work on an entity; null if there is none.
    assignee: NotRequired[str | None]
    # The fields and counters that lists and cards show.
    card: list[str]
    # The purpose that clients may rely on, such as `approval`; null if it declares none.
    face: NotRequired[str | None]
    initial: str
    # The full name: `pack.kind`.
    lifecycle: str
    # True if there is only one entity of this lifecycle.
    one: bool
    pack: str
    # The declared order of states; empty if there is none.
    path: list[str]
    # The meaning of each state: `waiting`, `working`, `review`, `stuck`, `failed`, `done` or `ended`.
    shows: dict[str, str]
    states: list[str]
    # The field that names an entity in lists; null if none does.
    title: NotRequired[str | None]
    version: int
    # The versions that entities follow or may follow.
    versions: list[int]
    # The states that wait for people, and how people decide there.
    waitsForPeople: dict[str, StateDecision]


class LinesAppended(TypedDict):
    """The answer to appended lines."""

    # The number of the next line.
    next: int


# A message posted on an entity.
Message = TypedDict(
    "Message",
    {
        "at": "str",
        # The author.
        "from": "str",
        "kind": "str",
        # True if the text was redacted from the journal.
        "redacted": "NotRequired[bool]",
        # The number of the journal entry.
        "seq": "int",
        "text": "str",
        # The recipients; null means every actor that may read the entity.
        "to": "NotRequired[list[str] | None]",
    },
)


class Migrate(TypedDict):
    """A migration of running entities to another version of their lifecycle."""

    # Only entities with an id after this one: the `next` of the previous response.
    after: NotRequired[str | None]
    # Values for fields that are not set or do not fit the other version; null means the default, or not set.
    # Fields that fit are not changed.
    fields: NotRequired[dict[str, Any]]
    lifecycle: str
    # The largest number of entities to examine, so that the response lists each of them. Without it, all are
    # examined.
    limit: NotRequired[int | None]
    # State to its name in the other version, for states that were renamed.
    states: NotRequired[dict[str, str]]
    # The version to migrate to. With `undo`: the version that they were migrated to.
    to: int
    # Reverts a migration, for entities that have not changed since. Cannot be combined with `states`, `fields`
    # or a dry run.
    undo: NotRequired[bool]


class Migrated(TypedDict):
    """The result of a migration or of its dry run."""

    # The entities that cannot be migrated, each with its refusal; the first 1,000.
    cannot: list[MigratedOne]
    dryRun: bool
    # The entities that were migrated; the first 1,000.
    items: list[MigratedOne]
    lifecycle: str
    # The number of entities that were examined, including those that follow the version already.
    lookedAt: int
    # The number of entities that were migrated, or would be.
    moved: int
    # The id to send as `after` to continue. Absent if all entities were examined.
    next: NotRequired[str | None]
    # The number of entities that cannot be migrated.
    stuck: int
    to: int


# The result for one entity.
MigratedOne = TypedDict(
    "MigratedOne",
    {
        # The version that it followed before.
        "from": "int",
        "id": "str",
        # Why it cannot be migrated. Absent if it can.
        "refusal": "NotRequired[dict[str, Any] | None]",
        # Its state in the other version. Absent if it cannot be migrated.
        "state": "NotRequired[str | None]",
    },
)


class Moved(TypedDict):
    """An accepted command."""

    # In a dry run, the other journal entries that would follow, of other entities too, as far as the caller
    # may see them. Absent if there are none.
    consequences: NotRequired[list[JournalEntry]]
    # True if the command was only decided and nothing changed.
    dryRun: NotRequired[bool]
    entity: NotRequired[Entity | None]
    # Fields that were sent but ignored, because only the engine writes them. Absent if there are none.
    ignored: NotRequired[list[str]]
    # True if the same command was sent before under its idempotency key. The response repeats the first
    # answer.
    replayed: bool
    success: bool
    # The journal entry of the command.
    transition: JournalEntry


class NewLink(TypedDict):
    """A person to create a sign-in link for."""

    # The id of the person; the caller by default.
    actor: NotRequired[str | None]
    roles: NotRequired[list[str]]


# A token to create.
NewToken = TypedDict(
    "NewToken",
    {
        # The actor that the token identifies.
        "actor": "str",
        # Limits the token of an agent to one entity, as `LIFECYCLE/ID`: it can change only that entity, the
        # agent's own record and `run`, and create what the entity's `work` declares. It can read what the agent
        # can read.
        "entity": "NotRequired[str | None]",
        # The actors on whose behalf the holder may act: ids, where `*` at the end matches any rest.
        "for": "NotRequired[list[str]]",
        # The kind of actor: `human`, `agent` or `system`.
        "kind": "str",
        # How long the token is valid, such as `90s`, `15m`, `24h` or `7d`. Without it, the token does not expire.
        # A run token is valid for at most one hour.
        "lifetime": "NotRequired[str | None]",
        "note": "NotRequired[str | None]",
        # Roles as `pack:role`, or as `role` if that is unique. `admin` gives the rights of the owner.
        "roles": "NotRequired[list[str]]",
        # The run that uses the token.
        "run": "NotRequired[str | None]",
    },
)


class NewWebhook(TypedDict):
    """A webhook to create."""

    # `changes` (the default): every entry but lease renewals; `all`: every entry; the name of an audience,
    # such as `user`: only notifications to it.
    audience: NotRequired[str | None]
    # Kinds of journal entries to send, such as `STATE_TRANSITION`. Without it, `audience` decides.
    events: NotRequired[list[str]]
    # Lifecycles or packs whose entries are sent. By default all, except tokens, sign-in links and webhooks.
    lifecycles: NotRequired[list[str]]
    note: NotRequired[str | None]
    # The URL of the receiver: `https://…`.
    url: str


class Notification(TypedDict):
    """A notification."""

    audience: str
    id: str
    lifecycle: str
    message: str
    # The number of the journal entry.
    seq: int
    since: str
    # The recipients.
    to: list[str]


class OpenEffect(TypedDict):
    """An effect without a result."""

    # The effect of its queue that has to be answered first; null if it is the first.
    behind: NotRequired[int | None]
    # The entity of that effect, as `LIFECYCLE/ID`; null if you may not see it.
    behindEntity: NotRequired[str | None]
    effect: str
    id: int
    # When it was requested.
    since: NotRequired[str | None]
    # The worker that has taken it; null if none has.
    takenBy: NotRequired[str | None]
    # When that worker loses it without a result.
    until: NotRequired[str | None]


class OpenRequest(TypedDict):
    """An open approval request about an entity."""

    # The transitions that decide it, and who may take them.
    deciders: list[EventOption]
    fields: NotRequired[dict[str, Any] | None]
    id: str
    lifecycle: str
    since: str
    state: str
    timers: list[PendingTimer]


class OpenRuns(TypedDict):
    """Open runs of agents and their resources."""

    # The sum of their largest resident memories, in bytes.
    memory: int
    open: int
    # Processor time in milliseconds.
    processor: int


class OpenTarget(TypedDict):
    """Why a target is only one of several."""

    # The state in this field, or computed from it.
    field: NotRequired[str]


class PackFiles(TypedDict):
    """The files of a pack."""

    # Path within the pack to text: `pack.yaml` and `lifecycles/….yaml`.
    files: dict[str, str]


class PackInstalled(TypedDict):
    """The result of installing a pack."""

    # False if the same files were in force before.
    installed: bool
    lifecycles: list[str]
    pack: str
    version: int


class PackSummary(TypedDict):
    """A pack in force."""

    about: str
    lifecycles: list[str]
    pack: str
    roles: list[str]
    version: int


class PendingTimer(TypedDict):
    """A running timer: what it will do, and when."""

    # When its next step is: a warning, or its end.
    at: str
    # When it ends.
    dueAt: str
    name: str
    nextStepAt: str
    # `warning` or `end`.
    step: str
    # The transition that it fires when it ends.
    then: NotRequired[str | None]
    timer: str
    # The states to which that leads.
    to: list[str]


class PolicyJudgement(TypedDict):
    """The decision of the risk policy on an action."""

    action: str
    # The risk level: one of the `levels` of the policy.
    level: str
    # `allow`, `approve` (a person must approve first) or `deny`.
    outcome: str
    pack: str
    role: NotRequired[str | None]
    # The rule that decided, such as `policy.rules[3]`; null if no rule names the action.
    rule: NotRequired[str | None]
    why: str


class Problem(TypedDict):
    """A request that was refused or failed: the reasons, the permitted targets and who may."""

    # The target states that the rules permit the caller from the current state.
    allowedTransitions: list[str]
    # The code, such as `requirement-missing`.
    code: str
    # The main reason, as a sentence.
    detail: str
    # All unmet conditions.
    errors: list[Unmet]
    # The command with which an admin gives you a role that would admit you. Absent if no role would.
    grant: NotRequired[str | None]
    # True if the refused request was recorded in the journal as evidence.
    kept: NotRequired[bool]
    # The HTTP status.
    status: int
    # Always false.
    success: bool
    # The code as a title, such as `Requirement missing`.
    title: str
    # A URI that identifies the code.
    type: str
    # Who may make this request, as text. Absent if the refusal does not state it.
    who: NotRequired[str | None]


class Project(TypedDict):
    """The settings of the whole project."""

    packs: list[Settings]
    # IANA name of the time zone, such as `Europe/Berlin`; empty means UTC.
    zone: str


class ProjectPut(TypedDict):
    """A change of the project."""

    # IANA name of the time zone, such as `Europe/Berlin`; empty means UTC.
    zone: str


class QueryReply(TypedDict):
    """The answer of a query: a page of entities, a page of journal entries, or values by name. A query can
    declare the form of its journal entries.
    """

    # Entities, or journal entries in the form that the query declares.
    items: NotRequired[list[dict[str, Any]]]
    # The cursor of the next page: send it as `cursor`. Null on the last page.
    nextCursor: NotRequired[str | None]


class QuerySummary(TypedDict):
    """A query of a pack."""

    about: str
    name: str
    # The lifecycle of the entities that it lists; null for a query that returns values.
    of: NotRequired[str | None]
    # The names of its parameters.
    takes: list[str]


class Ready(TypedDict):
    """The server takes commands."""

    # The number of entries that are stored but not yet in the tables for reading.
    behind: int
    # The number of the newest journal entry.
    seq: int
    # `ready`, or `degraded` if there are warnings.
    status: str
    # Conditions that need attention, such as a disk that fills up.
    warnings: NotRequired[list[str]]


class Redact(TypedDict):
    """Content to remove from the journal."""

    # True: all entries of the entity. Send either this or `entries`.
    all: NotRequired[bool]
    # New values of fields that come from these entries. Such fields are cleared if they are not named here.
    becomes: NotRequired[dict[str, Any]]
    # Numbers of entries of the entity. Send either this or `all`.
    entries: NotRequired[list[int]]
    id: str
    lifecycle: str
    # The reason, for the journal.
    reason: str


class Redacted(TypedDict):
    """The result of a redaction."""

    # True if the redaction was only decided: it would do what `entries` and `fields` say, and nothing changed.
    dryRun: NotRequired[bool]
    # The entries without a payload now.
    entries: NotRequired[list[int] | None]
    # The fields that changed, with their new values.
    fields: NotRequired[dict[str, Any] | None]
    id: str
    lifecycle: str
    replayed: bool
    # The journal entry of the redaction.
    seq: NotRequired[int | None]
    success: bool


class ReplayWebhook(TypedDict):
    """Dead letters to send again."""

    # Numbers of journal entries; all dead letters by default.
    seqs: NotRequired[list[int]]


# A change of the work on an entity. Its artifact has been stored before.
ReportChange = TypedDict(
    "ReportChange",
    {
        "additions": "NotRequired[int]",
        # The SHA-256 of the artifact, a `Change`.
        "artifact": "str",
        "deletions": "NotRequired[int]",
        # Changed files.
        "files": "NotRequired[int]",
        # The commit before the change.
        "from": "str",
        # The commit with the change.
        "to": "str",
    },
)


class ReportWorktree(TypedDict):
    """The state of the worktree of an entity. Members that are left out keep their last reported value."""

    # Lines added since the base.
    additions: NotRequired[int | None]
    # The commit that it started from.
    base: NotRequired[str | None]
    branch: NotRequired[str | None]
    # Lines deleted since the base.
    deletions: NotRequired[int | None]
    # Whether it has changes that are not committed. A number counts as true if it is not 0.
    dirty: NotRequired[bool | None]
    # Its present commit.
    head: NotRequired[str | None]
    # The branch that its work is merged into.
    integration: NotRequired[str | None]
    # How it is isolated: `worktree` or `clone`.
    kind: NotRequired[str | None]
    # Its folder on the runner's machine.
    path: NotRequired[str | None]
    # The slot of the lease under which it was made.
    slot: NotRequired[str | None]
    # `making`, `ready`, `vanished` or `removed`. `elsewhere` and `strayed` leave the state as it is: a runner
    # has claimed the entity and has no copy of its work, or the main checkout changed while an agent worked in
    # the worktree.
    state: str
    # Paths of the main checkout that changed during a run.
    touched: NotRequired[list[str] | None]
    # Commits of its branch that the integration branch does not have.
    unmerged: NotRequired[int | None]


class Reported(TypedDict):
    """The report of a worktree or of a change was recorded."""

    # The id of the record.
    id: str
    # The lifecycle of the record.
    lifecycle: str
    # True if the same request was sent before under its idempotency key.
    replayed: bool
    # The journal entry of the report.
    seq: int
    success: bool


class RequestAction(TypedDict):
    """A call of an action that may need an approval."""

    action: str
    arguments: NotRequired[Any]
    # The entity that the caller works on, as LIFECYCLE/ID, or the id of the entity that the request is about.
    # By default the first one of the query that the policy names.
    entity: NotRequired[str | None]
    # The pack with the policy. By default the pack of the run's entity, of `entity`, of `role`, or of the
    # caller's roles.
    pack: NotRequired[str | None]
    # The role that would perform the action; the caller's own roles by default.
    role: NotRequired[str | None]
    # No person is at the agent. An action for which no request can be filed raises an alert.
    unattended: NotRequired[bool]


class RoleWork(TypedDict):
    """The work of one role on the entities of a lifecycle, by the names of its events."""

    about: str
    agent: NotRequired[WorkAgent | None]
    begin: NotRequired[str | None]
    # The event that takes an entity.
    claim: NotRequired[str | None]
    # True if `POST /v1/entities/{lifecycle}/claim` takes the next entity by this event.
    claimRoute: bool
    done: NotRequired[str | None]
    failed: NotRequired[str | None]
    meter: NotRequired[str | None]
    note: NotRequired[str | None]
    # The query of the pack that lists the entities that wait for the role.
    query: NotRequired[str | None]


class RuleKind(TypedDict):
    pass


class Run(TypedDict):
    """One process of an agent, from its start to its end."""

    # The account at the model provider.
    account: NotRequired[str | None]
    # `busy`, `waiting` or `silent`.
    activity: NotRequired[str | None]
    adapter: NotRequired[str | None]
    agent: NotRequired[str | None]
    # Program and arguments, without the prompt.
    command: list[str]
    # The commit with its result.
    commit: NotRequired[str | None]
    # Percent of the context window.
    context: NotRequired[float | None]
    # US dollars, as metered.
    cost: NotRequired[float | None]
    createdAt: str
    # Its last tool call or message.
    doing: NotRequired[str | None]
    # Seconds from the start to the end, or to now.
    duration: NotRequired[float | None]
    # True if it has ended.
    ended: bool
    endedAt: NotRequired[str | None]
    # The entity that it works on, as `LIFECYCLE/ID`.
    entity: NotRequired[str | None]
    # The version of the entity at the start.
    entityVersion: NotRequired[int | None]
    # Why its processes could not be ended.
    evidence: NotRequired[str | None]
    # How it ended: `ok`, `quota`, `rate`, `crash`, `killed` and others.
    exitClass: NotRequired[str | None]
    exitCode: NotRequired[int | None]
    # The last message of the program.
    exitText: NotRequired[str | None]
    folder: NotRequired[str | None]
    id: str
    # Lines of its transcript, as its runner reports them.
    lines: int
    # Largest resident memory in bytes.
    memory: NotRequired[int | None]
    # Messages to the agent that it has not got yet.
    messages: list[RunMessage]
    # The part of the cost that the budgets of the pack know.
    metered: NotRequired[float | None]
    model: NotRequired[str | None]
    # The next step, for the agent that continues.
    next: NotRequired[str | None]
    # The run that it continues.
    previous: NotRequired[str | None]
    # Processor time in milliseconds.
    processor: NotRequired[int | None]
    # Runs before this one for the same work without progress.
    reruns: int
    # When the usage limit ends.
    resetsAt: NotRequired[str | None]
    # Starts before this one for the same work.
    restarts: int
    role: NotRequired[str | None]
    runner: NotRequired[str | None]
    # The registration of the runner that started it.
    runnerGeneration: NotRequired[int | None]
    # The restrictions of its sandbox.
    sandbox: NotRequired[str | None]
    # The agent program's own conversation.
    session: NotRequired[str | None]
    # The signal that ended it.
    signal: NotRequired[int | None]
    startedAt: NotRequired[str | None]
    state: str
    stopReason: NotRequired[str | None]
    # A summary of the work.
    summary: NotRequired[str | None]
    # How its processes are contained: `pidns`, `cgroup` or `tree`.
    tier: NotRequired[str | None]
    tokens: RunTokens
    # The version of its record.
    version: int


class RunAct(TypedDict):
    """The next step of a supervisor: `stop`; `restart` or `wait` and start again; `hold` until it is over; or
    `giveUp`.
    """


class RunLine(TypedDict):
    """A line of a transcript: its number, its time and its content. Lines of an agent have a `kind`, those of
    Trackside a `mark`.
    """

    # Milliseconds since 1970.
    at: int
    # Numbers begin at 1 and have no gaps.
    number: int


class RunMessage(TypedDict):
    """A message to a running agent."""

    at: NotRequired[str | None]
    by: str
    # `queue` or `interrupt`.
    mode: str
    # From 1.
    number: int
    text: str


class RunSummary(TypedDict):
    """A run of an entity in short."""

    adapter: NotRequired[str | None]
    agent: NotRequired[str | None]
    cost: NotRequired[float | None]
    createdAt: str
    # Its last tool call or message.
    doing: NotRequired[str | None]
    ended: bool
    endedAt: NotRequired[str | None]
    exitClass: NotRequired[str | None]
    id: str
    role: NotRequired[str | None]
    runner: NotRequired[str | None]
    startedAt: NotRequired[str | None]
    state: str


class RunTokens(TypedDict):
    """Tokens that a run used."""

    cacheRead: int
    cacheWrite: int
    # Input tokens, without cached ones.
    input: int
    output: int


class RunVerdict(TypedDict):
    """The decision of the pack after the end of a run."""

    act: RunAct
    # Seconds to wait before the next start.
    after: NotRequired[float | None]
    fire: NotRequired[VerdictEvent | None]
    why: str


class ServerIdentity(TypedDict):
    """The identity of a server, proven by a signature over the caller's nonce and the address that was called."""

    # The address at which the server received this request. Behind a proxy it differs from the one that the
    # client called.
    address: str
    # The addresses that the server listens on.
    addresses: list[str]
    # The SHA-256 of the public key, in hexadecimal.
    fingerprint: str
    # The Ed25519 public key, in hexadecimal.
    publicKey: str
    # The signature over the context, the nonce and `address`, in hexadecimal.
    signature: str


class Setting(TypedDict):
    """A setting of a pack."""

    about: str
    # The default of the pack.
    default: Any
    # The largest allowed value. Absent if there is none.
    max: NotRequired[float | None]
    # The smallest allowed value. Absent if there is none.
    min: NotRequired[float | None]
    name: str
    # `project` if the project overrides the default, else `default`.
    origin: str
    # `string`, `number`, `integer`, `boolean`, `span`, `list`, `map` or `any`.
    type: str
    # The current value.
    value: Any


class Settings(TypedDict):
    """The settings of a pack."""

    items: list[Setting]
    pack: str


class SignInLink(TypedDict):
    """A sign-in link that can be used once."""

    expiresAt: NotRequired[str | None]
    url: str


class StateDecision(TypedDict):
    """The transitions by which people decide what waits in a state; null if there is no such transition."""

    approve: NotRequired[str | None]
    deny: NotRequired[str | None]


class StateLease(TypedDict):
    """A lease that may be held in a state."""

    # The transition fired when it is lost.
    lost: NotRequired[str | None]
    slot: str
    span: str


class StateNode(TypedDict):
    """A state."""

    about: str
    # The clocks that run in this state.
    clocks: list[StateTimer]
    initial: bool
    # Whether only a second creation leaves it.
    last: bool
    # Leases that may be held here.
    leases: list[StateLease]
    name: str
    outcome: NotRequired[str | None]
    # Rules that apply here without a move.
    stays: list[DiagramRule]
    # Its place in the declared order.
    step: NotRequired[int | None]


class StateTimer(TypedDict):
    """A clock that runs in a state."""

    kind: StateTimerKind
    name: str
    # The time at which it is due: `4h`, `daily 09:00`, `at expiresAt`.
    span: str
    # The transition it fires.
    then: NotRequired[str | None]
    # Percentages, ascending.
    warn: list[int]
    # The clock as text: `4h, then escalate`.
    words: str


class StateTimerKind(TypedDict):
    pass


class Stats(TypedDict):
    """The statistics of one lifecycle."""

    lifecycle: str
    # Refused requests since the server started, by code.
    refusals: dict[str, int]
    # The resources of its open runs of agents, as their runners sampled them last.
    runs: OpenRuns
    # When the server started.
    startedAt: NotRequired[str | None]
    # The number of entities per state now.
    states: dict[str, int]
    throughput: Throughput
    # The time spent in each state, over visits that have ended.
    timeInState: dict[str, Dwell]


class StatsReply(TypedDict):
    """Statistics of one lifecycle if the request names it, else of all."""

    items: NotRequired[list[Stats]]
    lifecycle: NotRequired[str]
    nextCursor: NotRequired[str | None]
    # Refused requests since the server started, by code.
    refusals: NotRequired[dict[str, int]]
    # The resources of its open runs of agents, as their runners sampled them last.
    runs: NotRequired[OpenRuns]
    # When the server started.
    startedAt: NotRequired[str | None]
    # The number of entities per state now.
    states: NotRequired[dict[str, int]]
    throughput: NotRequired[Throughput]
    # The time spent in each state, over visits that have ended.
    timeInState: NotRequired[dict[str, Dwell]]


class SteerRun(TypedDict):
    """A message to a running agent."""

    # `queue` (default): after the present step; `interrupt`: at once.
    mode: NotRequired[str | None]
    text: str


class StepApplied(TypedDict):
    """Whether the event of a step was fired."""

    applied: bool
    entity: NotRequired[Entity | None]
    # True if the same request was sent before under its idempotency key.
    replayed: bool
    transition: NotRequired[JournalEntry | None]
    # Why nothing was fired; null if an event was.
    why: NotRequired[str | None]


class Stop(TypedDict):
    """A request to the holder of a lease to stop."""

    # The messages of the failed checks of the slot, separated by `; `.
    why: str


class StopRun(TypedDict):
    """A request to end a run."""

    reason: NotRequired[str | None]


class Success(TypedDict):
    """The request succeeded."""

    success: bool


class Sweep(TypedDict):
    """The result of a sweep."""

    # Violations that have ended.
    cleared: int
    # Entities whose stored rows were compared with the journal.
    compared: int
    # Entities with altered journal entries: nothing was rebuilt from them.
    forged: int
    # Violations that were not known before.
    found: int
    # The entries that the sweep wrote.
    journal: JournalRange
    # The number of entities that were checked.
    lookedAt: int
    # Entities whose rows differed and were rebuilt.
    mended: int
    # Repairs that the definitions declare and that were applied.
    repaired: int
    # Entities that could not be compared, because a part of the journal is missing or too long.
    unchecked: int


class TakeEffects(TypedDict):
    """A request to take effects."""

    # Only effects of this entity, as `LIFECYCLE/ID`.
    entity: NotRequired[str | None]
    # Only effects of this kind.
    kind: NotRequired[str | None]
    # How long the effects are reserved for the caller: `5m` by default, at most `24h`. After that, another
    # worker can take those without a result.
    lease: NotRequired[str | None]
    # The largest number of effects: 1 by default. A number above 200 counts as 200.
    limit: NotRequired[int | None]


class TakenField(TypedDict):
    """A field that a transition takes."""

    field: str
    required: bool


class Throughput(TypedDict):
    """The number of recent transitions."""

    # Present if older entries are archived: counted from this time.
    countedFrom: NotRequired[str | None]
    lastHour: int
    lastMinute: int
    sinceStart: int


class Timer(TypedDict):
    """A timer: running, or paused in the current state."""

    # When the timer is due; null while it is paused.
    dueAt: NotRequired[str | None]
    name: str
    # True if it does not run in the current state and will continue in another one.
    paused: bool
    startedAt: str
    # The percentages of its time at which it warns, such as 80.
    warn: list[int]


# A token, without its secret.
Token = TypedDict(
    "Token",
    {
        # The actor that the token identifies.
        "actor": "str",
        "createdAt": "str",
        # The entity that it is limited to, as `LIFECYCLE/ID`.
        "entity": "NotRequired[str | None]",
        # When it expires; null means never.
        "expiresAt": "NotRequired[str | None]",
        # The actors on whose behalf the holder may act.
        "for": "list[str]",
        # The id of the token, which is not its text.
        "id": "str",
        # The kind of actor: `human`, `agent` or `system`.
        "kind": "str",
        # The id of the token it ends with, for run tokens and browser sessions.
        "madeWith": "NotRequired[str | None]",
        # The actor that created it.
        "mintedBy": "NotRequired[str | None]",
        # The id of the token it was created with.
        "mintedWith": "NotRequired[str | None]",
        "note": "NotRequired[str | None]",
        "purpose": "str",
        "roles": "list[str]",
        # The run that uses it.
        "run": "NotRequired[str | None]",
        "state": "str",
    },
)


class TokenMade(TypedDict):
    """A created token. Its text is returned only once."""

    details: Token
    # Why the token expires earlier than requested. Absent if it does not.
    shortened: NotRequired[str | None]
    # The text of the token. Send it as `Authorization: Bearer …`. It cannot be shown again.
    token: str


class Transition(TypedDict):
    """A requested transition, by target state (`to`) or by name (`event`). Send exactly one of the two."""

    # The name of the transition.
    event: NotRequired[str | None]
    # The fence of the lease that the caller holds.
    fence: NotRequired[int | None]
    # The fields of the request, by name.
    fields: NotRequired[dict[str, Any]]
    # The reason, for the journal. Some transitions require one.
    reason: NotRequired[str | None]
    # The target state.
    to: NotRequired[str | None]


class TransitionOption(TypedDict):
    """A transition out of the current state."""

    about: str
    # Every condition, in the order of evaluation.
    checks: list[Check]
    event: str
    # False if a gate is closed to you.
    heard: bool
    # What a request of yours must still send: fields, `reason` or `to`. Null if you may not take it, or if a
    # condition fails that no field changes.
    missing: NotRequired[list[str] | None]
    needsReason: bool
    needsTarget: bool
    # True if you can take it once you send the required fields.
    open: bool
    # True if every condition that does not depend on the caller passes.
    openToOthers: bool
    # True if you are one of them.
    permitted: bool
    takes: list[TakenField]
    # The possible target states; empty if the entity stays in its state.
    to: list[str]
    # Who may take it.
    who: str


class Trigger(TypedDict):
    """A cause for which the engine fires a transition."""

    cause: Cause
    # The name of the timer, counter, reaction, effect, slot, invariant, transition or state.
    name: str


class Unmet(TypedDict):
    """One unmet condition."""

    code: str
    # The field that the condition is about; null if there is none.
    field: NotRequired[str | None]
    message: str
    # The expression that was not true. Absent if there is none.
    rule: NotRequired[str | None]
    # The values that the expression read.
    saw: NotRequired[dict[str, Any]]


class VerdictEvent(TypedDict):
    """A transition that a verdict asks for."""

    event: str
    fields: dict[str, Any]
    # The lifecycle of the entity, which the run works on.
    lifecycle: str


class Violation(TypedDict):
    """A violated invariant."""

    # True if the invariant holds again.
    cleared: bool
    # The journal entry since which it holds again.
    clearedBy: NotRequired[int | None]
    # The entity as `lifecycle/id`.
    entities: list[str]
    # The values that the rule read.
    evidence: dict[str, Any]
    id: str
    lifecycle: str
    message: str
    rule: str
    seq: int
    # `info`, `warning`, `error` or `critical`.
    severity: str
    since: str


class WaitingFor(TypedDict):
    """Something that an entity waits for."""

    event: str
    to: list[str]
    # The conditions that fail.
    unmet: list[str]
    who: str


class Webhook(TypedDict):
    """A webhook, without its secret."""

    audience: str
    createdAt: str
    # The journal entry up to which every message was delivered, became a dead letter, or was not subscribed.
    cursor: int
    # The number of dead letters.
    dead: int
    events: list[str]
    # The actor that created it. Only entries that this actor may read are sent.
    holder: str
    id: str
    lifecycles: list[str]
    note: NotRequired[str | None]
    # True if messages are sent.
    sends: bool
    state: str
    url: str
    # Why the webhook was switched off; null if it was not.
    why: NotRequired[str | None]


class WebhookDelivery(TypedDict):
    """The delivery of one message."""

    # The time of the last attempt, by the clock of the machine.
    at: str
    # The number of attempts.
    attempts: int
    # Its `webhook-id`, the same for every attempt.
    messageId: str
    # The time of the next attempt; null if there is none.
    nextAt: NotRequired[str | None]
    # The number of the journal entry in the message.
    seq: int
    # `delivered`, `failing` (will be retried), `dead`, or `queued` (a dead letter that will be retried).
    state: str
    # The HTTP status of the last response; null if there was none.
    status: NotRequired[int | None]
    # Why the last attempt failed; null if it did not.
    why: NotRequired[str | None]


class WebhookMade(TypedDict):
    """A created webhook. Its secret is returned here, and again only for the same idempotency key."""

    details: Webhook
    # True if the same request created it before.
    replayed: NotRequired[bool]
    # The secret with which the receiver verifies signatures: `whsec_…`.
    secret: str


class WebhookReplayed(TypedDict):
    """The result of sending dead letters again."""

    # True if the webhook was off and is on again.
    enabled: bool
    # Requested numbers that are not dead letters.
    passedOver: NotRequired[list[int]]
    # The number of messages that will be sent again.
    queued: int
    success: bool


class Work(TypedDict):
    """What an agent is asked to do with an entity."""

    # The agent: you, or the actor on whose behalf you ask.
    agent: str
    change: NotRequired[WorkChange | None]
    # The event that takes the entity, if the agent may fire it now; else null.
    claim: NotRequired[str | None]
    # The event that is fired when a run ended well without moving the entity.
    done: NotRequired[str | None]
    # The entity, without its leases.
    entity: Entity
    # The events that the agent may fire now.
    events: list[WorkEvent]
    # The event that is fired when a run failed for good.
    failed: NotRequired[str | None]
    # What the last review said; null if there is nothing.
    feedback: Any
    # The notes of the process before; null if there are none.
    handoff: Any
    id: str
    # Everything the agent needs to know: the task, feedback, notes, the events and what happens at the end.
    instructions: str
    lifecycle: str
    role: str
    # Conditions that must hold before the agent starts; empty if it may start now.
    waits: list[str]
    worktree: NotRequired[Worktree | None]


class WorkAgent(TypedDict):
    """The record of an agent, which a runner creates before the work and leaves after it."""

    # The fields of the record, for the caller or the actor on whose behalf it asks.
    fields: dict[str, Any]
    # The event after the work.
    leave: NotRequired[str | None]
    lifecycle: str
    # The event after the record was created.
    ready: NotRequired[str | None]


# The latest change of the work on an entity, without its lines.
WorkChange = TypedDict(
    "WorkChange",
    {
        "additions": "int",
        "artifact": "str",
        # When it was first reported.
        "at": "str",
        # The command that prints them.
        "command": "str",
        "deletions": "int",
        # Changed files.
        "files": "int",
        # The commit before the change.
        "from": "str",
        # The route that returns its files and lines.
        "route": "str",
        # Who reported it.
        "runner": "NotRequired[str | None]",
        # The commit with the change.
        "to": "str",
    },
)


class WorkEvent(TypedDict):
    """An event that an agent may fire."""

    about: str
    # What the fields must fulfil.
    conditions: list[str]
    event: str
    # True if the request must give a reason.
    needsReason: bool
    # The JSON Schema of `fields`.
    schema: dict[str, Any]
    # The possible target states; empty if the state stays.
    to: list[str]


class Worktree(TypedDict):
    """The worktree of an entity."""

    # Lines added since the base.
    additions: NotRequired[int | None]
    # The commit that it started from.
    base: NotRequired[str | None]
    branch: NotRequired[str | None]
    # Lines deleted since the base.
    deletions: NotRequired[int | None]
    # Whether it has changes that are not committed.
    dirty: NotRequired[bool | None]
    # Its present commit.
    head: NotRequired[str | None]
    # The branch that its work is merged into.
    integration: NotRequired[str | None]
    # How it is isolated: `worktree` or `clone`.
    kind: NotRequired[str | None]
    # Its folder on the runner's machine.
    path: NotRequired[str | None]
    reportedAt: NotRequired[str | None]
    # Who reported it last.
    runner: NotRequired[str | None]
    since: str
    # The slot of the lease under which it was made.
    slot: NotRequired[str | None]
    # `making`, `ready`, `vanished` or `removed`.
    state: str
    # Paths of the main checkout that changed during the last run that changed any.
    touched: list[str]
    # Commits of its branch that the integration branch does not have.
    unmerged: NotRequired[int | None]


class Routes(Transport):
    """Every route of a server."""

    def list_approvals(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Approval]:
        """Lists open requests and other entities that wait for an approval, if the caller may see them: urgent ones
        first, then the oldest.
        """
        response: Page[Approval] = self._json("GET", "/v1/approvals", query=given({"limit": limit, "cursor": cursor}))
        return response

    def decide_approval(
        self,
        id: str,
        *,
        decision: str,
        lifecycle: str | None = None,
        note: str | None = None,
        to: str | None = None,
        dry_run: bool | None = None,
        idempotency_key: str | None = None,
    ) -> Moved:
        """Approves or denies a request, by the transition that its lifecycle's face names."""
        response: Moved = self._json(
            "POST",
            f"/v1/approvals/{part(id)}/decision",
            query=given({"dryRun": dry_run}),
            json=given({"decision": decision, "lifecycle": lifecycle, "note": note, "to": to}),
            key=self._key(idempotency_key),
        )
        return response

    def inbox(
        self,
        *,
        kind: str | None = None,
        number: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> InboxBody:
        """Lists everything that waits for the caller: the most severe first, then the oldest. If very much waits,
        the list is cut, and `more` is true.
        """
        response: InboxBody = self._json(
            "GET",
            "/v1/inbox",
            query=given({"kind": kind, "number": number, "limit": limit, "cursor": cursor}),
        )
        return response

    def evaluate_policy(
        self,
        *,
        action: str,
        arguments: Any | None = None,
        entity: str | None = None,
        pack: str | None = None,
        role: str | None = None,
        idempotency_key: str | None = None,
    ) -> PolicyJudgement:
        """Evaluates the risk level of an action, whether a role may do it, and why."""
        response: PolicyJudgement = self._json(
            "POST",
            "/v1/policy/evaluate",
            json=given({"action": action, "arguments": arguments, "entity": entity, "pack": pack, "role": role}),
            key=self._key(idempotency_key),
        )
        return response

    def request_action(
        self,
        *,
        action: str,
        arguments: Any | None = None,
        entity: str | None = None,
        pack: str | None = None,
        role: str | None = None,
        unattended: bool | None = None,
        idempotency_key: str | None = None,
    ) -> ActionAnswer:
        """Asks whether an action may be done now, and requests its approval if it needs one. The same action with
        the same arguments finds the request it made before: an approval is used, a denial and an open request
        are returned.
        """
        response: ActionAnswer = self._json(
            "POST",
            "/v1/policy/request",
            json=given({"action": action, "arguments": arguments, "entity": entity, "pack": pack, "role": role, "unattended": unattended}),
            key=self._key(idempotency_key),
        )
        return response

    def get_artifact(self, sha256: str) -> bytes:
        """Returns content."""
        return self._bytes("GET", f"/v1/artifacts/{part(sha256)}")

    def put_artifact(self, sha256: str, content: bytes) -> ArtifactKept:
        """Stores content under its hash. Repeating it changes nothing, and replaces a file that was damaged."""
        response: ArtifactKept = self._json("PUT", f"/v1/artifacts/{part(sha256)}", content=content)
        return response

    def clock(self) -> Clock:
        """Shows the time."""
        response: Clock = self._json("GET", "/v1/clock")
        return response

    def advance_clock(
        self,
        *,
        by: str | None = None,
        to: str | None = None,
        idempotency_key: str | None = None,
    ) -> Clock:
        """Moves the manual clock and fires everything due, in order."""
        response: Clock = self._json(
            "POST",
            "/v1/clock/advance",
            json=given({"by": by, "to": to}),
            key=self._key(idempotency_key),
        )
        return response

    def correct_clock(
        self,
        *,
        direction: CorrectionDirection,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> ClockCorrected:
        """Moves project time to the machine's clock after a jump. Forward: timers that become due fire. Back:
        timers that were started after the new time are moved back by the same span.
        """
        response: ClockCorrected = self._json(
            "POST",
            "/v1/clock/correct",
            json=given({"direction": direction, "reason": reason}),
            key=self._key(idempotency_key),
        )
        return response

    def list_lifecycles(self, *, limit: int | None = None, cursor: str | None = None) -> Page[LifecycleSummary]:
        """Lists the lifecycles in force."""
        response: Page[LifecycleSummary] = self._json(
            "GET",
            "/v1/lifecycles",
            query=given({"limit": limit, "cursor": cursor}),
        )
        return response

    def show_lifecycle(self, lifecycle: str) -> Lifecycle:
        """Shows one definition: states, fields, transitions and what each takes."""
        response: Lifecycle = self._json("GET", f"/v1/lifecycles/{part(lifecycle)}")
        return response

    def draw_lifecycle(self, lifecycle: str, *, format: str | None = None) -> str:
        """Draws a lifecycle."""
        return self._text("GET", f"/v1/lifecycles/{part(lifecycle)}/diagram", query=given({"format": format}))

    def migrate(
        self,
        *,
        lifecycle: str,
        to: int,
        after: str | None = None,
        fields: Mapping[str, Any] | None = None,
        limit: int | None = None,
        states: Mapping[str, str] | None = None,
        undo: bool | None = None,
        dry_run: bool | None = None,
        idempotency_key: str | None = None,
    ) -> Migrated:
        """Migrates the entities of a lifecycle to another version, each by a journal entry. With `dryRun`, shows
        what would happen.
        """
        response: Migrated = self._json(
            "POST",
            "/v1/migrations",
            query=given({"dryRun": dry_run}),
            json=given({"after": after, "fields": fields, "lifecycle": lifecycle, "limit": limit, "states": states, "to": to, "undo": undo}),
            key=self._key(idempotency_key),
        )
        return response

    def list_packs(self, *, limit: int | None = None, cursor: str | None = None) -> Page[PackSummary]:
        """Lists the installed packs."""
        response: Page[PackSummary] = self._json("GET", "/v1/packs", query=given({"limit": limit, "cursor": cursor}))
        return response

    def put_pack(self, pack: str, *, files: Mapping[str, str]) -> PackInstalled:
        """Checks and installs a pack. Running entities keep their version."""
        response: PackInstalled = self._json("PUT", f"/v1/packs/{part(pack)}", json=given({"files": files}))
        return response

    def project_settings(self) -> Project:
        """Shows the time zone, and the settings of every pack."""
        response: Project = self._json("GET", "/v1/settings")
        return response

    def put_project_settings(self, *, zone: str, dry_run: bool | None = None) -> Project:
        """Changes the time zone of the project. With `dryRun`, shows the settings as they would be."""
        response: Project = self._json(
            "PUT",
            "/v1/settings",
            query=given({"dryRun": dry_run}),
            json=given({"zone": zone}),
        )
        return response

    def settings(self, pack: str) -> Settings:
        """Shows the settings of a pack: the value in force, the default, and the origin."""
        response: Settings = self._json("GET", f"/v1/settings/{part(pack)}")
        return response

    def put_settings(self, pack: str, body: Mapping[str, Any], *, dry_run: bool | None = None) -> Settings:
        """Changes settings of a pack: names with values, or null for the default. With `dryRun`, shows the settings
        as they would be.
        """
        response: Settings = self._json(
            "PUT",
            f"/v1/settings/{part(pack)}",
            query=given({"dryRun": dry_run}),
            json=body,
        )
        return response

    def audiences(self, *, limit: int | None = None, cursor: str | None = None) -> Page[AudienceBody]:
        """Lists audiences: those that were set, and those that packs declare."""
        response: Page[AudienceBody] = self._json(
            "GET",
            "/v1/audiences",
            query=given({"limit": limit, "cursor": cursor}),
        )
        return response

    def audience(self, name: str) -> AudienceBody:
        """Shows an audience, without the values of its addresses."""
        response: AudienceBody = self._json("GET", f"/v1/audiences/{part(name)}")
        return response

    def put_audience(
        self,
        name: str,
        *,
        addresses: Sequence[AddressPut] | None = None,
        alerts: str | None = None,
        digest: str | None = None,
        escalate_after: str | None = None,
        lifecycles: Sequence[str] | None = None,
        members: Sequence[str] | None = None,
        notifications: bool | None = None,
        quiet: AudienceQuiet | None = None,
    ) -> AudienceBody:
        """Sets an audience: its members, its addresses, and when messages are sent. Only a person with role admin
        may.
        """
        response: AudienceBody = self._json(
            "PUT",
            f"/v1/audiences/{part(name)}",
            json=given({"addresses": addresses, "alerts": alerts, "digest": digest, "escalateAfter": escalate_after, "lifecycles": lifecycles, "members": members, "notifications": notifications, "quiet": quiet}),
        )
        return response

    def test_audience(
        self,
        name: str,
        *,
        address: str | None = None,
        idempotency_key: str | None = None,
    ) -> DeliveryTested:
        """Sends a test message to the addresses of an audience, and waits for the results. Nothing of it is
        journalled.
        """
        response: DeliveryTested = self._json(
            "POST",
            f"/v1/audiences/{part(name)}/test",
            json=given({"address": address}),
            key=self._key(idempotency_key),
        )
        return response

    def deliveries(
        self,
        *,
        state: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[DeliveryBody]:
        """Lists deliveries: all of them for an admin, for other people those to them."""
        response: Page[DeliveryBody] = self._json(
            "GET",
            "/v1/deliveries",
            query=given({"state": state, "limit": limit, "cursor": cursor}),
        )
        return response

    def list_effects(
        self,
        *,
        kind: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Effect]:
        """Lists open effects, the oldest first."""
        response: Page[Effect] = self._json(
            "GET",
            "/v1/effects",
            query=given({"kind": kind, "limit": limit, "cursor": cursor}),
        )
        return response

    def take_effects(
        self,
        *,
        entity: str | None = None,
        kind: str | None = None,
        lease: str | None = None,
        limit: int | None = None,
        idempotency_key: str | None = None,
    ) -> Page[EffectTaken]:
        """Takes effects that are not taken, the oldest first."""
        response: Page[EffectTaken] = self._json(
            "POST",
            "/v1/effects/take",
            json=given({"entity": entity, "kind": kind, "lease": lease, "limit": limit}),
            key=self._key(idempotency_key),
        )
        return response

    def settle_effect(
        self,
        id: int,
        *,
        fence: int,
        ok: bool,
        detail: Any | None = None,
        idempotency_key: str | None = None,
    ) -> EffectSettled:
        """Reports the result of an effect."""
        response: EffectSettled = self._json(
            "POST",
            f"/v1/effects/{part(id)}/result",
            json=given({"detail": detail, "fence": fence, "ok": ok}),
            key=self._key(idempotency_key),
        )
        return response

    def batch(
        self,
        *,
        commands: Sequence[BatchCommand],
        atomic: bool | None = None,
        dry_run: bool | None = None,
        idempotency_key: str | None = None,
    ) -> BatchReply:
        """Runs several commands in order. Each has its own outcome unless `atomic` is true. With `dryRun`, each is
        decided on top of those before it, and nothing changes.
        """
        response: BatchReply = self._json(
            "POST",
            "/v1/batch",
            query=given({"dryRun": dry_run}),
            json=given({"atomic": atomic, "commands": commands}),
            key=self._key(idempotency_key),
        )
        return response

    def list_entities(
        self,
        lifecycle: str,
        *,
        state: str | None = None,
        where: str | None = None,
        overdue: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        seq: int | None = None,
    ) -> Page[Entity]:
        """Lists entities of a lifecycle."""
        response: Page[Entity] = self._json(
            "GET",
            f"/v1/entities/{part(lifecycle)}",
            query=given({"state": state, "where": where, "overdue": overdue, "limit": limit, "cursor": cursor, "seq": seq}),
        )
        return response

    def create_entity(
        self,
        lifecycle: str,
        *,
        fields: Mapping[str, Any] | None = None,
        id: str | None = None,
        dry_run: bool | None = None,
        idempotency_key: str | None = None,
    ) -> Moved:
        """Creates an entity."""
        response: Moved = self._json(
            "POST",
            f"/v1/entities/{part(lifecycle)}",
            query=given({"dryRun": dry_run}),
            json=given({"fields": fields, "id": id}),
            key=self._key(idempotency_key),
        )
        return response

    def claim(
        self,
        lifecycle: str,
        *,
        event: str | None = None,
        fields: Mapping[str, Any] | None = None,
        reason: str | None = None,
        where: str | None = None,
        dry_run: bool | None = None,
        idempotency_key: str | None = None,
    ) -> Moved | None:
        """Claims the next available entity for the caller."""
        response: Moved | None = self._json(
            "POST",
            f"/v1/entities/{part(lifecycle)}/claim",
            query=given({"dryRun": dry_run}),
            json=given({"event": event, "fields": fields, "reason": reason, "where": where}),
            key=self._key(idempotency_key),
        )
        return response

    def show_entity(self, lifecycle: str, id: str, *, at: int | None = None) -> Entity:
        """Shows one entity."""
        response: Entity = self._json("GET", f"/v1/entities/{part(lifecycle)}/{part(id)}", query=given({"at": at}))
        return response

    def correct(
        self,
        lifecycle: str,
        id: str,
        *,
        fields: Mapping[str, Any] | None = None,
        reason: str | None = None,
        to: str | None = None,
        dry_run: bool | None = None,
        idempotency_key: str | None = None,
    ) -> Moved:
        """Admin override: sets state or fields without a transition. Journalled, and raises an alert."""
        response: Moved = self._json(
            "POST",
            f"/v1/entities/{part(lifecycle)}/{part(id)}/correct",
            query=given({"dryRun": dry_run}),
            json=given({"fields": fields, "reason": reason, "to": to}),
            key=self._key(idempotency_key),
        )
        return response

    def explain(self, lifecycle: str, id: str) -> Explanation:
        """Explains the state of an entity."""
        response: Explanation = self._json("GET", f"/v1/entities/{part(lifecycle)}/{part(id)}/explain")
        return response

    def heartbeat(
        self,
        lifecycle: str,
        id: str,
        *,
        fence: int | None = None,
        slot: str | None = None,
        idempotency_key: str | None = None,
    ) -> HeartbeatReply:
        """Extends a lease."""
        response: HeartbeatReply = self._json(
            "POST",
            f"/v1/entities/{part(lifecycle)}/{part(id)}/heartbeat",
            json=given({"fence": fence, "slot": slot}),
            key=self._key(idempotency_key),
        )
        return response

    def history(
        self,
        lifecycle: str,
        id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        all: bool | None = None,
        runs: bool | None = None,
        form: str | None = None,
    ) -> History:
        """Lists the journal entries of an entity, the oldest first, and the seconds spent in each state."""
        response: History = self._json(
            "GET",
            f"/v1/entities/{part(lifecycle)}/{part(id)}/history",
            query=given({"limit": limit, "cursor": cursor, "all": all, "runs": runs, "form": form}),
        )
        return response

    def messages(
        self,
        lifecycle: str,
        id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Message]:
        """Lists the messages of an entity that the caller may see, the oldest first. `to` names who has to act on
        one.
        """
        response: Page[Message] = self._json(
            "GET",
            f"/v1/entities/{part(lifecycle)}/{part(id)}/messages",
            query=given({"limit": limit, "cursor": cursor}),
        )
        return response

    def fire(
        self,
        lifecycle: str,
        id: str,
        *,
        event: str | None = None,
        fence: int | None = None,
        fields: Mapping[str, Any] | None = None,
        reason: str | None = None,
        to: str | None = None,
        dry_run: bool | None = None,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> Moved:
        """Fires a transition, by its name or by its target state."""
        response: Moved = self._json(
            "POST",
            f"/v1/entities/{part(lifecycle)}/{part(id)}/transitions",
            query=given({"dryRun": dry_run}),
            headers=given({"If-Match": if_match}),
            json=given({"event": event, "fence": fence, "fields": fields, "reason": reason, "to": to}),
            key=self._key(idempotency_key),
        )
        return response

    def work(self, lifecycle: str, id: str, *, role: str | None = None) -> Work:
        """Shows what an agent is asked to do with an entity."""
        response: Work = self._json(
            "GET",
            f"/v1/entities/{part(lifecycle)}/{part(id)}/work",
            query=given({"role": role}),
        )
        return response

    def healthz(self) -> Health:
        """The process is running."""
        response: Health = self._json("GET", "/healthz")
        return response

    def metrics(self) -> str:
        """Shows metrics for Prometheus."""
        return self._text("GET", "/metrics")

    def readyz(self) -> Ready:
        """The server can take commands: the store works, projections keep up, and the machine's clock can be
        followed.
        """
        response: Ready = self._json("GET", "/readyz")
        return response

    def server_identity(self, *, nonce: str) -> ServerIdentity:
        """Proves the identity of the server: it signs the caller's nonce, and the address at which it received the
        request.
        """
        response: ServerIdentity = self._json("GET", "/v1/identity", query=given({"nonce": nonce}))
        return response

    def create_sign_in_link(
        self,
        *,
        actor: str | None = None,
        roles: Sequence[str] | None = None,
        idempotency_key: str | None = None,
    ) -> SignInLink:
        """Creates a sign-in link that works once."""
        response: SignInLink = self._json(
            "POST",
            "/v1/sign-in-links",
            json=given({"actor": actor, "roles": roles}),
            key=self._key(idempotency_key),
        )
        return response

    def sign_out(self) -> Success:
        """Signs the caller out."""
        response: Success = self._json("POST", "/v1/sign-out")
        return response

    def list_tokens(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Token]:
        """Lists tokens: all of them for an admin; for others their own, and the run tokens they made."""
        response: Page[Token] = self._json("GET", "/v1/tokens", query=given({"limit": limit, "cursor": cursor}))
        return response

    def create_token(
        self,
        *,
        actor: str,
        kind: str,
        entity: str | None = None,
        for_: Sequence[str] | None = None,
        lifetime: str | None = None,
        note: str | None = None,
        roles: Sequence[str] | None = None,
        run: str | None = None,
        idempotency_key: str | None = None,
    ) -> TokenMade:
        """Creates a token. Its text is only in this answer; a repeated request is refused with the token's id."""
        response: TokenMade = self._json(
            "POST",
            "/v1/tokens",
            json=given({"actor": actor, "entity": entity, "for": for_, "kind": kind, "lifetime": lifetime, "note": note, "roles": roles, "run": run}),
            key=self._key(idempotency_key),
        )
        return response

    def rotate_token(self, *, idempotency_key: str | None = None) -> TokenMade:
        """Creates a token that replaces the caller's: with the same actor, roles and purpose, and a lifetime that
        starts now. The caller's token stays valid.
        """
        response: TokenMade = self._json("POST", "/v1/tokens/rotate", key=self._key(idempotency_key))
        return response

    def revoke_token(self, id: str) -> None:
        """Revokes a token, and everything made with it: run tokens, browser sessions and sign-in links."""
        return self._nothing("DELETE", f"/v1/tokens/{part(id)}")

    def extend_token(self, id: str, *, idempotency_key: str | None = None) -> Token:
        """Lets a run token end an hour from now, because its process still runs. For the token that it was made
        with, and for admins.
        """
        response: Token = self._json("POST", f"/v1/tokens/{part(id)}/extend", key=self._key(idempotency_key))
        return response

    def replace_token(self, id: str, *, idempotency_key: str | None = None) -> Token:
        """Ends a token that the caller's token replaces, after the overlap of the setting `replacedLifetime`.
        Tokens and sessions made with it stay valid while the caller's token is.
        """
        response: Token = self._json("POST", f"/v1/tokens/{part(id)}/replace", key=self._key(idempotency_key))
        return response

    def whoami(self) -> Identity:
        """Shows the identity of the caller."""
        response: Identity = self._json("GET", "/v1/whoami")
        return response

    def archive(self, *, older_than: str, idempotency_key: str | None = None) -> Archived:
        """Moves old entries to files in the folder `archive`. They are read back and verified before the journal
        drops them. The newest entry stays.
        """
        response: Archived = self._json(
            "POST",
            "/v1/archive",
            json=given({"olderThan": older_than}),
            key=self._key(idempotency_key),
        )
        return response

    def export_evidence(self, lifecycle: str, id: str) -> Iterator[dict[str, Any]]:
        """Exports evidence about an entity as JSON lines: its entries, approvals about it, artifacts, and the hash
        chain to the end of the journal. Verify it anywhere with `trackside audit verify FILE`. Contains nothing
        about other entities.
        """
        return self._lines("GET", f"/v1/audit/export/{part(lifecycle)}/{part(id)}")

    def verify_audit(self, *, known: str | None = None) -> Audit:
        """Verifies every entry of the journal and its archive, and the hash chain between them."""
        response: Audit = self._json("GET", "/v1/audit/verify", query=given({"known": known}))
        return response

    def backup(
        self,
        *,
        increment: bool | None = None,
        to: str | None = None,
        idempotency_key: str | None = None,
    ) -> BackupMade:
        """Copies journal, state, archive and artifacts to an empty or new folder, and verifies the copy. Artifacts
        that do not match their hash are listed and not copied. With `increment` it adds the entries since to an
        existing backup.
        """
        response: BackupMade = self._json(
            "POST",
            "/v1/backup",
            json=given({"increment": increment, "to": to}),
            key=self._key(idempotency_key),
        )
        return response

    def events(
        self,
        *,
        lifecycle: str | None = None,
        id: str | None = None,
        audience: str | None = None,
        after: int | None = None,
        all: bool | None = None,
        form: str | None = None,
    ) -> Iterator[JournalEntry]:
        """Streams the journal as server-sent events. Resume with `Last-Event-ID`."""
        return self._events(
            "GET",
            "/v1/events",
            query=given({"lifecycle": lifecycle, "id": id, "audience": audience, "after": after, "all": all, "form": form}),
        )

    def export(self) -> Iterator[dict[str, Any]]:
        """Exports the project as JSON lines. People with role admin get the stored records and artifacts; others
        get the entries that they may see.
        """
        return self._lines("GET", "/v1/export")

    def import_(
        self,
        *,
        entities: Sequence[ImportEntity],
        file: str | None = None,
        dry_run: bool | None = None,
        idempotency_key: str | None = None,
    ) -> ImportReply:
        """Imports entities as they are, all or none. A journal entry for each says where it comes from. Entities
        that an earlier import brought from the same place stay as they are.
        """
        response: ImportReply = self._json(
            "POST",
            "/v1/import",
            query=given({"dryRun": dry_run}),
            json=given({"entities": entities, "file": file}),
            key=self._key(idempotency_key),
        )
        return response

    def journal(
        self,
        *,
        after: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        form: str | None = None,
    ) -> Page[JournalEntry]:
        """Lists the journal in order, as far as the caller may see it."""
        response: Page[JournalEntry] = self._json(
            "GET",
            "/v1/journal",
            query=given({"after": after, "limit": limit, "cursor": cursor, "form": form}),
        )
        return response

    def redact(
        self,
        *,
        id: str,
        lifecycle: str,
        reason: str,
        all: bool | None = None,
        becomes: Mapping[str, Any] | None = None,
        entries: Sequence[int] | None = None,
        dry_run: bool | None = None,
        idempotency_key: str | None = None,
    ) -> Redacted:
        """Drops the payloads of journal entries of an entity, and the field values that came from them. With
        `dryRun`, says which ones it would drop.
        """
        response: Redacted = self._json(
            "POST",
            "/v1/redactions",
            query=given({"dryRun": dry_run}),
            json=given({"all": all, "becomes": becomes, "entries": entries, "id": id, "lifecycle": lifecycle, "reason": reason}),
            key=self._key(idempotency_key),
        )
        return response

    def stats(self, *, lifecycle: str | None = None) -> StatsReply:
        """Shows statistics of one lifecycle, or of all."""
        response: StatsReply = self._json("GET", "/v1/stats", query=given({"lifecycle": lifecycle}))
        return response

    def alerts(self, *, all: bool | None = None, limit: int | None = None, cursor: str | None = None) -> Page[Alert]:
        """Lists open alerts, the oldest first; with `all=true` also resolved ones."""
        response: Page[Alert] = self._json(
            "GET",
            "/v1/alerts",
            query=given({"all": all, "limit": limit, "cursor": cursor}),
        )
        return response

    def acknowledge_alert(
        self,
        id: str,
        *,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> AlertReply:
        """Acknowledges an alert. For people; the first acknowledgement is kept."""
        response: AlertReply = self._json(
            "POST",
            f"/v1/alerts/{part(id)}/acknowledge",
            json=given({"note": note}),
            key=self._key(idempotency_key),
        )
        return response

    def resolve_alert(self, id: str, *, note: str | None = None, idempotency_key: str | None = None) -> AlertReply:
        """Resolves an alert: it leaves the list, and the same condition raises a new one. For people."""
        response: AlertReply = self._json(
            "POST",
            f"/v1/alerts/{part(id)}/resolve",
            json=given({"note": note}),
            key=self._key(idempotency_key),
        )
        return response

    def notifications(
        self,
        *,
        audience: str | None = None,
        to: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Notification]:
        """Lists notifications, the oldest first."""
        response: Page[Notification] = self._json(
            "GET",
            "/v1/notifications",
            query=given({"audience": audience, "to": to, "limit": limit, "cursor": cursor}),
        )
        return response

    def sweep(self, *, deep: bool | None = None, idempotency_key: str | None = None) -> Sweep:
        """Checks every entity now and applies the repairs that its definition declares. Compares every stored row
        with the journal and rebuilds those that differ.
        """
        response: Sweep = self._json("POST", "/v1/sweep", query=given({"deep": deep}), key=self._key(idempotency_key))
        return response

    def violations(
        self,
        *,
        all: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Violation]:
        """Lists invariants that are violated now, the oldest first; with `all`, also those that hold again."""
        response: Page[Violation] = self._json(
            "GET",
            "/v1/violations",
            query=given({"all": all, "limit": limit, "cursor": cursor}),
        )
        return response

    def list_queries(self, pack: str, *, limit: int | None = None, cursor: str | None = None) -> Page[QuerySummary]:
        """Lists the queries of a pack."""
        response: Page[QuerySummary] = self._json(
            "GET",
            f"/v1/queries/{part(pack)}",
            query=given({"limit": limit, "cursor": cursor}),
        )
        return response

    def query(
        self,
        pack: str,
        name: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> QueryReply:
        """Runs a query of a pack."""
        response: QueryReply = self._json(
            "GET",
            f"/v1/queries/{part(pack)}/{part(name)}",
            query=given({"limit": limit, "cursor": cursor, **(parameters or {})}),
        )
        return response

    def list_runs(
        self,
        *,
        entity: str | None = None,
        agent: str | None = None,
        runner: str | None = None,
        state: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Run]:
        """Lists runs of agents, in the order of their ids: those for entities that you may see, and your own."""
        response: Page[Run] = self._json(
            "GET",
            "/v1/runs",
            query=given({"entity": entity, "agent": agent, "runner": runner, "state": state, "limit": limit, "cursor": cursor}),
        )
        return response

    def show_run(self, id: str) -> Run:
        """Shows a run."""
        response: Run = self._json("GET", f"/v1/runs/{part(id)}")
        return response

    def apply_step(
        self,
        id: str,
        *,
        action: str,
        fence: int | None = None,
        values: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> StepApplied:
        """Fires the event that the work of a run's role declares for a step, on the entity of the run and for its
        agent.
        """
        response: StepApplied = self._json(
            "POST",
            f"/v1/runs/{part(id)}/apply",
            json=given({"action": action, "fence": fence, "values": values}),
            key=self._key(idempotency_key),
        )
        return response

    def steer_run(self, id: str, *, text: str, mode: str | None = None, idempotency_key: str | None = None) -> Moved:
        """Sends a message to a running agent."""
        response: Moved = self._json(
            "POST",
            f"/v1/runs/{part(id)}/steer",
            json=given({"mode": mode, "text": text}),
            key=self._key(idempotency_key),
        )
        return response

    def stop_run(self, id: str, *, reason: str | None = None, idempotency_key: str | None = None) -> Moved:
        """Asks the runner to end a run."""
        response: Moved = self._json(
            "POST",
            f"/v1/runs/{part(id)}/stop",
            json=given({"reason": reason}),
            key=self._key(idempotency_key),
        )
        return response

    def read_transcript(
        self,
        id: str,
        *,
        after: int | None = None,
        limit: int | None = None,
        q: str | None = None,
    ) -> Page[RunLine]:
        """Lists the lines of a transcript. `nextCursor` is the number to send as `after`. With `Accept:
        text/event-stream`, it streams lines as they come: `id` is the number of the line, and the event `end`
        follows the last one.
        """
        response: Page[RunLine] = self._json(
            "GET",
            f"/v1/runs/{part(id)}/transcript",
            query=given({"after": after, "limit": limit, "q": q}),
        )
        return response

    def append_transcript(self, id: str, *, lines: Sequence[RunLine], generation: int | None = None) -> LinesAppended:
        """Appends lines to the transcript of a run. Only its runner may. Numbers continue without a gap; lines that
        are there already are ignored. Keys of well-known forms are replaced.
        """
        response: LinesAppended = self._json(
            "POST",
            f"/v1/runs/{part(id)}/transcript",
            json=given({"generation": generation, "lines": lines}),
        )
        return response

    def run_verdict(self, id: str, *, waited: float | None = None, code: int | None = None) -> RunVerdict:
        """Shows the decision of the pack after the end of a run: stop, restart, wait, hold or give up."""
        response: RunVerdict = self._json(
            "GET",
            f"/v1/runs/{part(id)}/verdict",
            query=given({"waited": waited, "code": code}),
        )
        return response

    def list_webhooks(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Webhook]:
        """Lists webhooks: all of them for an admin, for others their own."""
        response: Page[Webhook] = self._json("GET", "/v1/webhooks", query=given({"limit": limit, "cursor": cursor}))
        return response

    def create_webhook(
        self,
        *,
        url: str,
        audience: str | None = None,
        events: Sequence[str] | None = None,
        lifecycles: Sequence[str] | None = None,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> WebhookMade:
        """Creates a webhook. The signing secret is only in this answer, and in the answer to a repeated request
        with the same key.
        """
        response: WebhookMade = self._json(
            "POST",
            "/v1/webhooks",
            json=given({"audience": audience, "events": events, "lifecycles": lifecycles, "note": note, "url": url}),
            key=self._key(idempotency_key),
        )
        return response

    def remove_webhook(self, id: str) -> None:
        """Removes a webhook."""
        return self._nothing("DELETE", f"/v1/webhooks/{part(id)}")

    def webhook(self, id: str) -> Webhook:
        """Shows a webhook."""
        response: Webhook = self._json("GET", f"/v1/webhooks/{part(id)}")
        return response

    def webhook_deliveries(
        self,
        id: str,
        *,
        state: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[WebhookDelivery]:
        """Lists deliveries in journal order: the last 200 that succeeded, and all others."""
        response: Page[WebhookDelivery] = self._json(
            "GET",
            f"/v1/webhooks/{part(id)}/deliveries",
            query=given({"state": state, "limit": limit, "cursor": cursor}),
        )
        return response

    def replay_webhook(
        self,
        id: str,
        *,
        seqs: Sequence[int] | None = None,
        idempotency_key: str | None = None,
    ) -> WebhookReplayed:
        """Retries dead letters, and failing deliveries at once. Turns a webhook that is off on."""
        response: WebhookReplayed = self._json(
            "POST",
            f"/v1/webhooks/{part(id)}/replay",
            json=given({"seqs": seqs}),
            key=self._key(idempotency_key),
        )
        return response

    def report_change(
        self,
        lifecycle: str,
        id: str,
        *,
        artifact: str,
        from_: str,
        to: str,
        additions: int | None = None,
        deletions: int | None = None,
        files: int | None = None,
        idempotency_key: str | None = None,
    ) -> Reported:
        """Reports what changed between two commits of the work on an entity. Store the artifact first."""
        response: Reported = self._json(
            "POST",
            f"/v1/entities/{part(lifecycle)}/{part(id)}/changes",
            json=given({"additions": additions, "artifact": artifact, "deletions": deletions, "files": files, "from": from_, "to": to}),
            key=self._key(idempotency_key),
        )
        return response

    def diff(self, lifecycle: str, id: str, *, from_: str | None = None, to: str | None = None) -> Diff:
        """Shows what changed in the work on an entity: files, hunks and figures."""
        response: Diff = self._json(
            "GET",
            f"/v1/entities/{part(lifecycle)}/{part(id)}/diff",
            query=given({"from": from_, "to": to}),
        )
        return response

    def worktree(self, lifecycle: str, id: str) -> Worktree:
        """Shows the worktree of an entity: its branch, unmerged commits, changed lines and state."""
        response: Worktree = self._json("GET", f"/v1/entities/{part(lifecycle)}/{part(id)}/worktree")
        return response

    def report_worktree(
        self,
        lifecycle: str,
        id: str,
        *,
        state: str,
        additions: int | None = None,
        base: str | None = None,
        branch: str | None = None,
        deletions: int | None = None,
        dirty: bool | None = None,
        head: str | None = None,
        integration: str | None = None,
        kind: str | None = None,
        path: str | None = None,
        slot: str | None = None,
        touched: Sequence[str] | None = None,
        unmerged: int | None = None,
        idempotency_key: str | None = None,
    ) -> Reported:
        """Reports the state of the worktree of an entity."""
        response: Reported = self._json(
            "POST",
            f"/v1/entities/{part(lifecycle)}/{part(id)}/worktree",
            json=given({"additions": additions, "base": base, "branch": branch, "deletions": deletions, "dirty": dirty, "head": head, "integration": integration, "kind": kind, "path": path, "slot": slot, "state": state, "touched": touched, "unmerged": unmerged}),
            key=self._key(idempotency_key),
        )
        return response
