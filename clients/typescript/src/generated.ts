// Made from the OpenAPI document by `cargo xtask clients`. Do not edit: change the routes, and make it again.

import { type CallOptions, type Json, Transport } from './transport.js';

/** A page of a list. */
export interface Page<T> {
  items: T[];
  /** Send it as `cursor` for the next page; null on the last. */
  nextCursor?: string | null;
}

/** An account at a model provider that starts no runs for now. */
export interface AccountHold {
  account: string;
  /** When the hold ends; null if a person has to release it. */
  until?: string | null;
  /** The message of the provider. */
  why?: string | null;
}

/** The answer to a call of an action that may need an approval. */
export interface ActionAnswer {
  approval?: ActionApproval | null;
  /** `allow`, `approve` (a person has not decided yet) or `deny`. */
  outcome: string;
  why: string;
}

/** The request for the approval of an action. */
export interface ActionApproval {
  /** The entity that the request is about, such as `mission.task/T-1`. */
  about: string;
  id: string;
  lifecycle: string;
  state: string;
}

/** An address to set. */
export interface AddressPut {
  /**
   * The channel: `slack`, `telegram`, `discord`, `matrix`, `ntfy`, `email`, `desktop`, `webhook`, or one of the
   * project's own.
   */
  channel: string;
  /** Its name in the audience. */
  name: string;
  /** The member who reads it; none if several people do. */
  person?: string | null;
  /**
   * The values that the channel needs. They are stored outside the journal and never returned. Without them, the
   * address keeps those that it has.
   */
  values?: { [name: string]: string } | null;
}

/** The result of a test message to one address. */
export interface AddressTested {
  address: string;
  channel: string;
  /** Why it was not accepted; null if it was. */
  problem?: string | null;
}

/** An advance of the manual clock: `by` a span, or `to` a time. */
export interface Advance {
  /** A span such as `90s`, `15m`, `24h` or `7d`. */
  by?: string | null;
  to?: string | null;
}

/** An alert, with its acknowledgement and resolution. */
export interface Alert {
  acknowledgedAt?: string | null;
  /** The first person who acknowledged it; null if it is not acknowledged. */
  acknowledgedBy?: string | null;
  acknowledgedNote?: string | null;
  /** The id of the alert: the number of the journal entry that raised it. */
  alertId: string;
  /** The id of that entity. */
  id: string;
  kind: string;
  /** The lifecycle of the entity that the alert is about. */
  lifecycle: string;
  message: string;
  /** True if the alert is resolved. */
  resolved: boolean;
  resolvedAt?: string | null;
  resolvedBy?: string | null;
  resolvedNote?: string | null;
  seq: number;
  /** `info`, `warning`, `error` or `critical`. */
  severity: string;
  since: string;
}

/** A note on an alert. */
export interface AlertNote {
  /** The text, stored in the journal; at most 2,000 characters. */
  note?: string | null;
}

/** The result of acknowledging or resolving an alert. */
export interface AlertReply {
  alert: Alert;
  /** False if the alert was acknowledged or resolved before. `alert` names the person who did it first. */
  changed: boolean;
  replayed: boolean;
  success: boolean;
}

/** Lines to append to a transcript. */
export interface AppendLines {
  /** The registration of the runner. An earlier one than the present is refused. */
  generation?: number | null;
  lines: RunLine[];
}

/** A step of a run whose event is to be fired on its entity. */
export interface ApplyStep {
  /** `begin`, `done`, `failed`, `meter` or `note`. */
  action: string;
  /** The fence of the lease under which the agent works. */
  fence?: number | null;
  /**
   * Values that the runner knows better than the run: `commit`, `metered`, `meteredTokens`, `summary`, `next`,
   * `why` and other fields of the run.
   */
  values?: { [name: string]: Json };
}

/** An open approval request. */
export interface Approval {
  /** The target states that the rules permit the caller from the current state. Required fields are not considered. */
  allowedTransitions: string[];
  /** The file in the data folder with its journal entries, if it is in long-term storage. */
  archiveFile?: string | null;
  /** The counters that you may see, by name. Absent if there are none. */
  counters?: { [name: string]: Counter };
  createdAt: string;
  /** The version of the lifecycle that the entity follows. */
  definition: number;
  fields: { [name: string]: Json };
  /** True if no transition leaves its state. */
  final: boolean;
  /** The number of its life, from 2 on: its id had ended and was created again. */
  generation?: number | null;
  id: string;
  leases: Lease[];
  lifecycle: string;
  /** The state before the current one; null if there was none. */
  previousState?: string | null;
  state: string;
  stateEnteredAt: string;
  /** Seconds since it entered its state. */
  timeInState: number;
  /** The running timers, and those that are paused in the current state. */
  timers: Timer[];
  /**
   * Facts about a past moment that cannot be found out and are left out: names of computed fields or counters, or
   * `allowedTransitions`. Absent if there are none.
   */
  unknown?: string[];
  updatedAt: string;
  /** True if the request is marked as urgent. */
  urgent: boolean;
  /** Increases when the entity changes. */
  version: number;
}

/** Old journal entries to move into archive files. */
export interface Archive {
  /** The smallest age of an entry, such as `30d`, `24h` or `90m`. */
  olderThan: string;
}

/** An archive file. */
export interface ArchiveFile {
  /** Its first journal entry. */
  first: number;
  /** The hash of the chain after its last entry. */
  hash: string;
  /** Its last journal entry. */
  last: number;
  /** Its path in the project folder. */
  path: string;
}

/** The archive files that were written. */
export interface Archived {
  files: ArchiveFile[];
}

/** The transition that led to the current state. */
export interface Arrival {
  actor: string;
  /** `human`, `agent`, `system` or `engine`. */
  actorKind: string;
  after?: ArrivalCause | null;
  at: string;
  event: string;
  /** The current values of the fields that the transition changed. */
  fields: { [name: string]: Json };
  /** The state before; null if the entity was created in this one. */
  from?: string | null;
  onBehalfOf?: string | null;
  reason?: string | null;
}

/** The request that a transition of the engine followed. */
export interface ArrivalCause {
  actor: string;
  event: string;
  onBehalfOf?: string | null;
}

/** An artifact, stored under the hash of its content. */
export interface ArtifactKept {
  sha256: string;
  /** The size in bytes. */
  size: number;
  /** False if it was stored before. */
  stored: boolean;
}

/** The outcome of a transition if you requested it now without fields. */
export interface Attempt {
  accepted: boolean;
  code?: string;
  detail?: string;
  errors?: Unmet[];
  event: string;
  /** The state it would lead to; null if the entity stays in its state. */
  to?: string | null;
  who?: string | null;
}

/** The rest of an attempt, by its outcome. */
export interface AttemptOutcome {
  code?: string;
  detail?: string;
  errors?: Unmet[];
  /** The state it would lead to; null if the entity stays in its state. */
  to?: string | null;
  who?: string | null;
}

/** An address, without its values. */
export interface AudienceAddressBody {
  channel: string;
  name: string;
  person?: string | null;
  /** Why no message can be sent there; null if one can. */
  problem?: string | null;
}

/** An audience. */
export interface AudienceBody {
  /** What a pack says about an audience of this name; null if no pack has one. */
  about?: string | null;
  addresses: AudienceAddressBody[];
  alerts: string;
  digest?: string | null;
  escalateAfter?: string | null;
  lifecycles: string[];
  members: string[];
  name: string;
  notifications: boolean;
  /** The people that the members are now, in the order of escalation. */
  people: string[];
  quiet?: AudienceQuiet | null;
}

/** An audience to set. Keys that are left out are cleared. */
export interface AudiencePut {
  addresses?: AddressPut[];
  /** `none`, `error` (the default: those of severity error and critical) or `all`. */
  alerts?: string | null;
  /** Collect messages and send them at multiples of this span, such as `1h`. */
  digest?: string | null;
  /**
   * Send to members one after the other, each this long after the one before, such as `15m`. By default all get it
   * at once.
   */
  escalateAfter?: string | null;
  /** Only what concerns these lifecycles or packs; empty means all. */
  lifecycles?: string[];
  /** Ids of people, and `role:PACK:ROLE` for everybody with a role, in the order of escalation. */
  members?: string[];
  /** Also send the notifications of packs to the audience of this name. */
  notifications?: boolean;
  quiet?: AudienceQuiet | null;
}

/** Hours of every day in which only critical messages are sent. */
export interface AudienceQuiet {
  /** Such as `22:00`. */
  from: string;
  /** Such as `07:00`, which may be on the next day. */
  to: string;
  /** The time zone, such as `Europe/Berlin`; by default that of the project. */
  zone?: string | null;
}

/** The result of an audit of the journal. */
export interface Audit {
  /** The number of archive files that were read. */
  archiveFiles: number;
  /** The entries that explain why payloads are missing. */
  dropped: Dropped[];
  /** The number of audited entries. */
  entries: number;
  from: ChainEnd;
  /** True if every entry verifies. */
  intact: boolean;
  /** The number of problems beyond the listed ones. */
  more: number;
  /** The number of entries without their payload. */
  payloadsDropped: number;
  problems: AuditProblem[];
  to: ChainEnd;
}

/** A problem that an audit found. */
export interface AuditProblem {
  code: string;
  message: string;
  seq: number;
}

/** A backup to create. */
export interface Backup {
  /** True: add the journal entries since to the backup in `to`. */
  increment?: boolean;
  /** A name in the folder `backups` of the project, or an absolute path. By default the server generates a name. */
  to?: string | null;
}

/** A backup that was made and verified. */
export interface BackupMade {
  /** The number of archive files that were copied. */
  archiveFiles: number;
  /** The number of artifacts that were copied. */
  artifacts: number;
  /** Artifacts that do not match their hash and were not copied. */
  damagedArtifacts: string[];
  /** The last journal entry in it. */
  end: ChainEnd;
  /** The folder of the backup. */
  to: string;
}

/** Several commands in one request; at most 1,000 by default. */
export interface Batch {
  /**
   * True: either all commands are accepted, or nothing changes. False, the default: each command has its own
   * outcome.
   */
  atomic?: boolean;
  commands: BatchCommand[];
}

/**
 * A command of a batch. With `to` or `event` it requests a transition, with `heartbeat` it extends a lease;
 * without them it creates an entity.
 */
export interface BatchCommand {
  /** The name of the transition. */
  event?: string | null;
  /** The fence of the lease that the caller holds. */
  fence?: number | null;
  /** The fields of the request, by name. */
  fields?: { [name: string]: Json };
  /**
   * The id that the command acts for, instead of that in the header `Trackside-For`. An empty id: the caller acts
   * for itself.
   */
  for?: string | null;
  heartbeat?: Heartbeat | null;
  /** The id of the entity. Optional for a new entity. */
  id?: string | null;
  lifecycle: string;
  /** The reason, for the journal. */
  reason?: string | null;
  /** The target state. */
  to?: string | null;
}

/** The outcome of every command of a batch, in the order of the commands. */
export interface BatchReply {
  results: BatchResult[];
}

/** The outcome of one command of a batch. */
export interface BatchResult {
  /** The target states that the rules permit the caller from the current state. */
  allowedTransitions?: string[];
  /** The code, such as `requirement-missing`. */
  code?: string;
  /**
   * In a dry run, the other journal entries that would follow, of other entities too, as far as the caller may see
   * them. Absent if there are none.
   */
  consequences?: JournalEntry[];
  /** The main reason, as a sentence. */
  detail?: string;
  /** True if the command was only decided and nothing changed. */
  dryRun?: boolean;
  entity?: Entity | null;
  /** All unmet conditions. */
  errors?: Unmet[];
  /** When the renewed lease expires. */
  expiresAt?: string | null;
  /** The fence of the lease. */
  fence?: number | null;
  /** The command with which an admin gives you a role that would admit you. Absent if no role would. */
  grant?: string | null;
  /** Fields that were sent but ignored, because only the engine writes them. Absent if there are none. */
  ignored?: string[];
  /** True if the refused request was recorded in the journal as evidence. */
  kept?: boolean;
  /** Notifications to the holder since its previous heartbeat. */
  notices?: Notification[];
  /** True if the same command was sent before under its idempotency key. The response repeats the first answer. */
  replayed?: boolean;
  /** 201 if the command created an entity, else 200. */
  status: number;
  stop?: Stop | null;
  success?: boolean;
  /** The code as a title, such as `Requirement missing`. */
  title?: string;
  /** The journal entry of the command. */
  transition?: JournalEntry;
  /** A URI that identifies the code. */
  type?: string;
  /** Who may make this request, as text. Absent if the refusal does not state it. */
  who?: string | null;
}

