"""Checks an attestation with packages that know nothing of us: securesystemslib (signature), in-toto-attestation (statement and
provenance, without leniency).

usage: check.py NOTE KEY.pem KEYID
"""
import json
import sys

from cryptography.hazmat.primitives.serialization import load_pem_public_key
from google.protobuf import json_format
from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
from in_toto_attestation.predicates.vsa.v1 import vsa_pb2
from in_toto_attestation.v1 import statement, statement_pb2
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey


def parse(payload):
    """The statement and its predicate, in which no unknown field is let through."""
    parsed = json_format.Parse(payload, statement_pb2.Statement(), ignore_unknown_fields=False)
    statement.Statement.copy_from_pb(parsed).validate()
    predicate = json_format.MessageToDict(parsed.predicate)
    if parsed.predicate_type == "https://slsa.dev/provenance/v1":
        json_format.ParseDict(predicate, provenance_pb2.Provenance(), ignore_unknown_fields=False)
    else:
        # The package has `verifiedLevels` as one text; SLSA has a list of them.
        predicate["verifiedLevels"] = "".join(predicate["verifiedLevels"])
        json_format.ParseDict(predicate, vsa_pb2.VerificationSummary(), ignore_unknown_fields=False)


note, pem, keyid = sys.argv[1:]
if keyid == "vsa":
    parse(open(note).read())
    sys.exit()
key = SSlibKey.from_crypto(load_pem_public_key(open(pem, "rb").read()), keyid=keyid)
line = next(json.loads(line) for line in open(note) if '"payloadType"' in line)
envelope = Envelope.from_dict(line)
assert list(envelope.verify([key], 1)) == [keyid]
parse(envelope.payload)
envelope.payload = envelope.payload.replace(b'"tampering":0', b'"tampering":1')
try:
    envelope.verify([key], 1)
except VerificationError:
    print("accepted")
else:
    sys.exit("a changed payload was accepted")
