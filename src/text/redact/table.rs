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
    row("databricks-token", "dapi", Hex, 32),
    row("jwt", "eyJ", Jwt, 20),
];