/** Another entity that closes a gate. */
export interface BlockingEntity {
  id: string;
  lifecycle: string;
  /** Transitions there that would open the gate. */
  openers: EventOption[];
  /** The message of the gate. */
  says: string;
}

/** The cause for which the engine fires a transition. */
export interface Cause {
  /** This percentage of a timer has passed. */
  warning?: number;
}

/** An entry number, and the hash of the chain there. */
export interface ChainEnd {
  hash: string;
  seq: number;
}

/** Figures of a change. */
export interface ChangeStats {
  /** Added lines. */
  additions?: number;
  /** Deleted lines. */
  deletions?: number;
  /** Changed files. */
  files?: number;
}

/** A reported change, without its files. */
export interface ChangeSummary {
  additions: number;
  artifact: string;
  /** When it was first reported. */
  at: string;
  deletions: number;
  /** Changed files. */
  files: number;
  /** The commit before the change. */
  from: string;
  /** Who reported it. */
  runner?: string | null;
  /** The commit with the change. */
  to: string;
}

/** A condition with its result. */
export interface Check {
  message?: string | null;
  /** True if the result depends on the caller. */
  ofCaller: boolean;
  passed: boolean;
  /** The expression, the required field, or the slot that must be held. */
  rule: string;
  /** The values that it read. */
  saw: { [name: string]: Json };
}

/** A claim of the next available entity. */
export interface Claim {
  /** The transition that claims the entity. Needed if several can. */
  event?: string | null;
  /** The fields of the request, by name. */
  fields?: { [name: string]: Json };
  /** The reason, for the journal. Some transitions require one. */
  reason?: string | null;
  /** An expression: only an entity for which it is true is claimed. */
  where?: string | null;
}

/** A transition by which an entity can be claimed. */
export interface ClaimOption {
  event: string;
  who: string;
}

/** The time of the server. */
export interface Clock {
  /** Why project time does not follow the machine's clock, if it does not. */
  alarm?: string | null;
  /** `system` (elapsed time, steered towards the clock of the machine) or `manual`. */
  clock: string;
  /** The time of the machine's clock, unless the clock is manual. */
  machine?: string | null;
  now: string;
}

/** The correction of project time. */
export interface ClockCorrected {
  /** Project time before. */
  from: string;
  /** The number of entities whose timers or leases were moved back with it. */
  moved: number;
  /** Project time after, which is the time of the machine's clock. */
  to: string;
  /** Entities whose timers could not be moved because their records cannot be read. */
  unmoved: number;
}

/**
 * A correction: an admin override of state or fields outside the declared transitions. It is journalled and
 * raises an alert.
 */
export interface Correct {
  /** New values of fields, by name. */
  fields?: { [name: string]: Json };
  /** The reason, for the journal. Required. */
  reason?: string | null;
  /** The new state; unchanged by default. */
  to?: string | null;
}

/** A request to move project time to the machine's clock. */
export interface CorrectClock {
  direction: CorrectionDirection;
  /** The reason, recorded in the journal. */
  reason?: string | null;
}

/** The direction in which project time moves. */
export interface CorrectionDirection {
}

/** The values of a counter. */
export interface Counter {
  /** The tallies that are not zero, by key or by state. Absent if there are none. */
  byKey?: { [name: string]: number };
  /** Its limit; absent if it has none, or if the limit depends on a request. */
  limit?: number | null;
  /** Its value; absent if it separates its tallies by keys. Of a counter per state, that of the present state. */
  value?: number | null;
}

/** An entity to create. */
export interface Create {
  /** Initial values of fields, by name. */
  fields?: { [name: string]: Json };
  /** The id: 1 to 128 letters, digits, `.`, `_`, `@` or `-`. By default the server generates one. */
  id?: string | null;
}

/** A decision on an approval request. */
export interface Decide {
  /** `approve` or `deny`. */
  decision: string;
  /** The lifecycle. Needed if several lifecycles have a request with this id. */
  lifecycle?: string | null;
  /** A note of the person who decides. */
  note?: string | null;
  /** The target state, if the request lets people choose one. */
  to?: string | null;
}

/** A message to one address about something that waits. */
export interface DeliveryBody {
  address: string;
  attempts: number;
  audience: string;
  channel: string;
  createdAt: string;
  /** It is not sent before this. */
  dueAt: string;
  /** The id of the entity. */
  entity: string;
  /** The next person gets a message if there was no reaction by then. */
  escalateAt?: string | null;
  id: string;
  /** `item`, `alert` or `notification`. */
  kind: string;
  lifecycle: string;
  /** The number of the item in the inbox. */
  number: number;
  person: string;
  sentAt?: string | null;
  state: string;
  /** Why the last attempt failed; null if it did not. */
  why?: string | null;
}

/** A test of the addresses of an audience. */
export interface DeliveryTest {
  /** Only this address; by default all of them. */
  address?: string | null;
}

/** The result of a test. */
export interface DeliveryTested {
  results: AddressTested[];
  /** True if every address accepted the message. */
  success: boolean;
}

/** The rule behind an edge, or behind a change without a move. */
export interface DiagramRule {
  about: string;
  /** The index of the transition's rule; zero for `always`. */
  arm: number;
  /** Its further conditions, in the words of the definition. */
  checks: string[];
  /** The index of the choice. */
  choice?: number | null;
  kind: RuleKind;
  /** The time after which it is taken, if it is timed. */
  span?: string | null;
  /** The transition; none for `always`. */
  transition?: string | null;
  /** The causes for which the engine fires it. */
  triggers: Trigger[];
  /** The condition of the choice as text: `reviewCycles ≥ 3`; `otherwise` for the last of several. */
  when?: string | null;
  /** The callers as text; `engine` if no caller can request it. */
  who: string;
}

/** The change of an entity's work between two commits. */
export interface Diff {
  /** The change that is shown. */
  change: ChangeSummary;
  /** Every reported change, the oldest first. Each can be read with its `from` and `to`. */
  changes: ChangeSummary[];
  files: FileChange[];
  id: string;
  lifecycle: string;
  stats: ChangeStats;
  /** True if lines or files were left out because there are too many. */
  truncated: boolean;
}

/** Changed lines of a file with the lines around them. */
export interface DiffHunk {
  /** The text after the second `@@`, such as the function that the lines are in. */
  header?: string;
  lines: DiffLine[];
  newLines: number;
  newStart: number;
  oldLines: number;
  oldStart: number;
}

/** A line of a hunk. */
export interface DiffLine {
  kind: DiffLineKind;
  /** Without its line break. */
  text: string;
}

export interface DiffLineKind {
}

/** An entry that dropped payloads. */
export interface Dropped {
  actor?: string | null;
  /** The entity as `lifecycle/id`. Only for people with role admin, as the author and the reason. */
  entity?: string | null;
  /** `REDACTED`, or `ERASED` if the whole entity was erased. */
  event: string;
  payloads: number;
  reason?: string | null;
  seq: number;
  timestamp?: string | null;
}

/** The lengths of visits to a state, in seconds. */
export interface Dwell {
  count: number;
  mean: number;
  p50: number;
  p90: number;
  p99: number;
}

/** A way from a state to a state, or back to itself by leaving and entering. */
export interface Edge {
  about: string;
  /** The index of the transition's rule; zero for `always`. */
  arm: number;
  /** Its further conditions, in the words of the definition. */
  checks: string[];
  /** The index of the choice. */
  choice?: number | null;
  free?: OpenTarget | null;
  from: string;
  kind: RuleKind;
  /** The time after which it is taken, if it is timed. */
  span?: string | null;
  to: string;
  /** The transition; none for `always`. */
  transition?: string | null;
  /** The causes for which the engine fires it. */
  triggers: Trigger[];
  /** The condition of the choice as text: `reviewCycles ≥ 3`; `otherwise` for the last of several. */
  when?: string | null;
  /** The callers as text; `engine` if no caller can request it. */
  who: string;
}

/** An effect that has no result yet. */
export interface Effect {
  /** The effect of its queue that has to be answered first; null if it is the first. */
  behind?: number | null;
  /** The id of that entity. */
  entity: string;
  /** The fence to send with the result. Present only if the caller has taken the effect. */
  fence?: number | null;
  id: number;
  kind: string;
  /** The lifecycle of the entity that requested it. */
  lifecycle: string;
  /** When it was requested. */
  since?: string | null;
  /** The actor that has taken the effect; null if none has. */
  takenBy?: string | null;
  /** When that actor loses it without a result. */
  until?: string | null;
  /** The arguments of the effect, by name. */
  with: { [name: string]: Json };
}

/** The result of an effect. */
export interface EffectResult {
  detail?: Json;
  /** The fence under which the caller took the effect. */
  fence: number;
  /** True if the effect succeeded. */
  ok: boolean;
}

/** The recorded result of an effect. */
export interface EffectSettled {
  /** The id of the effect. */
  id: number;
  replayed: boolean;
  /** The journal entry of the result. */
  seq?: number | null;
  success: boolean;
}

/** An effect that the caller has taken. */
export interface EffectTaken {
  /** The id of that entity. */
  entity: string;
  /** The fence to send with the result. */
  fence: number;
  id: number;
  kind: string;
  /** The lifecycle of the entity that requested it. */
  lifecycle: string;
  /** When another worker can take the effect, if it has no result by then. */
  until: string;
  /** The arguments of the effect, by name. */
  with: { [name: string]: Json };
}

/** An entity as the caller sees it. */
export interface Entity {
  /** The target states that the rules permit the caller from the current state. Required fields are not considered. */
  allowedTransitions: string[];
  /** The file in the data folder with its journal entries, if it is in long-term storage. */
  archiveFile?: string | null;
  /** The counters that you may see, by name. Absent if there are none. */
  counters?: { [name: string]: Counter };
  createdAt: string;
  /** The version of the lifecycle that the entity follows. */
  definition: number;
  fields: { [name: string]: Json };
  /** True if no transition leaves its state. */
  final: boolean;
  /** The number of its life, from 2 on: its id had ended and was created again. */
  generation?: number | null;
  id: string;
  leases: Lease[];
  lifecycle: string;
  /** The state before the current one; null if there was none. */
  previousState?: string | null;
  state: string;
  stateEnteredAt: string;
  /** Seconds since it entered its state. */
  timeInState: number;
  /** The running timers, and those that are paused in the current state. */
  timers: Timer[];
  /**
   * Facts about a past moment that cannot be found out and are left out: names of computed fields or counters, or
   * `allowedTransitions`. Absent if there are none.
   */
  unknown?: string[];
  updatedAt: string;
  /** Increases when the entity changes. */
  version: number;
}

/** An action for the risk policy to evaluate. */
export interface Evaluate {
  action: string;
  arguments?: Json;
  /** The entity that the caller works on, as LIFECYCLE/ID: its state may limit the actions. */
  entity?: string | null;
  /**
   * The pack with the policy. By default the pack of the run's entity, of `entity`, of `role`, or of the caller's
   * roles.
   */
  pack?: string | null;
  /** The role that would perform the action; the caller's own roles by default. */
  role?: string | null;
}

/** A transition, who may take it, and whether you are one of them. */
export interface EventOption {
  event: string;
  permitted: boolean;
  who: string;
}

/** An explanation of an entity: its state, its transitions and the conditions it waits for. */
export interface Explanation {
  /** The assignees who could take a transition. */
  ableToAct: string[];
  /** The description of the state in the definition. */
  about?: string | null;
  arrival?: Arrival | null;
  /** The outcome of each transition if you requested it now without fields. */
  attempts: Attempt[];
  /** The rules that the entity violates. */
  broken: string[];
  /** The transitions by which the entity can be claimed now. */
  claimable: ClaimOption[];
  entity?: Entity | null;
  /** The assignees of the entity. */
  givenTo: string[];
  /** Who has to act next, how and why. */
  headline: Headline;
  /** The headline as text. */
  headlineText: string;
  /** Accounts of its runs that start no more runs for now. */
  holds: AccountHold[];
  /** Other entities that close a gate for you, with the transitions that would open it and who may take them. */
  keptBackBy: BlockingEntity[];
  next?: PendingTimer | null;
  /** Why no agent starts to work on it yet, by role. A role without a reason to wait is left out. */
  notReady: { [name: string]: Json };
  /** The time of the answer. */
  now: string;
  /** Effects without a result. */
  openEffects: OpenEffect[];
  /** Transitions that would be accepted now without any fields. */
  ready: string[];
  /** Open approval requests about the entity. */
  requests: OpenRequest[];
  /** Open runs of agents for the entity. */
  runs: RunSummary[];
  /** When the entity entered its state. */
  since: string;
  /** A summary: the state and since when, the transitions that you can request, and the next timer. */
  summary: string;
  /** The running timers. */
  timers: PendingTimer[];
  /**
   * Every transition out of the current state: who may, its fields, and each check with its result and the values
   * it read.
   */
  transitions: TransitionOption[];
  /** Who must act, and the conditions that are not met yet. */
  waitingFor: WaitingFor[];
}

