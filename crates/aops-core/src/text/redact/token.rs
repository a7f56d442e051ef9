//! Finds tokens that are recognised by their prefix, and lists those of the providers that we know.
//!
//! Invariants: a row is a prefix, what may follow it, and the minimum length of that; the lookup tables are
//! computed from the rows at compile time, and a row that could never be found does not compile.

use super::{FoundSecret, begins_word, is_pair, is_sign};
use Of::{Alnum, Dashed, Hex, Jwt, MixedAlnum, MixedDashed, Upper, Wide, Word};

/// What the part after the prefix consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Hex,
    /// `A-Z`, `0-9`, exactly the given number.
    Upper,
    Alnum,
    /// With `_`.
    Word,
    /// With `_` and `-`.
    Dashed,
    /// With `_`, `-`, `.`, `/`, `+`, `=`, `~`.
    Wide,
    /// Like `Alnum`, but with both digits and letters, since the prefix alone proves little.
    MixedAlnum,
    /// Like `Dashed`, but with digits, small and capital letters.
    MixedDashed,
    /// Two or more parts of URL-safe base64 with dots between.
    Jwt,
}

pub(super) struct Token {
    pub(super) name: &'static str,
    pub(super) prefix: &'static str,
    pub(super) of: Of,
    /// Minimum number of characters after the prefix.
    pub(super) least: usize,
}

/// `name, body, least: prefixes;` for every provider.
macro_rules! tokens {
    ($($name:literal, $of:ident, $least:literal: $($prefix:literal)+;)+) => {
        &[$($(Token { name: $name, prefix: $prefix, of: Of::$of, least: $least }),+),+]
    };
}

