create table aops.machines (
  name    text primary key,
  version text not null,
  labels  text[] not null,
  policy  text not null,
  seen    timestamptz not null default now()
);

-- Every policy that a machine ever reported, by its hash.
create table aops.policy_versions (
  hash       text primary key,
  first_seen timestamptz not null default now(),
  machine    text not null
);

-- The newest head of each session. `entries` only grows.
create table aops.sessions (
  machine text not null,
  id      text not null,
  project text not null,
  entries bigint not null,
  head    text not null,
  phase   text not null,
  mode    text not null,
  cost    bigint not null,
  ts      text not null,
  seen    timestamptz not null default now(),
  primary key (machine, id)
);

create table aops.runs (
  id         text primary key,
  number     bigint generated always as identity unique,
  repository text not null,
  commit     text not null,
  request    text not null,
  labels     text[] not null,
  priority   int not null,
  state      text not null default 'waiting' check (state in ('waiting', 'running', 'paused', 'done')),
  outcome    text,
  reason     text not null default '',
  -- Grows with every lease. A write names it.
  fence      bigint not null default 0,
  machine    text,
  lease      timestamptz,
  -- Only this machine has the repository.
  only_on    text,
  -- Only this machine can go on with it: it alone has the client's session, or the tree.
  pinned     text,
  -- The working tree after the last step: the commit that is checked out, the tree, and a git bundle of both.
  head       text,
  tree       text,
  bundle     bytea,
  enqueued   timestamptz not null default now(),
  changed    timestamptz not null default now()
);
create index runs_waiting on aops.runs (priority desc, number) where state = 'waiting';
create index runs_running on aops.runs (lease) where state = 'running';
create index runs_repository on aops.runs (repository) where state = 'running';

-- The lines of each run's attempt ledger, in their order.
create table aops.steps (
  run     text not null references aops.runs on delete cascade,
  seq     bigint not null,
  line    text not null,
  machine text not null,
  at      timestamptz not null default now(),
  primary key (run, seq)
);

-- The packets and summaries of each run.
create table aops.files (
  run     text not null references aops.runs on delete cascade,
  path    text not null,
  content text not null,
  primary key (run, path)
);

-- The question of a paused run, and its answer.
create table aops.approvals (
  id       text primary key,
  run      text not null references aops.runs on delete cascade,
  question text not null,
  -- The digest of the packet that it is about; empty where there is none.
  about    text not null,
  asked    timestamptz not null default now(),
  token    text not null,
  decision text check (decision in ('approve', 'reject', 'block')),
  note     text,
  who      text,
  answered timestamptz
);
create index approvals_open on aops.approvals (asked) where decision is null;
create index approvals_run on aops.approvals (run);