/** A field of a lifecycle. */
export interface Field {
  about: string;
  by: FieldWriter;
  enum?: string[] | null;
  items?: FieldType;
  maximum?: number | null;
  minimum?: number | null;
  name: string;
  type: 'any';
}

/** The type of a field, without the limits that only the engine checks. */
export interface FieldType {
  enum?: string[] | null;
  items?: FieldType;
  maximum?: number | null;
  minimum?: number | null;
  type: 'any';
}

/** The writer of a field. */
export interface FieldWriter {
}

/** A changed file. */
export interface FileChange {
  additions?: number;
  /** True if its content is not text. It has no hunks. */
  binary?: boolean;
  deletions?: number;
  hunks?: DiffHunk[];
  /** The path before, of a file that was renamed or copied. */
  oldPath?: string | null;
  path: string;
  status: FileStatus;
}

/** What happened to a file. `mode`: only its permissions changed. */
export interface FileStatus {
}

/** A lifecycle to be drawn. */
export interface Graph {
  about: string;
  /** Who may create one, as text. */
  created_by: string;
  /** By transition, arm, state left and target, each in declared order; then `always`. */
  edges: Edge[];
  initial: string;
  kind: string;
  /** Its full name: `pack.kind`. */
  name: string;
  /** In declared order. */
  nodes: StateNode[];
  pack: string;
  /** The declared order of states, if there is one. */
  path: string[];
  version: number;
}

/** Who has to act next on an entity, how and why. */
export interface Headline {
  /** The transitions or the work that would help, such as `approve or deny`. Null if no actor can act. */
  action?: string | null;
  /** `you`, the id of another actor, or who may act; `engine` for a timer. Null if no actor can act. */
  actor?: string | null;
  /** The entity of the action, as `LIFECYCLE/ID`, if it is another one. Otherwise null. */
  on?: string | null;
  reason: string;
  /** When the reason began. */
  since: string;
  /** When a timer or the end of a lease changes it; null if none does. */
  until?: string | null;
}

/** The process is running. */
export interface Health {
  /** `ok`. */
  status: string;
  /** The version of the server. */
  version: string;
}

/** A heartbeat of the holder of a lease. */
export interface Heartbeat {
  /** The fence of the lease, as it was granted. */
  fence?: number | null;
  /** The slot of the lease. By default the only slot of the lifecycle, or the one that the caller holds. */
  slot?: string | null;
}

/** The answer to a heartbeat. */
export interface HeartbeatReply {
  /** When the renewed lease expires. */
  expiresAt?: string | null;
  /** The fence of the lease. */
  fence?: number | null;
  /** Notifications to the holder since its previous heartbeat. */
  notices: Notification[];
  /** True if the same heartbeat was sent before under its idempotency key. */
  replayed?: boolean;
  stop?: Stop | null;
}

/** A page of the journal entries of an entity, and the time it spent in each state. */
export interface History {
  /** Entries before this one are archived and their file is missing; null if all are here. */
  archivedBefore?: number | null;
  /** The entries. With `form=pack`: their log lines, as the pack declares them. */
  items: JournalEntry[];
  /** The cursor of the next page: send it as `cursor`. Null on the last page. */
  nextCursor?: string | null;
  /** With `runs=true`: the runs of agents for the entity, the oldest first. Absent without it. */
  runs?: RunSummary[] | null;
  /** Seconds spent in each state. */
  timeInStates: { [name: string]: number };
  /** How often the entity entered each state. */
  visits: { [name: string]: number };
}

/** The identity of the caller. */
export interface Identity {
  /** The actor on whose behalf the caller sends this request; null if there is none. */
  actingFor?: string | null;
  actor: string;
  /** The entity that the token is limited to, as `LIFECYCLE/ID`; null if it is not limited. */
  entity?: string | null;
  /** When the token expires; null means never. */
  expiresAt?: string | null;
  /** The actors on whose behalf the caller may act. */
  for: string[];
  kind: string;
  roles: string[];
  /** The id of the caller's token. */
  token: string;
}

/** Entities to import: all of them or none. At most 1,000 by default. */
export interface Import {
  entities: ImportEntity[];
  /** The name of the imported file, for the journal. */
  file?: string | null;
}

/** The value of a counter under one key. */
export interface ImportCount {
  counter: string;
  /** The key of the tally; empty for a counter without keys. */
  key?: string;
  value: number;
}

/** An entity to import. */
export interface ImportEntity {
  /** The values of its counters. */
  counts?: ImportCount[];
  fields?: { [name: string]: Json };
  id: string;
  /** Leases to grant at the time of the import. */
  leases?: ImportLease[];
  lifecycle: string;
  /** The name of the entity in the other system. Later imports recognise the entity by it. */
  origin: string;
  /** The state; the initial state by default. */
  state?: string | null;
}

/** A lease to grant on a slot. */
export interface ImportLease {
  holder: string;
  slot: string;
}

/** The result of an import. */
export interface ImportReply {
  /** Entities that an earlier import created from the same origin, as `lifecycle/id`. They are not changed. */
  already: string[];
  dryRun: boolean;
  /** The number of entities that were imported, or would be in a dry run. */
  imported: number;
  replayed?: boolean;
}

/** Something that the caller can do. */
export interface InboxAction {
  /** The command that does it. */
  command: string;
  /** `approve` or `deny`; for an alert `acknowledge` or `resolve`; else null. */
  decision?: string | null;
  /** The transition; null for an alert. */
  event?: string | null;
  /** What the request must send: fields, `reason` or `to`. */
  fields: string[];
  /** In words. */
  label: string;
  /** Where it may lead. */
  to: string[];
}

/** What waits for the caller. */
export interface InboxBody {
  items: InboxItem[];
  /** True if so much waits that not all of it was examined. The rest follows when some is decided. */
  more: boolean;
  /** The cursor of the next page: send it as `cursor`. Null on the last page. */
  nextCursor?: string | null;
}

/** Something that waits for the caller. */
export interface InboxItem {
  /** What the caller can do. */
  actions: InboxAction[];
  /** What waits, in one line. */
  headline: string;
  id: string;
  kind: InboxKind;
  lifecycle: string;
  /** True if the caller can act on it now. */
  mayAct: boolean;
  /**
   * The journal entry that put it there. It names the item as long as it waits, so that a command never acts on
   * another one.
   */
  number: number;
  otherwise?: InboxOtherwise | null;
  /** `info`, `warning`, `error` or `critical`. */
  severity: string;
  /** Since when it waits. */
  since: string;
  /** The state of the entity; null for an alert. */
  state?: string | null;
  /** When that ends by itself; null if it does not. */
  until?: string | null;
}

/** The kind of an item. */
export interface InboxKind {
}

/** What happens without an action. */
export interface InboxOtherwise {
  /** When. */
  at: string;
  /** The transition that a timer fires. */
  event: string;
  /** Where it may lead. */
  to: string[];
}

/** An entry of the journal. */
export interface JournalEntry {
  actor: string;
  /** The kind of actor: `human`, `agent`, `system` or `timeout`. */
  actorKind: string;
  /** The number of the entry that caused this one. Absent if there is none. */
  cause?: number | null;
  /** The rule that triggered it. Absent if there is none. */
  condition?: string | null;
  /** The kind of event, from a closed list, such as `STATE_TRANSITION`. */
  event: string;
  /** The state before. Absent if the entry does not change the state. */
  from?: string | null;
  /** The hash of the entry in hexadecimal. It covers the hash of the previous entry. */
  hash?: string | null;
  /** The id of the entity. */
  id: string;
  /** The idempotency key of the command, on its first entry. */
  idempotencyKey?: string | null;
  /** The lifecycle of the entity. */
  lifecycle: string;
  /** Details of the event. The members depend on its kind. */
  metadata: { [name: string]: Json };
  /** The actor on whose behalf the command was sent. Absent if there is none. */
  onBehalfOf?: string | null;
  reason?: string | null;
  /** True if values and texts were redacted from the entry. */
  redacted?: boolean;
  /** The id of the request, on entries that it asked for directly. */
  requestId?: string | null;
  /** The number of the entry. Numbers have no gaps. */
  seq: number;
  timestamp: string;
  /** The state after. Absent if the entry does not change the state. */
  to?: string | null;
  /** The requested transition or event. */
  trigger: string;
  /** The version of the entity after this entry. */
  version: number;
  /**
   * How the person who acted was authenticated: `page` for the session of a browser, `terminal` for the owner's
   * credential, which commands use only at a terminal, `oidc` for a session that an OpenID provider granted,
   * `proxy` for the reverse proxy, `token` for any other token. Absent for other actors.
   */
  via?: string | null;
}

/** Journal entries after one number, up to and including another. */
export interface JournalRange {
  after: number;
  upto: number;
}

/** A lease with its holder. */
export interface Lease {
  expiresAt: string;
  /** Increases with every grant of the lease. Send it with requests under this lease. */
  fence: number;
  /** How long after its end the lease is lost, such as `30s`. */
  grace: string;
  /** When the holder got it; null if that is not stored. */
  grantedAt?: string | null;
  holder: string;
  /** The time between its last renewal and its end, such as `15m`. */
  length: string;
  slot: string;
}

/** A lifecycle with its fields and transitions. */
export interface Lifecycle {
  about: string;
  /** The field with the actors that work on an entity; null if there is none. */
  assignee?: string | null;
  /** The fields and counters that lists and cards show. */
  card: string[];
  /** The states and transitions. */
  definition: Graph;
  /** The purpose that clients may rely on, such as `approval`; null if it declares none. */
  face?: string | null;
  fields: Field[];
  initial: string;
  /** Other names of states, each with its state. */
  knownAs: { [name: string]: string };
  /** The full name: `pack.kind`. */
  lifecycle: string;
  /** True if there is only one entity of this lifecycle. */
  one: boolean;
  pack: string;
  /** The declared order of states; empty if there is none. */
  path: string[];
  /** The meaning of each state: `waiting`, `working`, `review`, `stuck`, `failed`, `done` or `ended`. */
  shows: { [name: string]: string };
  states: string[];
  /** The field that names an entity in lists; null if none does. */
  title?: string | null;
  version: number;
  /** The versions that entities follow or may follow. */
  versions: number[];
  /** The states that wait for people, and how people decide there. */
  waitsForPeople: { [name: string]: StateDecision };
  /** The work of agents on its entities, by role. */
  work: { [name: string]: RoleWork };
}

/** A lifecycle in force. */
export interface LifecycleSummary {
  about: string;
  /** The field with the actors that work on an entity; null if there is none. */
  assignee?: string | null;
  /** The fields and counters that lists and cards show. */
  card: string[];
  /** The purpose that clients may rely on, such as `approval`; null if it declares none. */
  face?: string | null;
  initial: string;
  /** The full name: `pack.kind`. */
  lifecycle: string;
  /** True if there is only one entity of this lifecycle. */
  one: boolean;
  pack: string;
  /** The declared order of states; empty if there is none. */
  path: string[];
  /** The meaning of each state: `waiting`, `working`, `review`, `stuck`, `failed`, `done` or `ended`. */
  shows: { [name: string]: string };
  states: string[];
  /** The field that names an entity in lists; null if none does. */
  title?: string | null;
  version: number;
  /** The versions that entities follow or may follow. */
  versions: number[];
  /** The states that wait for people, and how people decide there. */
  waitsForPeople: { [name: string]: StateDecision };
}

/** The answer to appended lines. */
export interface LinesAppended {
  /** The number of the next line. */
  next: number;
}

/** A message posted on an entity. */
export interface Message {
  at: string;
  /** The author. */
  from: string;
  kind: string;
  /** True if the text was redacted from the journal. */
  redacted?: boolean;
  /** The number of the journal entry. */
  seq: number;
  text: string;
  /** The recipients; null means every actor that may read the entity. */
  to?: string[] | null;
}

