// Made from the OpenAPI document by `cargo xtask clients`. Do not edit: change the routes, and make it again.

import { type CallOptions, type Json, Transport } from './transport.js';

/** A page of a list. */
export interface Page<T> {
  items: T[];
  /** Send it as `cursor` for the next page; null on the last. */
  nextCursor?: string | null;
}

/** Where the manual clock is to go: by a span, or to a time. */
export interface Advance {
  /** `90s`, `15m`, `24h`, `7d`. */
  by?: string | null;
  to?: string | null;
}

/** An alert, and what people have said of it. */
export interface Alert {
  acknowledgedAt?: string | null;
  /** Who said first that it is seen. */
  acknowledgedBy?: string | null;
  acknowledgedNote?: string | null;
  /** Its own number: that of the journal entry that raised it. */
  alertId: string;
  id: string;
  kind: string;
  /** Of the entity it is about. */
  lifecycle: string;
  message: string;
  /** Whether it is seen to. */
  resolved: boolean;
  resolvedAt?: string | null;
  resolvedBy?: string | null;
  resolvedNote?: string | null;
  seq: number;
  /** `info`, `warning`, `error` or `critical`. */
  severity: string;
  since: string;
}

/** What a person says of an alert. */
export interface AlertNote {
  /** Kept in the journal, at most 2,000 characters. */
  note?: string | null;
}

/** What became of it. */
export interface AlertReply {
  alert: Alert;
  /** False if somebody had said the same before: the alert tells who. */
  changed: boolean;
  replayed: boolean;
  success: boolean;
}

/** An open request to people. */
export interface Approval {
  /** Targets that the rules permit this caller from here, before required fields are asked for. */
  allowedTransitions: string[];
  createdAt: string;
  /** The version of its definition. */
  definition: number;
  fields: { [name: string]: Json };
  /** Whether no transition leaves its state. */
  final: boolean;
  id: string;
  leases: Lease[];
  lifecycle: string;
  previousState?: string | null;
  state: string;
  stateEnteredAt: string;
  /** Seconds. */
  timeInState: number;
  timers: Timer[];
  updatedAt: string;
  /** The request asks for a quick decision. */
  urgent: boolean;
  version: number;
}

/** Old journal that is to go into files. */
export interface Archive {
  /** How old an entry must be, such as `30d`, `24h` or `90m`. */
  olderThan: string;
}

/** Content that is kept under its hash. */
export interface ArtifactKept {
  sha256: string;
  size: number;
  /** False if it was there already. */
  stored: boolean;
}

/** A copy of the project that is to be made. */
export interface Backup {
  /** A name in the folder `backups` of the project, or a whole path; a name is made if there is none. */
  to?: string | null;
}

/** Many commands in one request. */
export interface Batch {
  /** All of them, or none. */
  atomic?: boolean;
  commands: BatchCommand[];
}

/** A command of a batch: with `to` or `event` it moves, without it creates. */
export interface BatchCommand {
  event?: string | null;
  fence?: number | null;
  fields?: { [name: string]: Json };
  id?: string | null;
  lifecycle: string;
  reason?: string | null;
  to?: string | null;
}

/** The outcome of every command of a batch, in order. */
export interface BatchReply {
  results: BatchResult[];
}

/** The outcome of one command of a batch. */
export interface BatchResult {
  /** Targets that the rules permit this caller from here. */
  allowedTransitions?: string[];
  code?: string;
  detail?: string;
  dryRun?: boolean;
  entity?: Entity | null;
  /** Every unmet condition, never only the first. */
  errors?: Unmet[];
  /** Fields the engine owns; the values that were sent are ignored. */
  ignored?: string[];
  /** Whether what was sent is kept in the journal all the same. */
  kept?: boolean;
  /** Whether the same command came before and this is its first answer again. */
  replayed?: boolean;
  /** 201 if it created an entity, else 200. */
  status: number;
  success: boolean;
  title?: string;
  /** The journal entry that answers it. */
  transition?: JournalEntry;
  type?: string;
  /** Who may do what was asked, in words. */
  who?: string | null;
}

/** The next one that can be claimed. */
export interface Claim {
  /** The transition that takes it, where several could. */
  event?: string | null;
  fields?: { [name: string]: Json };
  reason?: string | null;
  /** Only one for which this is true. */
  where?: string | null;
}

/** What time it is for the server. */
export interface Clock {
  /** `system` or `manual`. */
  clock: string;
  now: string;
}

