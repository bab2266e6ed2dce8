// Sends per second of an XState actor in memory: no guard, no artifact, no journal.
// Imports the package that `just bench` installed. Prints one number; fails if the package is missing.
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const require = createRequire(fileURLToPath(new URL("../../target/bench-node/", import.meta.url)));
const { createActor, createMachine } = require("xstate");

const machine = createMachine({
  id: "task",
  initial: "assigned",
  states: {
    assigned: { on: { next: "inProgress" } },
    inProgress: { on: { next: "review" } },
    review: { on: { next: "assigned" } },
  },
});
const actor = createActor(machine).start();
const sends = 500_000;
for (let n = 0; n < 50_000; n += 1) actor.send({ type: "next" });
const begun = process.hrtime.bigint();
for (let n = 0; n < sends; n += 1) actor.send({ type: "next" });
const seconds = Number(process.hrtime.bigint() - begun) / 1e9;
console.log(Math.round(sends / seconds));