/** A migration of running entities to another version of their lifecycle. */
export interface Migrate {
  /** Only entities with an id after this one: the `next` of the previous response. */
  after?: string | null;
  /**
   * Values for fields that are not set or do not fit the other version; null means the default, or not set. Fields
   * that fit are not changed.
   */
  fields?: { [name: string]: Json };
  lifecycle: string;
  /**
   * The largest number of entities to examine, so that the response lists each of them. Without it, all are
   * examined.
   */
  limit?: number | null;
  /** State to its name in the other version, for states that were renamed. */
  states?: { [name: string]: string };
  /** The version to migrate to. With `undo`: the version that they were migrated to. */
  to: number;
  /**
   * Reverts a migration, for entities that have not changed since. Cannot be combined with `states`, `fields` or a
   * dry run.
   */
  undo?: boolean;
}

/** The result of a migration or of its dry run. */
export interface Migrated {
  /** The entities that cannot be migrated, each with its refusal; the first 1,000. */
  cannot: MigratedOne[];
  dryRun: boolean;
  /** The entities that were migrated; the first 1,000. */
  items: MigratedOne[];
  lifecycle: string;
  /** The number of entities that were examined, including those that follow the version already. */
  lookedAt: number;
  /** The number of entities that were migrated, or would be. */
  moved: number;
  /** The id to send as `after` to continue. Absent if all entities were examined. */
  next?: string | null;
  /** The number of entities that cannot be migrated. */
  stuck: number;
  to: number;
}

/** The result for one entity. */
export interface MigratedOne {
  /** The version that it followed before. */
  from: number;
  id: string;
  /** Why it cannot be migrated. Absent if it can. */
  refusal?: { [name: string]: Json } | null;
  /** Its state in the other version. Absent if it cannot be migrated. */
  state?: string | null;
}

/** An accepted command. */
export interface Moved {
  /**
   * In a dry run, the other journal entries that would follow, of other entities too, as far as the caller may see
   * them. Absent if there are none.
   */
  consequences?: JournalEntry[];
  /** True if the command was only decided and nothing changed. */
  dryRun?: boolean;
  entity?: Entity | null;
  /** Fields that were sent but ignored, because only the engine writes them. Absent if there are none. */
  ignored?: string[];
  /** True if the same command was sent before under its idempotency key. The response repeats the first answer. */
  replayed: boolean;
  success: boolean;
  /** The journal entry of the command. */
  transition: JournalEntry;
}

/** A person to create a sign-in link for. */
export interface NewLink {
  /** The id of the person; the caller by default. */
  actor?: string | null;
  roles?: string[];
}

/** A token to create. */
export interface NewToken {
  /** The actor that the token identifies. */
  actor: string;
  /**
   * Limits the token of an agent to one entity, as `LIFECYCLE/ID`: it can change only that entity, the agent's own
   * record and `run`, and create what the entity's `work` declares. It can read what the agent can read.
   */
  entity?: string | null;
  /** The actors on whose behalf the holder may act: ids, where `*` at the end matches any rest. */
  for?: string[];
  /** The kind of actor: `human`, `agent` or `system`. */
  kind: string;
  /**
   * How long the token is valid, such as `90s`, `15m`, `24h` or `7d`. Without it, the token does not expire. A run
   * token is valid for at most one hour.
   */
  lifetime?: string | null;
  note?: string | null;
  /** Roles as `pack:role`, or as `role` if that is unique. `admin` gives the rights of the owner. */
  roles?: string[];
  /** The run that uses the token. */
  run?: string | null;
}

/** A webhook to create. */
export interface NewWebhook {
  /**
   * `changes` (the default): every entry but lease renewals; `all`: every entry; the name of an audience, such as
   * `user`: only notifications to it.
   */
  audience?: string | null;
  /** Kinds of journal entries to send, such as `STATE_TRANSITION`. Without it, `audience` decides. */
  events?: string[];
  /** Lifecycles or packs whose entries are sent. By default all, except tokens, sign-in links and webhooks. */
  lifecycles?: string[];
  note?: string | null;
  /** The URL of the receiver: `https://…`. */
  url: string;
}

/** A notification. */
export interface Notification {
  audience: string;
  id: string;
  lifecycle: string;
  message: string;
  /** The number of the journal entry. */
  seq: number;
  since: string;
  /** The recipients. */
  to: string[];
}

/** An effect without a result. */
export interface OpenEffect {
  /** The effect of its queue that has to be answered first; null if it is the first. */
  behind?: number | null;
  /** The entity of that effect, as `LIFECYCLE/ID`; null if you may not see it. */
  behindEntity?: string | null;
  effect: string;
  id: number;
  /** When it was requested. */
  since?: string | null;
  /** The worker that has taken it; null if none has. */
  takenBy?: string | null;
  /** When that worker loses it without a result. */
  until?: string | null;
}

/** An open approval request about an entity. */
export interface OpenRequest {
  /** The transitions that decide it, and who may take them. */
  deciders: EventOption[];
  fields?: { [name: string]: Json } | null;
  id: string;
  lifecycle: string;
  since: string;
  state: string;
  timers: PendingTimer[];
}

/** Open runs of agents and their resources. */
export interface OpenRuns {
  /** The sum of their largest resident memories, in bytes. */
  memory: number;
  open: number;
  /** Processor time in milliseconds. */
  processor: number;
}

/** Why a target is only one of several. */
export interface OpenTarget {
  /** The state in this field, or computed from it. */
  field?: string;
}

/** The files of a pack. */
export interface PackFiles {
  /** Path within the pack to text: `pack.yaml` and `lifecycles/….yaml`. */
  files: { [name: string]: string };
}

/** The result of installing a pack. */
export interface PackInstalled {
  /** False if the same files were in force before. */
  installed: boolean;
  lifecycles: string[];
  pack: string;
  version: number;
}

/** A pack in force. */
export interface PackSummary {
  about: string;
  lifecycles: string[];
  pack: string;
  roles: string[];
  version: number;
}

/** A running timer: what it will do, and when. */
export interface PendingTimer {
  /** When its next step is: a warning, or its end. */
  at: string;
  /** When it ends. */
  dueAt: string;
  name: string;
  nextStepAt: string;
  /** `warning` or `end`. */
  step: string;
  /** The transition that it fires when it ends. */
  then?: string | null;
  timer: string;
  /** The states to which that leads. */
  to: string[];
}

/** The decision of the risk policy on an action. */
export interface PolicyJudgement {
  action: string;
  /** The risk level: one of the `levels` of the policy. */
  level: string;
  /** `allow`, `approve` (a person must approve first) or `deny`. */
  outcome: string;
  pack: string;
  role?: string | null;
  /** The rule that decided, such as `policy.rules[3]`; null if no rule names the action. */
  rule?: string | null;
  why: string;
}

/** A request that was refused or failed: the reasons, the permitted targets and who may. */
export interface Problem {
  /** The target states that the rules permit the caller from the current state. */
  allowedTransitions: string[];
  /** The code, such as `requirement-missing`. */
  code: string;
  /** The main reason, as a sentence. */
  detail: string;
  /** All unmet conditions. */
  errors: Unmet[];
  /** The command with which an admin gives you a role that would admit you. Absent if no role would. */
  grant?: string | null;
  /** True if the refused request was recorded in the journal as evidence. */
  kept?: boolean;
  /** The HTTP status. */
  status: number;
  /** Always false. */
  success: boolean;
  /** The code as a title, such as `Requirement missing`. */
  title: string;
  /** A URI that identifies the code. */
  type: string;
  /** Who may make this request, as text. Absent if the refusal does not state it. */
  who?: string | null;
}

/** The settings of the whole project. */
export interface Project {
  packs: Settings[];
  /** IANA name of the time zone, such as `Europe/Berlin`; empty means UTC. */
  zone: string;
}

/** A change of the project. */
export interface ProjectPut {
  /** IANA name of the time zone, such as `Europe/Berlin`; empty means UTC. */
  zone: string;
}

/**
 * The answer of a query: a page of entities, a page of journal entries, or values by name. A query can declare
 * the form of its journal entries.
 */
export interface QueryReply {
  /** Entities, or journal entries in the form that the query declares. */
  items?: { [name: string]: Json }[];
  /** The cursor of the next page: send it as `cursor`. Null on the last page. */
  nextCursor?: string | null;
}

/** A query of a pack. */
export interface QuerySummary {
  about: string;
  name: string;
  /** The lifecycle of the entities that it lists; null for a query that returns values. */
  of?: string | null;
  /** The names of its parameters. */
  takes: string[];
}

/** The server takes commands. */
export interface Ready {
  /** The number of entries that are stored but not yet in the tables for reading. */
  behind: number;
  /** The number of the newest journal entry. */
  seq: number;
  /** `ready`, or `degraded` if there are warnings. */
  status: string;
  /** Conditions that need attention, such as a disk that fills up. */
  warnings?: string[];
}

/** Content to remove from the journal. */
export interface Redact {
  /** True: all entries of the entity. Send either this or `entries`. */
  all?: boolean;
  /** New values of fields that come from these entries. Such fields are cleared if they are not named here. */
  becomes?: { [name: string]: Json };
  /** Numbers of entries of the entity. Send either this or `all`. */
  entries?: number[];
  id: string;
  lifecycle: string;
  /** The reason, for the journal. */
  reason: string;
}

/** The result of a redaction. */
export interface Redacted {
  /** True if the redaction was only decided: it would do what `entries` and `fields` say, and nothing changed. */
  dryRun?: boolean;
  /** The entries without a payload now. */
  entries?: number[] | null;
  /** The fields that changed, with their new values. */
  fields?: { [name: string]: Json } | null;
  id: string;
  lifecycle: string;
  replayed: boolean;
  /** The journal entry of the redaction. */
  seq?: number | null;
  success: boolean;
}

/** Dead letters to send again. */
export interface ReplayWebhook {
  /** Numbers of journal entries; all dead letters by default. */
  seqs?: number[];
}

/** A change of the work on an entity. Its artifact has been stored before. */
export interface ReportChange {
  additions?: number;
  /** The SHA-256 of the artifact, a `Change`. */
  artifact: string;
  deletions?: number;
  /** Changed files. */
  files?: number;
  /** The commit before the change. */
  from: string;
  /** The commit with the change. */
  to: string;
}

/** The state of the worktree of an entity. Members that are left out keep their last reported value. */
export interface ReportWorktree {
  /** Lines added since the base. */
  additions?: number | null;
  /** The commit that it started from. */
  base?: string | null;
  branch?: string | null;
  /** Lines deleted since the base. */
  deletions?: number | null;
  /** Whether it has changes that are not committed. A number counts as true if it is not 0. */
  dirty?: boolean | null;
  /** Its present commit. */
  head?: string | null;
  /** The branch that its work is merged into. */
  integration?: string | null;
  /** How it is isolated: `worktree` or `clone`. */
  kind?: string | null;
  /** Its folder on the runner's machine. */
  path?: string | null;
  /** The slot of the lease under which it was made. */
  slot?: string | null;
  /**
   * `making`, `ready`, `vanished` or `removed`. `elsewhere` and `strayed` leave the state as it is: a runner has
   * claimed the entity and has no copy of its work, or the main checkout changed while an agent worked in the
   * worktree.
   */
  state: string;
  /** Paths of the main checkout that changed during a run. */
  touched?: string[] | null;
  /** Commits of its branch that the integration branch does not have. */
  unmerged?: number | null;
}

/** The report of a worktree or of a change was recorded. */
export interface Reported {
  /** The id of the record. */
  id: string;
  /** The lifecycle of the record. */
  lifecycle: string;
  /** True if the same request was sent before under its idempotency key. */
  replayed: boolean;
  /** The journal entry of the report. */
  seq: number;
  success: boolean;
}

/** A call of an action that may need an approval. */
export interface RequestAction {
  action: string;
  arguments?: Json;
  /**
   * The entity that the caller works on, as LIFECYCLE/ID, or the id of the entity that the request is about. By
   * default the first one of the query that the policy names.
   */
  entity?: string | null;
  /**
   * The pack with the policy. By default the pack of the run's entity, of `entity`, of `role`, or of the caller's
   * roles.
   */
  pack?: string | null;
  /** The role that would perform the action; the caller's own roles by default. */
  role?: string | null;
  /** No person is at the agent. An action for which no request can be filed raises an alert. */
  unattended?: boolean;
}

/** The work of one role on the entities of a lifecycle, by the names of its events. */
export interface RoleWork {
  about: string;
  agent?: WorkAgent | null;
  begin?: string | null;
  /** The event that takes an entity. */
  claim?: string | null;
  /** True if `POST /v1/entities/{lifecycle}/claim` takes the next entity by this event. */
  claimRoute: boolean;
  done?: string | null;
  failed?: string | null;
  meter?: string | null;
  note?: string | null;
  /** The query of the pack that lists the entities that wait for the role. */
  query?: string | null;
}

export interface RuleKind {
}

