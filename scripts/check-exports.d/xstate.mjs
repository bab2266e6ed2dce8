// XState replays every path: after each step it must be in the engine's state.
import { createMachine, initialTransition, transition } from 'xstate';
import { machine, names, paths, report } from './machines.mjs';

const guards = {
  // The engine has decided: the event names the arm and the choice it took, and the state where that is free.
  taken: ({ event }, asked) =>
    event.arm === asked.arm && event.choice === asked.choice && (asked.to === undefined || asked.to === event.to),
};
const built = (config) => createMachine(config, { guards });

const begin = (it, config, path) => {
  if (path.put) {
    return it.resolveState({ value: path.start });
  }
  if (path.again === null) {
    const [first] = initialTransition(it);
    return first;
  }
  const { from, to, event } = path.again;
  const left = config.states[from];
  const again = (left.meta.again?.[event] ?? []).some((step) => step.target === to);
  if (left.type !== 'final' || !again) {
    throw new Error(`${from} is not left by creating again, ${event}, to ${to}`);
  }
  return it.resolveState({ value: to });
};

// The first difference, or null; `agreed` is called for every step that agrees.
const walk = (it, config, path, agreed = () => {}) => {
  let here;
  try {
    here = begin(it, config, path);
  } catch (error) {
    return error.message;
  }
  if (here.value !== path.start) {
    return `starts in ${here.value}, not in ${path.start}`;
  }
  for (const [n, step] of path.steps.entries()) {
    const event = { type: step.event, arm: step.arm, choice: step.choice };
    if (step.named) {
      event.to = step.to;
    }
    const where = `step ${n + 1}, ${step.event} ${step.arm}.${step.choice} from ${step.from}`;
    if (here.status !== 'active') {
      return `${where}: has ended already`;
    }
    const enabled = it.getTransitionData(here, event);
    if (enabled.length !== 1) {
      return `${where}: ${enabled.length} ways are open`;
    }
    const moves = enabled[0].target !== undefined;
    if (moves === step.stay) {
      return `${where}: ${moves ? 'moves' : 'stays'}`;
    }
    if (moves && step.from === step.to && !enabled[0].reenter) {
      return `${where}: does not enter again`;
    }
    [here] = transition(it, here, event);
    if (here.value !== step.to) {
      return `${where}: is in ${here.value}, not in ${step.to}`;
    }
    agreed(enabled[0], step);
  }
  return (here.status === 'done') === path.ended ? null : `ends ${here.status}`;
};

const ways = (config) =>
  Object.entries(config.states).flatMap(([state, { on = {} }]) =>
    Object.entries(on).flatMap(([event, steps]) => steps.map((_, n) => ({ state, event, n }))),
  );

// The same machine with one transition dropped, and with one transition to another target.
const without = (config, { state, event, n }) => {
  const copy = structuredClone(config);
  copy.states[state].on[event].splice(n, 1);
  return copy;
};
const elsewhere = (config, { state, event, n }) => {
  const copy = structuredClone(config);
  const step = copy.states[state].on[event][n];
  step.target = Object.keys(copy.states).find((it) => it !== (step.target ?? state));
  return copy;
};

const found = {};
for (const name of names) {
  const config = machine(name);
  const it = built(config);
  const all = paths(name);
  const wrong = [];
  let steps = 0;
  // For each transition, the first path that takes it.
  const taken = new Map();
  for (const path of all) {
    const differs = walk(it, config, path, (way) => {
      steps += 1;
      if (!taken.has(way)) {
        taken.set(way, path);
      }
    });
    if (differs !== null) {
      wrong.push(differs);
    }
  }
  const faults = { planted: 0, noticed: 0 };
  const listed = ways(config);
  const of = ({ state, event, n }) => it.states[state].transitions.get(event)[n];
  const known = listed.filter((way) => taken.has(of(way)));
  for (const way of known) {
    for (const fault of [without(config, way), elsewhere(config, way)]) {
      faults.planted += 1;
      faults.noticed += Number(walk(built(fault), fault, taken.get(of(way))) !== null);
    }
  }
  const never = listed.filter((way) => !taken.has(of(way))).map(({ state, event, n }) => `${event} ${n} from ${state}`);
  found[name] = { paths: all.length, steps, ways: listed.length, walked: known.length, wrong, faults, never };
}
report('xstate', found);
