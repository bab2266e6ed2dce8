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


class Advance(TypedDict):
    """Where the manual clock is to go: by a span, or to a time."""

    # `90s`, `15m`, `24h`, `7d`.
    by: NotRequired[str | None]
    to: NotRequired[str | None]


class Alert(TypedDict):
    """An alert, and what people have said of it."""

    acknowledgedAt: NotRequired[str | None]
    # Who said first that it is seen.
    acknowledgedBy: NotRequired[str | None]
    acknowledgedNote: NotRequired[str | None]
    # Its own number: that of the journal entry that raised it.
    alertId: str
    id: str
    kind: str
    # Of the entity it is about.
    lifecycle: str
    message: str
    # Whether it is seen to.
    resolved: bool
    resolvedAt: NotRequired[str | None]
    resolvedBy: NotRequired[str | None]
    resolvedNote: NotRequired[str | None]
    seq: int
    # `info`, `warning`, `error` or `critical`.
    severity: str
    since: str


class AlertNote(TypedDict):
    """What a person says of an alert."""

    # Kept in the journal, at most 2,000 characters.
    note: NotRequired[str | None]


class AlertReply(TypedDict):
    """What became of it."""

    alert: Alert
    # False if somebody had said the same before: the alert tells who.
    changed: bool
    replayed: bool
    success: bool


class Approval(TypedDict):
    """An open request to people."""

    # Targets that the rules permit this caller from here, before required fields are asked for.
    allowedTransitions: list[str]
    createdAt: str
    # The version of its definition.
    definition: int
    fields: dict[str, Any]
    # Whether no transition leaves its state.
    final: bool
    id: str
    leases: list[Lease]
    lifecycle: str
    previousState: NotRequired[str | None]
    state: str
    stateEnteredAt: str
    # Seconds.
    timeInState: float
    timers: list[Timer]
    updatedAt: str
    # The request asks for a quick decision.
    urgent: bool
    version: int


class Archive(TypedDict):
    """Old journal that is to go into files."""

    # How old an entry must be, such as `30d`, `24h` or `90m`.
    olderThan: str


class ArtifactKept(TypedDict):
    """Content that is kept under its hash."""

    sha256: str
    size: int
    # False if it was there already.
    stored: bool


class Backup(TypedDict):
    """A copy of the project that is to be made."""

    # A name in the folder `backups` of the project, or a whole path; a name is made if there is none.
    to: NotRequired[str | None]


class Batch(TypedDict):
    """Many commands in one request."""

    # All of them, or none.
    atomic: NotRequired[bool]
    commands: list[BatchCommand]


class BatchCommand(TypedDict):
    """A command of a batch: with `to` or `event` it moves, without it creates."""

    event: NotRequired[str | None]
    fence: NotRequired[int | None]
    fields: NotRequired[dict[str, Any]]
    id: NotRequired[str | None]
    lifecycle: str
    reason: NotRequired[str | None]
    to: NotRequired[str | None]


class BatchReply(TypedDict):
    """The outcome of every command of a batch, in order."""

    results: list[BatchResult]


class BatchResult(TypedDict):
    """The outcome of one command of a batch."""

    # Targets that the rules permit this caller from here.
    allowedTransitions: NotRequired[list[str]]
    code: NotRequired[str]
    detail: NotRequired[str]
    dryRun: NotRequired[bool]
    entity: NotRequired[Entity | None]
    # Every unmet condition, never only the first.
    errors: NotRequired[list[Unmet]]
    # Fields the engine owns; the values that were sent are ignored.
    ignored: NotRequired[list[str]]
    # Whether what was sent is kept in the journal all the same.
    kept: NotRequired[bool]
    # Whether the same command came before and this is its first answer again.
    replayed: NotRequired[bool]
    # 201 if it created an entity, else 200.
    status: int
    success: bool
    title: NotRequired[str]
    # The journal entry that answers it.
    transition: NotRequired[JournalEntry]
    type: NotRequired[str]
    # Who may do what was asked, in words.
    who: NotRequired[str | None]


class Claim(TypedDict):
    """The next one that can be claimed."""

    # The transition that takes it, where several could.
    event: NotRequired[str | None]
    fields: NotRequired[dict[str, Any]]
    reason: NotRequired[str | None]
    # Only one for which this is true.
    where: NotRequired[str | None]


