//! Tokens known by how they begin: one row for each.
//!
//! Reads nothing, writes nothing. Invariant: a row is a prefix, what may follow it and how much of that at least; the
//! lookup tables are made from the rows when we are compiled.

use super::anchor::{is_pair, is_sign};
use super::{Found, begins_word};

/// What the part behind the prefix is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Hex,
    /// `A-Z`, `0-9`, as many as said and no more.
    Upper,
    Alnum,
    /// With `_`.
    Word,
    /// With `_` and `-`.
    Dashed,
    /// With `_`, `-`, `.`, `/`, `+`, `=`, `~`.
    Wide,
    /// As `Alnum`, but digits and letters must both be there: the prefix alone proves little.
    MixedAlnum,
    /// As `Dashed`, but with digits, small and capital letters.
    MixedDashed,
    /// Two or more parts of URL-safe base64 with dots between.
    Jwt,
}

pub(super) struct Token {
    pub(super) name: &'static str,
    pub(super) prefix: &'static str,
    pub(super) of: Of,
    /// Fewest characters after the prefix.
    pub(super) least: usize,
}

const fn row(name: &'static str, prefix: &'static str, of: Of, least: usize) -> Token {
    Token { name, prefix, of, least }
}

use Of::{Alnum, Dashed, Hex, Jwt, MixedAlnum, MixedDashed, Upper, Wide, Word};

