#!/usr/bin/env python3
"""Verifies ledgers, the log and proofs without any of our code: digests, numbers, links, calls, states; the Merkle tree,
signatures, cosignatures, seals and ways to the root. Signatures need the package `cryptography`.

usage: verify_ledger.py FOLDER…     prints a line each: {"ok", "entries", "code", "seq", "torn_bytes"}
       verify_ledger.py --canonical prints every line of standard input in the form of RFC 8785
       verify_ledger.py --log LOG --key KEY… [--witness KEY]… [--seal SEAL] [FOLDER…]
                                    the log, and how far each session is signed and witnessed in it
       verify_ledger.py --proof FILE --key KEY… [--witness KEY]…
                                    one entry: {"ok", "tier", "entry", "index", "size", "times"}
Each KEY of the log must have signed; ML-DSA-44 keys need `cryptography` 47 or newer.
"""
import argparse
import base64
import hashlib
import hmac
import json
import pathlib
import sys

MAY = {None: ["PENDING"], "PENDING": ["AUTHORIZED", "DENIED"], "AUTHORIZED": ["EXECUTING"], "EXECUTING": ["COMPLETED", "FAILED"]}


class Damage(Exception):
    pass


def number(value):
    """A double as ECMAScript prints it: 0.000024, 1e-7, 1e+21. Python's own words are 2.4e-05, 1e-07, 1e+21."""
    if isinstance(value, int) and abs(value) <= 2**53:
        return str(value)
    value = float(value)
    if value == 0:
        return "0"
    mantissa, _, power = repr(abs(value)).partition("e")
    whole, _, part = mantissa.partition(".")
    point = len(whole) + int(power or 0)
    digits = (whole + part).lstrip("0")
    point -= len(whole + part) - len(digits)
    digits = digits.rstrip("0")
    sign = "-" if value < 0 else ""
    if len(digits) <= point <= 21:
        return sign + digits.ljust(point, "0")
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    rest = "." + digits[1:] if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{point - 1:+d}"


