#!/usr/bin/env bash
# Checks attested commits with git, jq, openssl and xxd alone, where aops-hook cannot be installed: commits that have
# their own note (binding `commit`), levels A0 to A3. Rebased and squashed commits need `aops-hook verify-commit`.
#
# usage: verify-commit.sh BASE HEAD [LEVEL]      SIGNERS=.aops/signers (read from BASE)   WITNESSES="key key"
# exit:  0 all reach LEVEL (A0 unless given), 1 one does not, 2 usage, 3 cannot be checked
set -euo pipefail
export GIT_NO_REPLACE_OBJECTS=1 GIT_GRAFT_FILE=/dev/null/none LC_ALL=C
[[ $# -ge 2 && ${3:-A0} =~ ^A[0-3]$ ]] || { echo "usage: $0 BASE HEAD [A0|A1|A2|A3]" >&2; exit 2; }
base=$1 head=$2 want=${3:-A0}
scratch=$(mktemp -d) && trap 'rm -rf "$scratch"' EXIT
[[ $(git rev-parse --is-shallow-repository) == false ]] || { echo "cannot be checked: a shallow clone" >&2; exit 3; }
list=$(git show "$base:${SIGNERS:-.aops/signers}" | grep -v '^ *#') || { echo "no list of signers in $base" >&2; exit 3; }
commits=$(git rev-list --topo-order --reverse "$base..$head") || commits=
[[ -n $commits ]] || { echo "cannot be checked: no commits" >&2; exit 3; }

hex() { xxd -p | tr -d '\n'; }
digest() { sha256sum | cut -d' ' -f1; }
raw() { openssl base64 -d -A; }
# Ed25519: key and signature in hex, the message on standard input.
verify() {
  cat >"$scratch/message"
  printf '302a300506032b6570032100%s' "$1" | xxd -r -p >"$scratch/key"
  printf '%s' "$2" | xxd -r -p >"$scratch/sig"
  openssl pkeyutl -verify -pubin -keyform DER -inkey "$scratch/key" -rawin -in "$scratch/message" -sigfile "$scratch/sig" >/dev/null 2>&1
}
# `name+id` of a key, and its 32 bytes, if it is of this kind (01: a log, 04: a witness).
bytes() { local all; all=$(printf '%s' "${1##*+}" | raw | hex); [[ $all == "$2"* && ${#all} == 66 ]] && echo "${all:2}"; }
node() { printf '01%s%s' "$1" "$2" | xxd -r -p | digest; }

# The root that a leaf leads to (RFC 9162, 2.1.3.2): leaf, index, size, then the hashes of the way.
climb() {
  local root=$1 at=$2 last=$(($3 - 1)) sibling; shift 3
  for sibling; do
    ((last > 0)) || return 1
    if ((at % 2 || at == last)); then
      root=$(node "$sibling" "$root")
      while ((at % 2 == 0 && at)); do at=$((at / 2)) last=$((last / 2)); done
    else
      root=$(node "$root" "$sibling")
    fi
    at=$((at / 2)) last=$((last / 2))
  done
  ((last == 0)) && echo "$root"
}

# The signature line of a key under the note in $scratch/note, in hex, without the four bytes of its id.
signature_of() { { grep -F -- "— ${1%%+*} " "$scratch/note" || true; } | while read -r _ _ line; do
  line=$(printf '%s' "$line" | raw | hex); id=${1#*+}; [[ ${line:0:8} == "${id%%+*}" ]] && echo "${line:8}"; done | head -1; }

# The statement with this digest is in the log of this key; prints when each witness saw it.
in_log() { # DIGEST COMMIT KEY PROOF
  local proof=$4 extra index size root leaf text
  printf '%s\n' "${proof#*$'\n\n'}" >"$scratch/note"
  text=$(sed '/^$/,$d' "$scratch/note"; echo .) && text=${text%.}
  extra=$(sed -n '2s/^extra //p' <<<"$proof" | raw)
  index=$(sed -n '3s/^index //p' <<<"$proof")
  size=$(sed -n 2p <<<"$text") root=$(sed -n 3p <<<"$text" | raw | hex)
  [[ $(head -1 <<<"$text") == "${3%%+*}" && $(head -1 <<<"$proof") == c2sp.org/tlog-proof@v1 ]] || return 1
  jq -e --arg digest "$1" --arg commit "$2" '.type == "attest" and .with.statement_sha256 == $digest and .with.commit == $commit' <<<"$extra" >/dev/null || return 1
  leaf=$(jq -r ._digest <<<"$extra")
  [[ $(printf '{%s' "${extra#\{\"_digest\":\"????????????????????????????????????????????????????????????????\",}" | digest) == "$leaf" ]] || return 1
  mapfile -t way < <(sed -n '4,/^$/p' <<<"$proof" | sed '/^$/d' | while read -r line; do raw <<<"$line" | hex; echo; done)
  [[ $(climb "$(printf '00%s' "$leaf" | xxd -r -p | digest)" "$index" "$size" "${way[@]}") == "$root" ]] || return 1
  printf '%s' "$text" | verify "$(bytes "$3" 01)" "$(signature_of "$3")" || return 1
  for witness in ${WITNESSES:-}; do
    local seen; seen=$(signature_of "$witness")
    [[ -n $seen ]] || continue
    printf 'cosignature/v1\ntime %d\n%s' "0x${seen:0:16}" "$text" | verify "$(bytes "$witness" 04)" "${seen:16}" || return 1
    echo "$((16#${seen:0:16}))"
  done
}

# The level that the facts of a statement reach, without a witness.
level() { jq -r '.predicate.runDetails.byproducts[0].annotations as $f
  | ($f.mode != "observe" and $f.jail.unjailed == 0 and ($f.jail.commands == 0 or ($f.jail.least // "words") != "words")
     and ($f.dangerOff | length) == 0 and $f.blocks == 0 and $f.tampering == 0) as $guarded
  | ($f.plan.verdict == "PROCEED" and ($f.plan.by == "critic" or $f.plan.by == "person") and $f.qa.verdict == "VERIFIED"
     and $f.qa.by == "qa-verifier" and $f.qa.after and ([$f.waivers[] | select(.of != "call")] | length) == 0
     and ($f.outside | length) == 0 and $f.files != null and ([$f.files[]? | select(.by != "session")] | length) == 0
     and ([$f.tests[] | select(.tree == $f.tree)] | group_by(.name) | map(max_by(.entry).exit == 0) | length > 0 and all)) as $verified
  | if $guarded and $verified then "A2" elif $guarded then "A1" else "A0" end'; }

# The best level of one commit, and who made it; nothing where no statement of its note counts.
check() { # COMMIT
  local note envelope payload row key sig best='' parent tree change proof seen this may
  note=$(git notes --ref aops-attest show "$1" 2>/dev/null) || { echo "no attestation"; return 1; }
  ((${#note} <= 4 << 20)) || { echo "the note is too large"; return 1; }
  parent=$(git rev-parse -q --verify "$1^") || parent=$(git hash-object -t tree /dev/null)
  change=$(git diff-tree -r -z --no-renames --full-index --no-commit-id --ignore-submodules=none "$parent" "$1" | digest)
  tree=$(git rev-parse "$1^{tree}")
  while read -r envelope; do
    payload=$(jq -r .payload <<<"$envelope" | raw; echo .) && payload=${payload%.}
    row=$(jq -c --argjson envelope "$envelope" 'select(.key | split("+")[0:2] | join("+") | IN($envelope.signatures[].keyid))' <<<"$list" | head -1)
    [[ -n $row ]] || { why="an unknown key"; continue; }
    key=$(jq -r .key <<<"$row") may=$(jq -r '.may // "A4"' <<<"$row")
    sig=$(jq -r --arg key "${key%+*}" '.signatures[] | select(.keyid == $key).sig' <<<"$envelope" | raw | hex)
    printf 'DSSEv1 28 application/vnd.in-toto+json %d %s' "$(printf %s "$payload" | wc -c)" "$payload" | verify "$(bytes "$key" 01)" "$sig" || { why="a wrong signature"; continue; }
    jq -e --arg now "$(date -u +%FT%TZ)" '(.until // "9999") > $now and (.from // "0") <= $now' <<<"$row" >/dev/null || { why="a key that is over"; continue; }
    jq -e --arg commit "$1" --arg change "$change" --arg tree "$tree" '.subject[0].digest.gitCommit == $commit and .subject[1].digest.sha256 == $change
      and .predicate.runDetails.byproducts[0].annotations.tree == $tree' <<<"$payload" >/dev/null || { why="about another commit"; continue; }
    proof=$(printf %s "$payload" | digest)
    while read -r line; do
      seen=$(in_log "$proof" "$1" "$key" "$(jq -r .proof <<<"$line")") || continue
      this=$(level <<<"$payload")
      [[ $this == A2 && -n ${WITNESSES:-} && $(wc -w <<<"$seen") == $(wc -w <<<"$WITNESSES") ]] && this=A3
      [[ $this > $may ]] && this=$may
      [[ $this > ${best%% *} ]] && best="$this $(jq -r '.predicate.buildDefinition.internalParameters.agent | "\(.runtime.name // "?") \(.runtime.version // ""), \(.model.modelId // "?")"' <<<"$payload")$( [[ $this == A3 ]] && date -u -d "@$(sort -n <<<"$seen" | tail -1)" +', witnessed %FT%TZ')"
    done < <(grep -F "\"$proof\"" <<<"$note")
    why="not in the log"
  done < <(grep '"payloadType":"application/vnd.in-toto+json"' <<<"$note")
  if [[ -n $best ]]; then echo "$best"; else echo "${why:-no attestation}"; return 1; fi
}

code=0
for commit in $commits; do
  subject=$(git show -s --format=%s "$commit" | tr -d '\000-\037')
  if found=$(check "$commit") && [[ ! ${found%% *} < $want ]]; then
    echo "${commit:0:9} $found  $subject"
  else
    code=1
    echo "::error title=attest::${commit:0:9} $found  ($subject)"
  fi
done
exit $code
