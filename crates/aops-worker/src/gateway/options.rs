//! The options that a gateway is started with.

use crate::client::Address;
use crate::given::Given;
use crate::oidc::Oidc;
use crate::port::{OPTIONS, Port};
use crate::tokens::Tokens;
use aops_core::config::policy::Fleet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Gateway {
    pub listen: SocketAddr,
    pub ingress: Address,
    pub admin: Address,
    /// Who may do what; read again for each request, so a removed token stops working.
    pub tokens: PathBuf,
    /// Nobody may answer a question of their own run, whatever its rule says.
    pub four_eyes: bool,
    /// The audit file: one line of JSON for each act.
    pub audit: PathBuf,
    /// The file of the key that answers are signed with.
    pub key: PathBuf,
    /// The folder of signed policies that machines pull.
    pub bundles: Option<PathBuf>,
    /// The issuer of identities whom people log in with, and what their names and groups may do.
    pub oidc: Option<PathBuf>,
    /// The port on which the engine calls the handlers of runs, and how the engine finds it.
    pub runs: Port,
    pub address: Option<String>,
    /// How many runs of one repository may run at a time; 0 means any number.
    pub per_repository: usize,
    /// A machine that cannot be reached for this long loses its steps.
    pub lost_after: Duration,
}

const KNOWN: [&str; 13] = [
    "listen", "ingress", "admin", "tokens", "audit", "key", "four-eyes", "runs", "address", "per-repository",
    "lost-after", "oidc", "bundles",
];

impl Gateway {
    /// What no option says, the user's configuration does.
    pub fn read(words: &[String], fleet: &Fleet) -> Result<Self, String> {
        let given = Given::read(words, &[&KNOWN[..], &OPTIONS].concat())?;
        let tokens = PathBuf::from(given.must("tokens")?);
        Tokens::read(&tokens)?;
        let four_eyes = given.is_on("four-eyes")?;
        let oidc = given.last("oidc").map(PathBuf::from);
        oidc.as_deref().map(Oidc::read).transpose()?;
        let audit = PathBuf::from(given.must("audit")?);
        let key = given.last("key").map_or_else(|| audit.with_file_name("gateway.key"), PathBuf::from);
        let per_repository =
            given.last("per-repository").map_or_else(|| fleet.per_repository.to_string(), str::to_owned);
        let runs = given.last("runs").unwrap_or("127.0.0.1:7392");
        let runs = Port::read(&given, fleet, "runs", runs)?;
        Ok(Self {
            listen: given.address("listen", given.must("listen")?)?,
            ingress: Address::read(given.must("ingress")?)?,
            admin: Address::read(given.must("admin")?)?,
            tokens,
            four_eyes,
            audit,
            key,
            bundles: given.last("bundles").map(PathBuf::from),
            oidc,
            runs,
            address: given.last("address").map(str::to_owned),
            per_repository: per_repository
                .parse()
                .map_err(|_| format!("`--per-repository {per_repository}`: write a number"))?,
            lost_after: given.period("lost-after", fleet.lost_after)?.duration(),
        })
    }
}
