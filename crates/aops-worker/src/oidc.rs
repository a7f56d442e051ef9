//! Log-in by `OpenID Connect`: by authorization code with PKCE, or by device code.
//!
//! Reads one file, asks the issuer. Invariants: an ID token counts only if the issuer's key signed it, for
//! our client, now, and for the log-in that we began; only asymmetric signatures count.

use crate::client::Answer;
use crate::signed::Signer;
use crate::tokens::{Grant, Person, grant_of};
use crate::web::{Url, escape, form};
use aops_core::system::env::now_ms;
use aops_core::system::random;
use aops_proof::text::{base64, from_base64};
use jsonwebtoken::jwk::{Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A log-in at the gateway counts for so long; then the issuer is asked again.
const SESSION_MS: i64 = 8 * 3600 * 1000;
const LONGEST_NAME: usize = 200;
const MOST_GROUPS: usize = 200;
const ALGORITHMS: [Algorithm; 5] =
    [Algorithm::RS256, Algorithm::RS384, Algorithm::RS512, Algorithm::ES256, Algorithm::EdDSA];
const DEVICE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// The file, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Oidc {
    pub issuer: String,
    client: String,
    secret: Option<String>,
    /// Where people open the gateway.
    page: String,
    /// The claim that names a person, and the one that has their groups.
    name: String,
    groups: String,
    /// Who has which roles: a name, or `group:` and a group.
    grants: Vec<(String, Grant)>,
}

/// What the issuer says about itself.
#[derive(Debug, Deserialize)]
struct Discovery {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    #[serde(default)]
    device_authorization_endpoint: Option<String>,
}

/// Somebody whom the issuer vouched for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub name: String,
    pub issuer: String,
    groups: Vec<String>,
    until_ms: i64,
}

/// A log-in in a browser that was begun.
#[derive(Clone, Debug)]
pub struct Begun {
    pub url: String,
    pub state: String,
    verifier: String,
    nonce: String,
}

/// A log-in in a terminal that was begun.
#[derive(Clone, Debug, Deserialize)]
pub struct Device {
    pub device_code: String,
    pub user_code: String,
    pub verification_uri: String,
    #[serde(default)]
    pub verification_uri_complete: Option<String>,
    #[serde(default)]
    pub interval: Option<u64>,
}

fn url_base64(bytes: &[u8]) -> String {
    base64(bytes).replace('+', "-").replace('/', "_").trim_end_matches('=').to_owned()
}

fn drawn() -> Result<String, String> {
    let mut bytes = [0; 32];
    random::fill(&mut bytes).map_err(|error| error.to_string())?;
    Ok(url_base64(&bytes))
}

