// How a request is sent, sent again, and refused. The same for every route.

import type { Page, Problem, Unmet } from './generated.js';

/** Anything that JSON can say. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** What holds for one call. */
export interface CallOptions {
  /** A key of your own: the same command under the same key counts once. One is made where a command takes one. */
  idempotencyKey?: string;
  /** Ends the call. */
  signal?: AbortSignal;
}

/** How a server is spoken to. */
export interface Setup {
  /** How often a request is sent until it is given up: 6 if nothing is said. */
  tries?: number;
  /** Milliseconds until an answer must have begun: 30,000 if nothing is said. */
  timeout?: number;
  /** For which agent, where the token may act for others. */
  forAgent?: string;
  /** What sends requests, if not the one of the platform. */
  fetch?: typeof fetch;
}

/** A request, before it is one. */
export interface Asked {
  method: string;
  path: string;
  query: { [name: string]: Json | undefined };
  headers: { [name: string]: string | undefined };
  body: { json: unknown } | { bytes: Uint8Array } | undefined;
  /** Whether it counts once under an idempotency key. */
  keyed: boolean;
  options: CallOptions;
}

/** No answer, or one that is not understood. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

/** The server turned it down. `problem` is all it had to say. */
export class Refused extends Error {
  override readonly name = 'Refused';

  constructor(
    readonly problem: Problem,
    /** Seconds after which it may be asked again. */
    readonly retryAfter?: number,
  ) {
    super(`${problem.code}: ${problem.detail}`);
  }

  get status(): number {
    return this.problem.status;
  }

  /** A word for programs, such as `requirement-missing`. */
  get code(): string {
    return this.problem.code;
  }

  /** Every unmet condition. */
  get errors(): Unmet[] {
    return this.problem.errors;
  }

  /** The states that the rules permit from here. */
  get allowed(): string[] {
    return this.problem.allowedTransitions;
  }

  /** Whether there was too much to do: nothing was done, and it may be asked again. */
  get overloaded(): boolean {
    return this.status === 429 || this.status === 503;
  }
}

/** Every item of a list, page by page: `each((cursor) => client.listEntities('mission.task', { cursor }))`. */
export async function* each<T>(page: (cursor: string | undefined) => Promise<Page<T>>): AsyncGenerator<T> {
  let cursor: string | undefined;
  do {
    const found = await page(cursor);
    yield* found.items;
    cursor = found.nextCursor ?? undefined;
  } while (cursor !== undefined);
}

/** A stream that says nothing for so long is gone: the server says something every 15 seconds. */
const SILENCE = 45_000;
/** Who follows along waits longer for a server that is away than who asks. */
const PATIENCE = 5;

/** A server, and how it is spoken to. */
export class Transport {
  readonly #url: string;
  readonly #token: string;
  readonly #setup: Setup;

  constructor(url: string, token: string, setup: Setup = {}) {
    this.#url = (url.includes('://') ? url : `http://${url}`).replace(/\/+$/, '');
    this.#token = token.trim();
    this.#setup = setup;
  }