/// Longer prefixes first if one begins with another.
pub(super) static TOKENS: &[Token] = tokens! {
    "anthropic-key", Dashed, 16: "sk-ant-";
    "openai-key", Dashed, 16: "sk-proj-" "sk-svcacct-" "sk-admin-";
    "openrouter-key", Alnum, 16: "sk-or-v1-";
    "api-key", MixedAlnum, 20: "sk-";
    "api-key", MixedDashed, 20: "sk-";
    "groq-key", Alnum, 30: "gsk_";
    "xai-key", Alnum, 40: "xai-";
    "perplexity-key", Alnum, 32: "pplx-";
    "replicate-token", Alnum, 30: "r8_";
    "hugging-face-token", Alnum, 30: "hf_" "api_org_";
    "langsmith-key", Word, 30: "lsv2_pt_" "lsv2_sk_";
    "tavily-key", MixedDashed, 20: "tvly-";
    "stripe-key", Alnum, 16: "sk_live_" "sk_test_" "rk_live_" "rk_test_";
    "stripe-secret", Alnum, 24: "whsec_";
    "elevenlabs-key", Hex, 40: "sk_";
    "github-token", Alnum, 30: "ghp_" "gho_" "ghu_" "ghs_" "ghr_";
    "github-token", Word, 30: "github_pat_";
    "gitlab-token", Dashed, 16: "glpat-" "gldt-" "glrt-" "glcbt-" "glptt-" "glft-" "glsoat-" "glagent-"
        "gloas-";
    "aws-key-id", Upper, 16: "AKIA" "ASIA" "ABIA";
    "google-key", Dashed, 35: "AIza";
    "google-token", Wide, 20: "ya29.";
    "google-secret", Dashed, 20: "GOCSPX-";
    "slack-token", Dashed, 16: "xoxb-" "xoxp-" "xoxa-" "xoxr-" "xoxs-" "xoxc-";
    "slack-token", Wide, 16: "xoxd-";
    "slack-token", Dashed, 16: "xoxe-" "xoxe.xoxp-" "xoxe.xoxb-" "xapp-";
    "slack-webhook", Wide, 16: "hooks.slack.com/services/" "hooks.slack.com/workflows/";
    "discord-webhook", Wide, 40: "discord.com/api/webhooks/" "discordapp.com/api/webhooks/";
    "npm-token", Alnum, 30: "npm_";
    "pypi-token", Dashed, 50: "pypi-";
    "rubygems-token", Hex, 40: "rubygems_";
    "docker-token", Dashed, 20: "dckr_pat_" "dckr_oat_";
    "digitalocean-token", Hex, 40: "dop_v1_" "doo_v1_" "dor_v1_";
    "sendgrid-key", Wide, 40: "SG.";
    "twilio-key", Hex, 32: "SK";
    "shopify-token", Hex, 24: "shpat_" "shpss_" "shpca_" "shppa_";
    "square-token", Dashed, 20: "sq0atp-" "sq0csp-";
    "vault-token", Dashed, 20: "hvs." "hvb.";
    "doppler-token", Alnum, 30: "dp.pt.";
    "doppler-token", Wide, 30: "dp.st.";
    "linear-key", Alnum, 30: "lin_api_";
    "notion-token", Alnum, 30: "ntn_";
    "notion-token", MixedAlnum, 40: "secret_";
    "atlassian-token", Wide, 40: "ATATT3" "ATCTT3";
    "bitbucket-token", Alnum, 24: "ATBB";
    "artifactory-key", Alnum, 50: "AKCp";
    "mailgun-key", MixedAlnum, 32: "key-";
    "figma-token", Dashed, 30: "figd_";
    "grafana-token", Word, 30: "glsa_";
    "grafana-token", Wide, 40: "glc_";
    "sentry-token", Wide, 30: "sntrys_";
    "sentry-token", Hex, 40: "sntryu_";
    "newrelic-key", Alnum, 20: "NRAK-";
    "postman-key", Dashed, 30: "PMAK-";
    "planetscale-token", Dashed, 30: "pscale_tkn_" "pscale_pw_";
    "supabase-key", Hex, 32: "sbp_";
    "supabase-key", Dashed, 20: "sb_secret_";
    "netlify-token", Alnum, 30: "nfp_";
    "fly-token", Wide, 30: "FlyV1 ";
    "heroku-key", Dashed, 30: "HRKU-";
    "circleci-token", Word, 30: "CCIPAT_";
    "buildkite-token", Alnum, 30: "bkua_";
    "pulumi-token", Hex, 32: "pul-";
    "tailscale-key", Dashed, 20: "tskey-";
    "dropbox-token", MixedDashed, 60: "sl.";
    "age-key", Alnum, 40: "AGE-SECRET-KEY-1";
    "databricks-token", Hex, 32: "dapi";
    "jwt", Jwt, 20: "eyJ";
};

impl Of {
    const fn allows(self, byte: u8) -> bool {
        match self {
            Hex => byte.is_ascii_hexdigit(),
            Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Alnum | MixedAlnum => byte.is_ascii_alphanumeric(),
            Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Dashed | MixedDashed => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Wide | Jwt => {
                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b'+' | b'=' | b'~')
            }
        }
    }

    /// Whether this body is long enough and has the right mixture.
    fn accepts(self, body: &[u8], least: usize, next: Option<&u8>) -> bool {
        let some = |is: fn(&u8) -> bool| body.iter().any(is);
        let mixture = match self {
            MixedAlnum => some(u8::is_ascii_digit) && some(u8::is_ascii_alphabetic),
            MixedDashed => {
                some(u8::is_ascii_digit) && some(u8::is_ascii_lowercase) && some(u8::is_ascii_uppercase)
            }
            // A longer word is something else.
            Upper => body.len() == least && !body.ends_with(b"EXAMPLE"),
            Hex => !next.is_some_and(u8::is_ascii_alphanumeric),
            Jwt => {
                let parts: Vec<_> = body.split(|b| *b == b'.').collect();
                parts.len() > 1 && parts[0].len() >= 8 && parts[1].len() >= 8
            }
            _ => true,
        };
        body.len() >= least && mixture
    }
}

/// How much of a body is judged: without a limit, a long text of near misses would cost quadratic time.
const DECIDING: usize = 256;

