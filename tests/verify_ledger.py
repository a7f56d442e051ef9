#!/usr/bin/env python3
"""Verifies ledgers, the log and proofs without any of our code: digests, numbers, links, calls, states; the Merkle tree,
signatures, cosignatures, seals and ways to the root. Signatures need the package `cryptography`.

usage: verify_ledger.py FOLDER…     prints a line each: {"ok", "entries", "code", "seq", "torn_bytes"}
       verify_ledger.py --canonical prints every line of standard input in the form of RFC 8785
       verify_ledger.py --log LOG --key KEY… [--old KEY]… [--witness KEY]… [--seal SEAL] [--all] [FOLDER…]
                                    the log, and how far each session is signed and witnessed in it; with --all the folders
                                    are all sessions, and nothing may be in the log alone
       verify_ledger.py --proof FILE --key KEY… [--witness KEY]…
                                    one entry: {"ok", "tier", "entry", "index", "size", "times"}
       verify_ledger.py --batch     each line of standard input is a JSON list of such arguments; answers a line each
Each KEY of the log must have signed; an --old one may have, before a rotation. Each --witness must have cosigned, or as many
as --quorum says. ML-DSA-44 keys need `cryptography` 47 or newer.

Nothing is believed before it is checked: the signatures first, then the tree, then each entry, which must be byte for byte
its own canonical form.
"""
import argparse
import base64
import hashlib
import hmac
import json
import os
import pathlib
import re
import stat
import sys
import unicodedata

MAY = {None: ["PENDING"], "PENDING": ["AUTHORIZED", "DENIED"], "AUTHORIZED": ["EXECUTING"], "EXECUTING": ["COMPLETED", "FAILED"]}
MEMBERS = ["_digest", "prev_entry_digest", "sequence_number", "state_digest", "trace_id", "ts", "type", "with"]
DEEPEST = 160
DIGEST = re.compile("[0-9a-f]{64}")
WHOLE = re.compile("0|[1-9][0-9]*")


class Damage(Exception):
    pass


# What else a file that someone else wrote can bring about.
ODD = (Damage, ValueError, IndexError, KeyError, TypeError, AttributeError, RecursionError, OverflowError, OSError)


def read(text):
    """JSON in which no name is twice, and no number is none."""

    def once(pairs):
        if len({name for name, _ in pairs}) < len(pairs):
            raise ValueError("a name is there twice")
        return dict(pairs)

    def refused(word):
        raise ValueError(word)

    return json.loads(text, object_pairs_hook=once, parse_constant=refused)


def number(value):
    """A double as ECMAScript prints it: 0.000024, 1e-7, 1e+21. Python's own words are 2.4e-05, 1e-07, 1e+21."""
    if isinstance(value, int) and abs(value) <= 2**53:
        return str(value)
    value = float(value)
    if value - value != 0:
        raise ValueError("no number")
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


def text(value, depth=0):
    """RFC 8785: names in the order of their UTF-16 units, numbers as ECMAScript prints them."""
    if depth > DEEPEST and isinstance(value, (dict, list)):
        raise ValueError("too deep")
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(text(name) + ":" + text(value[name], depth + 1) for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(text(item, depth + 1) for item in value) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value)
    return json.dumps(value, ensure_ascii=False)


def canonical(value):
    return text(value).encode()


def digest_of(value):
    return hashlib.sha256(canonical(value)).hexdigest()


def is_digest(value):
    return isinstance(value, str) and DIGEST.fullmatch(value) is not None


