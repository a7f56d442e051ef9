//! What can go wrong. Invariant: an error text never contains a password.

use postgres::error::SqlState;
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The database cannot be reached or the connection broke: the same call may succeed later.
    Down(String),
    /// The tables have version `found`, but this program needs `wanted`.
    Schema { found: i32, wanted: i32 },
    /// The database rejected the call, or the address cannot be used.
    Refused(String),
}

impl Error {
    pub fn is_down(&self) -> bool {
        matches!(self, Self::Down(_))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Down(why) => write!(f, "the database cannot be reached: {why}"),
            Self::Schema { found: 0, .. } => {
                f.write_str("the database has no tables of ours\nhint: `aops-hook fleet init` makes them")
            }
            Self::Schema { found, wanted } if found < wanted => write!(
                f,
                "the tables have version {found}, and this program needs {wanted}\nhint: `aops-hook fleet init` upgrades them"
            ),
            Self::Schema { found, wanted } => write!(
                f,
                "the tables have version {found}, and this program knows {wanted}\nhint: update `aops-hook` on this machine"
            ),
            Self::Refused(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Error {}

impl From<postgres::Error> for Error {
    fn from(error: postgres::Error) -> Self {
        let Some(said) = error.as_db_error() else {
            let cause = std::error::Error::source(&error);
            let words = cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"));
            let is_away =
                error.is_closed() || cause.is_some_and(<dyn std::error::Error>::is::<std::io::Error>);
            let is_late = words.contains("timed out") || words.contains("timeout");
            return if is_away || is_late { Self::Down(words) } else { Self::Refused(words) };
        };
        let code = said.code();
        // Classes 08 and 57 are connection failures and shutdowns by an administrator; 53 is too many
        // connections or a full disk.
        let passes = ["08", "53", "57"].iter().any(|class| code.code().starts_with(class));
        if passes || [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(code) {
            return Self::Down(said.message().to_owned());
        }
        let hint = said.hint().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
        Self::Refused(format!("the database refused: {}{hint}", said.message()))
    }
}
