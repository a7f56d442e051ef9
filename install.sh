#!/bin/sh
# Puts aops-hook in place, registers it, and looks whether all is well. The program is the one beside this script, or is built.
set -eu

usage() {
    cat <<'HELP'
usage: ./install.sh [--user|--project|--local] [--mode LEVEL] [--fleet] [--dry-run]
       ./install.sh --plugin [--mode LEVEL] [--fleet]
       ./install.sh --uninstall [--user|--project|--local] [--yes] [--dry-run]

Takes the program that lies beside this script, or builds it with the Rust on this machine; puts it in
~/.local/bin, registers it in Claude Code's settings and runs `aops-hook doctor`.

  --user       register for all your sessions (default)
  --project    register in .claude/settings.json of the folder you are in, for everybody who works there; a
               script beside it finds aops-hook on each machine, or says that it is missing and passes
  --local      register in .claude/settings.local.json of the folder you are in
  --mode LEVEL how much of the loop is enforced: observe, guard, loop (recommended) or strict; without it you
               are asked once, and without a terminal the mode stays as it is
  --fleet      build with `fleet`, for machines that share runs, approvals and sessions (docs/fleet.md); takes
               longer, since it brings a PostgreSQL client
  --dry-run    build, show what would be registered, and leave everything as it is
  --plugin     only put the program in bin/ of this repository, whose plugin then runs it:
               claude --plugin-dir THIS_FOLDER
  --uninstall  take it out of the settings again, and remove the program
  --yes        with --uninstall: do not ask for a terminal
  --help       this text

Variables: AOPS_BIN_DIR (instead of ~/.local/bin), CLAUDE_CONFIG_DIR, CARGO_HOME, RUSTUP_HOME,
CARGO_TARGET_DIR, AOPS_PROGRAM (an aops-hook that is built already: nothing is built then).
HELP
}

say() { printf '%s\n' "$*"; }

fail() {
    printf 'install.sh: %s\n' "$1" >&2
    [ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2
    exit 1
}

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
action=install
mode=
features=--no-default-features
awaited=
for argument in "$@"; do
    if [ -n "$awaited" ]; then
        mode=$argument awaited=
        continue
    fi
    case $argument in
        --mode) awaited=yes ;;
        --mode=*) mode=${argument#--mode=} ;;
        -h | --help) usage; exit 0 ;;
        --uninstall) action=uninstall ;;
        --plugin) action=plugin ;;
        --fleet) features= ;;
        --dry-run) [ "$action" = uninstall ] || action=try ;;
        --user | --project | --local | --yes) ;;
        *) usage >&2; fail "unknown option \`$argument\`" ;;
    esac
done
case $awaited$mode in
    '' | observe | guard | loop | strict) ;;
    *) usage >&2; fail "no mode \`$mode\`" "--mode takes observe, guard, loop or strict" ;;
esac

# What is left goes to aops-hook.
count=$#
while [ "$count" -gt 0 ]; do
    case $1 in
        --uninstall | --plugin | --fleet) ;;
        --yes) [ "$action" != uninstall ] || set -- "$@" "$1" ;;
        *) set -- "$@" "$1" ;;
    esac
    shift
    count=$((count - 1))
done

if [ -n "${CLAUDECODE:-}" ]; then
    fail "this is a person's to run, and this is inside a tool call" "ask the user to run it in a terminal of their own"
fi
if [ -z "${HOME:-}" ]; then
    fail "HOME is not set" "run HOME=/your/home ./install.sh"
fi
bin_dir=${AOPS_BIN_DIR:-$HOME/.local/bin}
case $bin_dir in
    /*) ;;
    *) bin_dir=$(pwd -P)/$bin_dir ;;
esac
program=$bin_dir/aops-hook

if [ "$action" = uninstall ]; then
    [ -x "$program" ] || fail "no program at \`$program\`" "set AOPS_BIN_DIR to the folder it was installed in"
    "$program" uninstall "$@"
    for argument in "$@"; do
        [ "$argument" != --dry-run ] || exit 0
    done
    if [ -e "${CLAUDE_CONFIG_DIR:-$HOME/.claude}/aops/installed.json" ]; then
        say "kept \`$program\`: other settings still call it"
        exit 0
    fi
    rm -f -- "$program"
    say "removed \`$program\`"
    exit 0
fi

prebuilt="take the archive for this machine, whose ./install.sh needs no Rust"

# Refuses a Rust that is older than Cargo.toml says, as distributions often have.
check_age() {
    needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$here/Cargo.toml")
    found=$("$rustc" --version | sed -n 's/^rustc \([0-9]*\.[0-9]*\).*/\1/p')
    [ -n "$found" ] || fail "\`$rustc --version\` does not say its version" "check that it works here"
    if [ "${found%%.*}" -lt "${needed%%.*}" ] || { [ "${found%%.*}" -eq "${needed%%.*}" ] && [ "${found#*.}" -lt "${needed#*.}" ]; }; then
        fail "Rust $found is too old: aops-hook needs $needed or newer" \
            "run \`rustup update\`, or install Rust from https://rustup.rs beside the one you have; or $prebuilt"
    fi
}

