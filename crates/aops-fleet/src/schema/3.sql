-- Runs are an engine's. Whatever still waits here would be lost.
do $$ begin
  if exists (select 1 from aops.runs where state <> 'done') then
    raise exception 'the queue of runs goes, and runs are still in it'
      using hint = 'let them end, or `update aops.runs set state = ''done''`, then `aops-hook fleet init` again';
  end if;
end $$;
drop table aops.approvals, aops.files, aops.steps, aops.runs;
alter table aops.machines drop column labels;

-- Null where the cost is not known: 0 would say that it cost nothing.
alter table aops.sessions alter column cost drop not null;
