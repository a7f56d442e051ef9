"""A run of aops-hook as an activity of Temporal, and the workflow around it: a pause waits for a signal.

    pip install temporalio
    python worker.py

Answer a pause with `temporal workflow signal --workflow-id ID --name decide --input '{"approve": true, "note": ""}'`.
"""
import asyncio
import json
import os
from dataclasses import dataclass
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

QUEUE = "aops"
PASSED, BLOCKED, CALLED_WRONGLY, PAUSED, DAMAGED = 0, 1, 2, 3, 4
# A worker that died is noticed by its heartbeats.
LIMITS: workflow.ActivityConfig = {
    "start_to_close_timeout": timedelta(hours=24),
    "heartbeat_timeout": timedelta(minutes=1),
    "retry_policy": RetryPolicy(maximum_interval=timedelta(minutes=1)),
}


@dataclass
class Order:
    project: str
    task: str
    workflow: str


@dataclass
class Decision:
    approve: bool
    note: str = ""


@dataclass
class Ended:
    exit: int
    run_id: str
    outcome: str
    reason: str


async def aops(project: str, *words: str) -> dict:
    """Runs aops-hook to its end; each of its lines is a heartbeat. What was killed is tried again by Temporal."""
    hook = os.environ.get("AOPS_HOOK", "aops-hook")
    child = await asyncio.create_subprocess_exec(hook, *words, cwd=project, stdout=asyncio.subprocess.PIPE)
    assert child.stdout is not None
    said: dict = {}
    async for line in child.stdout:
        said = json.loads(line)
        activity.heartbeat(said)
    code = await child.wait()
    if code in (CALLED_WRONGLY, DAMAGED):
        raise ApplicationError(f"aops-hook {words[0]}: {said}", non_retryable=True)
    if code not in (PASSED, PAUSED) and not (code == BLOCKED and said.get("outcome")):
        raise ApplicationError(f"aops-hook {words[0]} ended with {code}")
    return {**said, "exit": code}


@activity.defn
async def drive(order: Order) -> Ended:
    """Begins the run, goes on with it, or tells how it ended: the key is the same for every attempt."""
    key = str(activity.info().workflow_id)
    options = ["--workflow", order.workflow, "--idempotency-key", key, "--heartbeat", "10s", "--json"]
    said = await aops(order.project, "run", order.task, *options)
    return Ended(said["exit"], said["run_id"], said["outcome"], said["reason"])


@activity.defn
async def resolve(order: Order, run_id: str, decision: Decision) -> None:
    word = "--approve" if decision.approve else "--reject"
    await aops(order.project, "resolve", run_id, word, "--note", decision.note, "--yes", "--json")


@workflow.defn
class Run:
    def __init__(self) -> None:
        self.decision: Decision | None = None
        self.question = ""

    @workflow.signal
    def decide(self, decision: Decision) -> None:
        self.decision = decision

    @workflow.query
    def waits_for(self) -> str:
        return self.question

    @workflow.run
    async def start(self, order: Order) -> str:
        ended = await workflow.execute_activity(drive, order, **LIMITS)
        while ended.exit == PAUSED:
            self.question = ended.reason
            await workflow.wait_condition(lambda: self.decision is not None)
            decision, self.decision, self.question = self.decision, None, ""
            await workflow.execute_activity(resolve, args=[order, ended.run_id, decision], **LIMITS)
            ended = await workflow.execute_activity(drive, order, **LIMITS)
        if ended.exit != PASSED:
            raise ApplicationError(ended.reason, non_retryable=True)
        return ended.run_id


async def main() -> None:
    client = await Client.connect(os.environ.get("TEMPORAL_ADDRESS", "localhost:7233"))
    await Worker(client, task_queue=QUEUE, workflows=[Run], activities=[drive, resolve]).run()


if __name__ == "__main__":
    asyncio.run(main())
