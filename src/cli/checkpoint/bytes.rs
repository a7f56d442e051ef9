//! Amounts as text.

/// `1.2 MB`, for people.
pub(in crate::cli) fn size(bytes: u64) -> String {
    let units = ["bytes", "KB", "MB", "GB"];
    let mut whole = bytes;
    let mut rest = 0;
    let mut unit = 0;
    while whole >= 1024 && unit + 1 < units.len() {
        rest = whole % 1024 * 10 / 1024;
        whole /= 1024;
        unit += 1;
    }
    if unit == 0 { format!("{whole} {}", units[0]) } else { format!("{whole}.{rest} {}", units[unit]) }
}
