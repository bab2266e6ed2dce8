// The client against a real server, on a straight road and on one that loses things.
// TRACKSIDE_URL and TRACKSIDE_TOKEN name the server, TRACKSIDE_LOSSY_URL the road.

import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';

import { each, Refused, Trackside, Unreachable } from '../src/index.js';

const named = (name: string): string => process.env[name] ?? assert.fail(`${name} is not set`);
const url = named('TRACKSIDE_URL');
const token = named('TRACKSIDE_TOKEN');
const lossy = named('TRACKSIDE_LOSSY_URL');
const owner = new Trackside(url, token);
const fresh = (name: string): string => `${name}-${randomUUID().slice(0, 8)}`;

async function refusedAs(status: number, act: () => Promise<unknown>): Promise<Refused> {
  try {
    await act();
  } catch (error) {
    assert.ok(error instanceof Refused, String(error));
    assert.equal(error.status, status, error.message);
    return error;
  }
  return assert.fail(`this should have been refused with ${status}`);
}

const checks = {
  async 'it knows who it is'() {
    const who = await owner.whoami();
    assert.deepEqual([who.actor, who.kind], ['owner', 'human']);
  },

  async 'refusals are typed and say everything'() {
    const task = fresh('T');
    await owner.createEntity('mission.task', { id: task, fields: { title: 'Write' } });
    await owner.fire('mission.task', task, { event: 'assign', fields: { assigneeIds: ['ada'] } });
    const refused = await refusedAs(422, () => owner.fire('mission.task', task, { to: 'IN_PROGRESS' }));
    assert.equal(refused.code, 'requirement-missing');
    assert.deepEqual(refused.errors.map((it) => it.field), ['workPlan']);
    assert.ok(refused.allowed.includes('IN_PROGRESS'));
    await refusedAs(409, () => owner.createEntity('mission.task', { id: task, fields: { title: 'Again' } }));
    await refusedAs(404, () => owner.showEntity('mission.task', 'nobody'));
    await refusedAs(412, () => owner.fire('mission.task', task, { event: 'unassign' }, { ifMatch: '"999"' }));
    await refusedAs(401, () => new Trackside(url, 'wrong').whoami());
    const made = await owner.createToken({ actor: fresh('agent'), kind: 'agent' });
    await refusedAs(403, () => new Trackside(url, made.token).verifyAudit());
    await assert.rejects(new Trackside('http://127.0.0.1:1', token, { tries: 2 }).whoami(), Unreachable);
  },

  async 'a command whose answer was lost counts once'() {
    const road = new Trackside(lossy, token);
    const made = await road.createEntity('mission.task', { fields: { title: 'Only one' } });
    assert.ok(made.replayed, 'the first answer was lost, this is it again');
    const task = made.transition.id;
    const moved = await road.fire('mission.task', task, { event: 'comment', fields: { text: 'once' } });
    assert.ok(moved.replayed);
    const said: string[] = [];
    for await (const it of each((cursor) => owner.messages('mission.task', task, { cursor }))) said.push(it.text);
    assert.equal(said.filter((it) => it === 'once').length, 1);
    const again = { event: 'comment', fields: { text: 'twice' } };
    const key = { idempotencyKey: fresh('key') };
    assert.ok(!(await owner.fire('mission.task', task, again, key)).replayed);
    assert.ok((await owner.fire('mission.task', task, again, key)).replayed);
  },

  async 'too much to do is waited out'() {
    assert.ok((await new Trackside(lossy, token).stats()) !== undefined);
    await refusedAs(429, () => new Trackside(lossy, token, { tries: 1 }).listLifecycles());
  },

  async 'lists go on over pages'() {
    const made = Array.from({ length: 7 }, () => fresh('P'));
    for (const id of made) await owner.createEntity('mission.task', { id, fields: { title: 'One of many' } });
    const found: string[] = [];
    const page = (cursor: string | undefined) => owner.listEntities('mission.task', { limit: 3, cursor });
    for await (const it of each(page)) found.push(it.id);
    assert.ok(made.every((it) => found.includes(it)));
    assert.equal(new Set(found).size, found.length);
    const none = await owner.query('build', 'tasksByState', { parameters: { state: 'pending' } });
    assert.deepEqual(none['items'], []);
  },

  async 'events go on where they were cut'() {
    const entries: number[] = [];
    for await (const it of each((cursor) => owner.journal({ limit: 200, cursor }))) entries.push(it.seq);
    const seen: number[] = [];
    const cut = cutting(3);
    for await (const entry of new Trackside(url, token, { fetch: cut }).events({ audience: 'all', after: 0 })) {
      seen.push(entry.seq);
      if (entry.seq >= (entries.at(-1) ?? 0)) break;
    }
    assert.deepEqual(seen, entries);
  },

  async 'one acts for another'() {
    const made = await owner.createToken({ actor: fresh('boss'), kind: 'agent', for: ['coder-*'] });
    const boss = new Trackside(url, made.token);
    assert.equal((await boss.whoami()).actingFor ?? null, null);
    assert.equal((await boss.forAgent('coder-1').whoami()).actingFor, 'coder-1');
    await refusedAs(403, () => boss.forAgent('ada').whoami());
  },

  async 'bytes and lines come as they are'() {
    const content = Uint8Array.from({ length: 25_600 }, (_, n) => n % 256);
    const name = createHash('sha256').update(content).digest('hex');
    assert.equal((await owner.putArtifact(name, content)).size, content.length);
    assert.deepEqual(await owner.getArtifact(name), content);
    for await (const line of owner.export()) {
      assert.ok('export' in line);
      break;
    }
    const task = fresh('E');
    await owner.createEntity('mission.task', { id: task, fields: { title: 'Proven' } });
    const lines: string[] = [];
    for await (const line of owner.exportEvidence('mission.task', task)) lines.push(Object.keys(line)[0] ?? '');
    assert.deepEqual(lines.slice(0, 3), ['evidence', 'entity', 'record']);
    assert.match(await owner.drawLifecycle('mission.task', { format: 'mermaid' }), /stateDiagram/);
  },

  async 'nothing is answered with nothing'() {
    const coder = await owner.createToken({ actor: fresh('coder'), kind: 'agent', roles: ['coding:coder'] });
    assert.equal(await new Trackside(url, coder.token).claim('coding.task'), undefined, 'there is nothing to do');
    const made = await owner.createToken({ actor: fresh('gone'), kind: 'agent' });
    await owner.revokeToken(made.details.id);
    await refusedAs(401, () => new Trackside(url, made.token).whoami());
  },
};

/** A fetch whose first streams break off in the middle of an event. */
function cutting(times: number): typeof fetch {
  let left = times;
  return async (input, init) => {
    const response = await fetch(input, init);
    if (left === 0 || response.body === null || !response.ok) return response;
    left -= 1;
    let bytes = 900 * (times - left);
    const reader = response.body.getReader();
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        if (value.length < bytes) {
          bytes -= value.length;
          return controller.enqueue(value);
        }
        controller.enqueue(value.slice(0, bytes - 1));
        await reader.cancel();
        controller.error(new Error('the road is broken'));
      },
    });
    return new Response(body, { status: response.status, headers: response.headers });
  };
}

for (const [name, check] of Object.entries(checks)) {
  await check();
  console.log(`typescript: ${name}`);
}
