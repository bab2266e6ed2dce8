// Reads the exports and paths of a folder, for the other scripts here.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const folder = process.argv[2];
export const names = readdirSync(join(folder, 'exports'))
  .filter((it) => it.endsWith('.xstate.json'))
  .map((it) => it.slice(0, -'.xstate.json'.length))
  .sort();

export const text = (name, ending) => readFileSync(join(folder, 'exports', `${name}.${ending}`), 'utf8');
export const machine = (name) => JSON.parse(text(name, 'xstate.json'));

// Without a file there is no path to walk, only the export to read.
export const paths = (name) => {
  try {
    return JSON.parse(readFileSync(join(folder, 'paths', `${name}.json`), 'utf8')).paths;
  } catch {
    return [];
  }
};

export const report = (kind, found) =>
  writeFileSync(join(folder, 'reports', `${kind}.json`), JSON.stringify(found, null, 1));

// Every arrow between two states, by their real names, as the machine has it. A picture must show all of them.
export const arrows = (name) => {
  const { states } = machine(name);
  const real = (key) => states[key].meta.name;
  const found = new Set();
  for (const [key, state] of Object.entries(states)) {
    const steps = Object.values({ ...state.on, ...state.meta.again }).flat();
    for (const step of steps.filter((it) => it.target !== undefined)) {
      found.add(JSON.stringify([real(key), real(step.target)]));
    }
  }
  return found;
};

// The difference between two sets, as text.
export const differences = (ours, theirs) => [
  ...[...ours].filter((it) => !theirs.has(it)).map((it) => `not there: ${it}`),
  ...[...theirs].filter((it) => !ours.has(it)).map((it) => `too much: ${it}`),
];
