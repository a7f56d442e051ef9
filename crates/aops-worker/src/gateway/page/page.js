// Shows what waits for a person, and each run. All it shows comes from the gateway with the person's token,
// which stays in this tab. Nothing is built from text: every value becomes a text node.

import { answers, el, question } from "/ask.js";

const find = (id) => document.getElementById(id);
const main = find("main");
const STATES = { asks: "Questions", runs: "Running", waits: "Waiting", over: "Over", "": "All" };
const SAYS = { asks: "waits for an answer", runs: "running", waits: "waiting", over: "over" };
const view = { state: "asks", search: "", page: 0, about: null, run: null };
let clock = 0; // what this machine's clock is behind the gateway's
let known = "";
let turn = 0;

// A token behind the `#` is seen by no server and no log.
const take = () => {
  const hash = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!hash) return false;
  sessionStorage.setItem("token", hash);
  history.replaceState(null, "", location.pathname);
  return true;
};
addEventListener("hashchange", () => take() && begin());
take();
const token = () => sessionStorage.getItem("token") || "";

const ask = async (method, path, body, keepalive = false) => {
  const mine = token();
  const headers = { authorization: `Bearer ${mine}`, "x-aops-from": "page" };
  const said = await fetch(path, { method, headers, body: body && JSON.stringify(body), keepalive });
  const json = (await said.json().catch(() => null)) ?? {};
  // A refusal of an older token says nothing about this one.
  return { status: said.status === 401 && mine !== token() ? -1 : said.status, json };
};

const say = (words) => (find("said").textContent = words);
const away = (words) => {
  if (find("link").textContent !== words) find("link").textContent = words;
};
const ENGINE = "The engine does not answer. What is shown may be old; this page tries again.";
const GATEWAY = "The gateway cannot be reached. What is shown may be old; this page tries again.";