class Clock(TypedDict):
    """What time it is for the server."""

    # `system` or `manual`.
    clock: str
    now: str


class Correct(TypedDict):
    """The loud override."""

    fields: NotRequired[dict[str, Any]]
    reason: NotRequired[str | None]
    to: NotRequired[str | None]


class Create(TypedDict):
    """A new entity."""

    fields: NotRequired[dict[str, Any]]
    # 1 to 128 of letters, digits, `.`, `_`, `@`, `-`; made by the server if there is none.
    id: NotRequired[str | None]


class Decide(TypedDict):
    """What somebody decides on a request to people."""

    # `approve` or `deny`.
    decision: str
    # The lifecycle, where several have a request with this id.
    lifecycle: NotRequired[str | None]
    note: NotRequired[str | None]
    # Where it is to lead, where the request lets people choose.
    to: NotRequired[str | None]


# Work for the outside that nobody has answered.
Effect = TypedDict(
    "Effect",
    {
        "entity": "str",
        # The number that goes with the result, where the caller has taken it.
        "fence": "NotRequired[int | None]",
        "id": "int",
        "kind": "str",
        # The entity that asked for it.
        "lifecycle": "str",
        # Who is at it now.
        "takenBy": "NotRequired[str | None]",
        # What it is to be carried out with.
        "with": "dict[str, Any]",
    },
)


class EffectResult(TypedDict):
    """What became of work for the outside."""

    detail: NotRequired[Any]
    # The number under which it was taken.
    fence: int
    ok: bool


# Work for the outside that the caller has taken.
EffectTaken = TypedDict(
    "EffectTaken",
    {
        "entity": "str",
        # Comes back with the result.
        "fence": "int",
        "id": "int",
        "kind": "str",
        "lifecycle": "str",
        # When it is handed to somebody else, if there is no result by then.
        "until": "str",
        # What it is to be carried out with.
        "with": "dict[str, Any]",
    },
)


class Entity(TypedDict):
    """An entity as the caller sees it."""

    # Targets that the rules permit this caller from here, before required fields are asked for.
    allowedTransitions: list[str]
    createdAt: str
    # The version of its definition.
    definition: int
    fields: dict[str, Any]
    # Whether no transition leaves its state.
    final: bool
    id: str
    leases: list[Lease]
    lifecycle: str
    previousState: NotRequired[str | None]
    state: str
    stateEnteredAt: str
    # Seconds.
    timeInState: float
    timers: list[Timer]
    updatedAt: str
    version: int


class Evaluate(TypedDict):
    """An action of which somebody wants to know how risky it is."""

    action: str
    arguments: NotRequired[Any]
    # Whose policy; needed where several packs have one.
    pack: NotRequired[str | None]
    # For whom; the caller's own roles if there is none.
    role: NotRequired[str | None]


class Heartbeat(TypedDict):
    """A sign of life from the holder of a lease."""

    # The number of the lease, as it was granted.
    fence: NotRequired[int | None]
    # Which lease; needed where the lifecycle has several.
    slot: NotRequired[str | None]


class HeartbeatReply(TypedDict):
    """What a heartbeat brings back."""

    expiresAt: NotRequired[str | None]
    fence: NotRequired[int | None]
    # What the holder was told since its last heartbeat.
    notices: list[Any]
    replayed: NotRequired[bool]
    stop: NotRequired[Stop | None]


# Who the caller is.
Identity = TypedDict(
    "Identity",
    {
        # For whom it speaks in this request.
        "actingFor": "NotRequired[str | None]",
        "actor": "str",
        "expiresAt": "NotRequired[str | None]",
        "for": "list[str]",
        "kind": "str",
        "roles": "list[str]",
        # The id of the token it showed.
        "token": "str",
    },
)


class Import(TypedDict):
    """Entities that come from elsewhere: all of them, or none."""

    entities: list[ImportEntity]
    # The file that told of them, for the journal.
    file: NotRequired[str | None]


class ImportCount(TypedDict):
    """What a counter has counted under a key."""

    counter: str
    key: NotRequired[str]
    value: float


class ImportEntity(TypedDict):
    """One of them, as it is to be here."""

    # What its counters have counted.
    counts: NotRequired[list[ImportCount]]
    fields: NotRequired[dict[str, Any]]
    id: str
    # Leases that are granted anew, from now on.
    leases: NotRequired[list[ImportLease]]
    lifecycle: str
    # What it is called where it comes from: by this an import knows it again.
    origin: str
    # The initial one if none is named.
    state: NotRequired[str | None]


