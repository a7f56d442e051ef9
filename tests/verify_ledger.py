#!/usr/bin/env python3
"""Verifies a session folder without any of our code: digests, numbers, links, calls, and the state beside them.

usage: verify_ledger.py FOLDER…     prints a line each: {"ok", "entries", "code", "seq", "torn_bytes"}
       verify_ledger.py --canonical prints every line of standard input in the form of RFC 8785
"""
import hashlib
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


if __name__ == "__main__":
    if sys.argv[1:] == ["--canonical"]:
        for line in sys.stdin.buffer:
            sys.stdout.buffer.write(canonical(json.loads(line)) + b"\n")
        sys.exit()
    for folder in sys.argv[1:]:
        print(json.dumps(verify(pathlib.Path(folder))))