impl Oidc {
    pub fn read(file: &Path) -> Result<Self, String> {
        let at = |what: &str| format!("`{}`: {what}", file.display());
        let about = fs::metadata(file).map_err(|error| at(&error.to_string()))?;
        if about.mode() & 0o022 != 0 {
            return Err(at("others can write it\nhint: `chmod 600` it"));
        }
        let text = fs::read_to_string(file).map_err(|error| at(&error.to_string()))?;
        let mut oidc = Self { name: "sub".to_owned(), groups: "groups".to_owned(), ..Self::default() };
        for (n, line) in
            text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
        {
            let odd =
                || at(&format!("line {} is not known\nhint: `docs/fleet.md` lists the allowed lines", n + 1));
            let text = |word: &str| word.trim_end_matches('/').to_owned();
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["issuer", url] => oidc.issuer = text(url),
                ["client", id] => oidc.client = text(id),
                ["secret", path] => oidc.secret = Some(secret(&PathBuf::from(path))?),
                ["page", url] => oidc.page = text(url),
                ["name", claim] => oidc.name = text(claim),
                ["groups", claim] => oidc.groups = text(claim),
                ["grant", who, roles, limits @ ..] => {
                    let grant = grant_of(roles, limits.iter().copied()).ok_or_else(odd)?;
                    oidc.grants.push(((*who).to_owned(), grant));
                }
                _ => return Err(odd()),
            }
        }
        Url::read(&oidc.issuer).map_err(|words| at(&words))?;
        if oidc.client.is_empty() || oidc.page.is_empty() {
            return Err(at("`client` and `page` are needed"));
        }
        Ok(oidc)
    }

    fn discover(&self) -> Result<Discovery, String> {
        let url = Url::read(&format!("{}/.well-known/openid-configuration", self.issuer))?;
        let found: Discovery = serde_json::from_value(url.ask(None, None)?.json)
            .map_err(|error| format!("the issuer does not describe itself: {error}"))?;
        if found.issuer.trim_end_matches('/') != self.issuer {
            return Err(format!("the issuer calls itself `{}`", found.issuer));
        }
        Ok(found)
    }

    /// Begins a log-in in a browser.
    pub fn begin(&self) -> Result<Begun, String> {
        let found = self.discover()?;
        let verifier = drawn()?;
        let state = drawn()?;
        let nonce = drawn()?;
        let fields = form(&[
            ("response_type", "code"),
            ("client_id", &self.client),
            ("redirect_uri", &self.redirect()),
            ("scope", "openid profile email"),
            ("state", &state),
            ("nonce", &nonce),
            ("code_challenge", &url_base64(&Sha256::digest(verifier.as_bytes()))),
            ("code_challenge_method", "S256"),
        ]);
        let mark = if found.authorization_endpoint.contains('?') { '&' } else { '?' };
        let url = format!("{}{mark}{fields}", found.authorization_endpoint);
        Ok(Begun { url, state, verifier, nonce })
    }

    fn redirect(&self) -> String {
        format!("{}/login", self.page)
    }

    /// Ends it with the code that the issuer gave the browser.
    pub fn finish(&self, begun: &Begun, code: &str) -> Result<Session, String> {
        let found = self.discover()?;
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &self.redirect()),
            ("code_verifier", &begun.verifier),
        ];
        let said = self.token(&found.token_endpoint, &fields)?;
        self.check(&found, &said, Some(&begun.nonce))
    }

    /// Begins a log-in in a terminal.
    pub fn begin_device(&self) -> Result<Device, String> {
        let found = self.discover()?;
        let url = found.device_authorization_endpoint.ok_or("the issuer has no log-in by device code")?;
        let said = self.token(&url, &[("scope", "openid profile email")])?;
        serde_json::from_value(said.json).map_err(|error| format!("the issuer gave no device code: {error}"))
    }

    /// Whether the person has logged in meanwhile.
    pub fn poll_device(&self, device: &Device) -> Result<Option<Session>, String> {
        let found = self.discover()?;
        let fields = [("grant_type", DEVICE), ("device_code", &device.device_code)];
        let said = self.token(&found.token_endpoint, &fields)?;
        match said.json["error"].as_str() {
            Some("authorization_pending" | "slow_down") => Ok(None),
            _ => self.check(&found, &said, None).map(Some),
        }
    }

    fn token(&self, url: &str, fields: &[(&str, &str)]) -> Result<Answer, String> {
        let mut fields = fields.to_vec();
        fields.push(("client_id", &self.client));
        let basic = self.secret.as_ref().map(|secret| {
            let pair = format!("{}:{}", escape(&self.client), escape(secret));
            format!("Basic {}", base64(pair.as_bytes()))
        });
        Url::read(url)?.ask(Some(&form(&fields)), basic.as_deref())
    }

    /// Who the ID token is about, if it counts.
    fn check(&self, found: &Discovery, said: &Answer, nonce: Option<&str>) -> Result<Session, String> {
        let why = said.json["error_description"].as_str().or(said.json["error"].as_str());
        let token = said.json["id_token"].as_str();
        let token =
            token.ok_or_else(|| format!("the issuer gave no ID token: {}", why.unwrap_or("no reason")))?;
        let said = Url::read(&found.jwks_uri)?.ask(None, None)?;
        // A key of a kind that we do not know is none of ours.
        let keys = said.json["keys"].as_array().into_iter().flatten();
        let keys: Vec<Jwk> = keys.filter_map(|key| serde_json::from_value(key.clone()).ok()).collect();
        let claims = self.claims(token, &keys)?;
        if nonce.is_some_and(|nonce| claims["nonce"] != nonce) {
            return Err("the ID token is of another log-in".to_owned());
        }
        self.session(&claims)
    }

    fn claims(&self, token: &str, keys: &[Jwk]) -> Result<Value, String> {
        let wrong = |error: &dyn std::fmt::Display| format!("the ID token does not count: {error}");
        let head = decode_header(token).map_err(|error| wrong(&error))?;
        if !ALGORITHMS.contains(&head.alg) {
            return Err(wrong(&format!("it is signed with {:?}", head.alg)));
        }
        let is_it = |key: &&Jwk| {
            let signs = !matches!(key.common.public_key_use, Some(PublicKeyUse::Encryption));
            signs && (head.kid.is_none() || key.common.key_id == head.kid)
        };
        let key = keys.iter().find(is_it).ok_or_else(|| wrong(&"its key is not known"))?;
        let key = DecodingKey::from_jwk(key).map_err(|error| wrong(&error))?;
        let mut rules = Validation::new(head.alg);
        rules.set_issuer(&[&self.issuer, &format!("{}/", self.issuer)]);
        rules.set_audience(&[&self.client]);
        rules.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        rules.validate_nbf = true;
        let claims = decode::<Value>(token, &key, &rules);
        let claims = claims.map_err(|error| wrong(&error))?.claims;
        // With several audiences the token says for which of them it was made.
        if claims["aud"].as_array().is_some_and(|all| all.len() > 1) && claims["azp"] != self.client.as_str()
        {
            return Err(wrong(&"it was made for another client"));
        }
        Ok(claims)
    }

    fn session(&self, claims: &Value) -> Result<Session, String> {
        let name = claims[&self.name].as_str().unwrap_or_default().to_owned();
        if name.is_empty()
            || name.len() > LONGEST_NAME
            || name.contains(|c: char| c.is_whitespace() || c.is_control())
        {
            return Err(format!("the ID token has no `{}` that names a person", self.name));
        }
        if self.name == "email" && claims["email_verified"] == false {
            return Err(format!("`{name}` is not verified by the issuer"));
        }
        let groups = claims[&self.groups].as_array().into_iter().flatten().filter_map(Value::as_str);
        let groups: Vec<String> = groups.take(MOST_GROUPS).map(str::to_owned).collect();
        Ok(Session { name, issuer: self.issuer.clone(), groups, until_ms: now_ms() + SESSION_MS })
    }

    /// What this file gives them now.
    pub fn person(&self, session: &Session) -> Option<Person> {
        if session.issuer != self.issuer || session.until_ms < now_ms() {
            return None;
        }
        let is_theirs = |who: &str| match who.strip_prefix("group:") {
            Some(group) => session.groups.iter().any(|known| known == group),
            None => who == session.name,
        };
        let grants = self.grants.iter().filter(|(who, _)| is_theirs(who)).map(|(_, grant)| grant.clone());
        Some(Person::new(&session.name, &session.issuer, grants.collect()))
    }
}

