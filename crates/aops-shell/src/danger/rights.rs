//! Permissions and owners, changed for everybody or for a whole tree.

use super::Search;
use super::call::Call;
use super::place::Spot;
use crate::syntax::{Bit, Word};

pub(super) fn chmod(search: &mut Search, call: &Call) {
    let whole = call.has(&["-R", "--recursive", "--rec"]);
    let operands: Vec<&Word> = call.operands().into_iter().map(|(_, word)| word).collect();
    let Some((mode, files)) = operands.split_first() else { return };
    let mode = mode.lossy();
    let open = mode.ends_with("777") || mode.ends_with("666") || opens(&mode);
    let sets_id = mode.len() == 4 && mode.starts_with(['2', '4', '6']) || mode.contains("+s") || mode.contains("=s");
    let (grave, found) = gravest(search, call, files);
    let whole = whole || found;
    let shuts_one = matches!(mode.as_str(), "000" | "0" | "a-rwx" | "-rwx" | "a=");
    let shuts = whole && shuts_one;
    let scratch = grave == Spot::Scratch && !whole;
    let tree = whole && matches!(grave, Spot::Root | Spot::System | Spot::Project | Spot::Unknown);
    let broad = tree && !(grave == Spot::Project && !open && !shuts) && (grave != Spot::Unknown || open);
    let hides = shuts_one && matches!(grave, Spot::Outside | Spot::Project);
    if open && !scratch || sets_id || shuts || hides || broad || matches!(grave, Spot::Root | Spot::System) && !whole {
        search.add("permission-change", call.simple);
    }
}

/// Where the gravest of these files is, and whether a `find` names them: then they are a whole tree.
fn gravest(search: &Search, call: &Call, files: &[&Word]) -> (Spot, bool) {
    let found =
        files.iter().flat_map(|word| &word.named).filter(|_| files.iter().any(|word| word.bits.contains(&Bit::Any)));
    let found = found.map(|word| search.place.spot(call.simple, word)).max();
    let named = files.iter().filter(|word| found.is_none() || word.named.is_empty());
    let named = named.map(|word| search.place.spot(call.simple, word)).max();
    (found.max(named).unwrap_or(Spot::Inside), found.is_some())
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
    // `chattr -i file`: no owner stands first.
    let skipped = usize::from(call.name != "chattr" && !call.has(&["--reference"])).min(operands.len());
    let root = whole && operands.first().is_some_and(|word| word.starts_with("root"));
    let files = &operands[skipped..];
    let (grave, found) = gravest(search, call, files);
    let whole = whole || found;
    if root || matches!(grave, Spot::Root | Spot::System) || whole && matches!(grave, Spot::Outside | Spot::Unknown) {
        search.add("permission-change", call.simple);
    }
}