/** The loud override. */
export interface Correct {
  fields?: { [name: string]: Json };
  reason?: string | null;
  to?: string | null;
}

/** A new entity. */
export interface Create {
  fields?: { [name: string]: Json };
  /** 1 to 128 of letters, digits, `.`, `_`, `@`, `-`; made by the server if there is none. */
  id?: string | null;
}

/** What somebody decides on a request to people. */
export interface Decide {
  /** `approve` or `deny`. */
  decision: string;
  /** The lifecycle, where several have a request with this id. */
  lifecycle?: string | null;
  note?: string | null;
  /** Where it is to lead, where the request lets people choose. */
  to?: string | null;
}

/** Work for the outside that nobody has answered. */
export interface Effect {
  entity: string;
  /** The number that goes with the result, where the caller has taken it. */
  fence?: number | null;
  id: number;
  kind: string;
  /** The entity that asked for it. */
  lifecycle: string;
  /** Who is at it now. */
  takenBy?: string | null;
  /** What it is to be carried out with. */
  with: { [name: string]: Json };
}

/** What became of work for the outside. */
export interface EffectResult {
  detail?: Json;
  /** The number under which it was taken. */
  fence: number;
  ok: boolean;
}

/** Work for the outside that the caller has taken. */
export interface EffectTaken {
  entity: string;
  /** Comes back with the result. */
  fence: number;
  id: number;
  kind: string;
  lifecycle: string;
  /** When it is handed to somebody else, if there is no result by then. */
  until: string;
  /** What it is to be carried out with. */
  with: { [name: string]: Json };
}

/** An entity as the caller sees it. */
export interface Entity {
  /** Targets that the rules permit this caller from here, before required fields are asked for. */
  allowedTransitions: string[];
  createdAt: string;
  /** The version of its definition. */
  definition: number;
  fields: { [name: string]: Json };
  /** Whether no transition leaves its state. */
  final: boolean;
  id: string;
  leases: Lease[];
  lifecycle: string;
  previousState?: string | null;
  state: string;
  stateEnteredAt: string;
  /** Seconds. */
  timeInState: number;
  timers: Timer[];
  updatedAt: string;
  version: number;
}

/** An action of which somebody wants to know how risky it is. */
export interface Evaluate {
  action: string;
  arguments?: Json;
  /** Whose policy; needed where several packs have one. */
  pack?: string | null;
  /** For whom; the caller's own roles if there is none. */
  role?: string | null;
}

/** A sign of life from the holder of a lease. */
export interface Heartbeat {
  /** The number of the lease, as it was granted. */
  fence?: number | null;
  /** Which lease; needed where the lifecycle has several. */
  slot?: string | null;
}

/** What a heartbeat brings back. */
export interface HeartbeatReply {
  expiresAt?: string | null;
  fence?: number | null;
  /** What the holder was told since its last heartbeat. */
  notices: Json[];
  replayed?: boolean;
  stop?: Stop | null;
}

/** Who the caller is. */
export interface Identity {
  /** For whom it speaks in this request. */
  actingFor?: string | null;
  actor: string;
  expiresAt?: string | null;
  for: string[];
  kind: string;
  roles: string[];
  /** The id of the token it showed. */
  token: string;
}

/** Entities that come from elsewhere: all of them, or none. */
export interface Import {
  entities: ImportEntity[];
  /** The file that told of them, for the journal. */
  file?: string | null;
}

/** What a counter has counted under a key. */
export interface ImportCount {
  counter: string;
  key?: string;
  value: number;
}

/** One of them, as it is to be here. */
export interface ImportEntity {
  /** What its counters have counted. */
  counts?: ImportCount[];
  fields?: { [name: string]: Json };
  id: string;
  /** Leases that are granted anew, from now on. */
  leases?: ImportLease[];
  lifecycle: string;
  /** What it is called where it comes from: by this an import knows it again. */
  origin: string;
  /** The initial one if none is named. */
  state?: string | null;
}

/** Who holds a slot. */
export interface ImportLease {
  holder: string;
  slot: string;
}

/** What became of an import. */
export interface ImportReply {
  /** Those that an earlier import brought from the same place, as `lifecycle/id`: they are left as they are by now. */
  already: string[];
  dryRun: boolean;
  /** How many came in, or would. */
  imported: number;
  replayed?: boolean;
}

