#!/usr/bin/env python3
"""Verifies attested commits without any of our code: git, ssh-keygen, and the package `cryptography`.

usage: verify_commit.py RANGE [--key KEY]… [--signers REF:PATH] [--witness KEY]… [--quorum N] [--require LIST]…
                        [--no-waiver] [--tests[=here]] [--people signed|any|none] [--max-age 90d] [--from FILE]…

Prints a JSON object: exit, and for each commit binding, level, properties, sessions, seen, person, code. Exits like
`aops-hook verify-commit`: 0 all pass, 1 one does not, 2 usage, 3 cannot be checked, 4 something was forged.

The rules are those of `docs/attest.md`; nothing is believed before it is checked.
"""
import argparse
import datetime
import hashlib
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from verify_ledger import ODD, Checkpoint, Damage, Key, climb, entry_of, hash_of, read, unbase, whole

NOTES = ["refs/notes/aops-attest", "refs/notes/aops-attest-remote", "refs/notes/**/aops-attest"]
PAYLOAD = "application/vnd.in-toto+json"
CONSTANTS = ("https://in-toto.io/Statement/v1", "https://slsa.dev/provenance/v1", "https://refs.arewm.com/agent-commit/v0.3")
LEVELS = ["A0", "A1", "A2", "A3", "A4"]
# Each property with the level that has it first.
PROPERTIES = {"guarded": 1, "planned": 2, "qa": 2, "tests": 2, "no-waiver": 2, "no-outside": 2, "witnessed": 3, "approved": 4, "attended": 0}
OF_OTHERS = {"witnessed", "approved"}
EMPTY = {40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904", 64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"}
LARGEST_NOTE, MOST_LINES, MOST_FILES, MOST_SIGNERS = 4 << 20, 1000, 500, 1000
ID = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")


class Usage(Exception):
    pass


class Unchecked(Exception):
    pass


class Rejected(Exception):
    """A statement that does not count."""

    def __init__(self, code, why, alarm=False):
        super().__init__(why)
        self.code, self.alarm = code, alarm

    def weight(self):
        order = ["SIGNATURE", "LOG", "WITNESS", "FORM", "KEY_UNKNOWN", "SUBJECT"]
        return (not self.alarm, order.index(self.code))


# Git.

SAFE = {
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": "/dev/null/none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "core.attributesFile",
    "GIT_CONFIG_VALUE_0": "/dev/null",
    "GIT_CONFIG_KEY_1": "diff.ignoreSubmodules",
    "GIT_CONFIG_VALUE_1": "none",
}


