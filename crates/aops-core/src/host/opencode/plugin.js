// Written by `aops-hook install --client opencode`. Every call is asked about here; edited, it no longer counts as ours.
import { spawn } from "node:child_process";

const PROGRAM = "@PROGRAM@";

// One event in, one answer out. What cannot be asked, or dies, has refused.
const ask = (event, payload) =>
  new Promise((resolve) => {
    const child = spawn(PROGRAM, [event, "--client", "opencode"], { stdio: ["pipe", "pipe", "pipe"] });
    let out = "";
    let err = "";
    child.stdout.on("data", (bytes) => (out += bytes));
    child.stderr.on("data", (bytes) => (err += bytes));
    child.stdin.on("error", () => {});
    child.on("error", (error) => resolve({ refused: `aops-hook cannot be started: ${error.message}` }));
    child.on("close", (code) => {
      if (code !== 0) return resolve({ refused: err.trim() || `aops-hook ended with ${code}` });
      try {
        resolve(out.trim() ? JSON.parse(out) : {});
      } catch {
        resolve({ refused: "aops-hook answered something else than JSON" });
      }
    });
    child.stdin.end(JSON.stringify({ hook_event_name: event, ...payload }));
  });

export const AopsHook = async ({ client, directory }) => {
  const known = new Map();
  const begun = new Set();
  const contexts = new Map();
  const counted = new Set();

  // The session of a person, and the agent in it that this session is.
  const who = async (id, agent) => {
    if (!known.has(id)) {
      const found = await client.session.get({ path: { id } });
      known.set(id, { parent: found.data?.parentID, agent: found.data?.agent });
    }
    const { parent, agent: named } = known.get(id);
    if (!parent) return { session_id: id, cwd: directory };
    const above = await who(parent);
    return { ...above, agent_id: id, agent_type: agent ?? named };
  };

  // What an agent said, without what OpenCode puts around it.
  const report = (text) => /<task_result>\n([\s\S]*)\n<\/task_result>\n<\/task>\s*$/.exec(text)?.[1] ?? text;

  // What one answer of the model used: its message is told about again and again, and counts when it is complete.
  const count = async ({ id, role, sessionID, modelID, time, tokens }) => {
    if (role !== "assistant" || !time.completed || counted.has(id) || !begun.has(sessionID)) return;
    counted.add(id);
    const { read, write } = tokens.cache;
    const token_usage = {
      input_tokens: tokens.input + read + write,
      cached_input_tokens: read,
      cache_write_input_tokens: write,
      output_tokens: tokens.output + tokens.reasoning,
    };
    await ask("PostModelRequest", { ...(await who(sessionID)), model: modelID, token_usage });
  };

  const texts = (parts) => parts.filter((part) => part.type === "text");

  return {
    event: async ({ event }) => {
      if (event.type === "session.created") {
        const { id, parentID, agent } = event.properties.info;
        known.set(id, { parent: parentID, agent });
      }
      if (event.type === "message.updated") return count(event.properties.info);
      if (event.type !== "session.idle") return;
      const id = event.properties.sessionID;
      const by = await who(id);
      if (by.agent_id || !begun.has(id)) return;
      const said = await ask("Stop", { ...by, stop_hook_active: false });
      if (said.refused) {
        await client.session.promptAsync({ path: { id }, body: { parts: [{ type: "text", text: said.refused }] } });
      }
    },

    "chat.message": async (input, output) => {
      const [first] = texts(output.parts);
      if (!first) return;
      const by = await who(input.sessionID, input.agent);
      const starts = !begun.has(input.sessionID);
      begun.add(input.sessionID);
      if (by.agent_id) {
        const said = starts ? await ask("SubagentStart", by) : {};
        if (said.context) first.text = `${said.context}\n\n${first.text}`;
        return;
      }
      if (starts) {
        const said = await ask("SessionStart", { ...by, source: "startup" });
        if (said.context) contexts.set(input.sessionID, said.context);
      }
      // `opencode run` puts quotes around its words.
      const prompt = texts(output.parts).map((part) => part.text).join("\n").replace(/^"([^"]*)"$/, "$1");
      const said = await ask("UserPromptSubmit", { ...by, prompt });
      if (said.refused) {
        for (const part of texts(output.parts)) part.text = "";
        first.text = `The user's prompt was refused and is not shown. Do nothing but tell the user why:\n${said.refused}`;
      } else if (said.context) {
        first.text = `${first.text}\n\n${said.context}`;
      }
    },

    "experimental.chat.system.transform": async (input, output) => {
      const context = contexts.get(input.sessionID);
      if (context) output.system.push(context);
    },

    "tool.execute.before": async (input, output) => {
      const by = await who(input.sessionID);
      const call = { tool_name: input.tool, tool_use_id: input.callID, tool_input: output.args ?? {} };
      const said = await ask("PreToolUse", { ...by, ...call });
      if (said.refused) throw new Error(said.refused);
      if (said.input) Object.assign(output.args, said.input);
    },

    "tool.execute.after": async (input, output) => {
      const by = await who(input.sessionID);
      const more = [];
      if (input.tool === "task" && output.metadata?.sessionId) {
        const agent = { agent_id: output.metadata.sessionId, agent_type: input.args?.subagent_type };
        const said = await ask("SubagentStop", { ...by, ...agent, last_assistant_message: report(output.output) });
        if (said.refused) more.push(said.refused);
      }
      const call = { tool_name: input.tool, tool_use_id: input.callID, tool_input: input.args ?? {} };
      const said = await ask("PostToolUse", { ...by, ...call, tool_response: output.output ?? "" });
      if (said.context) more.push(said.context);
      if (more.length) output.output = [output.output, ...more].join("\n\n");
    },
  };
};
