#!/usr/bin/env node
// Starts the program from the package for this machine. Hooks do not come this way: `aops-hook install` registers the
// program itself.
const { spawnSync } = require("node:child_process");
const { constants } = require("node:os");

const holder = `aops-hook-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${holder}/bin/aops-hook`);
} catch {
  console.error(`aops-hook: the package \`${holder}\` is not installed`);
  console.error("hint: install again without `--omit=optional`; other machines build from source: `cargo install aops-hook`");
  process.exit(1);
}
const { status, signal, error } = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
if (error) {
  console.error(`aops-hook: \`${program}\` cannot be started: ${error.message}`);
  process.exit(1);
}
process.exit(signal ? 128 + constants.signals[signal] : status);
