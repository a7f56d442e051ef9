//! What a folder contains whose name is derived from a session's ID: the session, another session, or a
//! second ledger of the session.
//!
//! Reads state, ledger and exported heads; a recovery cuts off a torn tail. Invariant: without `thorough`, a
//! state to which the ledger commits is enough, and nothing outside the folder is read.

use crate::ledger::chain::Walk;
use crate::ledger::heads::{self, Head};
use crate::ledger::recover::{self, Loaded, SessionFiles, StateFile};
use crate::ledger::second;
use crate::ledger::session_folder::SessionFolder;
use crate::ledger::touched;
use crate::model::error::Failure;
use crate::session::fact::{Blocked, Fact};
use crate::session::fold::Session;
use crate::system::env::{Env, boot_id};
use crate::text::sha256::trace_id;
use std::fs::File;

pub enum Held {
    /// The session, and whether it was compared with its exported head.
    Session(Box<Loaded>, bool),
    /// Another session, whose hash begins with the same digits.
    Another,
    /// A second ledger of the session; the exported head belongs to the one in this folder.
    Second(SessionFolder),
}

impl Held {
    /// `thorough`: compare with the exported head even if nothing is wrong.
    pub fn look(
        env: &Env,
        place: &SessionFolder,
        file: &File,
        session_id: &str,
        long: u64,
        thorough: bool,
    ) -> Result<Self, Failure> {
        let state_file = StateFile::read(&place.dir)?;
        let trace = &*trace_id(session_id);
        let mut files = SessionFiles {
            dir: &place.dir,
            file,
            trace,
            long,
            head: None,
            lapsed: 0,
            boot: "",
            dry_run: env.dry_run,
        };
        let counting = |head: Option<&Head>| second::counting(env, &place.path, session_id, head?);
        if let StateFile::Whole(session, witness) = &state_file {
            if session.state.session_id != trace {
                return Ok(Self::Another);
            }
            if thorough {
                files.head = heads::at(env).newest(trace)?;
                if let Some(other) = counting(files.head.as_ref()) {
                    return Ok(Self::Second(other));
                }
            }
            let ahead = files.head.as_ref().is_some_and(|head| head.seq > witness.seq);
            if witness.bytes == long && !ahead && files.holds(session, witness)? {
                let walk = files.resume(session, witness);
                touched::check(witness.written, file, long)
                    .map_err(|damage| files.explain(damage, &state_file))?;
                recover::check_exported(files.head.as_ref(), file, &walk)?;
                return Ok(Self::Session(
                    Box::new(Loaded { walk, repairs: Vec::new(), lapsed: false }),
                    thorough,
                ));
            }
        } else if !files.is_ours()? {
            return Ok(Self::Another);
        }
        let boot = boot_id();
        files.boot = &boot;
        (files.head, files.lapsed) = heads::proving(env, trace, &boot)?;
        match counting(files.head.as_ref()) {
            Some(other) => Ok(Self::Second(other)),
            None => Ok(Self::Session(Box::new(recovered(files, &state_file)?), true)),
        }
    }
}

fn recovered(files: SessionFiles, state_file: &StateFile) -> Result<Loaded, Failure> {
    let is_empty = files.long == 0 && matches!(state_file, StateFile::Missing);
    if is_empty && files.head.as_ref().is_none_or(|head| head.seq == 0) {
        // A block outlives the ledger in which it was recorded.
        let blocked = files.head.filter(|head| head.blocked).map(|head| {
            Fact::Block(Blocked {
                by: "the exported head".to_owned(),
                reason: head.reason.unwrap_or_default(),
            })
        });
        let walk = Walk::new(Session::default(), files.trace, 0);
        return Ok(Loaded { walk, repairs: blocked.into_iter().collect(), lapsed: false });
    }
    let loaded = files.recover(state_file)?;
    recover::check_exported(files.head.as_ref(), files.file, &loaded.walk)?;
    Ok(loaded)
}