class ImportLease(TypedDict):
    """Who holds a slot."""

    holder: str
    slot: str


class ImportReply(TypedDict):
    """What became of an import."""

    # Those that an earlier import brought from the same place, as `lifecycle/id`: they are left as they are by
    # now.
    already: list[str]
    dryRun: bool
    # How many came in, or would.
    imported: int
    replayed: NotRequired[bool]


# An entry of the journal.
JournalEntry = TypedDict(
    "JournalEntry",
    {
        "actor": "str",
        # `human`, `agent`, `system` or `timeout`.
        "actorKind": "str",
        # The entry it follows from.
        "cause": "NotRequired[int | None]",
        # The rule that triggered it.
        "condition": "NotRequired[str | None]",
        # One of a closed list of kinds, such as `STATE_TRANSITION`.
        "event": "str",
        "from": "NotRequired[str | None]",
        # It covers the entry before it.
        "hash": "NotRequired[str | None]",
        "id": "str",
        # The key under which the command counts once.
        "idempotencyKey": "NotRequired[str | None]",
        "lifecycle": "str",
        # Depends on the kind of event.
        "metadata": "dict[str, Any]",
        # The actor on whose behalf it was done.
        "onBehalfOf": "NotRequired[str | None]",
        "reason": "NotRequired[str | None]",
        # Values and texts were dropped from it.
        "redacted": "NotRequired[bool]",
        # The id of the request that asked for it.
        "requestId": "NotRequired[str | None]",
        # Its number: there are no gaps.
        "seq": "int",
        "timestamp": "str",
        "to": "NotRequired[str | None]",
        # The transition or event that was asked for.
        "trigger": "str",
        # The entity's version after it.
        "version": "int",
    },
)


class Lease(TypedDict):
    """A lease with its holder."""

    expiresAt: str
    fence: int
    holder: str
    slot: str


# Words posted on an entity.
Message = TypedDict(
    "Message",
    {
        "at": "str",
        # Whose words they are.
        "from": "str",
        "kind": "str",
        # They were taken out of the journal.
        "redacted": "NotRequired[bool]",
        "seq": "int",
        "text": "str",
        # The actors they are for; null: whoever may see the entity.
        "to": "NotRequired[list[str] | None]",
    },
)


class Migrate(TypedDict):
    """Running entities that are to live by another version of their definition."""

    # Only those with an id after this one: the `next` of the answer before.
    after: NotRequired[str | None]
    # What becomes of fields that cannot stay as they are.
    fields: NotRequired[dict[str, Any]]
    lifecycle: str
    # Looks at no more than so many, so that each is named; without it at all of them.
    limit: NotRequired[int | None]
    # State to its name there, where that is another one.
    states: NotRequired[dict[str, str]]
    # The version they are to live by; with `undo`, the one they were moved to.
    to: int
    # Takes it back, of those to which nothing has happened since.
    undo: NotRequired[bool]


class Migrated(TypedDict):
    """What became, or would become, of the entities of a lifecycle."""

    # The first thousand of those that cannot, each with its refusal.
    cannot: list[MigratedOne]
    dryRun: bool
    # The first thousand of those that moved.
    items: list[MigratedOne]
    lifecycle: str
    # How many were looked at, those that live by that version already among them.
    lookedAt: int
    # How many moved, or would.
    moved: int
    # After whom to go on, where `limit` left some; none if all are done.
    next: NotRequired[str | None]
    # How many cannot.
    stuck: int
    to: int


# What became of one.
MigratedOne = TypedDict(
    "MigratedOne",
    {
        # The version it lived by.
        "from": "int",
        "id": "str",
        "refusal": "NotRequired[dict[str, Any] | None]",
        # The state it has there.
        "state": "NotRequired[str | None]",
    },
)


class Moved(TypedDict):
    """An accepted command."""

    dryRun: NotRequired[bool]
    entity: NotRequired[Entity | None]
    # Fields the engine owns; the values that were sent are ignored.
    ignored: NotRequired[list[str]]
    # Whether the same command came before and this is its first answer again.
    replayed: bool
    success: bool
    # The journal entry that answers it.
    transition: JournalEntry


