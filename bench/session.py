"""Sessions of a throwaway home, for measurements: each event and command is one process, with its processor and wall time."""
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HOOK = str(pathlib.Path(sys.argv[1]).resolve())
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 50
ROOT = pathlib.Path(tempfile.mkdtemp(prefix="aops-bench.", dir=os.environ.get("TMPDIR", "/var/tmp")))
# As a client's: a program that lives as long as the measurement, and knows no options.
CLIENT = subprocess.Popen(["sleep", "100000"])


def run(words, folder, variables, text=""):
    """Processor and wall time of a program with all that it waits for, in milliseconds; and what it said."""
    out = tempfile.TemporaryFile()
    began = time.perf_counter()
    child = subprocess.Popen(words, cwd=folder, env=variables, stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT)
    child.stdin.write(text.encode())
    child.stdin.close()
    _, status, used = os.wait4(child.pid, 0)
    wall = time.perf_counter() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    out.seek(0)
    return (used.ru_utime + used.ru_stime) * 1000, wall * 1000, out.read().decode(errors="replace")


class Session:
    """A session in mode `guard` with a person at the client, and these further lines of configuration."""

    def __init__(self, name, more=""):
        self.home, self.calls = ROOT / name, 0
        self.project = self.home / "project"
        (self.project / "src").mkdir(parents=True)
        (self.home / ".config/aops").mkdir(parents=True)
        (self.home / ".claude").mkdir()
        (self.home / ".claude/settings.json").write_text("{}")
        (self.home / ".config/aops/config.toml").write_text(
            f'tracker.command = "none"\nmode.level = "guard"\n{more}\n')
        self.variables = {
            "HOME": str(self.home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "AI_AGENT": "claude-code_agent",
            "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "bench", "CLAUDE_CODE_SESSION_ATTENDED": "1",
            "CLAUDE_PID": str(CLIENT.pid), "CLAUDE_CODE_SHELL_PREFIX": f"{HOOK} --shell"}
        (self.project / "src/main.rs").write_text("fn main() {}\n")
        (self.project / "unknown").symlink_to("/bin/true")
        self.git("init", "-q")
        self.git("config", "user.email", "b@example.invalid")
        self.git("config", "user.name", "b")
        self.commit()
        self.event("SessionStart", {"source": "startup"})
        self.event("UserPromptSubmit", {"prompt": "what does it do?"})

    def git(self, *words):
        run(["git", *words], self.project, self.variables)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-qm", "x")

    def event(self, name, fields):
        dashed = "".join(c if c.isalnum() else "-" for c in str(self.project))
        payload = {
            "session_id": "bench", "transcript_path": f"{self.home}/.claude/projects/{dashed}/bench.jsonl",
            "cwd": str(self.project), "permission_mode": "default", "hook_event_name": name, **fields}
        return run([HOOK, name], self.project, self.variables, json.dumps(payload))

    def ran(self, line):
        """The hook's cost, the shell's cost, what the hook said, what the end said."""
        self.calls += 1
        call = {"tool_name": "Bash", "tool_input": {"command": line}, "tool_use_id": f"toolu_{self.calls:024}"}
        before = self.event("PreToolUse", call)
        time.sleep(0.005)
        shell = run([HOOK, "--shell", line], self.project, self.variables)
        after = self.event("PostToolUse", {**call, "tool_response": {"stdout": ""}})
        return before, shell, after

    def bare(self, line):
        return run(["/bin/bash", "-c", line], self.project, self.variables)


def middle(costs, at):
    return statistics.median(cost[at] for cost in costs)


def table(title, rows, base):
    print(f"\n{title}\n{'':28}{'cpu ms':>9}{'wall ms':>9}{'cpu more':>10}{'wall more':>11}{'cpu x':>8}{'wall x':>8}")
    first = (middle(rows[base], 0), middle(rows[base], 1))
    for name, costs in rows.items():
        cpu, wall = middle(costs, 0), middle(costs, 1)
        print(f"{name:28}{cpu:9.2f}{wall:9.2f}{cpu - first[0]:10.2f}{wall - first[1]:11.2f}"
              f"{cpu / first[0]:8.2f}{wall / first[1]:8.2f}")


def end():
    CLIENT.kill()
    shutil.rmtree(ROOT, ignore_errors=True)