def text(value):
    """RFC 8785: names in the order of their UTF-16 units, numbers as ECMAScript prints them."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(text(name) + ":" + text(value[name]) for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(text, value)) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value)
    return json.dumps(value, ensure_ascii=False)


def canonical(value):
    return text(value).encode()


def check(line, seq, head, trace, calls):
    try:
        entry = json.loads(line.decode())
        digest = entry.pop("_digest")
        if canonical({**entry, "_digest": digest}) != line or hashlib.sha256(canonical(entry)).hexdigest() != digest:
            raise ValueError
        number, link, name = entry["sequence_number"], entry["prev_entry_digest"], entry["trace_id"]
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        raise Damage("STATE_CHECKSUM_MISMATCH") from None
    if number != seq:
        raise Damage("STATE_SEQUENCE_GAP")
    if link != head or (trace and name != trace):
        raise Damage("STATE_CHECKSUM_MISMATCH")
    if (entry["type"] == "open") != (seq == 1):
        raise Damage("STATE_INVALID_TRANSITION")
    if entry["type"] == "call":
        step = entry["with"]
        key = tuple(sorted(step["call"].items()))
        if step.get("from") != calls.get(key) or step["to"] not in MAY.get(step.get("from"), []):
            raise Damage("STATE_INVALID_TRANSITION")
        calls[key] = step["to"] if step["to"] in MAY else None
    return entry, digest


def verify(folder):
    data = (folder / "ledger.jsonl").read_bytes()
    seq, head, trace, calls = 0, "0" * 64, None, {}
    marked, entries, mark = 0, 0, None
    said = {"ok": False, "entries": 0, "code": None, "seq": None, "torn_bytes": 0}
    at = 0
    while (end := data.find(b"\n", at)) >= 0:
        try:
            entry, head = check(data[at:end], seq + 1, head, trace, calls)
        except Damage as damage:
            return {**said, "entries": entries, "code": str(damage), "seq": seq + 1}
        seq, trace, at = seq + 1, entry["trace_id"], end + 1
        if "state_digest" in entry:
            marked, entries, mark = at, seq, (entry["state_digest"], head)
    rest = data[marked:]
    cut, begins = data[at:], b'{"_digest":"'
    if cut[: len(begins)] != begins[: len(cut)] or b"\0" in rest:
        return {**said, "entries": entries, "code": "STATE_CHECKSUM_MISMATCH", "seq": seq + 1}
    state = folder / "session-state.json"
    if state.exists() and not rest:
        kept = json.loads(state.read_text())
        whole = kept.pop("digest")
        if hashlib.sha256(canonical(kept)).hexdigest() != whole:
            return {**said, "entries": entries, "code": "STATE_FILE_EDITED", "seq": entries}
        proven = kept.pop("ledger")
        if proven["seq"] > entries:
            return {**said, "entries": entries, "code": "STATE_RECOVERY_FAILED", "seq": entries}
        if proven["seq"] == entries and (hashlib.sha256(canonical(kept)).hexdigest(), proven["head"]) != mark:
            return {**said, "entries": entries, "code": "STATE_RECOVERY_FAILED", "seq": entries}
    return {**said, "ok": True, "entries": entries, "torn_bytes": len(rest)}


# The log: RFC 6962 trees, C2SP signed notes, checkpoints, cosignatures and proofs.


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def leaf(content):
    return sha(b"\0", content)


def node(left, right):
    return sha(b"\1", left, right)


class Tree:
    """Grows leaf by leaf: the roots of full subtrees, with how many leaves each has."""

    def __init__(self):
        self.size, self.full = 0, []

    def push(self, content):
        count, right = 1, leaf(content)
        while self.full and self.full[-1][0] == count:
            right, count = node(self.full.pop()[1], right), 2 * count
        self.full.append((count, right))
        self.size += 1

    def root(self):
        if not self.full:
            return sha()
        root = self.full[-1][1]
        for _, left in reversed(self.full[:-1]):
            root = node(left, root)
        return root


def climb(content, index, size, path):
    """The root that this way leads to (RFC 9162, 2.1.3.2); None where it is no way."""
    if index >= size:
        return None
    at, last, root = index, size - 1, leaf(content)
    for sibling in path:
        if last == 0:
            return None
        if at % 2 or at == last:
            root = node(sibling, root)
            while at % 2 == 0 and at:
                at, last = at // 2, last // 2
        else:
            root = node(root, sibling)
        at, last = at // 2, last // 2
    return root if last == 0 else None


def unbase(text):
    """The bytes of a text in base64, in its only form."""
    bytes = base64.b64decode(text, validate=True)
    if base64.b64encode(bytes).decode() != text:
        raise ValueError("base64 in another form")
    return bytes


class Key:
    """`name+id+key`: 1 signs notes, 4 cosigns them with a time, 6 does so with ML-DSA-44."""

    def __init__(self, text):
        self.name, id, key = text.strip().split("+", 2)
        self.bytes = unbase(key)
        self.kind, self.id = self.bytes[0], bytes.fromhex(id)
        if self.id != sha(self.name.encode(), b"\n", self.bytes)[:4] or self.kind not in (1, 4, 6):
            raise Damage(f"no key: {text}")

    def time(self, checkpoint, signature):
        """The time of the cosignature, or zero; raises where it is not this key's."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        time, message, public = 0, checkpoint.text.encode(), Ed25519PublicKey
        if self.kind != 1:
            time, signature = int.from_bytes(signature[:8], "big"), signature[8:]
            message = b"cosignature/v1\ntime %d\n" % time + message
        if self.kind == 6:
            from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PublicKey

            name, origin = self.name.encode(), checkpoint.origin.encode()
            message = b"subtree/v1\n\0" + bytes([len(name)]) + name + time.to_bytes(8, "big") + bytes([len(origin)]) + origin
            message += bytes(8) + checkpoint.size.to_bytes(8, "big") + checkpoint.root
            public = MLDSA44PublicKey
        try:
            public.from_public_bytes(self.bytes[1:]).verify(signature, message)
        except InvalidSignature:
            raise Damage(f"the signature of {self.name} is wrong") from None
        return time


class Checkpoint:
    def __init__(self, note):
        self.text, _, lines = note.rpartition("\n\n")
        self.text += "\n"
        self.origin, size, root = self.text.split("\n")[:3]
        self.size, self.root = int(size), unbase(root)
        self.lines = [line.split(" ") for line in lines.splitlines()]

    def signers(self, keys):
        """Those keys that signed, by name and id, with their times."""
        found = {}
        for dash, name, signature in self.lines:
            signature = unbase(signature)
            for key in keys:
                if dash == "\u2014" and key.name == name and key.id == signature[:4]:
                    found[f"{key.name}+{key.id.hex()}"] = key.time(self, signature[4:])
        return found


def tier(signers, keys, witnesses):
    named = lambda key: f"{key.name}+{key.id.hex()}"
    seen = {named(other) for other in witnesses if named(other) in signers}
    if not keys or any(named(key) not in signers for key in keys):
        raise Damage("a key of the log has not signed")
    return "witnessed" if witnesses and len(seen) == len(witnesses) else "sealed"


def digests(ledger):
    return [bytes.fromhex(json.loads(line)["_digest"]) for line in ledger.read_bytes().split(b"\n")[:-1]]


def check_seals(lines, origin, seal):
    """With the exported key each seal from its epoch on is known to be the log's own."""
    _, epoch, key = seal.strip().split("+", 2)
    epoch, key = int(epoch), unbase(key)
    for at, size, root, mac in lines:
        while epoch < at:
            epoch, key = epoch + 1, hmac.digest(key, b"aops-seal/v1 next", "sha256")
        text = f"aops-seal/v1\nepoch {at}\n{origin}\n{size}\n{root}\n".encode()
        if epoch == at and hmac.digest(key, text, "sha256") != unbase(mac):
            raise Damage(f"seal {at} was not made with this key")