/** An entry of the journal. */
export interface JournalEntry {
  actor: string;
  /** `human`, `agent`, `system` or `timeout`. */
  actorKind: string;
  /** The entry it follows from. */
  cause?: number | null;
  /** The rule that triggered it. */
  condition?: string | null;
  /** One of a closed list of kinds, such as `STATE_TRANSITION`. */
  event: string;
  from?: string | null;
  /** It covers the entry before it. */
  hash?: string | null;
  id: string;
  /** The key under which the command counts once. */
  idempotencyKey?: string | null;
  lifecycle: string;
  /** Depends on the kind of event. */
  metadata: { [name: string]: Json };
  /** The actor on whose behalf it was done. */
  onBehalfOf?: string | null;
  reason?: string | null;
  /** Values and texts were dropped from it. */
  redacted?: boolean;
  /** The id of the request that asked for it. */
  requestId?: string | null;
  /** Its number: there are no gaps. */
  seq: number;
  timestamp: string;
  to?: string | null;
  /** The transition or event that was asked for. */
  trigger: string;
  /** The entity's version after it. */
  version: number;
}

/** A lease with its holder. */
export interface Lease {
  expiresAt: string;
  fence: number;
  holder: string;
  slot: string;
}

/** Words posted on an entity. */
export interface Message {
  at: string;
  /** Whose words they are. */
  from: string;
  kind: string;
  /** They were taken out of the journal. */
  redacted?: boolean;
  seq: number;
  text: string;
  /** The actors they are for; null: whoever may see the entity. */
  to?: string[] | null;
}

/** Running entities that are to live by another version of their definition. */
export interface Migrate {
  /** Only those with an id after this one: the `next` of the answer before. */
  after?: string | null;
  /** What becomes of fields that cannot stay as they are. */
  fields?: { [name: string]: Json };
  lifecycle: string;
  /** Looks at no more than so many, so that each is named; without it at all of them. */
  limit?: number | null;
  /** State to its name there, where that is another one. */
  states?: { [name: string]: string };
  /** The version they are to live by; with `undo`, the one they were moved to. */
  to: number;
  /** Takes it back, of those to which nothing has happened since. */
  undo?: boolean;
}

/** What became, or would become, of the entities of a lifecycle. */
export interface Migrated {
  /** The first thousand of those that cannot, each with its refusal. */
  cannot: MigratedOne[];
  dryRun: boolean;
  /** The first thousand of those that moved. */
  items: MigratedOne[];
  lifecycle: string;
  /** How many were looked at, those that live by that version already among them. */
  lookedAt: number;
  /** How many moved, or would. */
  moved: number;
  /** After whom to go on, where `limit` left some; none if all are done. */
  next?: string | null;
  /** How many cannot. */
  stuck: number;
  to: number;
}

/** What became of one. */
export interface MigratedOne {
  /** The version it lived by. */
  from: number;
  id: string;
  refusal?: { [name: string]: Json } | null;
  /** The state it has there. */
  state?: string | null;
}

/** An accepted command. */
export interface Moved {
  dryRun?: boolean;
  entity?: Entity | null;
  /** Fields the engine owns; the values that were sent are ignored. */
  ignored?: string[];
  /** Whether the same command came before and this is its first answer again. */
  replayed: boolean;
  success: boolean;
  /** The journal entry that answers it. */
  transition: JournalEntry;
}

/** A person who is to be let in. */
export interface NewLink {
  /** The person; the caller if there is none. */
  actor?: string | null;
  roles?: string[];
}

/** A token that is to be made. */
export interface NewToken {
  /** Whom it speaks for. */
  actor: string;
  /** Whom it may act for: ids, with `*` for any end. */
  for?: string[];
  /** `human`, `agent` or `system`. */
  kind: string;
  /** How long it is good for; for ever if there is nothing. */
  lifetime?: string | null;
  note?: string | null;
  /** `pack:role`, or bare where that is unique; `admin` for the owner's rights. */
  roles?: string[];
}

/** A webhook that is to be made. */
export interface NewWebhook {
  /** `user`: what people follow; `all`: every entry. `user` if nothing is said. */
  audience?: string | null;
  /** Kinds of journal entries, such as `STATE_TRANSITION`; if there is none, what the audience is told. */
  events?: string[];
  /** Lifecycles or packs; all if there is none. */
  lifecycles?: string[];
  note?: string | null;
  /** Where messages go: `https://…`. */
  url: string;
}