const age = (since) => {
  const s = Math.max(0, Math.round((Date.now() + clock - Date.parse(since)) / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 172800) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} days`;
};
const time = (since) => el("time", { datetime: since, "data-since": since, title: since, text: since ? age(since) : "" });
setInterval(() => document.querySelectorAll("[data-since]").forEach((one) => (one.textContent = age(one.dataset.since))), 5000);

const login = (words) => {
  sessionStorage.removeItem("token");
  find("leave").hidden = true;
  find("me").textContent = "";
  document.title = "Log in · aops fleet";
  const field = el("input", { id: "token", type: "password", autocomplete: "off", required: true });
  const form = el("form", {}, el("label", { for: "token", text: "Token" }), field, el("p", { class: "acts" }, el("button", { class: "main", text: "Log in" })));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem("token", field.value.trim());
    say("");
    begin();
  });
  const by = el("p", { class: "acts" });
  main.replaceChildren(el("h1", { text: "Log in" }), by, form);
  say(words);
  field.focus();
  fetch("/v1/login").then((said) => said.json()).then(({ issuer }) => {
    if (issuer) by.replaceChildren(el("button", { type: "button", class: "main", text: `Log in with ${new URL(issuer).host}`, on: leave_for }));
  }).catch(() => away(GATEWAY));
};

const leave_for = async () => {
  const { status, json } = await ask("POST", "/v1/login/begin").catch(() => ({ status: 0, json: {} }));
  if (status !== 200) return say(json.message || GATEWAY);
  sessionStorage.setItem("login", JSON.stringify({ state: json.state, back: location.pathname }));
  location.assign(json.url);
};

// Back from the issuer. Only the log-in that this tab began counts.
const came_back = async () => {
  const given = new URLSearchParams(location.search);
  const begun = JSON.parse(sessionStorage.getItem("login") || "{}");
  sessionStorage.removeItem("login");
  history.replaceState(null, "", begun.back || "/");
  if (!begun.state || given.get("state") !== begun.state) return login("This log-in was not started here: log in again.");
  if (!given.get("code")) return login(given.get("error_description") || "The issuer did not log you in.");
  const said = await ask("POST", "/v1/login/finish", { state: begun.state, code: given.get("code") }).catch(() => ({ json: {} }));
  if (!said.json.token) return login(said.json.message || GATEWAY);
  sessionStorage.setItem("token", said.json.token);
  begin();
};

const go = (path) => {
  history.pushState(null, "", path);
  say("");
  show(true);
};
addEventListener("popstate", () => show(true));
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-go]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || !token()) return;
  event.preventDefault();
  go(link.getAttribute("href"));
});
find("leave").addEventListener("click", () => login("You are logged out."));

const show = (fresh) => {
  const run = location.pathname.match(/^\/runs\/([\w-]+)$/);
  return run ? showRun(run[1], fresh) : showList(fresh);
};

// Answers that came out of order are dropped.
const newest = async (asked) => {
  const mine = ++turn;
  const said = await asked.catch(() => ({ status: 0, json: {} }));
  if (mine !== turn || said.status === -1) return null;
  if (said.status === 401) return login("This token is not known here."), null;
  if (said.status === 0) return away(GATEWAY), null;
  if (said.status >= 500) return away(ENGINE), null;
  away("");
  if (said.json.now_ms) clock = said.json.now_ms - Date.now();
  return said;
};

const title = (asks) => (document.title = `${asks ? `(${asks}) ` : ""}aops fleet`);

const showList = async (fresh) => {
  const said = await newest(ask("POST", "/v1/list/page", { state: view.state, search: view.search, page: view.page }));
  if (!said) return;
  const { runs, total, page, pages, asks } = said.json;
  if (!runs) return say(said.json.message || "This cannot be shown.");
  view.page = page;
  view.run = null;
  title(asks);
  if (fresh || !find("list")) frame();
  for (const link of document.querySelectorAll("nav a[data-state]")) {
    const state = link.dataset.state;
    link.toggleAttribute("aria-current", false);
    if (state === view.state) link.setAttribute("aria-current", "page");
    if (state === "asks") link.textContent = `${STATES.asks} (${asks})`;
  }
  const focus = document.activeElement?.getAttribute("href");
  const nothing = view.search ? "Nothing matches." : view.state === "asks" ? "Nothing waits for you." : "There are no such runs.";
  const shown = runs.length ? el("ul", { class: "list" }, ...runs.map(card)) : el("p", { text: nothing });
  find("list").replaceChildren(shown, pages > 1 ? pager(page, pages, total) : "");
  if (focus?.startsWith("/runs/")) find("list").querySelector(`a[href="${focus}"]`)?.focus();
  if (fresh) main.focus();
};

const frame = () => {
  const link = ([state, name]) => el("li", {}, el("a", { href: "/", "data-state": state, text: name, on: (event) => {
    event.preventDefault();
    Object.assign(view, { state, page: 0 });
    showList(false);
  } }));
  const search = el("input", { id: "search", type: "search", autocomplete: "off" });
  search.value = view.search;
  search.addEventListener("input", () => {
    Object.assign(view, { search: search.value, page: 0 });
    showList(false);
  });
  main.replaceChildren(
    el("h1", { text: "Runs" }),
    el("nav", { "aria-label": "Which runs" }, el("ul", {}, ...Object.entries(STATES).map(link))),
    el("label", { for: "search", text: "Search" }),
    search,
    el("div", { id: "list" }),
  );
};

const card = (run) => {
  const name = run.task || run.run_id;
  const words = run.state === "over" ? `${run.outcome || ""}: ${run.reason || ""}` : run.question || (run.waits_for ? `waits for ${run.waits_for}` : "");
  const facts = [run.run_id, run.who && `asked by ${run.who}`, run.repository, run.machine && `on ${run.machine}`];
  return el("li", { class: "card" },
    el("h2", {}, el("a", { href: `/runs/${run.run_id}`, "data-go": true, text: name })),
    words && el("p", { text: words }),
    el("p", { class: "dim" }, facts.filter(Boolean).join(" · "), " · ", SAYS[run.state] || run.state, " since ", time(run.since)));
};

const pager = (page, pages, total) => {
  const turn = (text, to) => el("button", { type: "button", text, disabled: to < 0 || to >= pages, on: () => {
    view.page = to;
    showList(false);
  } });
  return el("p", { class: "pager" }, turn("Previous", page - 1), `Page ${page + 1} of ${pages}, ${total} runs`, turn("Next", page + 1));
};

const showRun = async (id, fresh) => {
  const said = await newest(ask("POST", `/v1/runs/${id}/look`));
  if (!said) return;
  const { run, account, log, may } = said.json;
  if (!run) return main.replaceChildren(back(), el("h1", { text: "Run" }), el("p", { text: said.json.message || "There is no such run." }));
  const is_new = fresh || view.run !== id || !find("facts");
  if (is_new) {
    main.replaceChildren(back(), el("h1", { text: run.task || id }), el("div", { id: "facts" }), el("div", { id: "ask" }), el("div", { id: "more" }));
    Object.assign(view, { run: id, about: undefined });
  }
  document.title = `${run.state === "asks" ? "(1) " : ""}${run.task || id} · aops fleet`;
  find("facts").replaceChildren(facts(run));
  find("more").replaceChildren(...history_of(run, account || {}, log || []));
  // What a person writes there stays while the rest is live.
  const about = `${run.state} ${run.about || ""}`;
  if (view.about !== about) {
    view.about = about;
    const act = (path, body, leaving) => send(id, path, body, leaving);
    if (run.state === "asks") {
      const whole = await newest(ask("POST", `/v1/runs/${id}/question`));
      if (!whole?.json.run) return;
      find("ask").replaceChildren(question(whole.json.run, whole.json.asked || {}, whole.json.may, act));
    } else find("ask").replaceChildren(...answers(run, {}, may, act));
  }
  if (is_new) main.focus();
};

const back = () => el("p", { class: "back" }, el("a", { href: "/", "data-go": true, text: "All runs" }));

const facts = (run) => {
  const list = el("dl");
  const fact = (name, ...value) => value[0] && list.append(el("dt", { text: name }), el("dd", {}, ...value));
  fact("Run", run.run_id);
  fact("State", `${SAYS[run.state] || run.state} since `, time(run.since));
  fact("Asked by", run.who);
  fact("Repository", run.repository);
  fact("Branch", `aops/${run.run_id}`, run.commit ? ` from ${run.commit.slice(0, 12)}` : "");
  fact("Machine", run.machine);
  fact("Waits for", run.waits_for);
  if (run.state === "over") fact("Result", `${run.outcome || ""}: ${run.reason || ""}`);
  return list;
};

const history_of = (run, account, log) => {
  const parts = [];
  const steps = account.steps || [];
  if (steps.length) {
    const row = (step) => el("tr", {}, el("th", { scope: "row", text: step.step }), el("td", { text: step.outcome || "not done" }), el("td", { text: step.duration_ms == null ? "" : `${(step.duration_ms / 1000).toFixed(1)} s` }), el("td", { text: step.reason || "" }));
    const head = el("tr", {}, ...["Step", "Outcome", "Time", "Reason"].map((text) => el("th", { scope: "col", text })));
    parts.push(el("h2", { text: "Steps" }), el("div", { class: "scroll" }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...steps.map(row)))));
    const cost = account.cost == null ? "unknown" : `$${(account.cost / 1e6).toFixed(2)}`;
    parts.push(el("p", { text: `Cost: ${cost}, ${account.tokens || 0} tokens` }));
  }
  const line = (one) => {
    const by = [one.who && ` by ${one.who}`, one.from && `, ${one.from}`, one.note && `: ${one.note}`].filter(Boolean).join("");
    return el("li", {}, el("time", { datetime: one.at, text: one.at.replace("T", " ").slice(0, 19) }), ` ${one.what}${by}`);
  };
  parts.push(el("h2", { text: "Log" }), el("ol", { class: "log" }, ...log.map(line)));
  return parts;
};

const send = async (id, path, body, leaving) => {
  const said = await ask("POST", `/v1/runs/${id}/${path}`, body, leaving).catch(() => ({ status: 0, json: {} }));
  const done = said.status === 200 || said.status === 202 || (path === "block" && said.status === 409);
  const verb = path === "block" ? "Blocked" : body.approve ? "Approved" : "Rejected";
  if (said.status === 0) away(GATEWAY);
  say(done ? `${verb}: run ${id}. ${said.json.message || ""}` : `Not done: ${said.json.message || "the gateway cannot be reached"}`);
  view.about = undefined;
  show(false);
};

// Server-sent events, read with the token in a header.
const follow = async () => {
  let pause = 500;
  const mine = token();
  while (token() && token() === mine) {
    try {
      const said = await fetch("/v1/events", { headers: { authorization: `Bearer ${mine}` } });
      if (said.status === 401 && token() === mine) return login("This token is not known here.");
      if (!said.ok) throw new Error();
      const reader = said.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        pause = 500;
        rest += value;
        const events = rest.split("\n\n");
        rest = events.pop();
        events.forEach(heard);
      }
    } catch {
      away(GATEWAY);
    }
    await new Promise((done) => setTimeout(done, pause));
    pause = Math.min(pause * 2, 10000);
  }
};

const heard = (event) => {
  if (event.startsWith("event: over")) return login("This token was removed.");
  const data = event.match(/^data: (.*)$/m);
  if (!data) return;
  const news = JSON.parse(data[1]);
  if (!news.up) return away(ENGINE);
  away("");
  if (!view.run) title(news.asks);
  if (news.state !== known || find("link").textContent) show(false);
  known = news.state;
};

const begin = async () => {
  const said = await ask("GET", "/v1/me").catch(() => ({ status: 0, json: {} }));
  if (said.status === -1) return;
  if (said.status === 401) return login(token() ? "This token is not known here." : "");
  if (said.status === 403) return login("You may not read here.");
  if (said.status === 0) {
    away(GATEWAY);
    return setTimeout(begin, 1000);
  }
  find("me").textContent = said.json.name || "";
  find("leave").hidden = false;
  show(true);
  follow();
};

if (location.pathname === "/login") came_back();
else if (token()) begin();
else login("");
