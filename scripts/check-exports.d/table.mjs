// All results as one table; exits with 1 if a tool disagrees or misses a planted fault.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { folder, names } from './machines.mjs';

const kinds = ['mermaid', 'dot', 'scxml', 'xstate'];
const said = Object.fromEntries(
  kinds.map((it) => [it, JSON.parse(readFileSync(join(folder, 'reports', `${it}.json`), 'utf8'))]),
);

const ok = (it) => (it.wrong.length === 0 ? 'ok' : 'NO');
const head = ['lifecycle', 'mermaid', 'dot', 'scxml steps', 'xstate paths', 'xstate steps', 'ways walked', 'faults noticed'];
const total = { scxml: 0, paths: 0, steps: 0, walked: 0, ways: 0, noticed: 0, planted: 0 };
const rows = names.map((name) => {
  const { mermaid, dot, scxml, xstate } = Object.fromEntries(kinds.map((it) => [it, said[it][name]]));
  const faults = [mermaid, dot, scxml, xstate].map((it) => it.faults);
  const planted = faults.reduce((sum, it) => sum + it.planted, 0);
  const noticed = faults.reduce((sum, it) => sum + it.noticed, 0);
  total.scxml += scxml.steps;
  total.paths += xstate.paths;
  total.steps += xstate.steps;
  total.planted += planted;
  total.noticed += noticed;
  const count = (it, many) => (it.paths === 0 ? 'read' : `${many}`) + (it.wrong.length === 0 ? '' : ', NO');
  if (xstate.paths > 0) {
    total.walked += xstate.walked;
    total.ways += xstate.ways;
  }
  const ways = xstate.paths === 0 ? '' : `${xstate.walked}/${xstate.ways}`;
  const paths = count(xstate, xstate.paths);
  return [name, ok(mermaid), ok(dot), count(scxml, scxml.steps), paths, count(xstate, xstate.steps), ways, `${noticed}/${planted}`];
});
const { scxml, paths, steps, walked, ways, noticed, planted } = total;
rows.push(['all', '', '', `${scxml}`, `${paths}`, `${steps}`, `${walked}/${ways}`, `${noticed}/${planted}`]);

const widths = head.map((_, n) => Math.max(...[head, ...rows].map((it) => it[n].length)));
const line = (row) => row.map((it, n) => (n === 0 ? it.padEnd(widths[n]) : it.padStart(widths[n]))).join('  ');
console.log([head, ...rows].map(line).join('\n'));

const wrong = kinds.flatMap((kind) =>
  names.flatMap((name) => {
    const { wrong, faults } = said[kind][name];
    const missed = faults.planted - faults.noticed;
    const lines = wrong.slice(0, 5).map((it) => `${kind}, ${name}: ${it}`);
    return missed === 0 ? lines : [...lines, `${kind}, ${name}: ${missed} planted faults were not noticed`];
  }),
);
const walkers = ['scxml', 'xstate'].filter((kind) => !names.some((name) => said[kind][name].faults.planted > 0));
wrong.push(...walkers.map((it) => `${it}: no fault was planted, so its agreement means nothing`));
if (paths < 2000) {
  wrong.push(`${paths} paths are too few to say anything`);
}
if (wrong.length > 0) {
  console.error(wrong.join('\n'));
  process.exit(1);
}
console.log(`all agree; ${planted} faults were planted in the exports, and every one was noticed`);