/** A command that would have been accepted, in a batch where another one was refused. */
export interface NotDone {
  code: string;
  detail: string;
  status: number;
  success: boolean;
}

/** The texts of a pack: path within it and text. */
export interface PackFiles {
  /** `pack.yaml`, and `lifecycles/….yaml`. */
  files: { [name: string]: string };
}

/** What became of a pack that was sent. */
export interface PackInstalled {
  /** False if the same was in force already. */
  installed: boolean;
  lifecycles: string[];
  pack: string;
  version: number;
}

/** A pack that is in force. */
export interface PackSummary {
  about: string;
  lifecycles: string[];
  pack: string;
  roles: string[];
  version: number;
}

/** What the policy says of an action. */
export interface PolicyJudgement {
  action: string;
  /** One of the levels of the policy. */
  level: string;
  /** `allow`, `approve` (somebody must say yes first) or `deny`. */
  outcome: string;
  pack: string;
  role?: string | null;
  why: string;
}

/** A request that was turned down, in a way that teaches. */
export interface Problem {
  /** Targets that the rules permit this caller from here. */
  allowedTransitions: string[];
  code: string;
  detail: string;
  /** Every unmet condition, never only the first. */
  errors: Unmet[];
  /** Whether what was sent is kept in the journal all the same. */
  kept?: boolean;
  status: number;
  /** Always false. */
  success: boolean;
  title: string;
  type: string;
  /** Who may do what was asked, in words. */
  who?: string | null;
}

/** What is the same for the whole project. */
export interface Project {
  packs: Settings[];
  /** IANA name of its time zone; empty means UTC. */
  zone: string;
}

/** What of the project is to change. */
export interface ProjectPut {
  /** As in `Europe/Berlin`; empty means UTC. */
  zone: string;
}

/** Values and words that are to leave the journal. */
export interface Redact {
  all?: boolean;
  /** What fields become that came from them; without a word they are cleared. */
  becomes?: { [name: string]: Json };
  /** Numbers of its entries. Either these, or `all`. */
  entries?: number[];
  id: string;
  lifecycle: string;
  reason: string;
}

/** Dead letters that are to be tried once more. */
export interface ReplayWebhook {
  /** Numbers of journal entries; all dead letters if there is none. */
  seqs?: number[];
}

/** A setting of a pack. */
export interface Setting {
  about: string;
  /** What the pack says. */
  default: Json;
  max?: number | null;
  min?: number | null;
  name: string;
  /** `project` where the project has a word of its own, else `default`. */
  origin: string;
  /** `string`, `number`, `integer`, `boolean`, `span`, `list`, `map` or `any`. */
  type: string;
  /** What holds. */
  value: Json;
}

/** The settings of a pack. */
export interface Settings {
  items: Setting[];
  pack: string;
}

/** A way in, once. */
export interface SignInLink {
  expiresAt?: string | null;
  url: string;
}

/** A holder is to stop. */
export interface Stop {
  why: string;
}

/** Work for the outside that somebody wants to do. */
export interface TakeEffects {
  /** Only of this kind. */
  kind?: string | null;
  /**
   * How long until it is handed to somebody else, if there is no result by then: `5m` if nothing is said, `24h` at
   * most.
   */
  lease?: string | null;
  /** How many at most: 1 if nothing is said; of more than 200, 200. */
  limit?: number | null;
}

/** A running timer. */
export interface Timer {
  dueAt: string;
  name: string;
}

/** A token, without its secret. */
export interface Token {
  actor: string;
  createdAt: string;
  expiresAt?: string | null;
  for: string[];
  id: string;
  kind: string;
  mintedBy?: string | null;
  note?: string | null;
  purpose: string;
  roles: string[];
  state: string;
}

/** A token that was made: its text is shown this once. */
export interface TokenMade {
  details: Token;
  /** Said where it does not last as long as was asked for. */
  shortened?: string | null;
  /** Send it as `Authorization: Bearer …`. It cannot be shown again. */
  token: string;
}

/**
 * A change of state by target or by name, or an event that changes fields only. One of `to` and `event` is
 * named.
 */
export interface Transition {
  /** The event of the lifecycle. */
  event?: string | null;
  /** The number of the lease under which the caller works. */
  fence?: number | null;
  fields?: { [name: string]: Json };
  reason?: string | null;
  /** The state it is to go to. */
  to?: string | null;
}

/** One unmet condition. */
export interface Unmet {
  code: string;
  field?: string | null;
  message: string;
  /** The expression that was not true. */
  rule?: string | null;
  /** The values it saw. */
  saw?: { [name: string]: Json };
}

