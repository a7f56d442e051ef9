"""What `bench/network` measures, inside a network of its own. Prints each figure with its limit."""
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import threading
import time

PROGRAM, ROUNDS = sys.argv[1], int(sys.argv[2])
HOME = os.environ["HOME"]
PLAIN = "93.184.216.2"
BIG = 200 * 1000 * 1000
BLOCK = b"x" * (1 << 20)
SMALL = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: close\r\n\r\n" + b"y" * 100


def serve(port, answer):
    listener = socket.create_server((PLAIN, port), backlog=512)

    def accept():
        while True:
            one, _ = listener.accept()
            threading.Thread(target=answer, args=(one,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def small(one):
    with one:
        one.recv(4096)
        one.sendall(SMALL)


def big(one):
    with one:
        one.recv(4096)
        left = BIG
        while left > 0:
            left -= one.send(BLOCK[:left])


def resolve():
    """Every name is the one host."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 53))
    while True:
        query, sender = sock.recvfrom(600)
        end = query.index(0, 12) + 5
        is_four = query[end - 3] == 1
        said = query[:2] + b"\x81\x80\0\x01" + (b"\0\x01" if is_four else b"\0\0") + b"\0\0\0\0" + query[12:end]
        if is_four:
            said += b"\xc0\x0c\0\x01\0\x01\0\0\0\x01\0\x04" + socket.inet_aton(PLAIN)
        sock.sendto(said, sender)


class Session:
    """A session of the hook, whose commands are started as those of the client itself: they need no call."""

    def __init__(self, name, network):
        self.project = os.path.join(HOME, name)
        os.makedirs(self.project + "/.aops")
        self.id = "00000000-0000-4000-8000-%012d" % len(name)
        self.env = {
            "HOME": HOME, "PATH": os.environ["PATH"], "CLAUDE_CONFIG_DIR": os.path.join(HOME, ".claude-" + name),
            "XDG_CONFIG_HOME": os.path.join(HOME, ".config-" + name), "CLAUDE_PID": str(os.getpid()),
            "CLAUDE_CODE_SHELL_PREFIX": PROGRAM + " --shell", "CLAUDE_CODE_SESSION_ID": self.id,
        }
        settings = os.path.join(self.env["XDG_CONFIG_HOME"], "aops")
        os.makedirs(settings)
        with open(os.path.join(settings, "config.toml"), "w") as file:
            file.write('mode.level = "guard"\ntracker.command = "none"\n[network]\n' + network)
        self.hook("SessionStart", source="startup")

    def hook(self, event, **fields):
        fields = {"permission_mode": "default", **fields}
        given = {"hook_event_name": event, "session_id": self.id, "cwd": self.project, "transcript_path": "", **fields}
        env = {**self.env, "CLAUDECODE": "1", "CLAUDE_PROJECT_DIR": self.project}
        ran = subprocess.run([PROGRAM, event], input=json.dumps(given), env=env, cwd=self.project, capture_output=True, text=True)
        if ran.returncode:
            sys.exit(event + ": " + ran.stdout + ran.stderr)

    def command(self, line):
        return [PROGRAM, "--shell", line], {**self.env, "CLAUDECODE": "1", "AI_AGENT": "bench_harness"}

    def ran(self, line):
        words, env = self.command(line)
        ran = subprocess.run(words, env=env, cwd=self.project, capture_output=True, text=True)
        if ran.returncode:
            sys.exit("%s: %s%s" % (line, ran.stdout, ran.stderr))
        return ran.stdout

    def start(self):
        """Wall and processor time of a command that does nothing, in ms."""
        words, env = self.command("true")
        begun = time.perf_counter()
        child = os.posix_spawn(words[0], words, env)
        _, status, used = os.wait4(child, 0)
        if status:
            sys.exit("a command ended with %d" % status)
        return (time.perf_counter() - begun) * 1000, (used.ru_utime + used.ru_stime) * 1000


FETCH = """
import socket, sys, time
kind, times = sys.argv[1], int(sys.argv[2])
def fetch(port, room=bytearray(1 << 20)):
    one = socket.create_connection(("plain.test", port))
    one.sendall(b"GET / HTTP/1.1\\r\\nHost: plain.test\\r\\n\\r\\n")
    while one.recv_into(room): pass
    one.close()
def look_up():
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.connect(("127.0.0.1", 53))
    one.send(b"\\x12\\x34\\x01\\0\\0\\x01\\0\\0\\0\\0\\0\\0\\x05plain\\x04test\\0\\0\\x01\\0\\x01")
    one.recv(600)
work = {"request": lambda: fetch(80), "other": lambda: fetch(8000), "big": lambda: fetch(8001), "name": look_up}[kind]
work()
begun = time.perf_counter()
for _ in range(times): work()
print((time.perf_counter() - begun) / times * 1000)
"""


def by_turns(sessions, rounds, measure):
    """The median of each; they take turns, so what else the machine does is the same for all."""
    all_of = [[] for _ in sessions]
    for _ in range(rounds):
        for session, results in zip(sessions, all_of):
            results.append(measure(session))
    return [statistics.median(results) for results in all_of]


def fetched(kind, times):
    return lambda session: float(session.ran("python3 fetch.py %s %d" % (kind, times)))


def memory(session):
    """Of the broker: what is its own, in MB."""
    for name in os.listdir("/proc"):
        try:
            with open("/proc/%s/cmdline" % name) as file:
                words = file.read().split("\0")
            if "__network" in words and any(session.env["CLAUDE_CONFIG_DIR"] in word for word in words):
                with open("/proc/%s/status" % name) as file:
                    sizes.append(int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) / 1000)
        except (OSError, ValueError):
            pass
    return max(sizes)


sizes = []
threading.Thread(target=resolve, daemon=True).start()
serve(80, small)
serve(8000, small)
serve(8001, big)
hosts = 'allow = ["plain.test", "plain.test:8000", "plain.test:8001"]\nservers = true\n'
without, held = Session("without", ""), Session("held", 'mode = "list"\n' + hosts)
both = [without, held]
for session in both:
    with open(os.path.join(session.project, "fetch.py"), "w") as file:
        file.write(FETCH)
    session.ran("true")

wall, used = [], []
for _ in range(ROUNDS):
    pairs = [session.start() for session in both]
    wall.append([pair[0] for pair in pairs])
    used.append([pair[1] for pair in pairs])
off, on = ([statistics.median(row[n] for row in wall) for n in (0, 1)])
cpu_off, cpu_on = ([statistics.median(row[n] for row in used) for n in (0, 1)])
print("start of a command: %.2f ms without, %.2f with, +%.2f (limit +0.30); processor +%.2f" % (off, on, on - off, cpu_on - cpu_off))
off, on = by_turns(both, 7, fetched("big", 1))
print("200 MB: %.2f GB/s without, %.2f with, %.0f %% (limit 70 %%)" % (BIG / off / 1e6, BIG / on / 1e6, off / on * 100))
for what, kind in [("a small request, judged by its host", "request"), ("a small request at another port", "other")]:
    off, on = by_turns(both, 7, fetched(kind, 200))
    print("%s: %.2f ms without, %.2f with, +%.2f (limit +0.30)" % (what, off, on, on - off))
off, on = by_turns(both, 7, fetched("name", 1000))
print("a look-up: %.3f ms (a resolver of this bench: %.3f)" % (on, off))
print("the broker: %.1f MB (limit 10)" % memory(held))
for session in both:
    session.hook("SessionEnd", reason="other")
