// The question of a run: what is asked, what each answer does, a second step, and ten seconds of undo.

export const el = (name, values = {}, ...inner) => {
  const one = document.createElement(name);
  for (const [key, value] of Object.entries(values)) {
    if (key === "text") one.textContent = value;
    else if (key === "on") one.addEventListener("click", value);
    else if (value !== false && value != null) one.setAttribute(key, value === true ? "" : value);
  }
  one.append(...inner.filter((part) => part != null && part !== false));
  return one;
};

const find = (id) => document.getElementById(id);
const UNDO_SECONDS = 10;

// What happens on each answer, in words that the second step repeats.
export const consequences = (run, asked) => {
  const machine = run.machine || "its machine";
  let approve = "The run continues.";
  if ((run.about || "").startsWith("failed-")) approve = `The step is tried again on ${machine}.`;
  else if (asked.tool) approve = `The run continues and makes exactly this call, once, on ${machine}.`;
  else if (asked.trigger === "CHECK_FAILED") approve = "The step is done without the check, and the run continues.";
  else if (asked.trigger === "BUDGET_EXHAUSTED") approve = "The run continues and may cost as much again.";
  else if (asked.wants_words) approve = "The run continues, and every later step gets your answer.";
  const kept = `Its tree stays on ${machine}.`;
  if (asked.session) {
    return {
      approve: `The session on ${machine} makes exactly this call, once.`,
      reject: "The call is not made, and the session learns it.",
      block: "The question ends, and the call is not made.",
    };
  }
  return {
    approve,
    reject: `The run ends as BLOCKED${asked.tool ? ", the call is not made, and the client learns it" : ""}. ${kept}`,
    block: `The run ends now, whatever it is doing, and nothing of its step is left running. ${kept}`,
  };
};

const block = (label, text) => el("pre", { tabindex: 0, role: "region", "aria-label": label, text });

const diff = (text) => {
  const whole = el("pre", { tabindex: 0, role: "region", "aria-label": "Diff" });
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const is_head = /^(---|\+\+\+) /.test(line) && whole.childElementCount < 2;
    const kind = is_head || line.startsWith("@@") ? "at" : line.startsWith("+") ? "add" : line.startsWith("-") ? "del" : "";
    whole.append(el("span", { class: kind || null, text: line + "\n" }));
  }
  return whole;
};

// The second step. Resolves to whether the person means it.
const sure = (title, words, call, yes) =>
  new Promise((done) => {
    const dialog = find("sure");
    find("sure-title").textContent = title;
    find("sure-words").textContent = words;
    find("sure-call").textContent = call;
    find("sure-call").hidden = !call;
    find("sure-yes").textContent = yes;
    let means = false;
    find("sure-yes").onclick = () => {
      means = true;
      dialog.close();
    };
    find("sure-no").onclick = () => dialog.close();
    dialog.onclose = () => done(means);
    dialog.showModal();
    find("sure-no").focus();
  });

const waiting = new Set();

// Sends after ten seconds, unless it is undone. Leaving the page sends at once.
const later = (words, send) => {
  const bar = find("pending");
  const count = el("span", { "aria-hidden": "true", text: ` (${UNDO_SECONDS} s)` });
  const undo = el("button", { type: "button", text: "Undo" });
  const row = el("div", {}, el("p", { role: "status", text: words }), count, undo);
  let left = UNDO_SECONDS;
  const one = { now: (leaving) => { end(); send(leaving); } };
  const tick = setInterval(() => {
    left -= 1;
    count.textContent = ` (${left} s)`;
    if (left <= 0) one.now(false);
  }, 1000);
  const end = () => {
    clearInterval(tick);
    waiting.delete(one);
    row.remove();
    bar.hidden = waiting.size === 0;
  };
  undo.addEventListener("click", () => {
    end();
    find("said").textContent = "Undone: nothing was sent.";
    find("main").focus();
  });
  waiting.add(one);
  bar.append(row);
  bar.hidden = false;
  undo.focus();
};

addEventListener("pagehide", () => [...waiting].forEach((one) => one.now(true)));

// The buttons, each with a second step. `act(path, body, leaving)` sends.
export const answers = (run, asked, may, act) => {
  const what = consequences(run, asked);
  const call = asked.call || run.question || "";
  const note = el("textarea", { id: "note", rows: 2, "aria-describedby": "note-error" });
  const error = el("p", { id: "note-error", class: "error", role: "alert" });
  const wants = (words) => {
    error.textContent = words;
    note.setAttribute("aria-invalid", "true");
    note.focus();
  };
  note.addEventListener("input", () => {
    error.textContent = "";
    note.removeAttribute("aria-invalid");
  });
  const words = () => note.value.trim() || null;
  const body = (approve) => ({ about: run.about, approve, note: words() });
  const approve = async () => {
    if (asked.wants_words && !words()) return wants("Write your answer: the run gets it.");
    if (await sure("Approve?", what.approve, call, "Approve")) act("answer", body(true), false);
  };
  const reject = async () => {
    if (!words()) return wants("A rejection needs a reason: write it into the note.");
    const said = body(false);
    if (await sure("Reject?", what.reject, call, "Reject")) later(`Run ${run.run_id} will be rejected.`, (leaving) => act("answer", said, leaving));
  };
  const button = (text, kind, on) => el("button", { type: "button", class: kind, text, on });
  const parts = [];
  if (may.answer && run.state === "asks") {
    const label = asked.wants_words ? "Your answer, or the reason of a rejection" : "Note (a rejection needs a reason)";
    parts.push(el("label", { for: "note", text: label }), note, error);
  }
  const acts = el("p", { class: "acts" });
  if (may.answer && run.state === "asks") acts.append(button("Approve", "main", approve), button("Reject", "bad", reject));
  if (may.block && run.state !== "over") acts.append(button("Block the run", "bad", () => stop(run, what.block, words, act)));
  return [...parts, acts];
};

const stop = async (run, what, words, act) => {
  const said = { note: words() };
  if (await sure("Block the run?", what, run.task || run.run_id, "Block the run")) later(`Run ${run.run_id} will be blocked.`, (leaving) => act("block", said, leaving));
};

// Everything that a person needs to decide.
export const question = (run, asked, may, act) => {
  const what = consequences(run, asked);
  const section = el("section", { "aria-labelledby": "question" }, el("h2", { id: "question", text: "The question" }));
  section.append(el("p", { text: run.question || "" }));
  const facts = el("dl");
  const fact = (name, value) => value && facts.append(el("dt", { text: name }), el("dd", { text: value }));
  fact("Step", asked.step);
  fact("Rule that asks", [asked.gate, asked.rule].filter(Boolean).join(": "));
  fact("Why", (asked.why || "").split("\nhint:")[0]);
  fact("Tool", asked.tool);
  section.append(facts);
  if (asked.call) section.append(block(asked.tool === "Bash" ? "Command" : "Call", asked.call));
  if (asked.diff) section.append(diff(asked.diff));
  if (asked.more) section.append(block("Other fields of the call", asked.more));
  section.append(el("h2", { text: "What happens" }));
  const list = el("dl");
  for (const [name, words] of Object.entries(what)) {
    list.append(el("dt", { text: name[0].toUpperCase() + name.slice(1) }), el("dd", { text: words }));
  }
  section.append(list);
  if (may.own) section.append(el("p", { text: "You asked for this run, so somebody else must answer." }));
  else if (!may.answer) section.append(el("p", { text: "You may read this question, and not answer it." }));
  section.append(...answers(run, asked, may, act));
  return section;
};
