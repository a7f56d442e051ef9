//! Commands that read or write by their operands: `tee`, `dd`, `date`, `uniq`, archives.

use super::line::{Said, is_nowhere, unknown};
use super::table::Command;
use crate::model::call::Effect;

/// Copies standard input to files; to nowhere it only passes it on.
pub(super) fn tee(command: &Command) -> Said {
    let sorted = command.sorted(&["-ai --append --ignore-interrupts"])?;
    match sorted.operands.into_iter().find(|word| !is_nowhere(word)) {
        Some(word) => Err(format!("it writes to `{}`", super::line::shown(word))),
        None => Ok(Effect::Read),
    }
}

/// Without `of=` it prints.
pub(super) fn dd(command: &Command) -> Said {
    let reads = ["if=", "bs=", "ibs=", "count=", "skip=", "status=", "iflag="];
    for word in command.arguments {
        let known = reads.iter().any(|key| word.starts_with(key)) && !word.splits;
        if !(known || word.starts_with("of=") && is_nowhere(&word.after(3))) {
            return Err(command.refused(&word.lossy()));
        }
    }
    Ok(Effect::Read)
}

/// Shows a time; an operand without `+` sets the clock.
pub(super) fn date(command: &Command) -> Said {
    let sorted = command.sorted(&[
        "-ujRn -I? -d= -r= -v= -f= --utc --universal --date= --reference= --iso-8601 --rfc-3339= --rfc-email --debug",
    ])?;
    let converts = sorted.has(&["-j"]);
    match sorted.operands.into_iter().find(|word| !word.starts_with("+") && !converts) {
        Some(word) => Err(command.refused(&word.lossy())),
        None => Ok(Effect::Read),
    }
}

/// Shows names, networks or tables; an operand sets them.
pub(super) fn no_operand(command: &Command) -> Said {
    let sorted = command.sorted(&[match command.name {
        "hostname" => "-fsiIdA --fqdn --short --ip-address --all-ip-addresses --domain",
        "ifconfig" => "-a",
        _ => "-l",
    }])?;
    sorted.operands.first().map_or(Ok(Effect::Read), |word| Err(command.refused(&word.lossy())))
}

/// Its second operand is where it writes.
pub(super) fn one_operand(command: &Command) -> Said {
    let list = match command.name {
        "uniq" => {
            "-cdDiuz -f= -s= -w= --count --repeated --unique --ignore-case --zero-terminated --skip-fields= --skip-chars="
        }
        _ => "-abCdEeiprRuv -c= -g= -l= -o= -s= -n=",
    };
    let sorted = command.sorted(&[list])?;
    sorted.operands.get(1).map_or(Ok(Effect::Read), |word| Err(command.refused(&word.lossy())))
}

/// A `+` begins a command of its own.
pub(super) fn less(command: &Command) -> Said {
    let sorted =
        command.sorted(&["-eEFfgGiIJKLmMnNqQrRsSuUwWX -# -x= -z= -p= -P= --no-init --quit-if-one-screen"])?;
    match sorted.operands.into_iter().find(|word| word.starts_with("+")) {
        Some(word) => Err(command.refused(&word.lossy())),
        None => Ok(Effect::Read),
    }
}

/// Only lists an archive.
pub(super) fn tar(command: &Command) -> Said {
    let first =
        command.arguments.first().filter(|word| word.is_firm()).map(crate::shell::syntax::Word::lossy);
    let letters = first.as_deref().map(|text| text.trim_start_matches('-')).unwrap_or_default();
    let lists = letters.contains('t') && letters.chars().all(|c| "tvzjJaf".contains(c));
    // `host:archive` is fetched by a program of its own.
    let remote = command.arguments.iter().any(|word| word.lossy().contains(':'));
    if !lists || remote {
        return Err(command.refused(letters));
    }
    command
        .rest("tar", 1)
        .sorted(&["-tvzjJa -f= -C= --file= --verbose --gzip --wildcards --strip-components= --exclude="])?;
    Ok(Effect::Read)
}

/// Lists, tests or prints an archive.
pub(super) fn unzip(command: &Command) -> Said {
    let sorted = command.sorted(&["-lptvzZqch12C -x="])?;
    if sorted.has(&["-l", "-p", "-t", "-v", "-z", "-Z", "-c"]) {
        Ok(Effect::Read)
    } else {
        Err(command.refused(""))
    }
}

/// Asks whether a process is there, or which signals are.
pub(super) fn kill(command: &Command) -> Said {
    let sorted = command.sorted(&["-l0"])?;
    if sorted.options.is_empty() { Err(unknown(command.name)) } else { Ok(Effect::Read) }
}

/// Asks; without `-q` it installs.
pub(super) fn rpm(command: &Command) -> Said {
    let sorted = command.sorted(&[
        "-qalifcdRp --query --all --list --info --file --whatprovides --queryformat= --last --changelog",
    ])?;
    if sorted.has(&["-q", "--query"]) { Ok(Effect::Read) } else { Err(unknown(command.name)) }
}

/// Prints, lists or tests; else it replaces the file. Without a file it is a filter.
pub(super) fn gzip(command: &Command) -> Said {
    let sorted = command.sorted(&[
        "-cdkltvqfn -# --stdout --decompress --list --test --verbose --keep --best --fast --to-stdout",
    ])?;
    let prints = sorted.has(&["-c", "-l", "-t", "--stdout", "--to-stdout", "--list", "--test"]);
    if prints || sorted.operands.is_empty() { Ok(Effect::Read) } else { Err(command.refused("")) }
}
