// Checks an attestation with @sigstore/verify, as a bundle with a public key: node check.mjs NOTE KEY.pem KEYID
import { readFileSync } from 'node:fs';
import { createPublicKey } from 'node:crypto';
import { createRequire } from 'node:module';

// The packages are installed in the folder in which this runs.
const require = createRequire(`${process.cwd()}/`);
const { Verifier, toSignedEntity, toTrustMaterial } = require('@sigstore/verify');
const { bundleFromJSON } = require('@sigstore/bundle');
const [note, pem, keyid] = process.argv.slice(2);
const lines = readFileSync(note, 'utf8').split('\n').filter((line) => line.includes('"payloadType"'));
const envelope = JSON.parse(lines[0]);
const key = createPublicKey(readFileSync(pem, 'utf8')).export({ format: 'der', type: 'spki' });
const trust = toTrustMaterial(
  { tlogs: [], ctlogs: [], certificateAuthorities: [], timestampAuthorities: [] },
  { [keyid]: { rawBytes: key, keyDetails: 7, validFor: { start: new Date(0) } } },
);
const verify = (payload) => {
  const bundle = bundleFromJSON({
    mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
    verificationMaterial: { publicKey: { hint: keyid }, tlogEntries: [], timestampVerificationData: {} },
    dsseEnvelope: { ...envelope, payload },
  });
  new Verifier(trust, { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 }).verify(toSignedEntity(bundle));
};
verify(envelope.payload);
const changed = Buffer.from(envelope.payload, 'base64').toString().replace('"tampering":0', '"tampering":1');
try {
  verify(Buffer.from(changed).toString('base64'));
} catch {
  console.log('accepted');
  process.exit(0);
}
console.error('a changed payload was accepted');
process.exit(1);