impl Token {
    /// Position of the anchor in the prefix: the first sign, or else the first pair.
    const fn anchor(&self) -> Option<usize> {
        let prefix = self.prefix.as_bytes();
        let mut n = 0;
        let mut pair = None;
        while n < prefix.len() {
            if is_sign(prefix[n]) {
                return Some(n);
            }
            if pair.is_none() && n + 1 < prefix.len() && is_pair(prefix[n], prefix[n + 1]) {
                pair = Some(n);
            }
            n += 1;
        }
        pair
    }

    fn at(&self, bytes: &[u8], at: usize) -> Option<FoundSecret> {
        let behind = bytes.get(at..)?.strip_prefix(self.prefix.as_bytes())?;
        let allowed = |byte: &&u8| self.of.allows(**byte);
        let long = behind.iter().take(DECIDING).take_while(allowed).count();
        if !self.of.accepts(&behind[..long], self.least, behind.get(long)) {
            return None;
        }
        let long = long + behind[long..].iter().take_while(allowed).count();
        Some(FoundSecret { name: self.name, from: at, to: at + self.prefix.len() + long })
    }
}

pub(super) fn at(bytes: &[u8], at: usize) -> Option<FoundSecret> {
    TOKENS.iter().find_map(|token| token.at(bytes, at))
}

pub(super) fn around(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    if !may_be_around(bytes, at, floor) {
        return None;
    }
    ROWS.iter().find_map(|(anchor, token)| {
        let from = at.checked_sub(*anchor).filter(|from| *from >= floor)?;
        let prefix = token.prefix.as_bytes();
        if prefix[0] != bytes[from] || prefix[*anchor] != bytes[at] {
            return None;
        }
        let found = token.at(bytes, from)?;
        begins_word(bytes, from, floor).then_some(found)
    })
}

static ROWS: [(usize, &Token); TOKENS.len()] = {
    let mut rows = [(0, &TOKENS[0]); TOKENS.len()];
    let mut n = 0;
    while n < TOKENS.len() {
        rows[n] = match TOKENS[n].anchor() {
            Some(anchor) => (anchor, &TOKENS[n]),
            None => panic!("a prefix without an anchor is never found"),
        };
        n += 1;
    }
    rows
};

/// Bits for the three bytes that end at an anchor, or begin at one at the front.
static NEAR: [u64; 256] = near();

const fn near() -> [u64; 256] {
    let mut table = [0; 256];
    let mut n = 0;
    while n < ROWS.len() {
        let (anchor, token) = ROWS[n];
        let prefix = token.prefix.as_bytes();
        let from = anchor.saturating_sub(2);
        // After a short prefix any byte may follow.
        let known = prefix.len() > from + 2;
        let mut third = if known { prefix[from + 2] } else { 0 };
        loop {
            if known || token.of.allows(third) {
                let spot = spot(prefix[from], prefix[from + 1], third);
                table[spot / 64] |= 1 << (spot % 64);
            }
            if known || third == 127 {
                break;
            }
            third += 1;
        }
        n += 1;
    }
    table
}

const fn spot(first: u8, second: u8, third: u8) -> usize {
    let three = (first as u32) << 16 | (second as u32) << 8 | third as u32;
    (three.wrapping_mul(0x9e37_79b1) >> 18) as usize
}

/// Whether the bytes around the anchor are those of some prefix.
fn may_be_around(bytes: &[u8], at: usize, floor: usize) -> bool {
    let has = |near: Option<&[u8]>| {
        let Some([first, second, third]) = near else { return false };
        let spot = spot(*first, *second, *third);
        NEAR[spot / 64] >> (spot % 64) & 1 == 1
    };
    let from = match bytes[at] {
        b'y' => at.checked_sub(1),
        byte if byte == b'p' || is_sign(byte) => at.checked_sub(2),
        _ => Some(at),
    };
    from.is_some_and(|from| from >= floor && has(bytes.get(from..from + 3)))
}