fn secret(file: &Path) -> Result<String, String> {
    let at = |what: String| format!("`{}`: {what}", file.display());
    let about = fs::metadata(file).map_err(|error| at(error.to_string()))?;
    if about.mode() & 0o077 != 0 {
        return Err(at("others can read it\nhint: `chmod 600` it".to_owned()));
    }
    fs::read_to_string(file).map(|text| text.trim().to_owned()).map_err(|error| at(error.to_string()))
}

impl Session {
    /// The token that a browser or a terminal keeps: this session, signed by the gateway.
    pub fn token(&self, signer: &Signer) -> String {
        let text = serde_json::to_string(self).unwrap_or_default();
        let signature = signer.sign_session(&text);
        format!("{}.{}", url_base64(text.as_bytes()), url_base64(&signature))
    }

    pub fn of(token: &str, signer: &Signer) -> Option<Self> {
        let (text, signature) = token.split_once('.')?;
        let text = String::from_utf8(from_url_base64(text)?).ok()?;
        let is_ours = signer.has_signed_session(&text, &from_url_base64(signature)?);
        serde_json::from_str(&text).ok().filter(|_| is_ours)
    }
}

fn from_url_base64(text: &str) -> Option<Vec<u8>> {
    let padding = "=".repeat((4 - text.len() % 4) % 4);
    from_base64(&(text.replace('-', "+").replace('_', "/") + &padding))
}