class NewLink(TypedDict):
    """A person who is to be let in."""

    # The person; the caller if there is none.
    actor: NotRequired[str | None]
    roles: NotRequired[list[str]]


# A token that is to be made.
NewToken = TypedDict(
    "NewToken",
    {
        # Whom it speaks for.
        "actor": "str",
        # Whom it may act for: ids, with `*` for any end.
        "for": "NotRequired[list[str]]",
        # `human`, `agent` or `system`.
        "kind": "str",
        # How long it is good for; for ever if there is nothing.
        "lifetime": "NotRequired[str | None]",
        "note": "NotRequired[str | None]",
        # `pack:role`, or bare where that is unique; `admin` for the owner's rights.
        "roles": "NotRequired[list[str]]",
    },
)


class NewWebhook(TypedDict):
    """A webhook that is to be made."""

    # `user`: what people follow; `all`: every entry. `user` if nothing is said.
    audience: NotRequired[str | None]
    # Kinds of journal entries, such as `STATE_TRANSITION`; if there is none, what the audience is told.
    events: NotRequired[list[str]]
    # Lifecycles or packs; all if there is none.
    lifecycles: NotRequired[list[str]]
    note: NotRequired[str | None]
    # Where messages go: `https://…`.
    url: str


class NotDone(TypedDict):
    """A command that would have been accepted, in a batch where another one was refused."""

    code: str
    detail: str
    status: int
    success: bool


class PackFiles(TypedDict):
    """The texts of a pack: path within it and text."""

    # `pack.yaml`, and `lifecycles/….yaml`.
    files: dict[str, str]


class PackInstalled(TypedDict):
    """What became of a pack that was sent."""

    # False if the same was in force already.
    installed: bool
    lifecycles: list[str]
    pack: str
    version: int


class PackSummary(TypedDict):
    """A pack that is in force."""

    about: str
    lifecycles: list[str]
    pack: str
    roles: list[str]
    version: int


class PolicyJudgement(TypedDict):
    """What the policy says of an action."""

    action: str
    # One of the levels of the policy.
    level: str
    # `allow`, `approve` (somebody must say yes first) or `deny`.
    outcome: str
    pack: str
    role: NotRequired[str | None]
    why: str


class Problem(TypedDict):
    """A request that was turned down, in a way that teaches."""

    # Targets that the rules permit this caller from here.
    allowedTransitions: list[str]
    code: str
    detail: str
    # Every unmet condition, never only the first.
    errors: list[Unmet]
    # Whether what was sent is kept in the journal all the same.
    kept: NotRequired[bool]
    status: int
    # Always false.
    success: bool
    title: str
    type: str
    # Who may do what was asked, in words.
    who: NotRequired[str | None]


class Project(TypedDict):
    """What is the same for the whole project."""

    packs: list[Settings]
    # IANA name of its time zone; empty means UTC.
    zone: str


class ProjectPut(TypedDict):
    """What of the project is to change."""

    # As in `Europe/Berlin`; empty means UTC.
    zone: str


class Redact(TypedDict):
    """Values and words that are to leave the journal."""

    all: NotRequired[bool]
    # What fields become that came from them; without a word they are cleared.
    becomes: NotRequired[dict[str, Any]]
    # Numbers of its entries. Either these, or `all`.
    entries: NotRequired[list[int]]
    id: str
    lifecycle: str
    reason: str


class ReplayWebhook(TypedDict):
    """Dead letters that are to be tried once more."""

    # Numbers of journal entries; all dead letters if there is none.
    seqs: NotRequired[list[int]]


class Setting(TypedDict):
    """A setting of a pack."""

    about: str
    # What the pack says.
    default: Any
    max: NotRequired[float | None]
    min: NotRequired[float | None]
    name: str
    # `project` where the project has a word of its own, else `default`.
    origin: str
    # `string`, `number`, `integer`, `boolean`, `span`, `list`, `map` or `any`.
    type: str
    # What holds.
    value: Any


class Settings(TypedDict):
    """The settings of a pack."""

    items: list[Setting]
    pack: str


class SignInLink(TypedDict):
    """A way in, once."""

    expiresAt: NotRequired[str | None]
    url: str


class Stop(TypedDict):
    """A holder is to stop."""

    why: str


