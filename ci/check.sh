#!/usr/bin/env bash
# What the GitHub Action and the GitLab template run: fetches the notes of the commits' own repository, gets the program,
# and checks BASE..HEAD. Reads BASE, HEAD, HEAD_REPO (where the notes are), ORIGINALS (the request's own ref at origin), REQUIRE,
# SIGNERS, WITNESSES, PEOPLE, WAIT, PROGRAM and SHA256, SUMMARY (Markdown goes there), REPORT (JUnit goes there).
# exit: as `aops-hook verify-commit`
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
wait=${WAIT:-120s} require=${REQUIRE:-A0}

# Without notes there is nothing to check by, and the check below says so.
fetch() { [[ -z ${HEAD_REPO:-} ]] || git fetch --quiet "$HEAD_REPO" +refs/notes/aops-attest:refs/notes/aops-attest || true; }
fetch
# The commits as they were pushed: what was squashed or rebased since is bound by them.
[[ -z ${ORIGINALS:-} ]] || git fetch --quiet origin "+$ORIGINALS:refs/aops/originals" || true

hook=aops-hook
if [[ -n ${PROGRAM:-} ]]; then
  [[ ${SHA256:-} =~ ^[0-9a-f]{64}$ ]] || { echo "a program without its digest is not run: set sha256" >&2; exit 2; }
  hook=$(mktemp -d)/aops-hook
  curl --fail --silent --show-error --location --output "$hook" "$PROGRAM"
  echo "$SHA256  $hook" | sha256sum --check --quiet
  chmod +x "$hook"
elif ! command -v aops-hook >/dev/null; then
  echo "aops-hook is not installed: only commits with their own note are checked, up to A3"
  [[ $wait =~ ^([0-9]+)(s|m|h|)$ ]] || { echo "WAIT is a time, such as 120s" >&2; exit 2; }
  case ${BASH_REMATCH[2]} in m) wait=$((BASH_REMATCH[1] * 60)) ;; h) wait=$((BASH_REMATCH[1] * 3600)) ;; *) wait=${BASH_REMATCH[1]} ;; esac
  until code=0; said=$(bash "$here/verify-commit.sh" "$BASE" "$HEAD" "$require" 2>&1) || code=$?; [[ $code != 1 ]] || ((SECONDS >= wait)); do
    sleep 2
    fetch
  done
  printf '%s\n' "$said"
  exit "$code"
fi

words=("$BASE..$HEAD" --signers "$BASE:${SIGNERS:-.aops/signers}" --require "$require" --people "${PEOPLE:-signed}")
for witness in ${WITNESSES:-}; do words+=(--witness "$witness"); done
waiting=(--wait "$wait")
[[ -z ${HEAD_REPO:-} ]] || waiting+=(--notes "$HEAD_REPO")
# The paragraph for people, then a line for each commit; the last decides.
"$hook" verify-commit "${words[@]}" "${waiting[@]}" --format markdown >"${SUMMARY:-/dev/stdout}" || true
if [[ -n ${GITHUB_STEP_SUMMARY:-} && -n ${SUMMARY:-} ]]; then cat "$SUMMARY" >>"$GITHUB_STEP_SUMMARY"; fi
if [[ -n ${REPORT:-} ]]; then "$hook" verify-commit "${words[@]}" --format junit >"$REPORT" || true; fi
code=0
said=$("$hook" verify-commit "${words[@]}") || code=$?
# `c9957bc26 NONE no attestation  subject`: the forge shows it beside the request.
sed -E 's/^([0-9a-f]{9}) [A-Z_]{4,} (.*)  (.*)$/::error title=attest::\1 \2  (\3)/' <<<"$said"
exit "$code"
