// Mermaid's own parser reads every diagram, and finds the arrows that the machine has.
import { JSDOM } from 'jsdom';
import { arrows, differences, machine, names, report, text } from './machines.mjs';

// Mermaid uses a browser's document to sanitise labels.
const { window } = new JSDOM('');
Object.assign(globalThis, { window, document: window.document });
const { default: mermaid } = await import('mermaid');

const decoded = (it) => it.replace(/ﬂ°°(\d+)¶ß/g, (_, code) => String.fromCodePoint(Number(code)));

const read = async (source) => {
  await mermaid.parse(source);
  const { db } = await mermaid.mermaidAPI.getDiagramFromText(source);
  const called = new Map();
  for (const [id, state] of db.getStates()) {
    called.set(id, decoded(state.descriptions?.[0] ?? id));
  }
  const inner = (id) => !id.startsWith('root_');
  const found = db.getRelations().filter((it) => inner(it.id1) && inner(it.id2));
  return {
    states: new Set([...called].filter(([id]) => inner(id)).map(([, it]) => it)),
    arrows: new Set(found.map((it) => JSON.stringify([called.get(it.id1), called.get(it.id2)]))),
  };
};

const check = async (name, source) => {
  try {
    const found = await read(source);
    const states = new Set(Object.values(machine(name).states).map((it) => it.meta.name));
    return [...differences(states, found.states), ...differences(arrows(name), found.arrows)];
  } catch (error) {
    return [`refused: ${error.message.split('\n').slice(0, 3).join(' ')}`];
  }
};

const found = {};
for (const name of names) {
  const source = text(name, 'mmd');
  const lines = source.split('\n');
  const arrow = lines.findIndex((it) => it.includes('-->') && !it.includes('[*]'));
  const broken = lines.with(arrow, '    A --> : [ -->').join('\n');
  const dropped = lines.toSpliced(arrow, 1).join('\n');
  const refused = (await check(name, broken)).some((it) => it.startsWith('refused'));
  const missed = (await check(name, dropped)).some((it) => it.startsWith('not there'));
  found[name] = {
    wrong: await check(name, source),
    faults: { planted: 2, noticed: Number(refused) + Number(missed) },
  };
}
// A sequence diagram of a scenario parses; with an invalid line it does not.
const story = text('story', 'sequence');
await mermaid.parse(story);
if (await mermaid.parse(`${story}\n  nobody ->`, { suppressErrors: true })) {
  throw new Error('a broken sequence was read');
}
console.log('mermaid: a story as a sequence is read, a broken one is not');
report('mermaid', found);
