//! The commands whose arguments are another command, and what stands before it.

use super::Word;

/// Commands whose arguments are another command.
pub(super) struct Wrapper {
    pub(super) names: &'static [&'static str],
    /// Their options: `-ab` take nothing, `-c=` and `--long=` take a value, `-d?` may have one glued to it.
    options: &'static str,
    /// Operands before the command.
    pub(super) operands: usize,
    /// They add nothing of their own to what the command does.
    pub(super) is_plain: bool,
}

const fn plain(names: &'static [&'static str], options: &'static str, operands: usize) -> Wrapper {
    Wrapper { names, options, operands, is_plain: true }
}

const fn acting(names: &'static [&'static str], options: &'static str, operands: usize) -> Wrapper {
    Wrapper { names, options, operands, is_plain: false }
}

#[rustfmt::skip]
pub(super) static WRAPPERS: &[Wrapper] = &[
    plain(&["nohup", "builtin", "busybox", "toybox"], "", 0),
    plain(&["sudo"], "-AbEHknPS -u= -g= -h= -p= -C= -r= -t= -T= -U= -D= -R= --user= --group= --chdir= --non-interactive --preserve-env", 0),
    plain(&["doas"], "-n -u=", 0),
    plain(&["env"], "-i0v -u= -C= --ignore-environment --null --debug --unset= --chdir=", 0),
    plain(&["nice"], "-n= -0? -1? -2? -3? -4? -5? -6? -7? -8? -9? --adjustment=", 0),
    plain(&["ionice"], "-t -c= -n= --class= --classdata= --ignore", 0),
    plain(&["time"], "-pvqla -f= -o= --format= --output= --append --portability --verbose --quiet", 0),
    plain(&["timeout", "gtimeout"], "-vf -s= -k= --signal= --kill-after= --foreground --preserve-status --verbose", 1),
    plain(&["setsid"], "-cfw --ctty --fork --wait", 0),
    plain(&["stdbuf"], "-i= -o= -e= --input= --output= --error=", 0),
    plain(&["command"], "-p", 0),
    plain(&["exec"], "-cl -a=", 0),
    plain(&["caffeinate"], "-disum -t= -w=", 0),
    plain(&["xargs"], "-0rtpxo -I= -n= -P= -L= -d= -s= -E= -J= -R= -a= -i? -e? -l? --null --no-run-if-empty --verbose --interactive --exit --open-tty --max-args= --max-procs= --delimiter= --max-chars= --max-lines --arg-file= --replace", 0),
    acting(&["unbuffer", "chronic", "unshare"], "", 0),
    acting(&["taskset", "chrt", "chroot", "setarch"], "", 1),
    acting(&["strace", "ltrace"], "-e= -p= -s= -u= -o= --output=", 0),
    acting(&["flock"], "-w= -E=", 1),
    acting(&["parallel"], "-j= --jobs= -n= -N= -a=", 0),
];

/// What an option of a wrapper takes with it.
pub(super) enum Takes {
    Nothing,
    /// The rest of its own word, from this bit on.
    Glued(usize),
    /// The word after it.
    Next,
    /// Nobody knows this option.
    Unknown,
}

impl Wrapper {
    pub(super) fn takes(&self, word: &Word) -> Takes {
        let text = word.lossy();
        if let Some(long) = text.strip_prefix("--") {
            let (name, glued) = long.split_once('=').map_or((long, false), |(name, _)| (name, true));
            let row = self.options.split(' ').find(|row| row.trim_end_matches('=').strip_prefix("--") == Some(name));
            return match row {
                Some(_) if glued => Takes::Glued(name.chars().count() + 3),
                Some(row) if row.ends_with('=') => Takes::Next,
                Some(_) => Takes::Nothing,
                None => Takes::Unknown,
            };
        }
        for (at, letter) in text.chars().enumerate().skip(1) {
            let row = |row: &&str| row.starts_with('-') && !row.starts_with("--") && row[1..].contains(letter);
            match self.options.split(' ').find(row) {
                Some(row) if row.ends_with('=') && at + 1 == word.bits.len() => return Takes::Next,
                Some(row) if row.ends_with(['=', '?']) => return Takes::Glued(at + 1),
                Some(_) => {}
                None => return Takes::Unknown,
            }
        }
        Takes::Nothing
    }
}