class TakeEffects(TypedDict):
    """Work for the outside that somebody wants to do."""

    # Only of this kind.
    kind: NotRequired[str | None]
    # How long until it is handed to somebody else, if there is no result by then: `5m` if nothing is said,
    # `24h` at most.
    lease: NotRequired[str | None]
    # How many at most: 1 if nothing is said; of more than 200, 200.
    limit: NotRequired[int | None]


class Timer(TypedDict):
    """A running timer."""

    dueAt: str
    name: str


# A token, without its secret.
Token = TypedDict(
    "Token",
    {
        "actor": "str",
        "createdAt": "str",
        "expiresAt": "NotRequired[str | None]",
        "for": "list[str]",
        "id": "str",
        "kind": "str",
        "mintedBy": "NotRequired[str | None]",
        "note": "NotRequired[str | None]",
        "purpose": "str",
        "roles": "list[str]",
        "state": "str",
    },
)


class TokenMade(TypedDict):
    """A token that was made: its text is shown this once."""

    details: Token
    # Said where it does not last as long as was asked for.
    shortened: NotRequired[str | None]
    # Send it as `Authorization: Bearer …`. It cannot be shown again.
    token: str


class Transition(TypedDict):
    """A change of state by target or by name, or an event that changes fields only. One of `to` and `event` is
    named.
    """

    # The event of the lifecycle.
    event: NotRequired[str | None]
    # The number of the lease under which the caller works.
    fence: NotRequired[int | None]
    fields: NotRequired[dict[str, Any]]
    reason: NotRequired[str | None]
    # The state it is to go to.
    to: NotRequired[str | None]


class Unmet(TypedDict):
    """One unmet condition."""

    code: str
    field: NotRequired[str | None]
    message: str
    # The expression that was not true.
    rule: NotRequired[str | None]
    # The values it saw.
    saw: NotRequired[dict[str, Any]]


class Webhook(TypedDict):
    """A webhook, without its secret."""

    audience: str
    createdAt: str
    # The journal entry up to which everything was delivered, is a dead letter, or is not for it.
    cursor: int
    # How many dead letters it has.
    dead: int
    events: list[str]
    # Who had it made: it tells what they may see.
    holder: str
    id: str
    lifecycles: list[str]
    note: NotRequired[str | None]
    # Whether messages are sent.
    sends: bool
    state: str
    url: str
    # Why not.
    why: NotRequired[str | None]


class WebhookDelivery(TypedDict):
    """What became of a message."""

    # When it was tried last, by the machine's clock.
    at: str
    attempts: int
    # Its `webhook-id`, the same however often it is sent.
    messageId: str
    nextAt: NotRequired[str | None]
    # The journal entry it tells of.
    seq: int
    # `delivered`, `failing` (it will be tried again), `dead` or `queued` (a dead letter that is tried once
    # more).
    state: str
    # What the receiver answered last.
    status: NotRequired[int | None]
    # Why it was not taken.
    why: NotRequired[str | None]


class WebhookMade(TypedDict):
    """A webhook that was made: its secret is shown this once, and to the same request under its key."""

    details: Webhook
    # It was made by the same request before.
    replayed: NotRequired[bool]
    # What its receiver checks signatures with: `whsec_…`. It cannot be shown again.
    secret: str


class WebhookReplayed(TypedDict):
    """How many messages are tried again."""

    # Whether it was off and is on again.
    enabled: bool
    # Those asked for by number that are no dead letters, so that there is nothing to try again.
    passedOver: NotRequired[list[int]]
    replayed: int
    success: bool


