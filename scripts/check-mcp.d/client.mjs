// The official clients of TypeScript: node client.mjs NODE http|stdio PROTOCOL TASK.
// 2025-11-25 is spoken by @modelcontextprotocol/sdk, 2026-07-28 by @modelcontextprotocol/client.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const [node, way, protocol, task] = process.argv.slice(2);
const load = createRequire(`${node}/`);
const older = protocol === '2025-11-25';
const { Client, StreamableHTTPClientTransport } = older
    ? { ...load('@modelcontextprotocol/sdk/client/index.js'), ...load('@modelcontextprotocol/sdk/client/streamableHttp.js') }
    : load('@modelcontextprotocol/client');
const { StdioClientTransport } = load(older ? '@modelcontextprotocol/sdk/client/stdio.js' : '@modelcontextprotocol/client/stdio');

// Fields that an agent sends after a refusal names them.
const brings = { workPlan: { bullets: ['read', 'write', 'check'] } };

const { MCP_URL: url, MCP_TOKEN: token, MCP_DATA: data, TRACKSIDE_BINARY: command } = process.env;
const transport = way === 'http'
    ? new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } })
    : new StdioClientTransport({ command, args: ['mcp', '--data', data], env: { TRACKSIDE_TOKEN: token } });
const client = new Client({ name: 'check-mcp', version: '1' }, older ? {} : { versionNegotiation: { mode: { pin: protocol } } });
await client.connect(transport);
if (!older) assert.equal(client.getNegotiatedProtocolVersion(), protocol);

// The client validates every tool result against its output schema.
const { tools } = await client.listTools();
const call = (name, args, options) => older
    ? client.callTool({ name, arguments: args }, undefined, options)
    : client.callTool({ name, arguments: args }, options);
const work = await call('my_work', {});
assert.equal(work.structuredContent.you.actor, 'ada');
assert(work.structuredContent.yours.some(it => it.id === task), JSON.stringify(work));

const asked = { lifecycle: 'mission.task', id: task, to: 'IN_PROGRESS' };
const refused = await call('fire', asked);
assert.equal(refused.isError, true);
const why = refused.structuredContent;
assert.deepEqual([why.code, why.status], ['requirement-missing', 422]);
const missing = why.errors.map(it => it.field);
const done = await call('fire', { ...asked, fields: Object.fromEntries(missing.map(it => [it, brings[it]])) });
assert(!done.isError, JSON.stringify(done));
assert.equal(done.structuredContent.entity.state, 'IN_PROGRESS');

const heard = [];
const waited = await call('wait', { lifecycle: 'mission.task', id: task, seconds: 1 }, { onprogress: it => heard.push(it) });
assert.equal(waited.structuredContent.happened, false);
assert(heard.length > 0 && heard[0].message.startsWith('Still waiting'), JSON.stringify(heard));
for (const [name, args] of [['show', { lifecycle: 'mission.task', id: task }], ['explain', { lifecycle: 'mission.task', id: task }], ['list', { lifecycle: 'mission.task' }]]) {
    assert(!(await call(name, args)).isError, name);
}
await client.close();
console.log(`typescript ${older ? 'sdk' : 'client'}, ${way}, ${protocol}: ${tools.length} tools; refused ${why.code} (${missing.join(', ')}), set right in one step; ${heard.length} progress while waiting`);
