#!/bin/sh
# The first run on a Mac. The program beside this script was built for macOS and never run there.
# Everything happens in a throwaway home: your own files and settings are not touched, and nothing stays.
#
# usage: ./first-run.sh [PROGRAM]
#
# One line for each thing that was tried: `ok` it works, `bad` it does not, with what was said. Please send all of it to
# the project. Exit 0: everything worked.
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
program=${1:-$here/aops-hook}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf -- "$scratch"' EXIT
mkdir "$scratch/home" "$scratch/project"
cd "$scratch/project" || exit 1
failed=0

# Runs the program in the throwaway home.
own() { env -i HOME="$scratch/home" PATH="/usr/bin:/bin:/usr/sbin:/sbin" TMPDIR="$scratch" LC_ALL=C "$program" "$@"; }

# try NAME COMMAND…: one line with the last words of what was said; all of them if it failed.
try() {
    name=$1
    shift
    if "$@" >"$scratch/said" 2>&1 </dev/null; then
        printf 'ok   %-10s %s\n' "$name" "$(grep . "$scratch/said" | tail -n 1)"
    else
        printf 'bad  %-10s exit %s: %s\n' "$name" "$?" "$*"
        # What cannot be started may be read as a script, and said with its bytes.
        tail -n 30 "$scratch/said" | tr -cd '[:print:]\n' | sed 's/^/       /'
        failed=$((failed + 1))
    fi
}

system() { uname -srm && { ! command -v sw_vers >/dev/null || sw_vers -productVersion; }; }
signature() { ! command -v codesign >/dev/null || codesign --verify --verbose "$program"; }
event() { printf '{"session_id":"first-run","hook_event_name":"%s","cwd":"%s"%s}' "$1" "$scratch/project" "$2" | own "$1"; }
session() {
    event SessionStart ',"source":"startup"' && event UserPromptSubmit ',"prompt":"look around"' &&
        event PreToolUse ',"tool_name":"Read","tool_input":{"file_path":"/etc/hosts"},"tool_use_id":"t1"' && echo "three events were answered"
}
held() { own --shell 'echo a held command ran'; }

try system system
try signature signature
try version own --version
try demo own demo
try install own install
try doctor own doctor
try session session
try verify own verify --all
try shell held
try uninstall own uninstall --yes

if [ "$failed" = 0 ]; then
    echo "all of it works here"
else
    echo "$failed did not work"
    echo "hint: where macOS says that the program cannot be opened, run \`xattr -d com.apple.quarantine $program\`, then this again"
    exit 1
fi
