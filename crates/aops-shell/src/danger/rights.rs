//! Permissions and owners that are changed for everybody or for a whole tree.

use super::Search;
use super::call::Call;
use super::place::Spot;
use crate::syntax::{Bit, Word};

pub(super) fn chmod(search: &mut Search, call: &Call) {
    let whole = call.has(&["-R", "--recursive"]);
    let operands: Vec<&Word> = call.operands().into_iter().map(|(_, word)| word).collect();
    let Some((mode, files)) = operands.split_first() else { return };
    let mode = mode.lossy();
    let open = mode.ends_with("777") || mode.ends_with("666") || opens(&mode);
    let sets_id =
        mode.len() == 4 && mode.starts_with(['2', '4', '6']) || mode.contains("+s") || mode.contains("=s");
    let (grave, found) = gravest(search, call, files);
    let whole = whole || found;
    let shuts_one = shuts(&mode);
    let shuts = shuts_one && (whole || grave != Spot::Scratch);
    let scratch = grave == Spot::Scratch && !whole;
    let tree = whole && matches!(grave, Spot::Root | Spot::System | Spot::Project | Spot::Unknown);
    let broad = tree && !(grave == Spot::Project && !open && !shuts) && (grave != Spot::Unknown || open);
    if open && !scratch || sets_id || shuts || broad || matches!(grave, Spot::Root | Spot::System) && !whole {
        search.add("permission-change", call.simple);
    }
}

/// The gravest place of these files, and whether they come from a `find`, so that they are a whole tree.
fn gravest(search: &Search, call: &Call, files: &[&Word]) -> (Spot, bool) {
    let found = files
        .iter()
        .flat_map(|word| &word.named)
        .filter(|_| files.iter().any(|word| word.bits.contains(&Bit::Any)));
    let found = found.map(|word| search.place.spot(call.simple, word)).max();
    let named = files.iter().filter(|word| found.is_none() || word.named.is_empty());
    let named = named.map(|word| search.place.spot(call.simple, word)).max();
    (found.max(named).unwrap_or(Spot::Inside), found.is_some())
}

/// `000`, `a-rwx`, `u-r`: the owner can no longer read the file.
fn shuts(mode: &str) -> bool {
    if !mode.is_empty() && mode.bytes().all(|byte| byte.is_ascii_digit()) {
        let owner = mode.len().checked_sub(3).map_or(0, |at| mode.as_bytes()[at] - b'0');
        return owner & 4 == 0;
    }
    mode.split(',').any(|part| {
        let at = part.find(['-', '=']).unwrap_or(part.len());
        let (who, what) = part.split_at(at);
        let owner = who.is_empty() || who.contains(['u', 'a']);
        let plain = who.chars().all(|c| "ugoa".contains(c));
        owner && plain && (what.starts_with('-') && what.contains('r') || what == "=")
    })
}

/// A mode of `install -m` that lets everybody write, or run with the owner's rights.
pub(super) fn gives_away(mode: &str) -> bool {
    let sets_id = mode.len() == 4 && mode.starts_with(['2', '4', '6']) || mode.contains("+s");
    mode.ends_with("777") || mode.ends_with("666") || sets_id || opens(mode)
}

/// `a+w`, `o+rw`, `ugo=rwx`: others may write.
fn opens(mode: &str) -> bool {
    mode.split(',').any(|part| {
        let at = part.find(['+', '=']).unwrap_or(part.len());
        let (who, what) = part.split_at(at);
        what.contains('w') && (who.contains(['o', 'a']) || who == "ugo")
    })
}

/// `chown`, `chgrp`, `setfacl` over a tree of the system or a home.
pub(super) fn chown(search: &mut Search, call: &Call) {
    let whole = call.has(&["-R", "--recursive"]);
    let operands: Vec<&Word> = call.operands().into_iter().map(|(_, word)| word).collect();
    // `chattr -i file`: unlike `chown`, there is no owner before the files.
    let bare = call.name == "chattr"
        || call.name == "setfacl" && !call.has(&["-m", "-x", "-M", "-X", "--modify", "--set"]);
    let skipped = usize::from(!bare && !call.has(&["--reference"])).min(operands.len());
    let first = operands.first().map(|word| word.lossy()).unwrap_or_default();
    let others = ["root", "0", "nobody"].iter().any(|name| first.split(':').next() == Some(name));
    let root = whole && others;
    let fixed = call.name == "chattr" && first.starts_with('+') && first.contains(['i', 'a']);
    let open = call.name == "setfacl"
        && (first.starts_with("o:") || first.contains("other:"))
        && first.contains('w');
    let files = &operands[skipped..];
    let (grave, found) = gravest(search, call, files);
    let whole = whole || found;
    let strips = call.name == "setfacl" && whole && grave != Spot::Scratch;
    let changes = (fixed || open) && grave != Spot::Scratch;
    if root
        || changes
        || strips
        || matches!(grave, Spot::Root | Spot::System)
        || whole && matches!(grave, Spot::Outside | Spot::Unknown)
    {
        search.add("permission-change", call.simple);
    }
}
