//! The tables, by numbered migrations. A released migration is never changed; every change gets the next
//! number.
//!
//! Invariants: one program migrates at a time; a migration is applied as a whole or not at all.

use crate::error::Error;
use postgres::Client;

/// The migrations; the first has number 1.
const MIGRATIONS: &[&str] =
    &[include_str!("schema/1.sql"), include_str!("schema/2.sql"), include_str!("schema/3.sql")];

/// The version that this program works with.
#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "a handful")]
pub const VERSION: i32 = MIGRATIONS.len() as i32;

/// The id of the advisory lock held while the tables change: arbitrary, but unlikely to be anyone else's.
const LOCK: i64 = 0x616f_7073;

/// The version of the tables; 0 if there are none.
pub fn version(client: &mut Client) -> Result<i32, Error> {
    let there = client.query_one("select to_regclass('aops.migrations') is not null", &[])?;
    if !there.get::<_, bool>(0) {
        return Ok(0);
    }
    Ok(client.query_one("select coalesce(max(version), 0) from aops.migrations", &[])?.get(0))
}

/// Refuses tables of another version.
pub fn check(client: &mut Client) -> Result<(), Error> {
    match version(client)? {
        VERSION => Ok(()),
        found => Err(Error::Schema { found, wanted: VERSION }),
    }
}

/// Brings the tables to this program's version. Returns the version before.
pub fn migrate(client: &mut Client) -> Result<i32, Error> {
    let mut all = client.transaction()?;
    all.execute("select pg_advisory_xact_lock($1)", &[&LOCK])?;
    all.batch_execute(
        "create schema if not exists aops;
         create table if not exists aops.migrations (version int primary key, at timestamptz not null default now())",
    )?;
    let before: i32 = all.query_one("select coalesce(max(version), 0) from aops.migrations", &[])?.get(0);
    if before > VERSION {
        return Err(Error::Schema { found: before, wanted: VERSION });
    }
    for (number, text) in (1_i32..).zip(MIGRATIONS).filter(|(number, _)| *number > before) {
        all.batch_execute(text)?;
        all.execute("insert into aops.migrations (version) values ($1)", &[&number])?;
    }
    all.commit()?;
    Ok(before)
}
