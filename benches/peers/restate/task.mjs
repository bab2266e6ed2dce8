// A task in Restate whose states form a cycle. Each call reads the state, checks the move and writes it. env: PORT.
import http2 from "node:http2";
import { createEndpointHandler, object, TerminalError } from "@restatedev/restate-sdk";

const NEXT = { ASSIGNED: "IN_PROGRESS", IN_PROGRESS: "BLOCKED", BLOCKED: "ASSIGNED" };

const task = object({
  name: "task",
  handlers: {
    move: async (ctx, asked) => {
      const from = (await ctx.get("state")) ?? "ASSIGNED";
      const version = (await ctx.get("version")) ?? 1;
      const to = asked?.to ?? NEXT[from];
      if (NEXT[from] !== to) throw new TerminalError(`no way from ${from} to ${to}`, { errorCode: 409 });
      ctx.set("state", to);
      ctx.set("version", version + 1);
      return { from, to, version: version + 1 };
    },
  },
});

http2.createServer(createEndpointHandler({ services: [task] })).listen(Number(process.env.PORT), "127.0.0.1");
