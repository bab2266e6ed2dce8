// Graphviz lays out every graph without a warning, and finds the arrows that the machine has.
import { spawnSync } from 'node:child_process';
import { arrows, differences, machine, names, report, text } from './machines.mjs';

const dot = (form, source) => {
  const { status, stdout, stderr } = spawnSync('dot', [`-T${form}`], { input: source, encoding: 'utf8', maxBuffer: 1e9 });
  if (status !== 0 || stderr.trim() !== '') {
    throw new Error(stderr.trim() || `dot ended with ${status}`);
  }
  return stdout;
};

// Graphviz prints names as they were written, between quotes.
const plain = (it) => it.replaceAll('\\\\', '\\');

const check = (name, source) => {
  try {
    if (!dot('svg', source).includes('</svg>')) {
      return ['refused: no picture'];
    }
    const read = JSON.parse(dot('dot_json', source));
    const states = new Set(Object.values(machine(name).states).map((it) => it.meta.name));
    const nodes = read.objects.map((it) => plain(it.comment ?? it.name));
    const pairs = read.edges.map((it) => [nodes[it.tail], nodes[it.head]]);
    const inner = pairs.filter((it) => states.has(it[0]) || !nodes.includes(it[0]));
    return [
      ...[...states].filter((it) => !nodes.includes(it)).map((it) => `not there: ${it}`),
      ...differences(arrows(name), new Set(inner.map((it) => JSON.stringify(it)))),
    ];
  } catch (error) {
    return [`refused: ${error.message.split('\n')[0]}`];
  }
};

const found = {};
for (const name of names) {
  const source = text(name, 'dot');
  const lines = source.split('\n');
  const arrow = lines.findLastIndex((it) => it.includes(' -> '));
  const broken = check(name, lines.with(arrow, '  a -> [').join('\n')).some((it) => it.startsWith('refused'));
  const missed = check(name, lines.toSpliced(arrow, 1).join('\n')).some((it) => it.startsWith('not there'));
  found[name] = {
    wrong: check(name, source),
    faults: { planted: 2, noticed: Number(broken) + Number(missed) },
  };
}
report('dot', found);