def entry_of(line):
    """An entry and its digest: the line is its own canonical form, has the members of an entry and no others, and its digest
    is that of the rest."""
    entry = read(line.decode())
    if canonical(entry) != line:
        raise ValueError("not in the only form of an entry")
    names = [name for name in MEMBERS if name != "state_digest" or name in entry]
    if list(entry) != names or not all(is_digest(entry[name]) for name in names if name.endswith("digest")):
        raise ValueError("not the members of an entry")
    if not all(isinstance(entry[name], str) for name in ("trace_id", "ts", "type")) or not isinstance(entry["with"], dict):
        raise ValueError("not the members of an entry")
    if type(entry["sequence_number"]) is not int or entry["sequence_number"] < 1:
        raise ValueError("no number")
    if "state_digest" in entry and not (list(entry["with"])[-1:] == ["working_digest"] and is_digest(entry["with"]["working_digest"])):
        raise ValueError("not the mark of an entry")
    digest = entry.pop("_digest")
    if digest_of(entry) != digest:
        raise ValueError("not the digest of the entry")
    return entry, digest


def check(line, seq, head, trace, calls):
    try:
        entry, digest = entry_of(line)
    except ODD:
        raise Damage("STATE_CHECKSUM_MISMATCH") from None
    if entry["sequence_number"] != seq:
        raise Damage("STATE_SEQUENCE_GAP")
    if entry["prev_entry_digest"] != head or (trace is not None and entry["trace_id"] != trace):
        raise Damage("STATE_CHECKSUM_MISMATCH")
    if (entry["type"] == "open") != (seq == 1):
        raise Damage("STATE_INVALID_TRANSITION")
    if entry["type"] == "call":
        try:
            step = entry["with"]
            key = tuple(sorted(step["call"].items()))
            if step.get("from") != calls.get(key) or step["to"] not in MAY.get(step.get("from"), []):
                raise Damage("STATE_INVALID_TRANSITION")
            calls[key] = step["to"] if step["to"] in MAY else None
        except (KeyError, TypeError, AttributeError):
            raise Damage("STATE_INVALID_TRANSITION") from None
    return entry, digest


def walk(folder):
    """What is said of a ledger; its name and the digests of its committed entries, each of which was checked."""
    try:
        if folder.is_symlink():
            raise Damage(f"{folder.name} is a link")
        data = content(folder / "ledger.jsonl")
    except (OSError, Damage):
        return {"ok": False, "entries": 0, "code": "STATE_STORAGE_FAILED", "seq": 1, "torn_bytes": 0}, None, []
    head, trace, calls, digests = "0" * 64, None, {}, []
    marked, entries, mark = 0, 0, None
    said = {"ok": False, "entries": 0, "code": None, "seq": None, "torn_bytes": 0}
    at = 0
    while (end := data.find(b"\n", at)) >= 0:
        try:
            entry, head = check(data[at:end], len(digests) + 1, head, trace, calls)
        except Damage as damage:
            return {**said, "entries": entries, "code": str(damage), "seq": len(digests) + 1}, trace, digests[:entries]
        trace, at = entry["trace_id"], end + 1
        digests.append(head)
        if "state_digest" in entry:
            marked, entries, mark = at, len(digests), (entry["state_digest"], entry["with"]["working_digest"], head)
    rest = data[marked:]
    cut, begins = data[at:], b'{"_digest":"'
    if cut[: len(begins)] != begins[: len(cut)] or b"\0" in rest:
        return {**said, "entries": entries, "code": "STATE_CHECKSUM_MISMATCH", "seq": len(digests) + 1}, trace, digests[:entries]
    if not is_borne_out(folder / "session-state.json", digests[:entries], mark):
        return {**said, "entries": entries, "code": "STATE_RECOVERY_FAILED", "seq": entries}, trace, digests[:entries]
    return {**said, "ok": True, "entries": entries, "torn_bytes": len(rest)}, trace, digests[:entries]


def is_borne_out(state, digests, mark):
    """What the state proves is in the ledger. One that does not match its own digest proves nothing: it is made again."""
    try:
        kept = read(content(state).decode())
        whole = kept.pop("digest")
        if digest_of(kept) != whole:
            return True
        proven = kept.pop("ledger")
        seq, head, memory = proven["seq"], proven["head"], proven["memory"]
    except ODD:
        return True
    if seq > len(digests) or (seq > 0 and digests[seq - 1] != head):
        return False
    return seq < len(digests) or mark is None or (digest_of(kept), digest_of(memory), head) == mark


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