  /** The same, for one of the agents that the token may act for. */
  forAgent(agent: string): this {
    const kind = this.constructor as new (url: string, token: string, setup: Setup) => this;
    return new kind(this.#url, this.#token, { ...this.#setup, forAgent: agent });
  }

  protected async forJson<T>(asked: Asked): Promise<T> {
    const text = await (await this.#tried(asked)).text();
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  protected async forNothing(asked: Asked): Promise<void> {
    await (await this.#tried(asked)).arrayBuffer();
  }

  protected async forText(asked: Asked): Promise<string> {
    return (await this.#tried(asked)).text();
  }

  protected async forBytes(asked: Asked): Promise<Uint8Array> {
    return new Uint8Array(await (await this.#tried(asked)).arrayBuffer());
  }

  protected async *forLines(asked: Asked): AsyncGenerator<{ [name: string]: Json }> {
    const response = await this.#tried(asked);
    for await (const line of lines(response, () => {})) {
      if (line !== '') yield JSON.parse(line) as { [name: string]: Json };
    }
  }

  /** Resumes after the last entry, through every interruption. */
  protected async *forEvents<T>(asked: Asked): AsyncGenerator<T> {
    let last: string | undefined;
    for (let missed = 0; ; ) {
      const silence = new AbortController();
      let timer = setTimeout(() => silence.abort(), SILENCE);
      const heard = (): void => {
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), SILENCE);
      };
      try {
        const headers = { ...asked.headers, Accept: 'text/event-stream', 'Last-Event-ID': last };
        const response = await this.#once({ ...asked, headers }, silence.signal);
        missed = 0;
        let id: string | undefined;
        let data: string[] = [];
        for await (const line of lines(response, heard)) {
          if (line === '') {
            if (data.length > 0) {
              last = id;
              yield JSON.parse(data.join('\n')) as T;
            }
            data = [];
          } else if (line.startsWith('id:')) id = line.slice(3).trim();
          else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
        }
      } catch (error) {
        missed += 1;
        const gone = !(error instanceof Refused) || error.overloaded;
        if (asked.options.signal?.aborted || !gone || missed >= PATIENCE * this.#tries) throw error;
      } finally {
        clearTimeout(timer);
        // Closes the connection when the caller stops.
        silence.abort();
      }
      await pause(missed);
    }
  }

  get #tries(): number {
    return Math.max(1, this.#setup.tries ?? 6);
  }

  /** Sends it until it is answered, as often as that does no harm. */
  async #tried(asked: Asked): Promise<Response> {
    const key = asked.keyed ? (asked.options.idempotencyKey ?? crypto.randomUUID()) : undefined;
    const headers = { ...asked.headers, 'Idempotency-Key': key };
    // Without a key a retry after a lost answer could repeat the command.
    const countsOnce = asked.method !== 'POST' || key !== undefined;
    for (let number = 0; ; number += 1) {
      try {
        return await this.#once({ ...asked, headers }, AbortSignal.timeout(this.#setup.timeout ?? 30_000));
      } catch (error) {
        const again = error instanceof Refused ? error.overloaded : error instanceof Unreachable && countsOnce;
        if (!again || number + 1 >= this.#tries || asked.options.signal?.aborted) throw error;
        await pause(number, error instanceof Refused ? error.retryAfter : undefined);
      }
    }
  }

  async #once(asked: Asked, ending: AbortSignal): Promise<Response> {
    const headers = new Headers({ Authorization: `Bearer ${this.#token}` });
    if (this.#setup.forAgent !== undefined) headers.set('Trackside-For', this.#setup.forAgent);
    for (const [name, value] of Object.entries(asked.headers)) {
      if (value !== undefined) headers.set(name, value);
    }
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(asked.query)) {
      if (value !== undefined && value !== null) query.set(name, String(value));
    }
    let body: BodyInit | undefined;
    if (asked.body !== undefined && 'json' in asked.body) {
      headers.set('Content-Type', 'application/json');
      body = JSON.stringify(asked.body.json);
    } else if (asked.body !== undefined) {
      headers.set('Content-Type', 'application/octet-stream');
      body = asked.body.bytes as Uint8Array<ArrayBuffer>;
    }
    const signals = asked.options.signal === undefined ? [ending] : [ending, asked.options.signal];
    const asking = query.size === 0 ? '' : `?${query.toString()}`;
    const send = this.#setup.fetch ?? fetch;
    let response: Response;
    try {
      response = await send(`${this.#url}${asked.path}${asking}`, {
        method: asked.method,
        headers,
        body: body ?? null,
        redirect: 'manual',
        signal: AbortSignal.any(signals),
      });
    } catch (error) {
      throw new Unreachable(`${this.#url} cannot be reached: ${String(error)}`, { cause: error });
    }
    if (response.ok) return response;
    throw await refused(this.#url, response);
  }
}

async function refused(url: string, response: Response): Promise<Error> {
  const problem: unknown = await response.json().catch(() => undefined);
  if (typeof problem === 'object' && problem !== null && 'code' in problem) {
    const after = Number(response.headers.get('Retry-After') ?? Number.NaN);
    return new Refused(problem as Problem, Number.isFinite(after) ? after : undefined);
  }
  return new Unreachable(`${url} answered ${response.status}: is it a Trackside server?`);
}

/** Waits before the next try: longer every time, and never in step with others. */
async function pause(number: number, after?: number): Promise<void> {
  const most = after === undefined ? Math.min(5_000, 100 * 2 ** number) * (0.5 + Math.random() / 2) : after * 1_000;
  await new Promise((resolve) => setTimeout(resolve, most));
}

/** The lines of an answer as they come. */
async function* lines(response: Response, heard: () => void): AsyncGenerator<string> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      heard();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const all = rest.split('\n');
      rest = all.pop() ?? '';
      for (const line of all) yield line.replace(/\r$/, '');
      if (done) break;
    }
    if (rest !== '') yield rest;
  } finally {
    await reader.cancel().catch(() => {});
  }
}