/// Longer prefixes first where one begins with another.
#[rustfmt::skip]
pub(super) static TOKENS: &[Token] = &[
    row("anthropic-key", "sk-ant-", Dashed, 16),
    row("openai-key", "sk-proj-", Dashed, 16),
    row("openai-key", "sk-svcacct-", Dashed, 16),
    row("openai-key", "sk-admin-", Dashed, 16),
    row("openrouter-key", "sk-or-v1-", Alnum, 16),
    row("api-key", "sk-", MixedAlnum, 20),
    row("api-key", "sk-", MixedDashed, 20),
    row("groq-key", "gsk_", Alnum, 30),
    row("xai-key", "xai-", Alnum, 40),
    row("perplexity-key", "pplx-", Alnum, 32),
    row("replicate-token", "r8_", Alnum, 30),
    row("hugging-face-token", "hf_", Alnum, 30),
    row("hugging-face-token", "api_org_", Alnum, 30),
    row("langsmith-key", "lsv2_pt_", Word, 30),
    row("langsmith-key", "lsv2_sk_", Word, 30),
    row("tavily-key", "tvly-", MixedDashed, 20),
    row("stripe-key", "sk_live_", Alnum, 16),
    row("stripe-key", "sk_test_", Alnum, 16),
    row("stripe-key", "rk_live_", Alnum, 16),
    row("stripe-key", "rk_test_", Alnum, 16),
    row("stripe-secret", "whsec_", Alnum, 24),
    row("elevenlabs-key", "sk_", Hex, 40),
    row("github-token", "ghp_", Alnum, 30),
    row("github-token", "gho_", Alnum, 30),
    row("github-token", "ghu_", Alnum, 30),
    row("github-token", "ghs_", Alnum, 30),
    row("github-token", "ghr_", Alnum, 30),
    row("github-token", "github_pat_", Word, 30),
    row("gitlab-token", "glpat-", Dashed, 16),
    row("gitlab-token", "gldt-", Dashed, 16),
    row("gitlab-token", "glrt-", Dashed, 16),
    row("gitlab-token", "glcbt-", Dashed, 16),
    row("gitlab-token", "glptt-", Dashed, 16),
    row("gitlab-token", "glft-", Dashed, 16),
    row("gitlab-token", "glsoat-", Dashed, 16),
    row("gitlab-token", "glagent-", Dashed, 16),
    row("gitlab-token", "gloas-", Dashed, 16),
    row("aws-key-id", "AKIA", Upper, 16),
    row("aws-key-id", "ASIA", Upper, 16),
    row("aws-key-id", "ABIA", Upper, 16),
    row("google-key", "AIza", Dashed, 35),
    row("google-token", "ya29.", Wide, 20),
    row("google-secret", "GOCSPX-", Dashed, 20),
    row("slack-token", "xoxb-", Dashed, 16),
    row("slack-token", "xoxp-", Dashed, 16),
    row("slack-token", "xoxa-", Dashed, 16),
    row("slack-token", "xoxr-", Dashed, 16),
    row("slack-token", "xoxs-", Dashed, 16),
    row("slack-token", "xoxc-", Dashed, 16),
    row("slack-token", "xoxd-", Wide, 16),
    row("slack-token", "xoxe-", Dashed, 16),
    row("slack-token", "xoxe.xoxp-", Dashed, 16),
    row("slack-token", "xoxe.xoxb-", Dashed, 16),
    row("slack-token", "xapp-", Dashed, 16),
    row("slack-webhook", "hooks.slack.com/services/", Wide, 16),
    row("slack-webhook", "hooks.slack.com/workflows/", Wide, 16),
    row("discord-webhook", "discord.com/api/webhooks/", Wide, 40),
    row("discord-webhook", "discordapp.com/api/webhooks/", Wide, 40),
    row("npm-token", "npm_", Alnum, 30),
    row("pypi-token", "pypi-", Dashed, 50),
    row("rubygems-token", "rubygems_", Hex, 40),
    row("docker-token", "dckr_pat_", Dashed, 20),
    row("docker-token", "dckr_oat_", Dashed, 20),
    row("digitalocean-token", "dop_v1_", Hex, 40),
    row("digitalocean-token", "doo_v1_", Hex, 40),
    row("digitalocean-token", "dor_v1_", Hex, 40),
    row("sendgrid-key", "SG.", Wide, 40),
    row("twilio-key", "SK", Hex, 32),
    row("shopify-token", "shpat_", Hex, 24),
    row("shopify-token", "shpss_", Hex, 24),
    row("shopify-token", "shpca_", Hex, 24),
    row("shopify-token", "shppa_", Hex, 24),
    row("square-token", "sq0atp-", Dashed, 20),
    row("square-token", "sq0csp-", Dashed, 20),
    row("vault-token", "hvs.", Dashed, 20),
    row("vault-token", "hvb.", Dashed, 20),
    row("doppler-token", "dp.pt.", Alnum, 30),
    row("doppler-token", "dp.st.", Wide, 30),
    row("linear-key", "lin_api_", Alnum, 30),
    row("notion-token", "ntn_", Alnum, 30),
    row("notion-token", "secret_", MixedAlnum, 40),
    row("atlassian-token", "ATATT3", Wide, 40),
    row("atlassian-token", "ATCTT3", Wide, 40),
    row("figma-token", "figd_", Dashed, 30),
    row("grafana-token", "glsa_", Word, 30),
    row("grafana-token", "glc_", Wide, 40),
    row("sentry-token", "sntrys_", Wide, 30),
    row("sentry-token", "sntryu_", Hex, 40),
    row("newrelic-key", "NRAK-", Alnum, 20),
    row("postman-key", "PMAK-", Dashed, 30),
    row("planetscale-token", "pscale_tkn_", Dashed, 30),
    row("planetscale-token", "pscale_pw_", Dashed, 30),
    row("supabase-key", "sbp_", Hex, 32),
    row("supabase-key", "sb_secret_", Dashed, 20),
    row("netlify-token", "nfp_", Alnum, 30),
    row("fly-token", "FlyV1 ", Wide, 30),
    row("heroku-key", "HRKU-", Dashed, 30),
    row("circleci-token", "CCIPAT_", Word, 30),
    row("buildkite-token", "bkua_", Alnum, 30),
    row("pulumi-token", "pul-", Hex, 32),
    row("tailscale-key", "tskey-", Dashed, 20),
    row("dropbox-token", "sl.", MixedDashed, 60),
    row("age-key", "AGE-SECRET-KEY-1", Alnum, 40),
    row("jwt", "eyJ", Jwt, 20),
];

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

    /// Whether so much of the text is long enough, and of the right mixture.
    fn accepts(self, body: &[u8], least: usize, next: Option<&u8>) -> bool {
        let some = |is: fn(&u8) -> bool| body.iter().any(is);
        let mixture = match self {
            MixedAlnum => some(u8::is_ascii_digit) && some(u8::is_ascii_alphabetic),
            MixedDashed => {
                some(u8::is_ascii_digit) && some(u8::is_ascii_lowercase) && some(u8::is_ascii_uppercase)
            }
            // A longer word is some other word.
            Upper => body.len() == least,
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

/// So much of a body decides whether it is one: more would let a long text of near misses cost its square.
const DECIDING: usize = 256;

impl Token {
    /// Where in the prefix its anchor is: the first sign, or else the first pair.
    const fn anchor(&self) -> Option<usize> {
        let prefix = self.prefix.as_bytes();
        let (mut n, mut pair) = (prefix.len() - 1, None);
        let mut sign = None;
        loop {
            if is_sign(prefix[n]) {
                sign = Some(n);
            }
            if n == 0 {
                return if sign.is_some() { sign } else { pair };
            }
            n -= 1;
            if is_pair(prefix[n], prefix[n + 1]) {
                pair = Some(n);
            }
        }
    }

    fn at(&self, bytes: &[u8], at: usize) -> Option<Found> {
        let behind = bytes.get(at..)?.strip_prefix(self.prefix.as_bytes())?;
        let allowed = |byte: &&u8| self.of.allows(**byte);
        let long = behind.iter().take(DECIDING).take_while(allowed).count();
        if !self.of.accepts(&behind[..long], self.least, behind.get(long)) {
            return None;
        }
        let long = long + behind[long..].iter().take_while(allowed).count();
        Some(Found { name: self.name, from: at, to: at + self.prefix.len() + long })
    }
}

/// The token that begins here.
pub(super) fn at(bytes: &[u8], at: usize) -> Option<Found> {
    TOKENS.iter().find_map(|token| token.at(bytes, at))
}

/// The token whose anchor is here.
pub(super) fn around(bytes: &[u8], at: usize, floor: usize) -> Option<Found> {
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

/// The rows with their anchors.
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

/// Bits for the three bytes that end at an anchor, or begin at one that is in front.
static NEAR: [u64; 256] = near();

const fn near() -> [u64; 256] {
    let mut table = [0; 256];
    let mut n = 0;
    while n < ROWS.len() {
        let (anchor, token) = ROWS[n];
        let prefix = token.prefix.as_bytes();
        let from = anchor.saturating_sub(2);
        // What comes behind a short prefix can be anything.
        let known = prefix.len() > from + 2;
        let mut third = if known { prefix[from + 2] as usize } else { 0 };
        let last = if known { third } else { 255 };
        while third <= last {
            if !known && !token.of.allows(third as u8) {
                third += 1;
                continue;
            }
            let spot = spot(prefix[from], prefix[from + 1], third as u8);
            table[spot / 64] |= 1 << (spot % 64);
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
        byte if is_sign(byte) => at.checked_sub(2),
        _ => Some(at),
    };
    from.is_some_and(|from| from >= floor && has(bytes.get(from..from + 3)))
}