def whole(text):
    """A number of 64 bits in its only form."""
    if WHOLE.fullmatch(text) is None or int(text) >= 1 << 64:
        raise ValueError("no number in its only form")
    return int(text)


def hash_of(text):
    bytes = unbase(text)
    if len(bytes) != 32:
        raise ValueError("no hash")
    return bytes


def is_name(name):
    return name != "" and not any(c.isspace() or unicodedata.category(c) == "Cc" or c == "+" for c in name)


class Key:
    """`name+id+key`: 1 signs notes, 4 cosigns them with a time, 6 does so with ML-DSA-44."""

    def __init__(self, text):
        self.name, id, key = text.split("+", 2)
        self.bytes = unbase(key)
        self.kind, self.id = self.bytes[0], sha(self.name.encode(), b"\n", self.bytes)[:4]
        if self.id.hex() != id or self.kind not in (1, 4, 6) or not is_name(self.name):
            raise Damage(f"no key: {text}")
        self.public()

    def public(self):
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        if self.kind != 6:
            return Ed25519PublicKey.from_public_bytes(self.bytes[1:])
        from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PublicKey

        return MLDSA44PublicKey.from_public_bytes(self.bytes[1:])

    def time(self, checkpoint, signature):
        """The time of the cosignature, or zero; raises where it is not this key's."""
        from cryptography.exceptions import InvalidSignature

        time, message = 0, checkpoint.text.encode()
        if self.kind != 1:
            time, signature = int.from_bytes(signature[:8], "big"), signature[8:]
            message = b"cosignature/v1\ntime %d\n" % time + message
        if self.kind == 6:
            name, origin = self.name.encode(), checkpoint.origin.encode()
            message = b"subtree/v1\n\0" + bytes([len(name)]) + name + time.to_bytes(8, "big") + bytes([len(origin)]) + origin
            message += bytes(8) + checkpoint.size.to_bytes(8, "big") + checkpoint.root
        try:
            self.public().verify(signature, message)
        except InvalidSignature:
            raise Damage(f"the signature of {self.name} is wrong") from None
        return time


class Checkpoint:
    """A signed note whose text is origin, size and root."""

    def __init__(self, note):
        if len(note.encode()) > 1 << 20 or any(c < " " and c != "\n" for c in note):
            raise Damage("a note is a short text without control characters")
        body, parted, lines = note.rpartition("\n\n")
        if not parted or not lines.endswith("\n"):
            raise Damage("a note ends with signatures after an empty line")
        self.text = body + "\n"
        self.origin, size, root, *more = body.split("\n")
        self.size, self.root = whole(size), hash_of(root)
        if not self.origin or "" in more:
            raise Damage("no checkpoint: a line is empty")
        self.lines = [self.signature(line) for line in lines[:-1].split("\n")]
        if len(self.lines) > 64:
            raise Damage("too many signatures")

    @staticmethod
    def signature(line):
        dash, name, bytes = line.split(" ", 2)
        bytes = unbase(bytes)
        if dash != "\u2014" or not is_name(name) or len(bytes) < 5:
            raise Damage("a line after the empty one is not a signature")
        return name, bytes[:4], bytes[4:]

    def signers(self, keys):
        """Those keys that signed, with their times. A wrong signature, or a second one, of a key that is known spoils it."""
        found = {}
        for name, id, signature in self.lines:
            for key in keys:
                if (key.name, key.id) == (name, id):
                    if key in found:
                        raise Damage(f"{name} signed twice")
                    found[key] = key.time(self, signature)
        return found


def tier(signers, trust):
    """The level of a checkpoint with these signers; raises where the keys of the log have not signed."""
    signed = [key in signers for key in trust.keys]
    before = any(key in signers for key in trust.old)
    if not all(signed) and (any(signed) or not before) or not (trust.keys or before):
        raise Damage("a key of the log has not signed")
    seen = [key for key in trust.witnesses if key in signers]
    of_kind = lambda kind: sum(key.kind == kind for key in seen)
    count = max(len({key.name for key in seen}), of_kind(4), of_kind(6))
    enough = count >= trust.quorum if trust.quorum else len(seen) == len(trust.witnesses)
    return "witnessed" if seen and enough else "sealed"


