//! An issuer of identities that speaks the protocol whole: discovery, keys, code with PKCE, device code,
//! tokens. It logs everybody in whom the test says.

use crate::world::{World, free_port};
use aops_proof::key::{SecretKey, Use};
use aops_proof::text::base64;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) struct Issuer {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
}

struct State {
    url: String,
    keys: Vec<(&'static str, Algorithm, EncodingKey)>,
    /// The public form of the last one.
    edwards: Value,
    /// Which key signs.
    key: usize,
    /// Laid over the claims of each token.
    claims: Value,
    /// By code: the fields that it was asked for with.
    codes: HashMap<String, HashMap<String, String>>,
    /// By device code: its code for people, and whether they have logged in.
    devices: HashMap<String, (String, bool)>,
    number: u64,
}

fn key(args: &[&str]) -> Vec<u8> {
    let made = Command::new("openssl").args(args).output().expect("`openssl` is needed");
    assert!(made.status.success(), "{made:?}");
    made.stdout
}

impl Issuer {
    pub(crate) fn new(world: &World) -> Self {
        let pem = world.at("rsa.pem");
        let pem = pem.to_str().unwrap();
        key(&["genrsa", "-traditional", "-out", pem, "2048"]);
        let rsa = key(&["rsa", "-in", pem, "-traditional", "-outform", "DER"]);
        let curve = "ec_paramgen_curve:P-256";
        let [ec, ed] = [&["EC", "-pkeyopt", curve][..], &["ED25519"]].map(|kind| {
            let file = world.at(kind[0]);
            let file = file.to_str().unwrap();
            key(&[&["genpkey", "-out", file, "-algorithm"], kind].concat());
            key(&["pkcs8", "-topk8", "-nocrypt", "-in", file, "-outform", "DER"])
        });
        let keys = vec![
            ("r", Algorithm::RS256, EncodingKey::from_rsa_der(&rsa)),
            ("e", Algorithm::ES256, EncodingKey::from_ec_der(&ec)),
            ("d", Algorithm::EdDSA, EncodingKey::from_ed_der(&ed)),
        ];
        let seed = ed[ed.len() - 32..].try_into().unwrap();
        let public = SecretKey::new("issuer", Use::Note, seed).unwrap();
        let x = base64(public.public().bytes()).replace('+', "-").replace('/', "_");
        let edwards = json!({"kty": "OKP", "crv": "Ed25519", "kid": "d", "x": x.trim_end_matches('=')});
        let port = free_port();
        let url = format!("http://127.0.0.1:{port}");
        let state = State {
            url: url.clone(),
            keys,
            edwards,
            key: 0,
            claims: json!({}),
            codes: HashMap::new(),
            devices: HashMap::new(),
            number: 0,
        };
        let state = Arc::new(Mutex::new(state));
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A browser opens connections in advance.
                let shared = Arc::clone(&shared);
                thread::spawn(move || answer(&stream, &shared));
            }
        });
        Self { url, state }
    }

    /// Everybody who logs in from now on is this, and the token is signed with this key.
    pub(crate) fn logs_in(&self, claims: Value, key: usize) {
        let mut state = self.state.lock().unwrap();
        state.claims = claims;
        state.key = key;
    }

    /// The person with this code for people logs in.
    pub(crate) fn activate(&self, user_code: &str) {
        let mut state = self.state.lock().unwrap();
        state.devices.values_mut().find(|(code, _)| code == user_code).unwrap().1 = true;
    }

    /// As a browser that the gateway sends here: the state and the code that it comes back with.
    pub(crate) fn authorize(&self, url: &str) -> (String, String) {
        let (_, query) = url.split_once('?').unwrap();
        let mut stream = TcpStream::connect(self.url.trim_start_matches("http://")).unwrap();
        write!(stream, "GET /authorize?{query} HTTP/1.1\r\n\r\n").unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        let place =
            said.lines().find_map(|line| line.strip_prefix("location: ")).unwrap_or_else(|| panic!("{said}"));
        let fields = fields(place.split_once('?').unwrap().1);
        (fields["state"].clone(), fields["code"].clone())
    }
}

fn fields(text: &str) -> HashMap<String, String> {
    let read = |text: &str| {
        let mut parts = text.split('%');
        let mut out = parts.next().unwrap().as_bytes().to_vec();
        for part in parts {
            out.push(u8::from_str_radix(&part[..2], 16).unwrap());
            out.extend_from_slice(&part.as_bytes()[2..]);
        }
        String::from_utf8(out).unwrap()
    };
    text.split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.to_owned(), read(value)))
        .collect()
}