/** One process of an agent, from its start to its end. */
export interface Run {
  /** The account at the model provider. */
  account?: string | null;
  /** `busy`, `waiting` or `silent`. */
  activity?: string | null;
  adapter?: string | null;
  agent?: string | null;
  /** Program and arguments, without the prompt. */
  command: string[];
  /** The commit with its result. */
  commit?: string | null;
  /** Percent of the context window. */
  context?: number | null;
  /** US dollars, as metered. */
  cost?: number | null;
  createdAt: string;
  /** Its last tool call or message. */
  doing?: string | null;
  /** Seconds from the start to the end, or to now. */
  duration?: number | null;
  /** True if it has ended. */
  ended: boolean;
  endedAt?: string | null;
  /** The entity that it works on, as `LIFECYCLE/ID`. */
  entity?: string | null;
  /** The version of the entity at the start. */
  entityVersion?: number | null;
  /** Why its processes could not be ended. */
  evidence?: string | null;
  /** How it ended: `ok`, `quota`, `rate`, `crash`, `killed` and others. */
  exitClass?: string | null;
  exitCode?: number | null;
  /** The last message of the program. */
  exitText?: string | null;
  folder?: string | null;
  id: string;
  /** Lines of its transcript, as its runner reports them. */
  lines: number;
  /** Largest resident memory in bytes. */
  memory?: number | null;
  /** Messages to the agent that it has not got yet. */
  messages: RunMessage[];
  /** The part of the cost that the budgets of the pack know. */
  metered?: number | null;
  model?: string | null;
  /** The next step, for the agent that continues. */
  next?: string | null;
  /** The run that it continues. */
  previous?: string | null;
  /** Processor time in milliseconds. */
  processor?: number | null;
  /** Runs before this one for the same work without progress. */
  reruns: number;
  /** When the usage limit ends. */
  resetsAt?: string | null;
  /** Starts before this one for the same work. */
  restarts: number;
  role?: string | null;
  runner?: string | null;
  /** The registration of the runner that started it. */
  runnerGeneration?: number | null;
  /** The restrictions of its sandbox. */
  sandbox?: string | null;
  /** The agent program's own conversation. */
  session?: string | null;
  /** The signal that ended it. */
  signal?: number | null;
  startedAt?: string | null;
  state: string;
  stopReason?: string | null;
  /** A summary of the work. */
  summary?: string | null;
  /** How its processes are contained: `pidns`, `cgroup` or `tree`. */
  tier?: string | null;
  tokens: RunTokens;
  /** The version of its record. */
  version: number;
}

/**
 * The next step of a supervisor: `stop`; `restart` or `wait` and start again; `hold` until it is over; or
 * `giveUp`.
 */
export interface RunAct {
}

/**
 * A line of a transcript: its number, its time and its content. Lines of an agent have a `kind`, those of
 * Trackside a `mark`.
 */
export interface RunLine {
  /** Milliseconds since 1970. */
  at: number;
  /** Numbers begin at 1 and have no gaps. */
  number: number;
}

/** A message to a running agent. */
export interface RunMessage {
  at?: string | null;
  by: string;
  /** `queue` or `interrupt`. */
  mode: string;
  /** From 1. */
  number: number;
  text: string;
}

/** A run of an entity in short. */
export interface RunSummary {
  adapter?: string | null;
  agent?: string | null;
  cost?: number | null;
  createdAt: string;
  /** Its last tool call or message. */
  doing?: string | null;
  ended: boolean;
  endedAt?: string | null;
  exitClass?: string | null;
  id: string;
  role?: string | null;
  runner?: string | null;
  startedAt?: string | null;
  state: string;
}

/** Tokens that a run used. */
export interface RunTokens {
  cacheRead: number;
  cacheWrite: number;
  /** Input tokens, without cached ones. */
  input: number;
  output: number;
}

/** The decision of the pack after the end of a run. */
export interface RunVerdict {
  act: RunAct;
  /** Seconds to wait before the next start. */
  after?: number | null;
  fire?: VerdictEvent | null;
  why: string;
}

/** The identity of a server, proven by a signature over the caller's nonce and the address that was called. */
export interface ServerIdentity {
  /**
   * The address at which the server received this request. Behind a proxy it differs from the one that the client
   * called.
   */
  address: string;
  /** The addresses that the server listens on. */
  addresses: string[];
  /** The SHA-256 of the public key, in hexadecimal. */
  fingerprint: string;
  /** The Ed25519 public key, in hexadecimal. */
  publicKey: string;
  /** The signature over the context, the nonce and `address`, in hexadecimal. */
  signature: string;
}

/** A setting of a pack. */
export interface Setting {
  about: string;
  /** The default of the pack. */
  default: Json;
  /** The largest allowed value. Absent if there is none. */
  max?: number | null;
  /** The smallest allowed value. Absent if there is none. */
  min?: number | null;
  name: string;
  /** `project` if the project overrides the default, else `default`. */
  origin: string;
  /** `string`, `number`, `integer`, `boolean`, `span`, `list`, `map` or `any`. */
  type: string;
  /** The current value. */
  value: Json;
}

/** The settings of a pack. */
export interface Settings {
  items: Setting[];
  pack: string;
}

/** A sign-in link that can be used once. */
export interface SignInLink {
  expiresAt?: string | null;
  url: string;
}

/** The transitions by which people decide what waits in a state; null if there is no such transition. */
export interface StateDecision {
  approve?: string | null;
  deny?: string | null;
}

/** A lease that may be held in a state. */
export interface StateLease {
  /** The transition fired when it is lost. */
  lost?: string | null;
  slot: string;
  span: string;
}

/** A state. */
export interface StateNode {
  about: string;
  /** The clocks that run in this state. */
  clocks: StateTimer[];
  initial: boolean;
  /** Whether only a second creation leaves it. */
  last: boolean;
  /** Leases that may be held here. */
  leases: StateLease[];
  name: string;
  outcome?: string | null;
  /** Rules that apply here without a move. */
  stays: DiagramRule[];
  /** Its place in the declared order. */
  step?: number | null;
}

/** A clock that runs in a state. */
export interface StateTimer {
  kind: StateTimerKind;
  name: string;
  /** The time at which it is due: `4h`, `daily 09:00`, `at expiresAt`. */
  span: string;
  /** The transition it fires. */
  then?: string | null;
  /** Percentages, ascending. */
  warn: number[];
  /** The clock as text: `4h, then escalate`. */
  words: string;
}

export interface StateTimerKind {
}

/** The statistics of one lifecycle. */
export interface Stats {
  lifecycle: string;
  /** Refused requests since the server started, by code. */
  refusals: { [name: string]: number };
  /** The resources of its open runs of agents, as their runners sampled them last. */
  runs: OpenRuns;
  /** When the server started. */
  startedAt?: string | null;
  /** The number of entities per state now. */
  states: { [name: string]: number };
  throughput: Throughput;
  /** The time spent in each state, over visits that have ended. */
  timeInState: { [name: string]: Dwell };
}

/** Statistics of one lifecycle if the request names it, else of all. */
export interface StatsReply {
  items?: Stats[];
  lifecycle?: string;
  nextCursor?: string | null;
  /** Refused requests since the server started, by code. */
  refusals?: { [name: string]: number };
  /** The resources of its open runs of agents, as their runners sampled them last. */
  runs?: OpenRuns;
  /** When the server started. */
  startedAt?: string | null;
  /** The number of entities per state now. */
  states?: { [name: string]: number };
  throughput?: Throughput;
  /** The time spent in each state, over visits that have ended. */
  timeInState?: { [name: string]: Dwell };
}

/** A message to a running agent. */
export interface SteerRun {
  /** `queue` (default): after the present step; `interrupt`: at once. */
  mode?: string | null;
  text: string;
}

/** Whether the event of a step was fired. */
export interface StepApplied {
  applied: boolean;
  entity?: Entity | null;
  /** True if the same request was sent before under its idempotency key. */
  replayed: boolean;
  transition?: JournalEntry | null;
  /** Why nothing was fired; null if an event was. */
  why?: string | null;
}

/** A request to the holder of a lease to stop. */
export interface Stop {
  /** The messages of the failed checks of the slot, separated by `; `. */
  why: string;
}

/** A request to end a run. */
export interface StopRun {
  reason?: string | null;
}

/** The request succeeded. */
export interface Success {
  success: boolean;
}

/** The result of a sweep. */
export interface Sweep {
  /** Violations that have ended. */
  cleared: number;
  /** Entities whose stored rows were compared with the journal. */
  compared: number;
  /** Entities with altered journal entries: nothing was rebuilt from them. */
  forged: number;
  /** Violations that were not known before. */
  found: number;
  /** The entries that the sweep wrote. */
  journal: JournalRange;
  /** The number of entities that were checked. */
  lookedAt: number;
  /** Entities whose rows differed and were rebuilt. */
  mended: number;
  /** Repairs that the definitions declare and that were applied. */
  repaired: number;
  /** Entities that could not be compared, because a part of the journal is missing or too long. */
  unchecked: number;
}

/** A request to take effects. */
export interface TakeEffects {
  /** Only effects of this entity, as `LIFECYCLE/ID`. */
  entity?: string | null;
  /** Only effects of this kind. */
  kind?: string | null;
  /**
   * How long the effects are reserved for the caller: `5m` by default, at most `24h`. After that, another worker
   * can take those without a result.
   */
  lease?: string | null;
  /** The largest number of effects: 1 by default. A number above 200 counts as 200. */
  limit?: number | null;
}

/** A field that a transition takes. */
export interface TakenField {
  field: string;
  required: boolean;
}

/** The number of recent transitions. */
export interface Throughput {
  /** Present if older entries are archived: counted from this time. */
  countedFrom?: string | null;
  lastHour: number;
  lastMinute: number;
  sinceStart: number;
}

/** A timer: running, or paused in the current state. */
export interface Timer {
  /** When the timer is due; null while it is paused. */
  dueAt?: string | null;
  name: string;
  /** True if it does not run in the current state and will continue in another one. */
  paused: boolean;
  startedAt: string;
  /** The percentages of its time at which it warns, such as 80. */
  warn: number[];
}

/** A token, without its secret. */
export interface Token {
  /** The actor that the token identifies. */
  actor: string;
  createdAt: string;
  /** The entity that it is limited to, as `LIFECYCLE/ID`. */
  entity?: string | null;
  /** When it expires; null means never. */
  expiresAt?: string | null;
  /** The actors on whose behalf the holder may act. */
  for: string[];
  /** The id of the token, which is not its text. */
  id: string;
  /** The kind of actor: `human`, `agent` or `system`. */
  kind: string;
  /** The id of the token it ends with, for run tokens and browser sessions. */
  madeWith?: string | null;
  /** The actor that created it. */
  mintedBy?: string | null;
  /** The id of the token it was created with. */
  mintedWith?: string | null;
  note?: string | null;
  purpose: string;
  roles: string[];
  /** The run that uses it. */
  run?: string | null;
  state: string;
}

/** A created token. Its text is returned only once. */
export interface TokenMade {
  details: Token;
  /** Why the token expires earlier than requested. Absent if it does not. */
  shortened?: string | null;
  /** The text of the token. Send it as `Authorization: Bearer …`. It cannot be shown again. */
  token: string;
}

/** A requested transition, by target state (`to`) or by name (`event`). Send exactly one of the two. */
export interface Transition {
  /** The name of the transition. */
  event?: string | null;
  /** The fence of the lease that the caller holds. */
  fence?: number | null;
  /** The fields of the request, by name. */
  fields?: { [name: string]: Json };
  /** The reason, for the journal. Some transitions require one. */
  reason?: string | null;
  /** The target state. */
  to?: string | null;
}

/** A transition out of the current state. */
export interface TransitionOption {
  about: string;
  /** Every condition, in the order of evaluation. */
  checks: Check[];
  event: string;
  /** False if a gate is closed to you. */
  heard: boolean;
  /**
   * What a request of yours must still send: fields, `reason` or `to`. Null if you may not take it, or if a
   * condition fails that no field changes.
   */
  missing?: string[] | null;
  needsReason: boolean;
  needsTarget: boolean;
  /** True if you can take it once you send the required fields. */
  open: boolean;
  /** True if every condition that does not depend on the caller passes. */
  openToOthers: boolean;
  /** True if you are one of them. */
  permitted: boolean;
  takes: TakenField[];
  /** The possible target states; empty if the entity stays in its state. */
  to: string[];
  /** Who may take it. */
  who: string;
}

/** A cause for which the engine fires a transition. */
export interface Trigger {
  cause: Cause;
  /** The name of the timer, counter, reaction, effect, slot, invariant, transition or state. */
  name: string;
}