class Routes(Transport):
    """Every route of a server."""

    def list_approvals(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Approval]:
        """Lists open requests that the caller may see: urgent ones first, then the oldest."""
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
        idempotency_key: str | None = None,
    ) -> Moved:
        """Approves or denies a request, by the transition that its lifecycle's face names."""
        response: Moved = self._json(
            "POST",
            f"/v1/approvals/{part(id)}/decision",
            json=given({"decision": decision, "lifecycle": lifecycle, "note": note, "to": to}),
            key=self._key(idempotency_key),
        )
        return response

    def evaluate_policy(
        self,
        *,
        action: str,
        arguments: Any | None = None,
        pack: str | None = None,
        role: str | None = None,
        idempotency_key: str | None = None,
    ) -> PolicyJudgement:
        """Evaluates the risk level of an action, whether a role may do it, and why."""
        response: PolicyJudgement = self._json(
            "POST",
            "/v1/policy/evaluate",
            json=given({"action": action, "arguments": arguments, "pack": pack, "role": role}),
            key=self._key(idempotency_key),
        )
        return response

    def get_artifact(self, sha256: str) -> bytes:
        """Returns content."""
        return self._bytes("GET", f"/v1/artifacts/{part(sha256)}")

    def put_artifact(self, sha256: str, content: bytes) -> ArtifactKept:
        """Stores content under its hash. Repeating it changes nothing."""
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

    def list_lifecycles(self, *, limit: int | None = None, cursor: str | None = None) -> dict[str, Any]:
        """Lists the lifecycles in force."""
        response: dict[str, Any] = self._json(
            "GET",
            "/v1/lifecycles",
            query=given({"limit": limit, "cursor": cursor}),
        )
        return response

    def show_lifecycle(self, lifecycle: str) -> dict[str, Any]:
        """Shows one definition: states, fields, transitions and what each takes."""
        response: dict[str, Any] = self._json("GET", f"/v1/lifecycles/{part(lifecycle)}")
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

    def put_project_settings(self, *, zone: str) -> Project:
        """Changes the time zone of the project."""
        response: Project = self._json("PUT", "/v1/settings", json=given({"zone": zone}))
        return response

    def settings(self, pack: str) -> Settings:
        """Shows the settings of a pack: the value in force, the default, and the origin."""
        response: Settings = self._json("GET", f"/v1/settings/{part(pack)}")
        return response

    def put_settings(self, pack: str, body: Mapping[str, Any]) -> Settings:
        """Changes settings of a pack: names with values, or null for the default."""
        response: Settings = self._json("PUT", f"/v1/settings/{part(pack)}", json=body)
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
        kind: str | None = None,
        lease: str | None = None,
        limit: int | None = None,
        idempotency_key: str | None = None,
    ) -> Page[EffectTaken]:
        """Takes effects that are not taken, the oldest first."""
        response: Page[EffectTaken] = self._json(
            "POST",
            "/v1/effects/take",
            json=given({"kind": kind, "lease": lease, "limit": limit}),
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
    ) -> dict[str, Any]:
        """Reports the result of an effect."""
        response: dict[str, Any] = self._json(
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
        idempotency_key: str | None = None,
    ) -> BatchReply:
        """Runs many commands. Each has its own outcome unless `atomic`."""
        response: BatchReply = self._json(
            "POST",
            "/v1/batch",
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
        idempotency_key: str | None = None,
    ) -> Moved | None:
        """Claims the next available entity for the caller."""
        response: Moved | None = self._json(
            "POST",
            f"/v1/entities/{part(lifecycle)}/claim",
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
        idempotency_key: str | None = None,
    ) -> Moved:
        """Admin override: sets state or fields without a transition. Journalled, and raises an alert."""
        response: Moved = self._json(
            "POST",
            f"/v1/entities/{part(lifecycle)}/{part(id)}/correct",
            json=given({"fields": fields, "reason": reason, "to": to}),
            key=self._key(idempotency_key),
        )
        return response

    def explain(self, lifecycle: str, id: str) -> dict[str, Any]:
        """Explains the state of an entity."""
        response: dict[str, Any] = self._json("GET", f"/v1/entities/{part(lifecycle)}/{part(id)}/explain")
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
    ) -> dict[str, Any]:
        """Lists the journal entries of an entity, the oldest first, and the seconds spent in each state."""
        response: dict[str, Any] = self._json(
            "GET",
            f"/v1/entities/{part(lifecycle)}/{part(id)}/history",
            query=given({"limit": limit, "cursor": cursor, "all": all}),
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
        """Lists the messages of an entity that are addressed to the caller, the oldest first."""
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

    def healthz(self) -> dict[str, Any]:
        """The process is running."""
        response: dict[str, Any] = self._json("GET", "/healthz")
        return response

    def metrics(self) -> str:
        """Shows metrics for Prometheus."""
        return self._text("GET", "/metrics")

    def readyz(self) -> dict[str, Any]:
        """The server can take commands: the store works and projections keep up."""
        response: dict[str, Any] = self._json("GET", "/readyz")
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

    def sign_out(self) -> dict[str, Any]:
        """Signs the caller out."""
        response: dict[str, Any] = self._json("POST", "/v1/sign-out")
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
        for_: Sequence[str] | None = None,
        lifetime: str | None = None,
        note: str | None = None,
        roles: Sequence[str] | None = None,
        idempotency_key: str | None = None,
    ) -> TokenMade:
        """Creates a token. Its text is only in this answer; a repeated request is refused with the token's id."""
        response: TokenMade = self._json(
            "POST",
            "/v1/tokens",
            json=given({"actor": actor, "for": for_, "kind": kind, "lifetime": lifetime, "note": note, "roles": roles}),
            key=self._key(idempotency_key),
        )
        return response

    def revoke_token(self, id: str) -> None:
        """Revokes a token, and the run tokens made with it."""
        return self._nothing("DELETE", f"/v1/tokens/{part(id)}")

    def whoami(self) -> Identity:
        """Shows the identity of the caller."""
        response: Identity = self._json("GET", "/v1/whoami")
        return response

    def archive(self, *, older_than: str, idempotency_key: str | None = None) -> dict[str, Any]:
        """Moves old entries to files in the folder `archive`. They are read back and verified before the journal
        drops them. The newest entry stays.
        """
        response: dict[str, Any] = self._json(
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

    def verify_audit(self, *, known: str | None = None) -> dict[str, Any]:
        """Verifies every entry of the journal and its archive, and the hash chain between them."""
        response: dict[str, Any] = self._json("GET", "/v1/audit/verify", query=given({"known": known}))
        return response

    def backup(self, *, to: str | None = None, idempotency_key: str | None = None) -> dict[str, Any]:
        """Copies journal, state, archive and artifacts to an empty or new folder, and verifies the copy. Artifacts
        that do not match their hash are listed and not copied.
        """
        response: dict[str, Any] = self._json(
            "POST",
            "/v1/backup",
            json=given({"to": to}),
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
    ) -> Iterator[JournalEntry]:
        """Streams the journal as server-sent events. Resume with `Last-Event-ID`."""
        return self._events(
            "GET",
            "/v1/events",
            query=given({"lifecycle": lifecycle, "id": id, "audience": audience, "after": after, "all": all}),
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
    ) -> Page[JournalEntry]:
        """Lists the journal in order, as far as the caller may see it."""
        response: Page[JournalEntry] = self._json(
            "GET",
            "/v1/journal",
            query=given({"after": after, "limit": limit, "cursor": cursor}),
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
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Drops the payloads of journal entries of an entity, and the field values that came from them."""
        response: dict[str, Any] = self._json(
            "POST",
            "/v1/redactions",
            json=given({"all": all, "becomes": becomes, "entries": entries, "id": id, "lifecycle": lifecycle, "reason": reason}),
            key=self._key(idempotency_key),
        )
        return response

    def stats(self, *, lifecycle: str | None = None) -> dict[str, Any]:
        """Shows statistics of one lifecycle, or of all."""
        response: dict[str, Any] = self._json("GET", "/v1/stats", query=given({"lifecycle": lifecycle}))
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
    ) -> Page[Any]:
        """Lists notifications, the oldest first."""
        response: Page[Any] = self._json(
            "GET",
            "/v1/notifications",
            query=given({"audience": audience, "to": to, "limit": limit, "cursor": cursor}),
        )
        return response

    def sweep(self, *, deep: bool | None = None, idempotency_key: str | None = None) -> dict[str, Any]:
        """Checks every entity now and applies the repairs that its definition declares. Compares every stored row
        with the journal and rebuilds those that differ.
        """
        response: dict[str, Any] = self._json(
            "POST",
            "/v1/sweep",
            query=given({"deep": deep}),
            key=self._key(idempotency_key),
        )
        return response

    def violations(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Any]:
        """Lists violated invariants, the oldest first, including those that hold again."""
        response: Page[Any] = self._json("GET", "/v1/violations", query=given({"limit": limit, "cursor": cursor}))
        return response

    def list_queries(self, pack: str, *, limit: int | None = None, cursor: str | None = None) -> dict[str, Any]:
        """Lists the queries of a pack."""
        response: dict[str, Any] = self._json(
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
    ) -> dict[str, Any]:
        """Runs a query of a pack."""
        response: dict[str, Any] = self._json(
            "GET",
            f"/v1/queries/{part(pack)}/{part(name)}",
            query=given({"limit": limit, "cursor": cursor, **(parameters or {})}),
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
