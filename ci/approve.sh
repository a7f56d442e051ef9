#!/usr/bin/env bash
# Approves the changes of commits with your own ssh key (level A4): a line in the note of each, signed. For a person at a
# terminal; an agent has no business with your key. Needs git, ssh-keygen and jq.
#
# usage: approve.sh RANGE [KEY]      KEY: ~/.ssh/id_ed25519 unless given; a public key is looked for in the ssh agent
set -euo pipefail
export GIT_NO_REPLACE_OBJECTS=1 GIT_GRAFT_FILE=/dev/null/none LC_ALL=C
[[ $# -ge 1 && $1 != -* ]] || { echo "usage: $0 RANGE [KEY]" >&2; exit 2; }
key=${2:-$HOME/.ssh/id_ed25519}
[[ -f $key ]] || { echo "there is no key at $key" >&2; exit 2; }
[[ -z ${CLAUDECODE:-} ]] || { echo "an approval is a person's: run this in a terminal of your own" >&2; exit 2; }
[[ $(git rev-parse --is-shallow-repository) == false ]] || { echo "a shallow clone has no whole changes: git fetch --unshallow" >&2; exit 3; }
[[ $1 == *..* ]] && how=(--topo-order --reverse) || how=(--no-walk)
commits=$(git rev-list "${how[@]}" --end-of-options "$1")
[[ -n $commits ]] || { echo "no commits in $1" >&2; exit 3; }
scratch=$(mktemp -d) && trap 'rm -rf "$scratch"' EXIT
for commit in $commits; do
  parent=$(git rev-parse -q --verify "$commit^") || parent=$(git hash-object -t tree /dev/null)
  git diff-tree -r -z --no-renames --full-index --no-commit-id --ignore-submodules=none "$parent" "$commit" >"$scratch/records"
  rm -f "$scratch/records.sig"
  ssh-keygen -q -Y sign -n aops-approve -f "$key" "$scratch/records"
  jq -cn --arg for "$(sha256sum <"$scratch/records" | cut -d' ' -f1)" --rawfile signature "$scratch/records.sig" \
    '{aops: "approval", for: $for, signature: $signature}' >"$scratch/line"
  # A line stands alone, so notes of two clones can be joined.
  { git notes --ref aops-attest show "$commit" 2>/dev/null || true; cat "$scratch/line"; } | sed '/^$/d' >"$scratch/note"
  git notes --ref aops-attest add -f -F "$scratch/note" "$commit" 2>/dev/null
  echo "approved ${commit:0:9} $(git show -s --format=%s "$commit")"
done
echo "push it: git push origin refs/notes/aops-attest"
