//! Which witnesses the configuration trusts.

use super::check::Trust;
use crate::config::in_force;
use crate::config::policy::Policy;
use crate::model::error::{Code, Failure};
use crate::system::env::Env;
use aops_proof::key::{PublicKey, Use};

/// The configuration of the present folder; no keys if it cannot be read, since ledgers are checked anyway.
pub fn here(env: &Env) -> Result<Trust, Failure> {
    in_force::load(env, &env.cwd).map_or_else(|_| Ok(Trust::default()), |in_force| of(&in_force.policy))
}

pub fn of(policy: &Policy) -> Result<Trust, Failure> {
    let odd = |what: String| Failure::new(Code::ConfigInvalid, format!("`witness.key`: {what}"));
    let keys = policy.witness.key.iter().map(|text| match PublicKey::parse(text) {
        Ok(key) if key.used != Use::Note => Ok(key),
        Ok(key) => Err(odd(format!("`{}` is not the key of a witness", key.name))),
        Err(what) => Err(odd(what)),
    });
    Ok(Trust {
        witnesses: keys.collect::<Result<_, _>>()?,
        quorum: policy.witness.wanted(),
        ..Trust::default()
    })
}