# A static program: with the host's C library, else with musl, where the target is installed; else a dynamic one.
link_as_possible() {
    if printf 'int main(void) { return 0; }\n' | cc -static -x c -o /dev/null - >/dev/null 2>&1; then
        return
    fi
    musl=${host%-gnu}-musl
    libraries=$("$rustc" --print target-libdir --target "$musl" 2>/dev/null || true)
    if [ -n "$libraries" ] && [ -d "$libraries" ]; then
        target=$musl
        return
    fi
    say "no static C library here (Fedora has it in \`glibc-static\`): linking dynamically; it works, and each hook starts a little later"
    export RUSTFLAGS="${RUSTFLAGS:-} -C target-feature=-crt-static"
}

# Sets `built` to the program to install.
build() {
    if command -v cargo >/dev/null 2>&1; then
        cargo=cargo rustc=rustc
    else
        cargo=${CARGO_HOME:-$HOME/.cargo}/bin/cargo rustc=${CARGO_HOME:-$HOME/.cargo}/bin/rustc
        [ -x "$cargo" ] || fail "no cargo found" "$prebuilt, or install Rust from https://rustup.rs and run ./install.sh again"
    fi
    check_age

    host=$("$rustc" -vV | sed -n 's/^host: //p')
    [ -n "$host" ] || fail "\`rustc -vV\` does not say its host" "check that \`rustc -vV\` works here"
    target=$host
    case $host in *-linux-gnu) link_as_possible ;; esac

    target_dir=${CARGO_TARGET_DIR:-$here/target}
    case $target_dir in
        /*) ;;
        *) target_dir=$(pwd -P)/$target_dir ;;
    esac
    say "building for $target"
    (cd -- "$here" && "$cargo" build --release --locked ${features:+"$features"} --bin aops-hook --target "$target" --target-dir "$target_dir")
    built=$target_dir/$target/release/aops-hook
}

built=${AOPS_PROGRAM:-}
if [ -z "$built" ] && [ -f "$here/aops-hook" ]; then
    built=$here/aops-hook
    "$built" --version >/dev/null 2>&1 || fail "\`$built\` does not run here" "take the archive for this machine: $(uname -s) $(uname -m)"
fi
[ -n "$built" ] || build
[ -x "$built" ] || fail "no program at \`$built\`" "unset AOPS_PROGRAM, and it is built"

# Beside the old one, then renamed: a hook that runs just now keeps its file, and the next one has a whole new one.
place() {
    mkdir -p -- "$1"
    spare=$1/.aops-hook.$$
    trap 'rm -f -- "$spare"' EXIT
    cp -- "$built" "$spare"
    chmod 755 "$spare"
    mv -f -- "$spare" "$1/aops-hook"
    trap - EXIT
}

# What the next prompt will be like, and how to change that. `$1` is the program.
end_with_mode() {
    next=$("$1" mode --json 2>/dev/null | sed -n 's/.*"next":"\([^"]*\)".*/\1/p')
    name=$1
    if command -v aops-hook >/dev/null 2>&1; then
        name=aops-hook
    fi
    [ -z "$next" ] || say "$next"
    say "to change that: \`$name mode observe|guard|loop|strict\`"
}

case $action in
    install) ;;
    try)
        "$built" install "$@"
        say "in truth the program would be \`$program\`"
        exit 0
        ;;
    plugin)
        place "$here/bin/here"
        [ -z "$mode" ] || "$here/bin/aops-hook" mode "$mode" --yes
        say "the plugin is ready; start the client with it:"
        say "  claude --plugin-dir $here"
        end_with_mode "$here/bin/aops-hook"
        exit 0
        ;;
esac

place "$bin_dir"
say "installed \`$program\`"
"$program" install --without-ending "$@"
"$program" doctor || fail "installed, but not all is well" "follow the fixes above, then run \`$program doctor\`"

say ""
say "next:"
say "  1. start Claude Code as always; running sessions pick the hooks up by themselves"
say "  2. ask for something, then see where it stands: $program status"
say "  3. uninstall: $here/install.sh --uninstall (your records stay)"
case :${PATH:-}: in
    *:"$bin_dir":*) ;;
    *) say "hint: to type aops-hook alone, add this to your shell's profile: export PATH=\"$bin_dir:\$PATH\"" ;;
esac
end_with_mode "$program"