/** A webhook, without its secret. */
export interface Webhook {
  audience: string;
  createdAt: string;
  /** The journal entry up to which everything was delivered, is a dead letter, or is not for it. */
  cursor: number;
  /** How many dead letters it has. */
  dead: number;
  events: string[];
  /** Who had it made: it tells what they may see. */
  holder: string;
  id: string;
  lifecycles: string[];
  note?: string | null;
  /** Whether messages are sent. */
  sends: boolean;
  state: string;
  url: string;
  /** Why not. */
  why?: string | null;
}

/** What became of a message. */
export interface WebhookDelivery {
  /** When it was tried last, by the machine's clock. */
  at: string;
  attempts: number;
  /** Its `webhook-id`, the same however often it is sent. */
  messageId: string;
  nextAt?: string | null;
  /** The journal entry it tells of. */
  seq: number;
  /** `delivered`, `failing` (it will be tried again), `dead` or `queued` (a dead letter that is tried once more). */
  state: string;
  /** What the receiver answered last. */
  status?: number | null;
  /** Why it was not taken. */
  why?: string | null;
}

/** A webhook that was made: its secret is shown this once, and to the same request under its key. */
export interface WebhookMade {
  details: Webhook;
  /** It was made by the same request before. */
  replayed?: boolean;
  /** What its receiver checks signatures with: `whsec_…`. It cannot be shown again. */
  secret: string;
}

/** How many messages are tried again. */
export interface WebhookReplayed {
  /** Whether it was off and is on again. */
  enabled: boolean;
  /** Those asked for by number that are no dead letters, so that there is nothing to try again. */
  passedOver?: number[];
  replayed: number;
  success: boolean;
}

