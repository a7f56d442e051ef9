#!/usr/bin/env bash
# What the GitHub Action and the GitLab template run: fetches the notes of the commits' own repository, gets the program,
# and checks BASE..HEAD. Reads BASE, HEAD, HEAD_REPO, REQUIRE, SIGNERS, WITNESSES, PEOPLE, WAIT, PROGRAM, SHA256, SUMMARY.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")

# Without notes there is nothing to check by, and the check below says so.
[[ -z ${HEAD_REPO:-} ]] || git fetch --quiet "$HEAD_REPO" +refs/notes/aops-attest:refs/notes/aops-attest || true

hook=aops-hook
if [[ -n ${PROGRAM:-} ]]; then
  [[ ${SHA256:-} =~ ^[0-9a-f]{64}$ ]] || { echo "a program without its digest is not run: set sha256" >&2; exit 2; }
  hook=$(mktemp -d)/aops-hook
  curl --fail --silent --show-error --location --output "$hook" "$PROGRAM"
  echo "$SHA256  $hook" | sha256sum --check --quiet
  chmod +x "$hook"
elif ! command -v aops-hook >/dev/null; then
  echo "aops-hook is not installed: only commits with their own note are checked, up to A3"
  exec bash "$here/verify-commit.sh" "$BASE" "$HEAD" "${REQUIRE:-A0}"
fi

words=("$BASE..$HEAD" --signers "$BASE:${SIGNERS:-.aops/signers}" --require "${REQUIRE:-A0}" --people "${PEOPLE:-signed}")
for witness in ${WITNESSES:-}; do words+=(--witness "$witness"); done
# The paragraph for people, then a line for each commit; the second decides.
"$hook" verify-commit "${words[@]}" --wait "${WAIT:-120s}" --format markdown >"${SUMMARY:-/dev/stdout}" || true
if [[ -n ${GITHUB_STEP_SUMMARY:-} && -n ${SUMMARY:-} ]]; then cat "$SUMMARY" >>"$GITHUB_STEP_SUMMARY"; fi
"$hook" verify-commit "${words[@]}"