fn answer(mut stream: &TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut long = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            long = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; long];
    reader.read_exact(&mut body)?;
    let body = fields(&String::from_utf8(body).unwrap());
    let target = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut state = state.lock().unwrap();
    let (status, more, said) = state.say(path, &fields(query), &body);
    let long = said.len();
    write!(
        stream,
        "HTTP/1.1 {status} -\r\n{more}content-type: application/json\r\ncontent-length: {long}\r\nconnection: close\r\n\r\n{said}"
    )
}

type Said = (u16, String, String);

fn plain(status: u16, said: &Value) -> Said {
    (status, String::new(), said.to_string())
}

impl State {
    fn say(&mut self, path: &str, query: &HashMap<String, String>, body: &HashMap<String, String>) -> Said {
        let url = &self.url;
        match path {
            "/.well-known/openid-configuration" => plain(
                200,
                &json!({
                    "issuer": url, "authorization_endpoint": format!("{url}/authorize"),
                    "token_endpoint": format!("{url}/token"), "jwks_uri": format!("{url}/keys"),
                    "device_authorization_endpoint": format!("{url}/device")
                }),
            ),
            "/keys" => {
                let keys = self.keys.iter().map(|(name, algorithm, key)| {
                    if *algorithm == Algorithm::EdDSA {
                        return self.edwards.clone();
                    }
                    let mut key = Jwk::from_encoding_key(key, *algorithm).unwrap();
                    key.common.key_id = Some((*name).to_owned());
                    json!(key)
                });
                plain(200, &json!({"keys": keys.collect::<Vec<_>>()}))
            }
            "/authorize" => self.authorize(query),
            "/device" => {
                self.number += 1;
                let (code, for_people) = (format!("device-{}", self.number), format!("CODE-{}", self.number));
                self.devices.insert(code.clone(), (for_people.clone(), false));
                plain(
                    200,
                    &json!({"device_code": code, "user_code": for_people, "expires_in": 600, "interval": 1,
                    "verification_uri": format!("{url}/activate")}),
                )
            }
            "/token" => self.token(body),
            _ => plain(404, &Value::Null),
        }
    }

    fn authorize(&mut self, query: &HashMap<String, String>) -> Said {
        let is = |name: &str, wanted: &str| query.get(name).is_some_and(|value| value == wanted);
        if !is("response_type", "code")
            || !is("client_id", "aops")
            || !is("code_challenge_method", "S256")
            || !query["scope"].contains("openid")
        {
            return plain(400, &json!({"error": "invalid_request"}));
        }
        self.number += 1;
        let code = format!("code-{}", self.number);
        self.codes.insert(code.clone(), query.clone());
        let place = format!("location: {}?state={}&code={code}\r\n", query["redirect_uri"], query["state"]);
        (302, place, String::new())
    }

    fn token(&mut self, body: &HashMap<String, String>) -> Said {
        let refuse = |why: &str| plain(400, &json!({"error": why}));
        if body.get("client_id").is_none_or(|client| client != "aops") {
            return refuse("invalid_client");
        }
        if let Some(code) = body.get("device_code") {
            return match self.devices.get(code) {
                Some((_, true)) => plain(200, &json!({"id_token": self.signed(None)})),
                Some(_) => refuse("authorization_pending"),
                None => refuse("invalid_grant"),
            };
        }
        let Some(asked) = body.get("code").and_then(|code| self.codes.remove(code)) else {
            return refuse("invalid_grant");
        };
        let digest = Sha256::digest(body["code_verifier"].as_bytes());
        let challenge = base64(&digest).replace('+', "-").replace('/', "_");
        if asked["code_challenge"] != challenge.trim_end_matches('=')
            || asked["redirect_uri"] != body["redirect_uri"]
        {
            return refuse("invalid_grant");
        }
        plain(
            200,
            &json!({"id_token": self.signed(asked.get("nonce")), "access_token": "x", "token_type": "Bearer"}),
        )
    }

    fn signed(&self, nonce: Option<&String>) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let mut claims = json!({"iss": self.url, "aud": "aops", "sub": "42", "iat": now, "exp": now + 300, "nonce": nonce});
        for (name, value) in self.claims.as_object().unwrap() {
            claims[name] = value.clone();
        }
        let (name, algorithm, key) = &self.keys[self.key];
        let head = Header { kid: Some((*name).to_owned()), ..Header::new(*algorithm) };
        encode(&head, &claims, key).unwrap()
    }
}
