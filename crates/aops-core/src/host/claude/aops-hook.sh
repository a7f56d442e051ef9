#!/bin/sh
# Written by `aops-hook install --project`. Runs aops-hook, wherever it is on this machine, for Claude Code's hooks.
for program in "$HOME/.local/bin/aops-hook" "$HOME/.cargo/bin/aops-hook" /usr/local/bin/aops-hook; do
    [ ! -x "$program" ] || exec "$program" "$@"
done
program=$(command -v aops-hook) && [ "$program" != "$0" ] && exec "$program" "$@"
cat >/dev/null
missing="this project is guarded by aops-hook, which is not on this machine, so nothing is guarded; to get it: clone its repository and run ./install.sh"
[ "${1:-}" != SessionStart ] || printf '{"systemMessage":"%s"}\n' "$missing"
printf 'aops-hook: %s\n' "$missing" >&2
exit 0