def verify_log(folder, keys, witnesses, seal, sessions):
    head = Checkpoint((folder / "checkpoint").read_text())
    seals = [(int(at), int(size), root, mac) for at, size, root, mac in (line.split(" ") for line in (folder / "seals").read_text().splitlines())]
    for before, after in zip(seals, seals[1:]):
        if not before[0] <= after[0] <= before[0] + 1 or after[1] < before[1]:
            raise Damage(f"seal {after[0]} does not follow seal {before[0]}")
    if not seals or seals[-1][1] < head.size:
        raise Damage("the last seal is older than the checkpoint")
    claims = [(head.size, head.root)] + [(size, unbase(root)) for _, size, root, _ in seals]
    signed = head.size if tier(head.signers(keys), keys, []) else 0
    witnessed = 0
    if witnesses and (folder / "witnessed").exists():
        seen = Checkpoint((folder / "witnessed").read_text())
        claims.append((seen.size, seen.root))
        witnessed = seen.size if tier(seen.signers([*keys, *witnesses]), keys, witnesses) == "witnessed" else 0
    data = (folder / "leaves").read_bytes()
    leaves = [data[at : at + 32] for at in range(0, len(data) - 31, 32)]
    tree = Tree()
    for size, root in sorted(claims):
        if size > len(leaves):
            raise Damage(f"the log has {len(leaves)} leaves, but {size} were signed")
        while tree.size < size:
            tree.push(leaves[tree.size])
        if tree.root() != root:
            raise Damage(f"another root at {size}")
    if seal:
        check_seals(seals, head.origin, seal)
    place = {content: at for at, content in enumerate(leaves)}
    far = lambda entries, size: next((n for n, entry in enumerate(entries) if place.get(entry, size) >= size), len(entries))
    told = []
    for session in sessions:
        entries = digests(session / "ledger.jsonl")
        told.append({"entries": len(entries), "sealed_to": far(entries, signed), "witnessed_to": far(entries, witnessed)})
    return {"ok": True, "origin": head.origin, "signed": signed, "witnessed": witnessed, "leaves": len(leaves), "seals": len(seals), "sessions": told}


def verify_proof(text, keys, witnesses):
    if text.startswith("aops-proof/v1 intact\n"):
        entry = unbase(text.split("\n")[1].removeprefix("extra ")).decode()
        return {"ok": content_of(entry) is not None, "tier": "intact", "entry": entry}
    head, _, note = text.partition("\n\n")
    lines = head.split("\n")
    if lines[0] != "c2sp.org/tlog-proof@v1" or not lines[1].startswith("extra ") or not lines[2].startswith("index "):
        raise Damage("no proof")
    entry, index = unbase(lines[1][6:]).decode(), int(lines[2][6:])
    checkpoint = Checkpoint(note)
    if climb(content_of(entry), index, checkpoint.size, [unbase(line) for line in lines[3:]]) != checkpoint.root:
        raise Damage("the entry is not in the log that this checkpoint describes")
    signers = checkpoint.signers([*keys, *witnesses])
    reached = tier(signers, keys, witnesses)
    times = {name: time for name, time in signers.items() if time}
    return {"ok": True, "tier": reached, "entry": entry, "index": index, "size": checkpoint.size, "times": times}


def content_of(entry):
    """The digest of an entry, which its line must match; or the digest alone, where the text was left out."""
    if len(entry) == 64:
        return bytes.fromhex(entry)
    whole = json.loads(entry)
    digest = whole.pop("_digest")
    if hashlib.sha256(canonical(whole)).hexdigest() != digest:
        raise Damage("the entry does not match its digest")
    return bytes.fromhex(digest)


def main():
    parser = argparse.ArgumentParser()
    for name in ("--log", "--proof", "--seal"):
        parser.add_argument(name)
    for name in ("--key", "--witness"):
        parser.add_argument(name, action="append", default=[])
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    given = parser.parse_args()
    try:
        keys = [[Key(text) for text in texts] for texts in (given.key, given.witness)]
        if given.log:
            print(json.dumps(verify_log(pathlib.Path(given.log), *keys, given.seal, given.folders)))
        elif given.proof:
            print(json.dumps(verify_proof(pathlib.Path(given.proof).read_text(), *keys)))
        else:
            for folder in given.folders:
                print(json.dumps(verify(folder)))
    except (Damage, ValueError, IndexError, KeyError) as damage:
        print(json.dumps({"ok": False, "why": str(damage)}))


if __name__ == "__main__":
    if sys.argv[1:] == ["--canonical"]:
        for line in sys.stdin.buffer:
            sys.stdout.buffer.write(canonical(json.loads(line)) + b"\n")
        sys.exit()
    main()
