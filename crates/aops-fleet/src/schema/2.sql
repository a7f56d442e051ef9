-- Which bundle the machine runs, as JSON; empty where none is installed.
alter table aops.machines add column bundle text not null default '';

-- The newest signed checkpoint of each machine's log, which covers every one before it. `size` only grows.
create table aops.checkpoints (
  machine text not null,
  origin  text not null,
  size    bigint not null,
  note    text not null,
  at      timestamptz not null default now(),
  primary key (machine, origin)
);

-- What each session came to: the newest document.
create table aops.insights (
  machine  text not null,
  session  text not null,
  document text not null,
  at       timestamptz not null default now(),
  primary key (machine, session)
);