/** One unmet condition. */
export interface Unmet {
  code: string;
  /** The field that the condition is about; null if there is none. */
  field?: string | null;
  message: string;
  /** The expression that was not true. Absent if there is none. */
  rule?: string | null;
  /** The values that the expression read. */
  saw?: { [name: string]: Json };
}

/** A transition that a verdict asks for. */
export interface VerdictEvent {
  event: string;
  fields: { [name: string]: Json };
  /** The lifecycle of the entity, which the run works on. */
  lifecycle: string;
}

/** A violated invariant. */
export interface Violation {
  /** True if the invariant holds again. */
  cleared: boolean;
  /** The journal entry since which it holds again. */
  clearedBy?: number | null;
  /** The entity as `lifecycle/id`. */
  entities: string[];
  /** The values that the rule read. */
  evidence: { [name: string]: Json };
  id: string;
  lifecycle: string;
  message: string;
  rule: string;
  seq: number;
  /** `info`, `warning`, `error` or `critical`. */
  severity: string;
  since: string;
}

/** Something that an entity waits for. */
export interface WaitingFor {
  event: string;
  to: string[];
  /** The conditions that fail. */
  unmet: string[];
  who: string;
}

/** A webhook, without its secret. */
export interface Webhook {
  audience: string;
  createdAt: string;
  /** The journal entry up to which every message was delivered, became a dead letter, or was not subscribed. */
  cursor: number;
  /** The number of dead letters. */
  dead: number;
  events: string[];
  /** The actor that created it. Only entries that this actor may read are sent. */
  holder: string;
  id: string;
  lifecycles: string[];
  note?: string | null;
  /** True if messages are sent. */
  sends: boolean;
  state: string;
  url: string;
  /** Why the webhook was switched off; null if it was not. */
  why?: string | null;
}

/** The delivery of one message. */
export interface WebhookDelivery {
  /** The time of the last attempt, by the clock of the machine. */
  at: string;
  /** The number of attempts. */
  attempts: number;
  /** Its `webhook-id`, the same for every attempt. */
  messageId: string;
  /** The time of the next attempt; null if there is none. */
  nextAt?: string | null;
  /** The number of the journal entry in the message. */
  seq: number;
  /** `delivered`, `failing` (will be retried), `dead`, or `queued` (a dead letter that will be retried). */
  state: string;
  /** The HTTP status of the last response; null if there was none. */
  status?: number | null;
  /** Why the last attempt failed; null if it did not. */
  why?: string | null;
}

/** A created webhook. Its secret is returned here, and again only for the same idempotency key. */
export interface WebhookMade {
  details: Webhook;
  /** True if the same request created it before. */
  replayed?: boolean;
  /** The secret with which the receiver verifies signatures: `whsec_…`. */
  secret: string;
}

/** The result of sending dead letters again. */
export interface WebhookReplayed {
  /** True if the webhook was off and is on again. */
  enabled: boolean;
  /** Requested numbers that are not dead letters. */
  passedOver?: number[];
  /** The number of messages that will be sent again. */
  queued: number;
  success: boolean;
}

/** What an agent is asked to do with an entity. */
export interface Work {
  /** The agent: you, or the actor on whose behalf you ask. */
  agent: string;
  change?: WorkChange | null;
  /** The event that takes the entity, if the agent may fire it now; else null. */
  claim?: string | null;
  /** The event that is fired when a run ended well without moving the entity. */
  done?: string | null;
  /** The entity, without its leases. */
  entity: Entity;
  /** The events that the agent may fire now. */
  events: WorkEvent[];
  /** The event that is fired when a run failed for good. */
  failed?: string | null;
  /** What the last review said; null if there is nothing. */
  feedback: Json;
  /** The notes of the process before; null if there are none. */
  handoff: Json;
  id: string;
  /** Everything the agent needs to know: the task, feedback, notes, the events and what happens at the end. */
  instructions: string;
  lifecycle: string;
  role: string;
  /** Conditions that must hold before the agent starts; empty if it may start now. */
  waits: string[];
  worktree?: Worktree | null;
}

/** The record of an agent, which a runner creates before the work and leaves after it. */
export interface WorkAgent {
  /** The fields of the record, for the caller or the actor on whose behalf it asks. */
  fields: { [name: string]: Json };
  /** The event after the work. */
  leave?: string | null;
  lifecycle: string;
  /** The event after the record was created. */
  ready?: string | null;
}

/** The latest change of the work on an entity, without its lines. */
export interface WorkChange {
  additions: number;
  artifact: string;
  /** When it was first reported. */
  at: string;
  /** The command that prints them. */
  command: string;
  deletions: number;
  /** Changed files. */
  files: number;
  /** The commit before the change. */
  from: string;
  /** The route that returns its files and lines. */
  route: string;
  /** Who reported it. */
  runner?: string | null;
  /** The commit with the change. */
  to: string;
}

/** An event that an agent may fire. */
export interface WorkEvent {
  about: string;
  /** What the fields must fulfil. */
  conditions: string[];
  event: string;
  /** True if the request must give a reason. */
  needsReason: boolean;
  /** The JSON Schema of `fields`. */
  schema: { [name: string]: Json };
  /** The possible target states; empty if the state stays. */
  to: string[];
}

/** The worktree of an entity. */
export interface Worktree {
  /** Lines added since the base. */
  additions?: number | null;
  /** The commit that it started from. */
  base?: string | null;
  branch?: string | null;
  /** Lines deleted since the base. */
  deletions?: number | null;
  /** Whether it has changes that are not committed. */
  dirty?: boolean | null;
  /** Its present commit. */
  head?: string | null;
  /** The branch that its work is merged into. */
  integration?: string | null;
  /** How it is isolated: `worktree` or `clone`. */
  kind?: string | null;
  /** Its folder on the runner's machine. */
  path?: string | null;
  reportedAt?: string | null;
  /** Who reported it last. */
  runner?: string | null;
  since: string;
  /** The slot of the lease under which it was made. */
  slot?: string | null;
  /** `making`, `ready`, `vanished` or `removed`. */
  state: string;
  /** Paths of the main checkout that changed during the last run that changed any. */
  touched: string[];
  /** Commits of its branch that the integration branch does not have. */
  unmerged?: number | null;
}

