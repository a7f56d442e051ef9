//! The tokens of the providers we know, one row for each.
//!
//! Reads nothing, writes nothing. Invariant: a row is a prefix, what may follow it, and how much of that at least.

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

/// `name, body, least: prefixes;` for every provider.
macro_rules! tokens {
    ($($name:literal, $of:ident, $least:literal: $($prefix:literal)+;)+) => {
        &[$($(Token { name: $name, prefix: $prefix, of: Of::$of, least: $least }),+),+]
    };
}

/// Longer prefixes first where one begins with another.
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
