// A run of aops-hook as a durable handler of Restate: begun once, asked about and gone on with, also after the service or the driver crashed.
//
//   npm install @restatedev/restate-sdk
//   PORT=9080 node service.mjs
import { spawn } from "node:child_process";
import { appendFile } from "node:fs/promises";
import * as restate from "@restatedev/restate-sdk";

const HOOK = process.env.AOPS_HOOK ?? "aops-hook";

/**
 * Runs aops-hook to its end. 0: every step passed. 1: the run is blocked. 3: it waits for a person. 2 or 4: it was called
 * wrongly or its record is damaged, and that would stay so. Anything else (killed, a full disk) is tried again by Restate.
 */
function aops(project, ...words) {
  return new Promise((resolve, reject) => {
    const child = spawn(HOOK, words, { cwd: project, stdio: ["ignore", "pipe", "inherit"] });
    let said = "";
    child.stdout.on("data", (piece) => (said += piece));
    child.on("error", reject);
    child.on("close", (code, signal) => {
      const last = said.trim().split("\n").at(-1);
      const ended = last.startsWith("{") && code !== null ? JSON.parse(last) : {};
      if (code === 0 || code === 3 || (code === 1 && ended.outcome)) resolve({ ...ended, exit: code });
      else if (code === 2 || code === 4) reject(new restate.TerminalError(`aops-hook ${words[0]}: ${last}`));
      else reject(new Error(`aops-hook ${words[0]} ended with ${code ?? signal}`));
    });
  });
}

/** Tells people that a run waits for them. Here: a line in a file; yours may post to a chat. */
async function announce(question) {
  await appendFile(process.env.QUESTIONS ?? "questions.jsonl", JSON.stringify(question) + "\n");
}

const runs = restate.service({
  name: "runs",
  // A step may take hours, and says nothing to Restate meanwhile.
  options: { inactivityTimeout: { hours: 24 }, abortTimeout: { hours: 1 } },
  handlers: {
    start: async (ctx, { project, task, workflow }) => {
      // The same for every attempt of this invocation.
      const key = ctx.request().id.toString();
      const run = ["run", task, "--workflow", workflow, "--idempotency-key", key, "--heartbeat", "10s", "--json"];
      let ended = await ctx.run("run", () => aops(project, ...run));
      while (ended.exit === 3) {
        // The pause is an awakeable: nothing runs, and nothing is lost, until a person answers.
        const { id, promise } = ctx.awakeable();
        await ctx.run("ask", () => announce({ awakeable: id, run: ended.run_id, question: ended.reason }));
        const { approve, note } = await promise;
        const decision = [approve ? "--approve" : "--reject", "--note", note ?? "", "--yes", "--json"];
        await ctx.run("decide", () => aops(project, "resolve", ended.run_id, ...decision));
        ended = await ctx.run("go on", () => aops(project, ...run));
      }
      if (ended.exit !== 0) throw new restate.TerminalError(ended.reason);
      return { run: ended.run_id, outcome: ended.outcome };
    },
  },
});

restate.serve({ services: [runs], port: Number(process.env.PORT ?? 9080) });