/** Every route of a server. */
export class Routes extends Transport {
  /**
   * Lists open requests and other entities that wait for an approval, if the caller may see them: urgent ones
   * first, then the oldest.
   */
  listApprovals(options: { limit?: number; cursor?: string } & CallOptions = {}): Promise<Page<Approval>> {
    return this.forJson<Page<Approval>>({
      method: 'GET',
      path: `/v1/approvals`,
      query: { limit: options.limit, cursor: options.cursor },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Approves or denies a request, by the transition that its lifecycle's face names. */
  decideApproval(id: string, body: Decide, options: { dryRun?: boolean } & CallOptions = {}): Promise<Moved> {
    return this.forJson<Moved>({
      method: 'POST',
      path: `/v1/approvals/${encodeURIComponent(id)}/decision`,
      query: { dryRun: options.dryRun },
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /**
   * Lists everything that waits for the caller: the most severe first, then the oldest. If very much waits, the
   * list is cut, and `more` is true.
   */
  inbox(
    options: { kind?: string; number?: number; limit?: number; cursor?: string } & CallOptions = {},
  ): Promise<InboxBody> {
    return this.forJson<InboxBody>({
      method: 'GET',
      path: `/v1/inbox`,
      query: { kind: options.kind, number: options.number, limit: options.limit, cursor: options.cursor },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Evaluates the risk level of an action, whether a role may do it, and why. */
  evaluatePolicy(body: Evaluate, options: CallOptions = {}): Promise<PolicyJudgement> {
    return this.forJson<PolicyJudgement>({
      method: 'POST',
      path: `/v1/policy/evaluate`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /**
   * Asks whether an action may be done now, and requests its approval if it needs one. The same action with the
   * same arguments finds the request it made before: an approval is used, a denial and an open request are
   * returned.
   */
  requestAction(body: RequestAction, options: CallOptions = {}): Promise<ActionAnswer> {
    return this.forJson<ActionAnswer>({
      method: 'POST',
      path: `/v1/policy/request`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /** Returns content. */
  getArtifact(sha256: string, options: CallOptions = {}): Promise<Uint8Array> {
    return this.forBytes({
      method: 'GET',
      path: `/v1/artifacts/${encodeURIComponent(sha256)}`,
      query: {},
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Stores content under its hash. Repeating it changes nothing, and replaces a file that was damaged. */
  putArtifact(sha256: string, body: Uint8Array, options: CallOptions = {}): Promise<ArtifactKept> {
    return this.forJson<ArtifactKept>({
      method: 'PUT',
      path: `/v1/artifacts/${encodeURIComponent(sha256)}`,
      query: {},
      headers: {},
      body: { bytes: body },
      keyed: false,
      options,
    });
  }

  /** Shows the time. */
  clock(options: CallOptions = {}): Promise<Clock> {
    return this.forJson<Clock>({
      method: 'GET',
      path: `/v1/clock`,
      query: {},
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Moves the manual clock and fires everything due, in order. */
  advanceClock(body: Advance, options: CallOptions = {}): Promise<Clock> {
    return this.forJson<Clock>({
      method: 'POST',
      path: `/v1/clock/advance`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /**
   * Moves project time to the machine's clock after a jump. Forward: timers that become due fire. Back: timers
   * that were started after the new time are moved back by the same span.
   */
  correctClock(body: CorrectClock, options: CallOptions = {}): Promise<ClockCorrected> {
    return this.forJson<ClockCorrected>({
      method: 'POST',
      path: `/v1/clock/correct`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /** Lists the lifecycles in force. */
  listLifecycles(options: { limit?: number; cursor?: string } & CallOptions = {}): Promise<Page<LifecycleSummary>> {
    return this.forJson<Page<LifecycleSummary>>({
      method: 'GET',
      path: `/v1/lifecycles`,
      query: { limit: options.limit, cursor: options.cursor },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Shows one definition: states, fields, transitions and what each takes. */
  showLifecycle(lifecycle: string, options: CallOptions = {}): Promise<Lifecycle> {
    return this.forJson<Lifecycle>({
      method: 'GET',
      path: `/v1/lifecycles/${encodeURIComponent(lifecycle)}`,
      query: {},
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Draws a lifecycle. */
  drawLifecycle(lifecycle: string, options: { format?: string } & CallOptions = {}): Promise<string> {
    return this.forText({
      method: 'GET',
      path: `/v1/lifecycles/${encodeURIComponent(lifecycle)}/diagram`,
      query: { format: options.format },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /**
   * Migrates the entities of a lifecycle to another version, each by a journal entry. With `dryRun`, shows what
   * would happen.
   */
  migrate(body: Migrate, options: { dryRun?: boolean } & CallOptions = {}): Promise<Migrated> {
    return this.forJson<Migrated>({
      method: 'POST',
      path: `/v1/migrations`,
      query: { dryRun: options.dryRun },
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /** Lists the installed packs. */
  listPacks(options: { limit?: number; cursor?: string } & CallOptions = {}): Promise<Page<PackSummary>> {
    return this.forJson<Page<PackSummary>>({
      method: 'GET',
      path: `/v1/packs`,
      query: { limit: options.limit, cursor: options.cursor },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Checks and installs a pack. Running entities keep their version. */
  putPack(pack: string, body: PackFiles, options: CallOptions = {}): Promise<PackInstalled> {
    return this.forJson<PackInstalled>({
      method: 'PUT',
      path: `/v1/packs/${encodeURIComponent(pack)}`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: false,
      options,
    });
  }

  /** Shows the time zone, and the settings of every pack. */
  projectSettings(options: CallOptions = {}): Promise<Project> {
    return this.forJson<Project>({
      method: 'GET',
      path: `/v1/settings`,
      query: {},
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Changes the time zone of the project. With `dryRun`, shows the settings as they would be. */
  putProjectSettings(body: ProjectPut, options: { dryRun?: boolean } & CallOptions = {}): Promise<Project> {
    return this.forJson<Project>({
      method: 'PUT',
      path: `/v1/settings`,
      query: { dryRun: options.dryRun },
      headers: {},
      body: { json: body },
      keyed: false,
      options,
    });
  }

  /** Shows the settings of a pack: the value in force, the default, and the origin. */
  settings(pack: string, options: CallOptions = {}): Promise<Settings> {
    return this.forJson<Settings>({
      method: 'GET',
      path: `/v1/settings/${encodeURIComponent(pack)}`,
      query: {},
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /**
   * Changes settings of a pack: names with values, or null for the default. With `dryRun`, shows the settings as
   * they would be.
   */
  putSettings(
    pack: string,
    body: { [name: string]: Json },
    options: { dryRun?: boolean } & CallOptions = {},
  ): Promise<Settings> {
    return this.forJson<Settings>({
      method: 'PUT',
      path: `/v1/settings/${encodeURIComponent(pack)}`,
      query: { dryRun: options.dryRun },
      headers: {},
      body: { json: body },
      keyed: false,
      options,
    });
  }

  /** Lists audiences: those that were set, and those that packs declare. */
  audiences(options: { limit?: number; cursor?: string } & CallOptions = {}): Promise<Page<AudienceBody>> {
    return this.forJson<Page<AudienceBody>>({
      method: 'GET',
      path: `/v1/audiences`,
      query: { limit: options.limit, cursor: options.cursor },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Shows an audience, without the values of its addresses. */
  audience(name: string, options: CallOptions = {}): Promise<AudienceBody> {
    return this.forJson<AudienceBody>({
      method: 'GET',
      path: `/v1/audiences/${encodeURIComponent(name)}`,
      query: {},
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Sets an audience: its members, its addresses, and when messages are sent. Only a person with role admin may. */
  putAudience(name: string, body: AudiencePut, options: CallOptions = {}): Promise<AudienceBody> {
    return this.forJson<AudienceBody>({
      method: 'PUT',
      path: `/v1/audiences/${encodeURIComponent(name)}`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: false,
      options,
    });
  }

  /** Sends a test message to the addresses of an audience, and waits for the results. Nothing of it is journalled. */
  testAudience(name: string, body: DeliveryTest = {}, options: CallOptions = {}): Promise<DeliveryTested> {
    return this.forJson<DeliveryTested>({
      method: 'POST',
      path: `/v1/audiences/${encodeURIComponent(name)}/test`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /** Lists deliveries: all of them for an admin, for other people those to them. */
  deliveries(
    options: { state?: string; limit?: number; cursor?: string } & CallOptions = {},
  ): Promise<Page<DeliveryBody>> {
    return this.forJson<Page<DeliveryBody>>({
      method: 'GET',
      path: `/v1/deliveries`,
      query: { state: options.state, limit: options.limit, cursor: options.cursor },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Lists open effects, the oldest first. */
  listEffects(options: { kind?: string; limit?: number; cursor?: string } & CallOptions = {}): Promise<Page<Effect>> {
    return this.forJson<Page<Effect>>({
      method: 'GET',
      path: `/v1/effects`,
      query: { kind: options.kind, limit: options.limit, cursor: options.cursor },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Takes effects that are not taken, the oldest first. */
  takeEffects(body: TakeEffects = {}, options: CallOptions = {}): Promise<Page<EffectTaken>> {
    return this.forJson<Page<EffectTaken>>({
      method: 'POST',
      path: `/v1/effects/take`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /** Reports the result of an effect. */
  settleEffect(id: number, body: EffectResult, options: CallOptions = {}): Promise<EffectSettled> {
    return this.forJson<EffectSettled>({
      method: 'POST',
      path: `/v1/effects/${encodeURIComponent(id)}/result`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /**
   * Runs several commands in order. Each has its own outcome unless `atomic` is true. With `dryRun`, each is
   * decided on top of those before it, and nothing changes.
   */
  batch(body: Batch, options: { dryRun?: boolean } & CallOptions = {}): Promise<BatchReply> {
    return this.forJson<BatchReply>({
      method: 'POST',
      path: `/v1/batch`,
      query: { dryRun: options.dryRun },
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /** Lists entities of a lifecycle. */
  listEntities(
    lifecycle: string,
    options: { state?: string; where?: string; overdue?: boolean; limit?: number; cursor?: string; seq?: number } & CallOptions = {},
  ): Promise<Page<Entity>> {
    return this.forJson<Page<Entity>>({
      method: 'GET',
      path: `/v1/entities/${encodeURIComponent(lifecycle)}`,
      query: { state: options.state, where: options.where, overdue: options.overdue, limit: options.limit, cursor: options.cursor, seq: options.seq },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Creates an entity. */
  createEntity(lifecycle: string, body: Create = {}, options: { dryRun?: boolean } & CallOptions = {}): Promise<Moved> {
    return this.forJson<Moved>({
      method: 'POST',
      path: `/v1/entities/${encodeURIComponent(lifecycle)}`,
      query: { dryRun: options.dryRun },
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /** Claims the next available entity for the caller. */
  claim(
    lifecycle: string,
    body: Claim = {},
    options: { dryRun?: boolean } & CallOptions = {},
  ): Promise<Moved | undefined> {
    return this.forJson<Moved | undefined>({
      method: 'POST',
      path: `/v1/entities/${encodeURIComponent(lifecycle)}/claim`,
      query: { dryRun: options.dryRun },
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /** Shows one entity. */
  showEntity(lifecycle: string, id: string, options: { at?: number } & CallOptions = {}): Promise<Entity> {
    return this.forJson<Entity>({
      method: 'GET',
      path: `/v1/entities/${encodeURIComponent(lifecycle)}/${encodeURIComponent(id)}`,
      query: { at: options.at },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Admin override: sets state or fields without a transition. Journalled, and raises an alert. */
  correct(
    lifecycle: string,
    id: string,
    body: Correct = {},
    options: { dryRun?: boolean } & CallOptions = {},
  ): Promise<Moved> {
    return this.forJson<Moved>({
      method: 'POST',
      path: `/v1/entities/${encodeURIComponent(lifecycle)}/${encodeURIComponent(id)}/correct`,
      query: { dryRun: options.dryRun },
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /** Explains the state of an entity. */
  explain(lifecycle: string, id: string, options: CallOptions = {}): Promise<Explanation> {
    return this.forJson<Explanation>({
      method: 'GET',
      path: `/v1/entities/${encodeURIComponent(lifecycle)}/${encodeURIComponent(id)}/explain`,
      query: {},
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Extends a lease. */
  heartbeat(lifecycle: string, id: string, body: Heartbeat = {}, options: CallOptions = {}): Promise<HeartbeatReply> {
    return this.forJson<HeartbeatReply>({
      method: 'POST',
      path: `/v1/entities/${encodeURIComponent(lifecycle)}/${encodeURIComponent(id)}/heartbeat`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /** Lists the journal entries of an entity, the oldest first, and the seconds spent in each state. */
  history(
    lifecycle: string,
    id: string,
    options: { limit?: number; cursor?: string; all?: boolean; runs?: boolean; form?: string } & CallOptions = {},
  ): Promise<History> {
    return this.forJson<History>({
      method: 'GET',
      path: `/v1/entities/${encodeURIComponent(lifecycle)}/${encodeURIComponent(id)}/history`,
      query: { limit: options.limit, cursor: options.cursor, all: options.all, runs: options.runs, form: options.form },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Lists the messages of an entity that the caller may see, the oldest first. `to` names who has to act on one. */
  messages(
    lifecycle: string,
    id: string,
    options: { limit?: number; cursor?: string } & CallOptions = {},
  ): Promise<Page<Message>> {
    return this.forJson<Page<Message>>({
      method: 'GET',
      path: `/v1/entities/${encodeURIComponent(lifecycle)}/${encodeURIComponent(id)}/messages`,
      query: { limit: options.limit, cursor: options.cursor },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Fires a transition, by its name or by its target state. */
  fire(
    lifecycle: string,
    id: string,
    body: Transition,
    options: { dryRun?: boolean; ifMatch?: string } & CallOptions = {},
  ): Promise<Moved> {
    return this.forJson<Moved>({
      method: 'POST',
      path: `/v1/entities/${encodeURIComponent(lifecycle)}/${encodeURIComponent(id)}/transitions`,
      query: { dryRun: options.dryRun },
      headers: { 'If-Match': options.ifMatch },
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /** Shows what an agent is asked to do with an entity. */
  work(lifecycle: string, id: string, options: { role?: string } & CallOptions = {}): Promise<Work> {
    return this.forJson<Work>({
      method: 'GET',
      path: `/v1/entities/${encodeURIComponent(lifecycle)}/${encodeURIComponent(id)}/work`,
      query: { role: options.role },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** The process is running. */
  healthz(options: CallOptions = {}): Promise<Health> {
    return this.forJson<Health>({
      method: 'GET',
      path: `/healthz`,
      query: {},
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Shows metrics for Prometheus. */
  metrics(options: CallOptions = {}): Promise<string> {
    return this.forText({
      method: 'GET',
      path: `/metrics`,
      query: {},
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** The server can take commands: the store works, projections keep up, and the machine's clock can be followed. */
  readyz(options: CallOptions = {}): Promise<Ready> {
    return this.forJson<Ready>({
      method: 'GET',
      path: `/readyz`,
      query: {},
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /**
   * Proves the identity of the server: it signs the caller's nonce, and the address at which it received the
   * request.
   */
  serverIdentity(options: { nonce: string } & CallOptions): Promise<ServerIdentity> {
    return this.forJson<ServerIdentity>({
      method: 'GET',
      path: `/v1/identity`,
      query: { nonce: options.nonce },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Creates a sign-in link that works once. */
  createSignInLink(body: NewLink = {}, options: CallOptions = {}): Promise<SignInLink> {
    return this.forJson<SignInLink>({
      method: 'POST',
      path: `/v1/sign-in-links`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /** Signs the caller out. */
  signOut(options: CallOptions = {}): Promise<Success> {
    return this.forJson<Success>({
      method: 'POST',
      path: `/v1/sign-out`,
      query: {},
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Lists tokens: all of them for an admin; for others their own, and the run tokens they made. */
  listTokens(options: { limit?: number; cursor?: string } & CallOptions = {}): Promise<Page<Token>> {
    return this.forJson<Page<Token>>({
      method: 'GET',
      path: `/v1/tokens`,
      query: { limit: options.limit, cursor: options.cursor },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Creates a token. Its text is only in this answer; a repeated request is refused with the token's id. */
  createToken(body: NewToken, options: CallOptions = {}): Promise<TokenMade> {
    return this.forJson<TokenMade>({
      method: 'POST',
      path: `/v1/tokens`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /**
   * Creates a token that replaces the caller's: with the same actor, roles and purpose, and a lifetime that starts
   * now. The caller's token stays valid.
   */
  rotateToken(options: CallOptions = {}): Promise<TokenMade> {
    return this.forJson<TokenMade>({
      method: 'POST',
      path: `/v1/tokens/rotate`,
      query: {},
      headers: {},
      body: undefined,
      keyed: true,
      options,
    });
  }

  /** Revokes a token, and everything made with it: run tokens, browser sessions and sign-in links. */
  revokeToken(id: string, options: CallOptions = {}): Promise<void> {
    return this.forNothing({
      method: 'DELETE',
      path: `/v1/tokens/${encodeURIComponent(id)}`,
      query: {},
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /**
   * Lets a run token end an hour from now, because its process still runs. For the token that it was made with,
   * and for admins.
   */
  extendToken(id: string, options: CallOptions = {}): Promise<Token> {
    return this.forJson<Token>({
      method: 'POST',
      path: `/v1/tokens/${encodeURIComponent(id)}/extend`,
      query: {},
      headers: {},
      body: undefined,
      keyed: true,
      options,
    });
  }

  /**
   * Ends a token that the caller's token replaces, after the overlap of the setting `replacedLifetime`. Tokens and
   * sessions made with it stay valid while the caller's token is.
   */
  replaceToken(id: string, options: CallOptions = {}): Promise<Token> {
    return this.forJson<Token>({
      method: 'POST',
      path: `/v1/tokens/${encodeURIComponent(id)}/replace`,
      query: {},
      headers: {},
      body: undefined,
      keyed: true,
      options,
    });
  }

  /** Shows the identity of the caller. */
  whoami(options: CallOptions = {}): Promise<Identity> {
    return this.forJson<Identity>({
      method: 'GET',
      path: `/v1/whoami`,
      query: {},
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /**
   * Moves old entries to files in the folder `archive`. They are read back and verified before the journal drops
   * them. The newest entry stays.
   */
  archive(body: Archive, options: CallOptions = {}): Promise<Archived> {
    return this.forJson<Archived>({
      method: 'POST',
      path: `/v1/archive`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /**
   * Exports evidence about an entity as JSON lines: its entries, approvals about it, artifacts, and the hash chain
   * to the end of the journal. Verify it anywhere with `trackside audit verify FILE`. Contains nothing about other
   * entities.
   */
  exportEvidence(lifecycle: string, id: string, options: CallOptions = {}): AsyncGenerator<{ [name: string]: Json }> {
    return this.forLines({
      method: 'GET',
      path: `/v1/audit/export/${encodeURIComponent(lifecycle)}/${encodeURIComponent(id)}`,
      query: {},
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Verifies every entry of the journal and its archive, and the hash chain between them. */
  verifyAudit(options: { known?: string } & CallOptions = {}): Promise<Audit> {
    return this.forJson<Audit>({
      method: 'GET',
      path: `/v1/audit/verify`,
      query: { known: options.known },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /**
   * Copies journal, state, archive and artifacts to an empty or new folder, and verifies the copy. Artifacts that
   * do not match their hash are listed and not copied. With `increment` it adds the entries since to an existing
   * backup.
   */
  backup(body: Backup = {}, options: CallOptions = {}): Promise<BackupMade> {
    return this.forJson<BackupMade>({
      method: 'POST',
      path: `/v1/backup`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /** Streams the journal as server-sent events. Resume with `Last-Event-ID`. */
  events(
    options: { lifecycle?: string; id?: string; audience?: string; after?: number; all?: boolean; form?: string } & CallOptions = {},
  ): AsyncGenerator<JournalEntry> {
    return this.forEvents<JournalEntry>({
      method: 'GET',
      path: `/v1/events`,
      query: { lifecycle: options.lifecycle, id: options.id, audience: options.audience, after: options.after, all: options.all, form: options.form },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /**
   * Exports the project as JSON lines. People with role admin get the stored records and artifacts; others get the
   * entries that they may see.
   */
  export(options: CallOptions = {}): AsyncGenerator<{ [name: string]: Json }> {
    return this.forLines({
      method: 'GET',
      path: `/v1/export`,
      query: {},
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /**
   * Imports entities as they are, all or none. A journal entry for each says where it comes from. Entities that an
   * earlier import brought from the same place stay as they are.
   */
  import(body: Import, options: { dryRun?: boolean } & CallOptions = {}): Promise<ImportReply> {
    return this.forJson<ImportReply>({
      method: 'POST',
      path: `/v1/import`,
      query: { dryRun: options.dryRun },
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /** Lists the journal in order, as far as the caller may see it. */
  journal(
    options: { after?: number; limit?: number; cursor?: string; form?: string } & CallOptions = {},
  ): Promise<Page<JournalEntry>> {
    return this.forJson<Page<JournalEntry>>({
      method: 'GET',
      path: `/v1/journal`,
      query: { after: options.after, limit: options.limit, cursor: options.cursor, form: options.form },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /**
   * Drops the payloads of journal entries of an entity, and the field values that came from them. With `dryRun`,
   * says which ones it would drop.
   */
  redact(body: Redact, options: { dryRun?: boolean } & CallOptions = {}): Promise<Redacted> {
    return this.forJson<Redacted>({
      method: 'POST',
      path: `/v1/redactions`,
      query: { dryRun: options.dryRun },
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /** Shows statistics of one lifecycle, or of all. */
  stats(options: { lifecycle?: string } & CallOptions = {}): Promise<StatsReply> {
    return this.forJson<StatsReply>({
      method: 'GET',
      path: `/v1/stats`,
      query: { lifecycle: options.lifecycle },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Lists open alerts, the oldest first; with `all=true` also resolved ones. */
  alerts(options: { all?: boolean; limit?: number; cursor?: string } & CallOptions = {}): Promise<Page<Alert>> {
    return this.forJson<Page<Alert>>({
      method: 'GET',
      path: `/v1/alerts`,
      query: { all: options.all, limit: options.limit, cursor: options.cursor },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Acknowledges an alert. For people; the first acknowledgement is kept. */
  acknowledgeAlert(id: string, body: AlertNote = {}, options: CallOptions = {}): Promise<AlertReply> {
    return this.forJson<AlertReply>({
      method: 'POST',
      path: `/v1/alerts/${encodeURIComponent(id)}/acknowledge`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /** Resolves an alert: it leaves the list, and the same condition raises a new one. For people. */
  resolveAlert(id: string, body: AlertNote = {}, options: CallOptions = {}): Promise<AlertReply> {
    return this.forJson<AlertReply>({
      method: 'POST',
      path: `/v1/alerts/${encodeURIComponent(id)}/resolve`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /** Lists notifications, the oldest first. */
  notifications(
    options: { audience?: string; to?: string; limit?: number; cursor?: string } & CallOptions = {},
  ): Promise<Page<Notification>> {
    return this.forJson<Page<Notification>>({
      method: 'GET',
      path: `/v1/notifications`,
      query: { audience: options.audience, to: options.to, limit: options.limit, cursor: options.cursor },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /**
   * Checks every entity now and applies the repairs that its definition declares. Compares every stored row with
   * the journal and rebuilds those that differ.
   */
  sweep(options: { deep?: boolean } & CallOptions = {}): Promise<Sweep> {
    return this.forJson<Sweep>({
      method: 'POST',
      path: `/v1/sweep`,
      query: { deep: options.deep },
      headers: {},
      body: undefined,
      keyed: true,
      options,
    });
  }

  /** Lists invariants that are violated now, the oldest first; with `all`, also those that hold again. */
  violations(options: { all?: boolean; limit?: number; cursor?: string } & CallOptions = {}): Promise<Page<Violation>> {
    return this.forJson<Page<Violation>>({
      method: 'GET',
      path: `/v1/violations`,
      query: { all: options.all, limit: options.limit, cursor: options.cursor },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Lists the queries of a pack. */
  listQueries(
    pack: string,
    options: { limit?: number; cursor?: string } & CallOptions = {},
  ): Promise<Page<QuerySummary>> {
    return this.forJson<Page<QuerySummary>>({
      method: 'GET',
      path: `/v1/queries/${encodeURIComponent(pack)}`,
      query: { limit: options.limit, cursor: options.cursor },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Runs a query of a pack. */
  query(
    pack: string,
    name: string,
    options: { limit?: number; cursor?: string; parameters?: { [name: string]: string } } & CallOptions = {},
  ): Promise<QueryReply> {
    return this.forJson<QueryReply>({
      method: 'GET',
      path: `/v1/queries/${encodeURIComponent(pack)}/${encodeURIComponent(name)}`,
      query: { limit: options.limit, cursor: options.cursor, ...options.parameters },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Lists runs of agents, in the order of their ids: those for entities that you may see, and your own. */
  listRuns(
    options: { entity?: string; agent?: string; runner?: string; state?: string; limit?: number; cursor?: string } & CallOptions = {},
  ): Promise<Page<Run>> {
    return this.forJson<Page<Run>>({
      method: 'GET',
      path: `/v1/runs`,
      query: { entity: options.entity, agent: options.agent, runner: options.runner, state: options.state, limit: options.limit, cursor: options.cursor },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Shows a run. */
  showRun(id: string, options: CallOptions = {}): Promise<Run> {
    return this.forJson<Run>({
      method: 'GET',
      path: `/v1/runs/${encodeURIComponent(id)}`,
      query: {},
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Fires the event that the work of a run's role declares for a step, on the entity of the run and for its agent. */
  applyStep(id: string, body: ApplyStep, options: CallOptions = {}): Promise<StepApplied> {
    return this.forJson<StepApplied>({
      method: 'POST',
      path: `/v1/runs/${encodeURIComponent(id)}/apply`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /** Sends a message to a running agent. */
  steerRun(id: string, body: SteerRun, options: CallOptions = {}): Promise<Moved> {
    return this.forJson<Moved>({
      method: 'POST',
      path: `/v1/runs/${encodeURIComponent(id)}/steer`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /** Asks the runner to end a run. */
  stopRun(id: string, body: StopRun = {}, options: CallOptions = {}): Promise<Moved> {
    return this.forJson<Moved>({
      method: 'POST',
      path: `/v1/runs/${encodeURIComponent(id)}/stop`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /**
   * Lists the lines of a transcript. `nextCursor` is the number to send as `after`. With `Accept:
   * text/event-stream`, it streams lines as they come: `id` is the number of the line, and the event `end` follows
   * the last one.
   */
  readTranscript(
    id: string,
    options: { after?: number; limit?: number; q?: string } & CallOptions = {},
  ): Promise<Page<RunLine>> {
    return this.forJson<Page<RunLine>>({
      method: 'GET',
      path: `/v1/runs/${encodeURIComponent(id)}/transcript`,
      query: { after: options.after, limit: options.limit, q: options.q },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /**
   * Appends lines to the transcript of a run. Only its runner may. Numbers continue without a gap; lines that are
   * there already are ignored. Keys of well-known forms are replaced.
   */
  appendTranscript(id: string, body: AppendLines, options: CallOptions = {}): Promise<LinesAppended> {
    return this.forJson<LinesAppended>({
      method: 'POST',
      path: `/v1/runs/${encodeURIComponent(id)}/transcript`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: false,
      options,
    });
  }

  /** Shows the decision of the pack after the end of a run: stop, restart, wait, hold or give up. */
  runVerdict(id: string, options: { waited?: number; code?: number } & CallOptions = {}): Promise<RunVerdict> {
    return this.forJson<RunVerdict>({
      method: 'GET',
      path: `/v1/runs/${encodeURIComponent(id)}/verdict`,
      query: { waited: options.waited, code: options.code },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Lists webhooks: all of them for an admin, for others their own. */
  listWebhooks(options: { limit?: number; cursor?: string } & CallOptions = {}): Promise<Page<Webhook>> {
    return this.forJson<Page<Webhook>>({
      method: 'GET',
      path: `/v1/webhooks`,
      query: { limit: options.limit, cursor: options.cursor },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /**
   * Creates a webhook. The signing secret is only in this answer, and in the answer to a repeated request with the
   * same key.
   */
  createWebhook(body: NewWebhook, options: CallOptions = {}): Promise<WebhookMade> {
    return this.forJson<WebhookMade>({
      method: 'POST',
      path: `/v1/webhooks`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /** Removes a webhook. */
  removeWebhook(id: string, options: CallOptions = {}): Promise<void> {
    return this.forNothing({
      method: 'DELETE',
      path: `/v1/webhooks/${encodeURIComponent(id)}`,
      query: {},
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Shows a webhook. */
  webhook(id: string, options: CallOptions = {}): Promise<Webhook> {
    return this.forJson<Webhook>({
      method: 'GET',
      path: `/v1/webhooks/${encodeURIComponent(id)}`,
      query: {},
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Lists deliveries in journal order: the last 200 that succeeded, and all others. */
  webhookDeliveries(
    id: string,
    options: { state?: string; limit?: number; cursor?: string } & CallOptions = {},
  ): Promise<Page<WebhookDelivery>> {
    return this.forJson<Page<WebhookDelivery>>({
      method: 'GET',
      path: `/v1/webhooks/${encodeURIComponent(id)}/deliveries`,
      query: { state: options.state, limit: options.limit, cursor: options.cursor },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Retries dead letters, and failing deliveries at once. Turns a webhook that is off on. */
  replayWebhook(id: string, body: ReplayWebhook = {}, options: CallOptions = {}): Promise<WebhookReplayed> {
    return this.forJson<WebhookReplayed>({
      method: 'POST',
      path: `/v1/webhooks/${encodeURIComponent(id)}/replay`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /** Reports what changed between two commits of the work on an entity. Store the artifact first. */
  reportChange(lifecycle: string, id: string, body: ReportChange, options: CallOptions = {}): Promise<Reported> {
    return this.forJson<Reported>({
      method: 'POST',
      path: `/v1/entities/${encodeURIComponent(lifecycle)}/${encodeURIComponent(id)}/changes`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /** Shows what changed in the work on an entity: files, hunks and figures. */
  diff(lifecycle: string, id: string, options: { from?: string; to?: string } & CallOptions = {}): Promise<Diff> {
    return this.forJson<Diff>({
      method: 'GET',
      path: `/v1/entities/${encodeURIComponent(lifecycle)}/${encodeURIComponent(id)}/diff`,
      query: { from: options.from, to: options.to },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Shows the worktree of an entity: its branch, unmerged commits, changed lines and state. */
  worktree(lifecycle: string, id: string, options: CallOptions = {}): Promise<Worktree> {
    return this.forJson<Worktree>({
      method: 'GET',
      path: `/v1/entities/${encodeURIComponent(lifecycle)}/${encodeURIComponent(id)}/worktree`,
      query: {},
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Reports the state of the worktree of an entity. */
  reportWorktree(lifecycle: string, id: string, body: ReportWorktree, options: CallOptions = {}): Promise<Reported> {
    return this.forJson<Reported>({
      method: 'POST',
      path: `/v1/entities/${encodeURIComponent(lifecycle)}/${encodeURIComponent(id)}/worktree`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }
}
