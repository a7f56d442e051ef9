//! Which columns a list has, and how wide they are on a screen of this width.
//!
//! Pure. Invariant: on 80 columns all of them are shown.

pub(super) struct Column {
    name: &'static str,
    pub(super) at: usize,
    pub(super) wide: usize,
}

/// Name, minimum width, and share of the remaining width.
pub(super) type Plan = (&'static str, usize, usize);

pub(super) const SESSIONS: [Plan; 8] = [
    ("state", 5, 0),
    ("project", 10, 1),
    ("phase", 8, 0),
    ("waits for", 13, 3),
    ("cost", 7, 0),
    ("last refusal", 13, 3),
    ("ok?", 3, 0),
    ("prompt", 12, 4),
];

pub(super) const CHECKPOINTS: [Plan; 5] =
    [("checkpoint", 30, 2), ("name", 8, 1), ("age", 6, 0), ("why", 8, 1), ("changed", 22, 4)];

pub(super) const HOSTS: [Plan; 3] = [("host", 30, 3), ("by", 8, 0), ("what", 34, 4)];

/// They follow the mark of the chosen line, separated by one blank.
pub(super) fn plan(plans: &[Plan], width: usize) -> Vec<Column> {
    let least: usize = plans.iter().map(|(_, least, _)| least + 1).sum();
    let shares: usize = plans.iter().map(|(.., share)| share).sum();
    let spare = width.saturating_sub(least + 1);
    let mut at = 2;
    let column = |(name, least, share): &Plan| {
        let column = Column { name, at, wide: least + spare * share / shares.max(1) };
        at += column.wide + 1;
        column
    };
    plans.iter().map(column).collect()
}

pub(super) fn head(columns: &[Column]) -> String {
    let mut line = String::new();
    for column in columns {
        line.push_str(&" ".repeat(column.at.saturating_sub(line.chars().count())));
        line.push_str(column.name);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_columns_are_on_the_smallest_screen() {
        for (columns, width) in [
            (plan(&SESSIONS, 80), 80),
            (plan(&CHECKPOINTS, 80), 80),
            (plan(&HOSTS, 80), 80),
            (plan(&SESSIONS, 200), 200),
        ] {
            let last = columns.last().unwrap();
            assert!(last.at + last.wide <= width, "{} + {}", last.at, last.wide);
            assert!(columns.iter().all(|column| column.wide >= column.name.len().min(column.wide)));
        }
    }
}