def content(path):
    """The bytes of a plain file. Nothing else in its place is waited for, and no link is followed."""
    opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    with open(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise Damage(f"{path.name} is not a plain file")
        return file.read()


def is_there(path):
    return os.path.lexists(path)


def lines_of(path):
    """The lines of a text, each with its end."""
    text = content(path).decode()
    if text and not text.endswith("\n"):
        raise Damage(f"{path.name} is cut short")
    return text.split("\n")[:-1]


def read_seals(path):
    seals = []
    for line in lines_of(path):
        at, size, root, mac = line.split(" ")
        seals.append((whole(at), whole(size), hash_of(root), hash_of(mac)))
    if seals and seals[0][0] != 0:
        raise Damage(f"the list of seals begins with seal {seals[0][0]}")
    for before, after in zip(seals, seals[1:]):
        if not before[0] <= after[0] <= before[0] + 1 or after[1] < before[1] or before == after:
            raise Damage(f"seal {after[0]} does not follow seal {before[0]}")
    return seals


def check_seals(seals, origin, seal):
    """With the exported key each seal from its epoch on is known to be the log's own."""
    word, epoch, key = seal.strip().split("+", 2)
    epoch, key = whole(epoch), hash_of(key)
    if word != "aops-seal":
        raise Damage("no key of a seal")
    for at, size, root, mac in seals:
        if at > epoch + len(seals):
            raise Damage(f"seal {at} is none of the key that was exported")
        while epoch < at:
            epoch, key = epoch + 1, hmac.digest(key, b"aops-seal/v1 next", "sha256")
        text = f"aops-seal/v1\nepoch {at}\n{origin}\n{size}\n{base64.b64encode(root).decode()}\n".encode()
        if epoch == at and hmac.digest(key, text, "sha256") != mac:
            raise Damage(f"seal {at} was not made with this key")


def read_events(path, place, signed):
    """The log's own entries, a chain, each in the log: their digests, the leaves of what a person removed or set aside, and the
    leaf from which on no command that words alone held can have read the keys."""
    digests, explained, head, held = [], set(), "0" * 64, 0
    for line in lines_of(path) if is_there(path) else []:
        entry, digest = entry_of(line.encode())
        if entry["prev_entry_digest"] != head or entry["sequence_number"] != len(digests) + 1 or bytes.fromhex(digest) not in place:
            raise Damage(f"entry {len(digests) + 1} of the log's own is not what was signed")
        if entry["type"] in ("removed", "aside") and place[bytes.fromhex(digest)] < signed:
            for first, count in entry["with"]["spans"]:
                explained.update(range(first, first + min(count, len(place))))
        if entry["type"] == "unheld":
            held = len(place) + 1
        elif entry["type"] == "key" and held > len(place) and place[bytes.fromhex(digest)] < signed:
            held = place[bytes.fromhex(digest)]
        head = digest
        digests.append(bytes.fromhex(digest))
    return digests, explained, held


def tile_name(level, index):
    name = f"{index % 1000:03}"
    while index := index // 1000:
        name = f"x{index % 1000:03}/{name}"
    return f"tile/{level}/{name}"


def check_tiles(folder, leaves, signed):
    """Every tile is what the leaves say, those of the checkpoint are there, and nothing else lies beside them."""
    right, needed, level, hashes = {}, [], 0, [leaf(entry) for entry in leaves]
    while hashes:
        full, rows = signed >> 8 * level, [hashes[at : at + 256] for at in range(0, len(hashes), 256)]
        for index, row in enumerate(rows):
            right[tile_name(level, index)] = b"".join(row)
            width = min(256, full - 256 * index)
            if width > 0:
                needed.append((tile_name(level, index), width))
        hashes, level = [fold(row) for row in rows if len(row) == 256], level + 1
    found = {}
    for above, folders, files in os.walk(folder / "tile"):
        for path in (pathlib.Path(above) / name for name in files):
            found[path.relative_to(folder).as_posix()] = content(path)
        if any((pathlib.Path(above) / name).is_symlink() for name in folders):
            raise Damage("a link in the place of tiles")
    if is_there(folder / "tile") and ((folder / "tile").is_symlink() or not (folder / "tile").is_dir()):
        raise Damage("the tiles are no folder")
    for path, has in found.items():
        name, _, width = path.partition(".p/")
        width = whole(width) if width else 256
        wanted = right.get(name, b"")
        if not (0 < width < 256 or path == name) or len(wanted) < 32 * width or not wanted[: 32 * width].startswith(has):
            raise Damage(f"{path} is no tile of this log")
    for name, width in needed:
        full = right[name]
        if found.get(name if width == 256 else f"{name}.p/{width}") != full[: 32 * width] and (len(full) < 32 * 256 or found.get(name) != full):
            raise Damage(f"{name} is gone, or no tile of this log")


def fold(hashes):
    """The root of a full tree."""
    while len(hashes) > 1:
        hashes = [node(left, right) for left, right in zip(hashes[::2], hashes[1::2])]
    return hashes[0]


def recorded(folder, trace, size):
    """The leaves that the log's own hint calls this session's."""
    leaves = set()
    for path in filter(pathlib.Path.is_file, folder.iterdir()) if folder.is_dir() else []:
        name, *lines = path.read_bytes().decode(errors="replace").split("\n")
        if name == trace.replace("\n", " "):
            for words in (line.split(" ") for line in lines):
                if len(words) == 6 and all(map(WHOLE.fullmatch, words[:5])):
                    leaves.update(range(int(words[0]), min(int(words[0]) + int(words[1]), size)))
    return leaves


def verify_log(folder, trust, seal, sessions, are_all):
    # The signatures.
    head = Checkpoint(content(folder / "checkpoint").decode())
    tier(head.signers([*trust.keys, *trust.old]), trust)
    signed, witnessed, claims = head.size, 0, [(head.size, head.root)]
    if is_there(folder / "witnessed"):
        seen = Checkpoint(content(folder / "witnessed").decode())
        claims.append((seen.size, seen.root))
        if tier(seen.signers([*trust.keys, *trust.old, *trust.witnesses]), trust) == "witnessed":
            witnessed = seen.size
    seals = read_seals(folder / "seals")
    if not seals or seals[-1][1] < head.size:
        raise Damage("the last seal is older than the checkpoint")
    if seal:
        check_seals(seals, head.origin, seal)
    claims += [(size, root) for _, size, root, _ in seals]
    # The tree.
    data = content(folder / "leaves")
    leaves = [data[at : at + 32] for at in range(0, len(data) - 31, 32)]
    tree = Tree()
    for size, root in sorted(claims):
        if size > len(leaves):
            raise Damage(f"the log has {len(leaves)} leaves, but {size} were signed")
        while tree.size < size:
            tree.push(leaves[tree.size])
        if tree.root() != root:
            raise Damage(f"another root at {size}")
    check_tiles(folder, leaves, head.size)
    # The entries.
    place = {content: at for at, content in enumerate(leaves)}
    own, explained, held = read_events(folder / "events.jsonl", place, signed)
    accounted = {place[digest] for digest in own} | explained
    if recorded(folder / "sessions", "log", len(leaves)) - accounted:
        raise Damage("entries of the log's own are gone")
    told = []
    for session in sessions:
        said, trace, digests = walk(session)
        digests = [bytes.fromhex(digest) for digest in digests]
        has = {place[digest] for digest in digests if digest in place}
        far = lambda size: next((n for n, digest in enumerate(digests) if place.get(digest, size) >= size), len(digests))
        missing = recorded(folder / "sessions", trace or "", len(leaves)) - has - explained
        if said["ok"] and missing:
            said = {**said, "ok": False, "code": "STATE_RECOVERY_FAILED", "seq": far(signed) + 1}
        level = "witnessed" if digests and far(witnessed) == len(digests) else "sealed" if digests and far(signed) == len(digests) else "intact"
        if any(at < held for at in has):
            level = "intact"
        accounted |= has
        told.append({**said, "sealed_to": far(signed), "witnessed_to": far(witnessed), "missing": len(missing), "tier": level if said["ok"] else None})
    lost = len(leaves) - len([at for at in accounted if at < len(leaves)])
    ok = all(one["ok"] for one in told) and not (are_all and lost)
    return {"ok": ok, "origin": head.origin, "signed": signed, "witnessed": witnessed, "leaves": len(leaves), "seals": len(seals), "sessions": told, "lost": lost}


def verify_proof(text, trust):
    bare, begins = text.removeprefix("aops-proof/v1 intact\nextra "), "c2sp.org/tlog-proof@v1\nextra "
    if bare != text:
        entry = unbase(bare.removesuffix("\n")).decode()
        if not bare.endswith("\n") or is_digest(entry):
            raise Damage("a digest alone proves nothing without a signed log")
        entry_of(entry.encode())
        return {"ok": True, "tier": "intact", "entry": entry}
    head, parted, note = text.partition("\n\n")
    if not head.startswith(begins) or not parted:
        raise Damage("no proof")
    # The signatures.
    checkpoint = Checkpoint(note)
    signers = checkpoint.signers([*trust.keys, *trust.old, *trust.witnesses])
    reached = tier(signers, trust)
    # The tree.
    extra, index, *path = head.removeprefix(begins).split("\n")
    if not index.startswith("index ") or len(path) > 64:
        raise Damage("no proof")
    entry, index = unbase(extra).decode(), whole(index.removeprefix("index "))
    digest = entry if is_digest(entry) else entry_of(entry.encode())[1]
    if climb(bytes.fromhex(digest), index, checkpoint.size, [hash_of(line) for line in path]) != checkpoint.root:
        raise Damage("the entry is not in the log that this checkpoint describes")
    times = {f"{key.name}+{key.id.hex()}": time for key, time in signers.items() if time}
    return {"ok": True, "tier": reached, "entry": entry, "index": index, "size": checkpoint.size, "times": times}


class Trust:
    def __init__(self, given):
        self.keys, self.old, self.witnesses = ([Key(text) for text in texts] for texts in (given.key, given.old, given.witness))
        self.quorum = given.quorum


def parser():
    made = argparse.ArgumentParser()
    for name in ("--log", "--proof", "--seal"):
        made.add_argument(name)
    for name in ("--key", "--old", "--witness"):
        made.add_argument(name, action="append", default=[])
    made.add_argument("--quorum", type=int, default=0)
    made.add_argument("--all", action="store_true")
    made.add_argument("folders", nargs="*", type=pathlib.Path)
    return made


def answers(arguments):
    given = parser().parse_args(arguments)
    try:
        if given.log:
            return [verify_log(pathlib.Path(given.log), Trust(given), given.seal, given.folders, given.all)]
        if given.proof:
            return [verify_proof(pathlib.Path(given.proof).read_bytes().decode(), Trust(given))]
        return [walk(folder)[0] for folder in given.folders]
    except ODD as damage:
        return [{"ok": False, "tier": None, "why": str(damage)}]


if __name__ == "__main__":
    if sys.argv[1:] == ["--canonical"]:
        for line in sys.stdin.buffer:
            sys.stdout.buffer.write(canonical(json.loads(line)) + b"\n")
        sys.exit()
    told = []
    for arguments in map(json.loads, sys.stdin) if sys.argv[1:] == ["--batch"] else [sys.argv[1:]]:
        for answer in answers(arguments):
            print(json.dumps(answer), flush=True)
            told.append(answer["ok"])
    # As our own program: 4 for damage, and nothing to verify is not verified.
    sys.exit(0 if told and all(told) else 4)
