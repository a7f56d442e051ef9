#!/usr/bin/env bash
# Checks attested commits with git, jq, openssl and xxd alone, where aops-hook cannot be installed: commits that have
# their own note (binding `commit`), levels A0 to A3. Rebased and squashed commits need `aops-hook verify-commit`.
#
# usage: verify-commit.sh BASE HEAD [LIST]       LIST: a level (A0 to A3) and properties, with commas; A0 unless given
#        SIGNERS=.aops/signers (read from BASE)  WITNESSES="key key"  PEOPLE=signed (with ssh-keygen), any or none
# exit:  0 all meet it, 1 one does not, 2 usage, 3 cannot be checked, 4 a signature or proof of a trusted key is wrong
set -euo pipefail
export GIT_NO_REPLACE_OBJECTS=1 GIT_GRAFT_FILE=/dev/null/none LC_ALL=C
usage() { echo "usage: $0 BASE HEAD [LIST], PEOPLE=signed, any or none: $1" >&2; exit 2; }
[[ $# -ge 2 ]] || usage "two commits are needed"
base=$1 head=$2 want=${3:-A0} people=${PEOPLE:-signed}
IFS=', ' read -ra wishes <<<"$want"
for wish in "${wishes[@]}"; do
  [[ $wish =~ ^(A[0-3]|guarded|planned|qa|tests|no-waiver|no-outside|witnessed|attended)$ ]] || usage "\`$wish\` needs aops-hook, or is nothing"
done
[[ $people =~ ^(signed|any|none)$ ]] || usage "PEOPLE is \`$people\`"
scratch=$(mktemp -d) && trap 'rm -rf "$scratch"' EXIT
[[ $(git rev-parse --is-shallow-repository) == false ]] || { echo "cannot be checked: a shallow clone" >&2; exit 3; }
list=$(git show "$base:${SIGNERS:-.aops/signers}" 2>/dev/null | grep -v '^ *#') || { echo "no list of signers in $base" >&2; exit 3; }
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

# What one statement says, as far as its key may: for `judge`.
claims() { # KEY MAY WITNESSED
  jq -c --arg key "$1" --arg may "$2" --arg seen "$3" '.predicate as $p | $p.runDetails.byproducts[0].annotations as $f
  | {"guarded": 1, "planned": 2, "qa": 2, "tests": 2, "no-waiver": 2, "attended": 0} as $of | ($may[1:] | tonumber) as $cap
  | ($f.files // []) as $files | $p.buildDefinition.internalParameters.agent as $agent
  | {"guarded": ($f.mode != "observe" and $f.jail.unjailed == 0 and ($f.jail.commands == 0 or ($f.jail.least // "words") != "words")
        and ($f.dangerOff | length) == 0 and $f.blocks == 0 and $f.tampering == 0),
     "planned": ($f.plan.verdict == "PROCEED" and ($f.plan.by == "critic" or $f.plan.by == "person")),
     "qa": ($f.qa.verdict == "VERIFIED" and $f.qa.by == "qa-verifier" and $f.qa.after),
     "tests": ([$f.tests[] | select(.tree == $f.tree)] | group_by(.name) | map(max_by(.entry).exit == 0) | length > 0 and all),
     "no-waiver": ([$f.waivers[] | select(.of != "call")] | length == 0), "attended": $f.attended} as $has
  | {session: [$key, $p.runDetails.metadata.invocationId], cap: $cap, to: $f.entries.to, listed: ($f.files != null),
     props: ([$of | to_entries[] | select($has[.key] and .value <= $cap).key] + if $seen != "" then ["witnessed"] else [] end),
     seen: $seen, takes: ($files | length == 0 or any(.by != "outside")), wrote: [$files[] | select(.by == "session").path],
     others: ([$f.outside[], ($files[] | select(.by != "session").path)] | unique),
     who: "\($agent.runtime.name // "?") \($agent.runtime.version // ""), \($agent.model.modelId // "?")"}'
}

# Of each session the best statement, of all sessions what they share: level, then who made it, then what is not met.
judge() { jq -rs --arg want "$want" 'group_by(.session) | map(max_by([(.props | length), -(.others | length), .to]))
  | (map(select(.takes)) | select(length > 0)) // . | . as $all
  | (reduce .[1:][].props as $more (.[0].props; . - (. - $more))) as $shared | (map(.cap) | min) as $cap
  | (all(.listed) and all(. as $one | $one.others - [$all[] | select(.session != $one.session).wrote[]] | length == 0)) as $whole
  | ($shared + if $whole and $cap >= 2 then ["no-outside"] else [] end) as $props
  | [["guarded"], ["planned", "qa", "tests", "no-waiver", "no-outside"], ["witnessed"]] as $steps
  | ([[range(0; 4) | select(. as $n | $steps[:$n] | add // [] | . - $props | length == 0)] | max, $cap] | min) as $level
  | ([$want | splits("[, ]+") | select(length > 0) | if test("^A[0-3]$") then select((.[1:] | tonumber) > $level) else select([.] - $props | length > 0) end]) as $unmet
  | "A\($level) \($all | map(.who) | unique | join(" and "))\($all | map(.seen | select(. != "")) | max // "" | if . == "" then "" else ", witnessed \(.)" end)",
    ($unmet | join(", "))'; }

# A merge whose tree is what git makes of its parents adds nothing.
adds_nothing() { # COMMIT
  local parents made; read -ra parents < <(git show -s --format=%P "$1")
  ((${#parents[@]} == 2)) || return 1
  made=$(GIT_ATTR_SOURCE=$(git hash-object -t tree /dev/null) git -c core.attributesFile=/dev/null -c merge.renames=true -c merge.directoryRenames=conflict \
    -c merge.renormalize=false merge-tree --write-tree --no-messages --allow-unrelated-histories "${parents[@]}" 2>/dev/null) || return 1
  [[ $made == "$(git rev-parse "$1^{tree}")" ]]
}

# The owner of the ssh key in the list that signed a commit.
person() { # COMMIT
  local state name
  [[ $(git cat-file commit "$1" | sed -n '/^$/q; s/^gpgsig[^ ]* //p' | head -1) == "-----BEGIN SSH SIGNATURE-----" ]] || return 1
  jq -rs --arg now "$(date -u +%FT%TZ)" 'to_entries[] | select((.value.key | test("^(ssh-|ecdsa-|sk-)")) and (.value.until // "9999") > $now
    and (.value.from // "0") <= $now) | "signer-\(.key) \(.value.key | split(" ")[0:2] | join(" "))"' <<<"$list" >"$scratch/allowed"
  read -r state name < <(git -c gpg.format=ssh -c gpg.ssh.program=ssh-keygen -c gpg.ssh.allowedSignersFile="$scratch/allowed" show -s --format='%G? %GS' "$1" 2>/dev/null)
  [[ $state == G && $name == signer-* ]] && jq -rs --argjson at "${name#signer-}" '.[$at].owner' <<<"$list"
}

# What the statements of one commit prove, or why none of them counts (1), or that one was forged (4).
check() { # COMMIT
  local note envelope payload row key sig parent tree change proof seen why='' forged='' lines found
  : >"$scratch/claims"
  note=$(git notes --ref aops-attest show "$1" 2>/dev/null) || { echo "no attestation"; return 1; }
  ((${#note} <= 4 << 20)) || { echo "the note is too large"; return 1; }
  parent=$(git rev-parse -q --verify "$1^") || parent=$(git hash-object -t tree /dev/null)
  change=$(git diff-tree -r -z --no-renames --full-index --no-commit-id --ignore-submodules=none "$parent" "$1" | digest)
  tree=$(git rev-parse "$1^{tree}")
  while read -r envelope; do
    payload=$(jq -r .payload <<<"$envelope" | raw; echo .) && payload=${payload%.}
    row=$(jq -c --argjson envelope "$envelope" 'select(.key | split("+")[0:2] | join("+") | IN($envelope.signatures[].keyid))' <<<"$list" | head -1)
    [[ -n $row ]] || { why="an unknown key"; continue; }
    key=$(jq -r .key <<<"$row")
    sig=$(jq -r --arg key "${key%+*}" '.signatures[] | select(.keyid == $key).sig' <<<"$envelope" | raw | hex)
    printf 'DSSEv1 28 application/vnd.in-toto+json %d %s' "$(printf %s "$payload" | wc -c)" "$payload" | verify "$(bytes "$key" 01)" "$sig" || { forged="a wrong signature"; continue; }
    jq -e --arg now "$(date -u +%FT%TZ)" '(.until // "9999") > $now and (.from // "0") <= $now' <<<"$row" >/dev/null || { why="a key that is over"; continue; }
    jq -e --arg commit "$1" --arg change "$change" --arg tree "$tree" '.subject[0].digest.gitCommit == $commit and .subject[1].digest.sha256 == $change
      and .predicate.runDetails.byproducts[0].annotations.tree == $tree' <<<"$payload" >/dev/null || { why="about another commit"; continue; }
    proof=$(printf %s "$payload" | digest) lines=$(grep -F "\"$proof\"" <<<"$note") || { why="not in the log"; continue; }
    found=''
    while read -r line; do
      seen=$(in_log "$proof" "$1" "$key" "$(jq -r .proof <<<"$line")") || continue
      [[ -n ${WITNESSES:-} && $(wc -w <<<"$seen") == $(wc -w <<<"$WITNESSES") ]] && seen=$(date -u -d "@$(sort -n <<<"$seen" | tail -1)" +%FT%TZ) || seen=''
      claims "${key%+*}" "$(jq -r '.may // "A4"' <<<"$row")" "$seen" <<<"$payload" >>"$scratch/claims"
      found=1
    done <<<"$lines"
    [[ -n $found ]] || forged="not in the log: its proof is wrong"
  done < <(grep '"payloadType":"application/vnd.in-toto+json"' <<<"$note")
  [[ -s $scratch/claims ]] && { judge <"$scratch/claims"; return; }
  echo "${forged:-${why:-no attestation}}"
  [[ -z $forged ]] && return 1 || return 4
}

code=0
for commit in $commits; do
  subject=$(git show -s --format=%s "$commit" | tr -d '\000-\037')
  state=0 found=$(check "$commit") || state=$?
  unmet=$(sed -n 2p <<<"$found") found=$(head -1 <<<"$found")
  if [[ $state == 0 && -z $unmet ]]; then
    echo "${commit:0:9} $found  $subject"
  elif [[ $state == 1 ]] && adds_nothing "$commit"; then
    echo "${commit:0:9} a merge that adds nothing  $subject"
  elif [[ $state == 1 && $people == any ]]; then
    echo "${commit:0:9} by hand, not signed  $subject"
  elif [[ $state != 4 && $people == signed ]] && owner=$(person "$commit"); then
    echo "${commit:0:9} signed by $owner  $subject"
  else
    [[ $code == 4 ]] || code=1
    [[ $state == 4 ]] && code=4
    echo "::error title=attest::${commit:0:9} $found${unmet:+, not $unmet}  ($subject)"
  fi
done
exit $code