/** Every route of a server. */
export class Routes extends Transport {
  /** Lists open requests that the caller may see: urgent ones first, then the oldest. */
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
  decideApproval(id: string, body: Decide, options: CallOptions = {}): Promise<Moved> {
    return this.forJson<Moved>({
      method: 'POST',
      path: `/v1/approvals/${encodeURIComponent(id)}/decision`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: true,
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

  /** Stores content under its hash. Repeating it changes nothing. */
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

  /** Lists the lifecycles in force. */
  listLifecycles(options: { limit?: number; cursor?: string } & CallOptions = {}): Promise<{ [name: string]: Json }> {
    return this.forJson<{ [name: string]: Json }>({
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
  showLifecycle(lifecycle: string, options: CallOptions = {}): Promise<{ [name: string]: Json }> {
    return this.forJson<{ [name: string]: Json }>({
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

  /** Changes the time zone of the project. */
  putProjectSettings(body: ProjectPut, options: CallOptions = {}): Promise<Project> {
    return this.forJson<Project>({
      method: 'PUT',
      path: `/v1/settings`,
      query: {},
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

  /** Changes settings of a pack: names with values, or null for the default. */
  putSettings(pack: string, body: { [name: string]: Json }, options: CallOptions = {}): Promise<Settings> {
    return this.forJson<Settings>({
      method: 'PUT',
      path: `/v1/settings/${encodeURIComponent(pack)}`,
      query: {},
      headers: {},
      body: { json: body },
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
  settleEffect(id: number, body: EffectResult, options: CallOptions = {}): Promise<{ [name: string]: Json }> {
    return this.forJson<{ [name: string]: Json }>({
      method: 'POST',
      path: `/v1/effects/${encodeURIComponent(id)}/result`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /** Runs many commands. Each has its own outcome unless `atomic`. */
  batch(body: Batch, options: CallOptions = {}): Promise<BatchReply> {
    return this.forJson<BatchReply>({
      method: 'POST',
      path: `/v1/batch`,
      query: {},
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
  claim(lifecycle: string, body: Claim = {}, options: CallOptions = {}): Promise<Moved | undefined> {
    return this.forJson<Moved | undefined>({
      method: 'POST',
      path: `/v1/entities/${encodeURIComponent(lifecycle)}/claim`,
      query: {},
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
  correct(lifecycle: string, id: string, body: Correct = {}, options: CallOptions = {}): Promise<Moved> {
    return this.forJson<Moved>({
      method: 'POST',
      path: `/v1/entities/${encodeURIComponent(lifecycle)}/${encodeURIComponent(id)}/correct`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /** Explains the state of an entity. */
  explain(lifecycle: string, id: string, options: CallOptions = {}): Promise<{ [name: string]: Json }> {
    return this.forJson<{ [name: string]: Json }>({
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
    options: { limit?: number; cursor?: string; all?: boolean } & CallOptions = {},
  ): Promise<{ [name: string]: Json }> {
    return this.forJson<{ [name: string]: Json }>({
      method: 'GET',
      path: `/v1/entities/${encodeURIComponent(lifecycle)}/${encodeURIComponent(id)}/history`,
      query: { limit: options.limit, cursor: options.cursor, all: options.all },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Lists the messages of an entity that are addressed to the caller, the oldest first. */
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

  /** The process is running. */
  healthz(options: CallOptions = {}): Promise<{ [name: string]: Json }> {
    return this.forJson<{ [name: string]: Json }>({
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

  /** The server can take commands: the store works and projections keep up. */
  readyz(options: CallOptions = {}): Promise<{ [name: string]: Json }> {
    return this.forJson<{ [name: string]: Json }>({
      method: 'GET',
      path: `/readyz`,
      query: {},
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
  signOut(options: CallOptions = {}): Promise<{ [name: string]: Json }> {
    return this.forJson<{ [name: string]: Json }>({
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

  /** Revokes a token, and the run tokens made with it. */
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
  archive(body: Archive, options: CallOptions = {}): Promise<{ [name: string]: Json }> {
    return this.forJson<{ [name: string]: Json }>({
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
  verifyAudit(options: { known?: string } & CallOptions = {}): Promise<{ [name: string]: Json }> {
    return this.forJson<{ [name: string]: Json }>({
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
   * do not match their hash are listed and not copied.
   */
  backup(body: Backup = {}, options: CallOptions = {}): Promise<{ [name: string]: Json }> {
    return this.forJson<{ [name: string]: Json }>({
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
    options: { lifecycle?: string; id?: string; audience?: string; after?: number; all?: boolean } & CallOptions = {},
  ): AsyncGenerator<JournalEntry> {
    return this.forEvents<JournalEntry>({
      method: 'GET',
      path: `/v1/events`,
      query: { lifecycle: options.lifecycle, id: options.id, audience: options.audience, after: options.after, all: options.all },
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
    options: { after?: number; limit?: number; cursor?: string } & CallOptions = {},
  ): Promise<Page<JournalEntry>> {
    return this.forJson<Page<JournalEntry>>({
      method: 'GET',
      path: `/v1/journal`,
      query: { after: options.after, limit: options.limit, cursor: options.cursor },
      headers: {},
      body: undefined,
      keyed: false,
      options,
    });
  }

  /** Drops the payloads of journal entries of an entity, and the field values that came from them. */
  redact(body: Redact, options: CallOptions = {}): Promise<{ [name: string]: Json }> {
    return this.forJson<{ [name: string]: Json }>({
      method: 'POST',
      path: `/v1/redactions`,
      query: {},
      headers: {},
      body: { json: body },
      keyed: true,
      options,
    });
  }

  /** Shows statistics of one lifecycle, or of all. */
  stats(options: { lifecycle?: string } & CallOptions = {}): Promise<{ [name: string]: Json }> {
    return this.forJson<{ [name: string]: Json }>({
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
  ): Promise<Page<Json>> {
    return this.forJson<Page<Json>>({
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
  sweep(options: { deep?: boolean } & CallOptions = {}): Promise<{ [name: string]: Json }> {
    return this.forJson<{ [name: string]: Json }>({
      method: 'POST',
      path: `/v1/sweep`,
      query: { deep: options.deep },
      headers: {},
      body: undefined,
      keyed: true,
      options,
    });
  }

  /** Lists violated invariants, the oldest first, including those that hold again. */
  violations(options: { limit?: number; cursor?: string } & CallOptions = {}): Promise<Page<Json>> {
    return this.forJson<Page<Json>>({
      method: 'GET',
      path: `/v1/violations`,
      query: { limit: options.limit, cursor: options.cursor },
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
  ): Promise<{ [name: string]: Json }> {
    return this.forJson<{ [name: string]: Json }>({
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
  ): Promise<{ [name: string]: Json }> {
    return this.forJson<{ [name: string]: Json }>({
      method: 'GET',
      path: `/v1/queries/${encodeURIComponent(pack)}/${encodeURIComponent(name)}`,
      query: { limit: options.limit, cursor: options.cursor, ...options.parameters },
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
}