def git(*words, input=b"", more={}):
    done = subprocess.run(["git", *words], input=input, capture_output=True, env={**os.environ, **SAFE, **more})
    if done.returncode:
        raise Unchecked(f"git {words[0]}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def lines(*words, input=b""):
    return git(*words, input=input).decode().splitlines()


def objects(names):
    """The content of each object, or None."""
    said, found, at = git("cat-file", "--batch", input="".join(f"{name}\n" for name in names).encode()) if names else b"", [], 0
    for _ in names:
        end = said.index(b"\n", at)
        head = said[at:end].decode(errors="replace")
        at = end + 1
        if head.endswith((" missing", " ambiguous")):
            found.append(None)
            continue
        size = int(head.rsplit(" ", 1)[1])
        found.append(said[at : at + size])
        at += size + 1
    return found


class Commit:
    def __init__(self, id, raw):
        head, _, message = raw.partition(b"\n\n")
        self.id, self.raw, self.parents, self.signature = id, raw, [], None
        kept, inside = [], False
        for line in head.split(b"\n"):
            name, _, value = line.partition(b" ")
            if not line.startswith(b" "):
                inside = name in (b"gpgsig", b"gpgsig-sha256")
                self.signature = value if inside else self.signature
                if name == b"tree":
                    self.tree = value.decode()
                elif name == b"parent":
                    self.parents.append(value.decode())
                elif name == b"author":
                    self.origin = (value, message)
            elif inside:
                self.signature += b"\n" + line[1:]
            if not inside:
                kept.append(line)
        self.signed = b"\n".join(kept) + b"\n\n" + message
        self.merge = len(self.parents) > 1
        self.parent_tree = git("rev-parse", f"{self.parents[0]}^{{tree}}").decode().strip() if self.parents else EMPTY[len(id)]
        self.bytes = git("diff-tree", "-r", "-z", "--no-renames", "--full-index", "--ignore-submodules=none", self.parent_tree, self.tree)
        self.change = hashlib.sha256(self.bytes).hexdigest()
        self.records = parse_records(self.bytes)
        self.paths = {path for path, _, _ in self.records}


def parse_records(said):
    """Path, and both sides, of each change that `git diff-tree` names."""
    words = said.split(b"\0")[:-1]
    return {(words[at + 1], *record(words[at])) for at in range(0, len(words), 2)}


def record(about):
    before, after, old, new, _ = about.decode()[1:].split(" ")
    return (before, old), (after, new)


def beside(scratch):
    """Variables by which git's new objects go to a folder that is thrown away."""
    place = git("rev-parse", "--path-format=absolute", "--git-path", "objects").decode().strip()
    own = os.path.join(scratch, "objects")
    os.makedirs(own, exist_ok=True)
    return {"GIT_OBJECT_DIRECTORY": own, "GIT_ALTERNATE_OBJECT_DIRECTORIES": place}


def merged(base, ours, theirs, scratch):
    """The tree of a clean merge, or None."""
    more = {**beside(scratch), "GIT_ATTR_SOURCE": EMPTY[len(ours)]}
    words = ["merge-tree", "--write-tree", "--no-messages", "--allow-unrelated-histories"] + ([f"--merge-base={base}"] if base else [])
    done = subprocess.run(["git", *words, ours, theirs], capture_output=True, env={**os.environ, **SAFE, **more})
    if done.returncode not in (0, 1):
        raise Unchecked(done.stderr.decode(errors="replace"))
    return done.stdout.decode().split("\n")[0] if done.returncode == 0 else None


# Whose word counts.


def seconds(text):
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        text += "T00:00:00Z"
    return int(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())


class Signer:
    def __init__(self, row):
        if not set(row) <= {"key", "owner", "may", "from", "until"} or not all(isinstance(value, str) for value in row.values()):
            raise Usage("a line of the list has other members")
        self.owner, self.may = row["owner"], LEVELS.index(row.get("may", "A4"))
        self.start, self.end = (seconds(row[name]) if name in row else None for name in ("from", "until"))
        self.ssh = " ".join(row["key"].split(" ")[:2]) if row["key"].startswith(("ssh-", "ecdsa-", "sk-")) else None
        self.key = None if self.ssh else Key(row["key"])
        if self.key and self.key.kind == 4:
            raise Usage("the key of a witness is in no list")

    def valid(self, when):
        return (self.start is None or self.start <= when) and (self.end is None or when < self.end)


def signer_list(text):
    rows = [row.strip() for row in text.splitlines()]
    rows = [read(row) for row in rows if row and not row.startswith("#")]
    if len(rows) > MOST_SIGNERS:
        raise Usage("too many signers")
    return [Signer(row) for row in rows]


def signed_by(signers, bytes, signature, purpose, scratch):
    """The signer whose ssh key made this signature."""
    people = [(f"signer-{at}", one) for at, one in enumerate(signers) if one.ssh]
    with open(os.path.join(scratch, "allowed"), "w") as file:
        file.writelines(f"{name} {one.ssh}\n" for name, one in people)
    with open(os.path.join(scratch, "signature"), "w") as file:
        file.write(signature)
    for name, one in people:
        words = ["ssh-keygen", "-Y", "verify", "-f", "allowed", "-I", name, "-n", purpose, "-s", "signature"]
        if subprocess.run(words, input=bytes, capture_output=True, cwd=scratch).returncode == 0:
            return one
    return None


# Statements.


def unspell(path):
    if not path.startswith('"'):
        return path.encode()
    return re.sub(rb"\\([0-7]{3})", lambda match: bytes([int(match[1], 8)]), path[1:-1].encode())


def check_form(statement):
    """Raises unless it is a statement of ours in every part that is judged."""
    kinds = (statement["_type"], statement["predicateType"], statement["predicate"]["buildDefinition"]["buildType"])
    (commit, change), (product,) = statement["subject"], statement["predicate"]["runDetails"]["byproducts"]
    facts, size = product["annotations"], len(commit["digest"]["gitCommit"])
    is_id = lambda text: ID.fullmatch(text) is not None and len(text) == size
    files = facts["files"]
    rules = [
        kinds == CONSTANTS,
        (commit["name"], change["name"], product["name"]) == ("commit", "change", "aops-session"),
        ID.fullmatch(commit["digest"]["gitCommit"]) is not None,
        re.fullmatch("[0-9a-f]{64}", change["digest"]["sha256"]) is not None,
        product["mediaType"] == "application/vnd.aops.session.v1+json" and facts["version"] == 1,
        is_id(facts["tree"]) and is_id(facts["repository"]["rootCommit"]),
        facts["mode"] in ("observe", "guard", "loop", "strict") and type(facts["attended"]) is bool,
        facts["jail"].get("least") in (None, "words", "seatbelt", "landlock", "namespaces"),
        facts["entries"]["from"] <= facts["entries"]["to"],
        isinstance(facts["outside"], list) and all(isinstance(path, str) for path in facts["outside"]),
        all(isinstance(facts[name], list) for name in ("dangerOff", "waivers", "tests", "sessions", "checks")),
        all(type(facts[name]) is int for name in ("blocks", "tampering")),
        files is None or len(files) <= MOST_FILES,
        all(is_id(side[1]) and re.fullmatch("[0-7]{6}", side[0]) for file in files or [] for side in (file["before"], file["after"])),
        all(file["by"] in ("session", "outside", "mixed") for file in files or []),
        all(test["seen"] in ("jail", "client") and type(test["exit"]) is int for test in facts["tests"]),
    ]
    if not all(rules):
        raise Damage("not a statement of ours")


class Statement:
    def __init__(self, text):
        document = read(text)
        check_form(document)
        self.digest = hashlib.sha256(text.encode()).hexdigest()
        self.commit, self.change = document["subject"][0]["digest"]["gitCommit"], document["subject"][1]["digest"]["sha256"]
        details = document["predicate"]["runDetails"]
        self.facts, self.session = details["byproducts"][0]["annotations"], details["metadata"]["invocationId"]
        self.last = details["byproducts"][0]["digest"]["sha256"]
        base = document["predicate"]["buildDefinition"]["externalParameters"]["target"].get("baseCommit") or ""
        self.base = base if ID.fullmatch(base) and len(base) == len(self.commit) else None
        self.finished = details["metadata"].get("finishedOn")
        self.notes, self.records = set(), None

    def accept(self, signer, proofs, world):
        """Raises unless it counts."""
        self.signer, self.witnessed = signer, world.logged(self, signer, proofs)
        over = signer.end is not None and signer.end <= world.now
        when = self.witnessed if over or self.witnessed is not None else seconds(self.finished) if self.finished else None
        if not (signer.valid(when) if when is not None else not over and signer.start is None):
            raise Rejected("KEY_UNKNOWN", "the key does not count for that time")
        self.when = when
        if not world.knows(self.facts["repository"]["rootCommit"]):
            raise Rejected("SUBJECT", "about another repository")
        if self.facts["files"] is not None:
            self.records = {(unspell(file["path"]), tuple(file["before"]), tuple(file["after"])) for file in self.facts["files"]}
            if hashlib.sha256(self.bytes()).hexdigest() != self.change:
                raise Rejected("FORM", "the list of files does not match the change")

    def bytes(self):
        out = b""
        for file in self.facts["files"]:
            (before, old), (after, new) = file["before"], file["after"]
            letter = "A" if before == "000000" else "D" if after == "000000" else "T" if before[:3] != after[:3] else "M"
            out += f":{before} {after} {old} {new} {letter}\0".encode() + unspell(file["path"]) + b"\0"
        return out

    def tested_on(self, tree):
        last = {}
        for test in sorted(self.facts["tests"], key=lambda test: test["entry"]):
            if test["tree"] == tree:
                last[test["name"]] = test["exit"]
        return bool(last) and not any(last.values())

    def claims(self):
        facts, jail = self.facts, self.facts["jail"]
        plan, qa = facts.get("plan") or {}, facts.get("qa") or {}
        held = jail["unjailed"] == 0 and (jail["commands"] == 0 or jail.get("least") not in (None, "words"))
        whole = not facts["dangerOff"] and facts["blocks"] == 0 and facts["tampering"] == 0
        has = {
            "guarded": facts["mode"] != "observe" and held and whole,
            "planned": plan.get("verdict") == "PROCEED" and plan.get("by") in ("critic", "person"),
            "qa": (qa.get("verdict"), qa.get("by"), qa.get("after")) == ("VERIFIED", "qa-verifier", True),
            "tests": self.tested_on(facts["tree"]),
            "no-waiver": all(waiver["of"] == "call" for waiver in facts["waivers"]),
            "attended": facts["attended"],
        }
        claimed = {name for name, is_so in has.items() if is_so and PROPERTIES[name] <= self.signer.may}
        return claimed | ({"witnessed"} if self.witnessed is not None else set())

    def by_others(self):
        files = self.facts["files"] or []
        return set(self.facts["outside"]) | {file["path"] for file in files if file["by"] != "session"}

    def wrote(self):
        return {file["path"] for file in self.facts["files"] or [] if file["by"] == "session"}

    def takes_part(self):
        files = self.facts["files"]
        return not files or any(file["by"] != "outside" for file in files)


def count(keys):
    """How many witnesses these are, at the least: one may have keys of two kinds, and two may have one name."""
    kinds = [key.kind for key in keys]
    return max(len({key.name for key in keys}), kinds.count(4), kinds.count(6))


class World:
    """What is known before a commit is judged."""

    def __init__(self, signers, witnesses, quorum, roots, scratch):
        self.signers, self.witnesses, self.roots, self.scratch = signers, witnesses, roots, scratch
        self.quorum = max(1, count(witnesses) if quorum is None else quorum)
        self.now, self.statements, self.rejected, self.approvals, self.known = int(time.time()), [], [], [], {}
        # The commits of the range, and the trees of others.
        self.range, self.trees = {}, {}

    def tree(self, commit):
        """The tree of a commit that is here, or None."""
        if commit not in self.trees:
            told = lines("cat-file", "--batch-check", input=f"{commit}^{{tree}}\n".encode())[0].split(" ")
            self.trees[commit] = told[0] if told[1:2] == ["tree"] else None
        return self.trees[commit]

    def knows(self, root):
        """It is a root of the range, or a commit here that has one: a shallow clone names the commit at which it is cut."""
        if root not in self.known:
            shared = root in self.roots
            if not shared and lines("cat-file", "--batch-check", input=f"{root}\n".encode())[0].startswith(f"{root} commit "):
                shared = bool(set(lines("rev-list", "--max-parents=0", root)) & set(self.roots))
            self.known[root] = shared
        return self.known[root]

    def logged(self, statement, signer, proofs):
        """When witnesses saw it, or None; raises unless it is in the log."""
        fault, found = Rejected("LOG", "no proof shows that it is in the log"), []
        for proof in (line["proof"] for line in proofs if line["for"] == statement.digest):
            try:
                found.append(self.proven(statement, signer, proof))
            except Rejected as wrong:
                fault = wrong
            except ODD as wrong:
                fault = Rejected("LOG", str(wrong), alarm=True)
        if not found:
            raise fault
        return min((when for when in found if when is not None), default=None)

    def proven(self, statement, signer, proof):
        head, _, note = proof.partition("\n\n")
        first, extra, index, *path = head.split("\n")
        checkpoint, entry = Checkpoint(note), unbase(extra.removeprefix("extra ")).decode()
        kinds = {key.kind for key in checkpoint.signers([one.key for one in self.signers if one.key and one.key.name == checkpoint.origin])}
        wanted = {one.key.kind for one in self.signers if one.key and one.key.name == checkpoint.origin}
        content, digest = entry_of(entry.encode())
        said = content["with"]
        rules = [
            first == "c2sp.org/tlog-proof@v1" and extra.startswith("extra ") and index.startswith("index "),
            checkpoint.origin == signer.key.name and 1 in kinds and (6 in kinds or 6 not in wanted),
            content["type"] == "attest" and (said["commit"], said["statement_sha256"]) == (statement.commit, statement.digest),
            self.fits(statement, content, checkpoint, whole(index.removeprefix("index "))),
            climb(bytes.fromhex(digest), whole(index.removeprefix("index ")), checkpoint.size, [hash_of(line) for line in path]) == checkpoint.root,
        ]
        if not all(rules):
            raise Damage("the proof is of another entry or log")
        try:
            seen = checkpoint.signers(self.witnesses)
        except ODD as wrong:
            raise Rejected("WITNESS", str(wrong), alarm=True) from None
        return max(seen.values()) if seen and count(seen) >= self.quorum else None

    def fits(self, statement, entry, checkpoint, index):
        """What it says of its place in ledger and log is what the entry that names it shows."""
        last, head = statement.facts["entries"]["to"], statement.facts.get("log")
        number = entry["sequence_number"]
        follows = number > last + 1 or number == last + 1 and entry["prev_entry_digest"] == statement.last
        if head is None:
            return follows and entry["with"]["last_entry"] == last
        before = head["origin"] == checkpoint.origin and head["size"] <= index and len(unbase(head["root"])) == 32
        return follows and entry["with"]["last_entry"] == last and before

    def take(self, notes):
        """Reads all notes; each is (commit or None, bytes or None)."""
        envelopes, proofs = [], []
        for commit, note in notes:
            try:
                for line in parse_note(note):
                    if line.get("aops") == "tlog-proof":
                        proofs.append(line)
                    elif line.get("aops") == "approval":
                        self.approvals.append(line)
                    else:
                        envelopes.append((commit, line))
            except ODD as wrong:
                self.rejected.append((None, None, commit, Rejected("FORM", str(wrong))))
        for commit, envelope in envelopes:
            self.add(commit, envelope, proofs)

    def add(self, commit, envelope, proofs):
        try:
            text = unbase(envelope["payload"]).decode()
            statement = Statement(text)
        except ODD as wrong:
            self.rejected.append((None, None, commit, Rejected("FORM", str(wrong))))
            return
        for known in self.statements:
            if known.digest == statement.digest:
                known.notes.add(commit)
                return
        try:
            statement.accept(self.signer(envelope, text), proofs, self)
            statement.notes.add(commit)
            self.statements.append(statement)
        except Rejected as wrong:
            self.rejected.append((statement.commit, statement.change, commit, wrong))

    def signer(self, envelope, text):
        from cryptography.exceptions import InvalidSignature

        message, found = f"DSSEv1 {len(PAYLOAD)} {PAYLOAD} {len(text.encode())} {text}".encode(), None
        for one in envelope["signatures"]:
            for signer in self.signers:
                if signer.key and signer.key.kind == 1 and f"{signer.key.name}+{signer.key.id.hex()}" == one["keyid"]:
                    try:
                        signer.key.public().verify(unbase(one["sig"]), message)
                    except (InvalidSignature, ValueError):
                        raise Rejected("SIGNATURE", "a signature is wrong", alarm=True) from None
                    found = signer
                    break
        if found is None:
            raise Rejected("KEY_UNKNOWN", "not in the list")
        return found


def parse_note(note):
    if note is None or len(note) > LARGEST_NOTE:
        raise Damage("too large")
    texts = [line for line in note.decode().split("\n") if line.removesuffix("\r")]
    if len(texts) > MOST_LINES:
        raise Damage("too many lines")
    found = []
    for line in map(read, texts):
        members = {"tlog-proof": ["for", "proof"], "approval": ["for", "signature"]}
        if "aops" in line:
            right = all(isinstance(line[name], str) for name in members[line["aops"]])
        else:
            right = line["payloadType"] == PAYLOAD and isinstance(line["payload"], str) and len(line["signatures"]) <= 16
            right = right and all(isinstance(one["keyid"], str) and isinstance(one["sig"], str) for one in line["signatures"])
        if not right:
            raise Damage("a line is none of ours")
        if line not in found:
            found.append(line)
    return found


# Bindings.


def about(statement, commit):
    return (statement.commit, statement.change, statement.facts["tree"]) == (commit.id, commit.change, commit.tree)


def bind(commit, world, outside):
    """What binds a commit, and for each attested change in it the statements about it."""
    same = [one for one in world.statements if about(one, commit)]
    if same:
        return "commit", [same]
    if commit.merge:
        clean = len(commit.parents) == 2 and merged(None, *commit.parents, world.scratch) == commit.tree
        return ("merge", []) if clean else (None, [])
    same = [one for one in world.statements if one.change == commit.change]
    if same:
        return "change", [same]
    changes = {one.change: one.records for one in world.statements if one.records is not None}
    used = steps(commit, changes)
    if used:
        return "steps", [[one for one in world.statements if one.change == change] for change in used]
    used = replay(commit, world, outside) or restored(commit, world)
    return ("replay", used) if used else (None, [])


def steps(commit, changes):
    """A set of changes whose steps lead each path from old to new, each of them used whole."""
    target = {path: (before, after) for path, before, after in commit.records}
    budget = [1024]

    def search(used):
        budget[0] -= 1
        if budget[0] < 0:
            return None
        is_at, loose = {path: sides[0] for path, sides in target.items()}, [one for change in used for one in changes[change]]
        goal = {path: sides[1] for path, sides in target.items()}
        for path, before, _ in loose:
            goal.setdefault(path, is_at.setdefault(path, before))
        moved = True
        while moved:
            moved = False
            for one in loose:
                if is_at[one[0]] == one[1]:
                    is_at[one[0]] = one[2]
                    loose.remove(one)
                    moved = True
                    break
        away = [path for path in is_at if is_at[path] != goal[path]] or [one[0] for one in loose]
        if not away:
            return used
        for change, records in changes.items():
            if change not in used and any((path, before) == (away[0], is_at[away[0]]) for path, before, _ in records):
                found = search([*used, change])
                if found:
                    return found
        return None

    return search([]) if target else None


def replay(commit, world, outside):
    """Attested commits that git merges, one by one, onto the parent to exactly this tree."""
    ids = sorted({one.commit for one in world.statements})
    here = [Commit(id, raw) for id, raw in zip(ids, objects(ids)) if raw is not None]
    here = {one.id: one for one in here if not one.merge and any(about(statement, one) for statement in world.statements)}
    parts = lambda used: [[one for one in world.statements if about(one, original)] for original in used]
    near = lambda one: commit.paths <= one.paths or one.origin == commit.origin
    likely = sorted((one for one in here.values() if commit.paths and near(one)), key=lambda one: one.origin != commit.origin)
    for one in likely[:32]:
        if merged(one.parent_tree, commit.parent_tree, one.tree, world.scratch) == commit.tree:
            return parts([one])
    if len(here) < 2:
        return None
    history = [line.split(" ") for line in lines("rev-list", "--topo-order", "--reverse", "--parents", *here, *(f"^{id}" for id in outside))]
    for tip in [row[0] for row in history if row[0] in here]:
        seen, above = {tip}, {row[0]: row[1:] for row in history}
        for row in reversed(history):
            if row[0] in seen:
                seen.update(row[1:])
        branch = [here[row[0]] for row in history if row[0] in seen and row[0] in here]
        if len(branch) < 2 or not commit.paths <= set(itertools.chain(*(one.paths for one in branch))):
            continue
        tree, used = commit.parent_tree, []
        for one in branch:
            after = merged(one.parent_tree, tree, one.tree, world.scratch)
            if after is None:
                break
            used += [one] if after != tree else []
            tree = after
        else:
            if tree == commit.tree and used:
                return parts(used)
    return chosen(commit, [here[row[0]] for row in history if row[0] in here], world, parts)


def chosen(commit, branch, world, parts):
    """Originals that follow each other, merged at once; or some of them, one by one, whatever is between."""
    if not commit.paths:
        return None
    for first in branch:
        run = [first]
        while after := next((one for one in branch if one.parents == [run[-1].id]), None):
            run.append(after)
            if merged(first.parent_tree, commit.parent_tree, after.tree, world.scratch) == commit.tree:
                return parts(run)

    def search(tree, used, rest):
        for at, one in enumerate(rest):
            after = merged(one.parent_tree, tree, one.tree, world.scratch)
            if after is None:
                continue
            all = used + [one] if after != tree else used
            found = all if after == commit.tree and all else len(all) < 4 and search(after, all, rest[at + 1 :])
            if found:
                return found
        return None

    used = search(commit.parent_tree, [], [one for one in branch if one.paths <= commit.paths])
    return parts(used) if used else None


def composed(run):
    """What the changes of a run do together, by path; None where one does not begin where the one before ends."""
    sides = {}
    for path, before, after in (record for one in run for record in one.records):
        first, last = sides.get(path, (before, before))
        if last != before:
            return None
        sides[path] = (first, after)
    return {path: both for path, both in sides.items() if both[0] != both[1]}


def restored(commit, world):
    """The statements about commits that are not here, if their tree and change can be had again from this one, and give it."""
    known = {}
    for one in world.statements:
        if one.base and one.records is not None:
            known.setdefault(one.commit, one)
    squashed = [(original, True) for original in known.values()]
    depth, above = 0, commit
    while above:
        depth, above = depth + 1, above.parents and world.range.get(above.parents[0])
    for original, at_once in [(original, False) for original in known.values()] + squashed:
        run, base = [original], original.base
        while world.tree(base) is None and base in known and len(run) <= len(known):
            run, base = [known[base], *run], known[base].base
        below, first, long = world.tree(base), commit, 1 if at_once else len(run)
        run = run if at_once else [original]
        near = commit.paths <= {path for one in run for path, _, _ in one.records}
        if not commit.paths or not near and (at_once or long != depth):
            continue
        for _ in range(long - 1):
            first = first and first.parents and world.range.get(first.parents[0])
        if below is None or not first:
            continue
        # The whole branch up to here, taken from what it stands on now back to what it stood on.
        back = lambda tree: merged(first.parent_tree, below, tree, world.scratch)
        parent = below if long == 1 else known[original.base].facts["tree"]
        tree = original.facts["tree"]
        if back(commit.tree) != tree or (long > 1 and back(commit.parent_tree) != parent):
            continue
        words = ["diff-tree", "-r", "-z", "--no-renames", "--full-index", "--ignore-submodules=none", parent, tree]
        records = parse_records(git(*words, more=beside(world.scratch)))
        is_it = composed(run) == {path: (before, after) for path, before, after in records}
        if is_it and merged(parent, commit.parent_tree, tree, world.scratch) == commit.tree:
            of = lambda one: (one.commit, one.change, one.facts["tree"])
            return [[one for one in world.statements if of(one) == of(part)] for part in run]
    return None


# The judgement.


def reached(properties):
    level = 0
    while level < 4 and all(name in properties for name, of in PROPERTIES.items() if name != "attended" and of == level + 1):
        level += 1
    return level


def weigh(part, approved):
    best = {}
    for one in part:
        rank = (len(one.claims()), -len(one.by_others()), one.facts["entries"]["to"])
        key = (id(one.signer), one.session)
        if key not in best or rank > best[key][0]:
            best[key] = (rank, one)
    counted = [one for _, one in best.values()]
    counted = [one for one in counted if one.takes_part()] or counted
    properties = set.intersection(*(one.claims() for one in counted))
    may = min(one.signer.may for one in counted)
    listed = all(one.facts["files"] is not None for one in counted)
    claimed = lambda path, by: any(path in other.wrote() for other in counted if other is not by)
    if listed and all(claimed(path, one) for one in counted for path in one.by_others()):
        properties.add("no-outside")
    if approved:
        properties.add("approved")
    properties = {name for name in properties if name in OF_OTHERS or PROPERTIES[name] <= may}
    return min(reached(properties), may), properties, counted


def approvers(world, change, bytes):
    lines = [line for line in world.approvals if line["for"] == change]
    people = [signed_by(world.signers, bytes, line["signature"], "aops-approve", world.scratch) for line in lines]
    return [one for one in people if one and one.valid(world.now)]


def unmet(wish, level, properties):
    """The code, or None where the wish is met."""
    if wish not in LEVELS:
        return None if wish in properties else "WITNESS" if wish == "witnessed" else "PROPERTY"
    if level >= LEVELS.index(wish):
        return None
    needed = sorted((of, at, name) for at, (name, of) in enumerate(PROPERTIES.items()) if name != "attended" and of <= LEVELS.index(wish))
    missing = [name for _, _, name in needed if name not in properties]
    return "WITNESS" if missing[:1] == ["witnessed"] else "LEVEL"


def diagnose(commit, world):
    speaks = []
    for of, change, noted, wrong in world.rejected:
        of_it = of == commit.id or (change == commit.change and not commit.merge)
        if of_it or noted == commit.id or (of is None and noted is None):
            speaks.append(wrong)
    if speaks:
        return min(speaks, key=Rejected.weight)
    if any(commit.id in one.notes for one in world.statements):
        return Rejected("SUBJECT", "its note is about another commit")
    if commit.merge:
        return Rejected("MERGE_OWN", "the merge changes more than its parents do")
    if any(one.records and one.records & commit.records for one in world.statements):
        return Rejected("PART", "a part of it is attested")
    return Rejected("NONE", "no attestation")


def judge(commit, world, wanted, outside):
    binding, parts = bind(commit, world, outside)
    told = {"commit": commit.id, "binding": binding, "level": None, "properties": [], "sessions": [], "seen": None, "person": None, "testedElsewhere": False, "code": None}
    alarm = False
    if binding is None:
        wrong = diagnose(commit, world)
        told["code"], alarm = wrong.code, wrong.alarm
    elif parts:
        judge_parts(commit, world, wanted, parts, told)
    if told["code"] and not alarm:
        if wanted.people == "any" and binding is None:
            told["person"], told["code"] = "", None
        elif wanted.people == "signed" and (commit.signature or b"").startswith(b"-----BEGIN SSH SIGNATURE-----"):
            signer = signed_by(world.signers, commit.signed, commit.signature.decode() + "\n", "git", world.scratch)
            if signer and signer.valid(world.now):
                told["person"], told["code"] = signer.owner, None
    return told, alarm


def judge_parts(commit, world, wanted, parts, told):
    weights = []
    for part in parts:
        owners = {one.signer.owner for one in part}
        people = approvers(world, commit.change, commit.bytes)
        if part[0].records is not None and part[0].change != commit.change:
            people += approvers(world, part[0].change, part[0].bytes())
        weights.append(weigh(part, any(one.owner not in owners for one in people)))
    level = min(weight[0] for weight in weights)
    properties = set.intersection(*(weight[1] for weight in weights))
    counted = [one for weight in weights for one in weight[2]]
    seen = max((one.witnessed for one in counted if one.witnessed is not None), default=None)
    told["level"], told["properties"] = LEVELS[level], [name for name in PROPERTIES if name in properties]
    told["sessions"] = sorted({session for one in counted for session in one.facts["sessions"]})
    told["seen"] = seen and datetime.datetime.fromtimestamp(seen, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    told["testedElsewhere"] = "tests" in properties and not all(one.tested_on(commit.tree) for one in counted)
    codes = [code for code in (unmet(wish, level, properties) for wish in wanted.wishes) if code]
    if wanted.tests == "here" and (told["testedElsewhere"] or "tests" not in properties):
        codes.append("PROPERTY")
    times = [one.when for one in counted if one.when is not None]
    if wanted.max_age and (not times or min(times) < world.now - wanted.max_age):
        codes.append("AGE")
    told["code"] = codes[0] if codes else None


# What is asked for.


def arguments(given):
    made = argparse.ArgumentParser()
    made.add_argument("range")
    for name in ("--key", "--witness", "--require", "--from"):
        made.add_argument(name, action="append", default=[])
    made.add_argument("--tests", nargs="?", const="any")
    made.add_argument("--quorum", type=int)
    made.add_argument("--no-waiver", action="store_true")
    made.add_argument("--people", default="signed", choices=["signed", "any", "none"])
    for name in ("--signers", "--max-age", "--format"):
        made.add_argument(name)
    # `--tests` alone takes no word after it.
    wanted = made.parse_args([word if word != "--tests" else "--tests=any" for word in given])
    wishes = [wish.strip() for words in wanted.require for wish in words.split(",")]
    wishes += ["no-waiver"] * wanted.no_waiver + ["tests"] * bool(wanted.tests)
    wanted.wishes = wishes or ["A0"]
    if not set(wanted.wishes) <= {*LEVELS, *PROPERTIES} or not (wanted.key or wanted.signers):
        raise Usage("whose word counts, for what?")
    if wanted.max_age:
        wanted.max_age = int(wanted.max_age[:-1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[wanted.max_age[-1]]
    return wanted


def signers_at(place, wanted, ids, words):
    at, _, path = place.partition(":")
    base = lines("rev-parse", "--verify", "--quiet", "--end-of-options", f"{at}^{{commit}}")[-1]
    if len(lines("rev-list", *words, f"^{base}")) < len(ids):
        raise Usage("the range could name its own signers")
    found = objects([f"{base}:{path}"])[0]
    if found is None:
        raise Usage("no list")
    return signer_list(found.decode())


def notes():
    found = []
    for tip in lines("for-each-ref", "--format=%(objectname)", *NOTES):
        rows = [row.split("\t") for row in git("ls-tree", "-r", "-l", "-z", tip).decode().split("\0") if row]
        names = [about.split()[2] for about, _ in rows if int(about.split()[3]) <= LARGEST_NOTE]
        texts = dict(zip(names, objects(names)))
        found += [(path.replace("/", ""), texts.get(about.split()[2])) for about, path in rows]
    return found


def verify(given):
    wanted = arguments(given)
    if lines("rev-parse", "--is-shallow-repository") != ["false"]:
        raise Unchecked("a shallow clone")
    words = ["--topo-order", "--reverse"] if ".." in wanted.range else ["--no-walk"]
    words += ["--end-of-options", wanted.range]
    ids = lines("rev-list", *words)
    if not ids:
        raise Unchecked("no commit")
    signers = [Signer({"key": key, "owner": key.split("+")[0]}) for key in wanted.key]
    if wanted.signers:
        signers += signers_at(wanted.signers, wanted, ids, words)
    raws = objects(ids)
    if None in raws:
        raise Unchecked("commits are missing")
    commits = [Commit(id, raw) for id, raw in zip(ids, raws)]
    roots = lines("rev-list", "--max-parents=0", *ids)
    with tempfile.TemporaryDirectory() as scratch:
        world = World(signers, [Key(text) for text in wanted.witness], wanted.quorum, roots, scratch)
        world.take(notes() + [(None, open(path, "rb").read()) for path in getattr(wanted, "from")])
        world.range = {commit.id: commit for commit in commits}
        outside = {parent for commit in commits for parent in commit.parents} - set(ids)
        told = [judge(commit, world, wanted, outside) for commit in commits]
    alarm = any(alarm for _, alarm in told)
    exit = 4 if alarm else 1 if any(one["code"] for one, _ in told) else 0
    return {"exit": exit, "commits": [one for one, _ in told]}


if __name__ == "__main__":
    try:
        answer = verify(sys.argv[1:])
    except Usage as wrong:
        answer = {"exit": 2, "why": str(wrong), "commits": []}
    except Unchecked as wrong:
        answer = {"exit": 3, "why": str(wrong), "commits": []}
    print(json.dumps(answer))
    sys.exit(answer["exit"])
