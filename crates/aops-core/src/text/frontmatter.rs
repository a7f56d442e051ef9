//! What the file of a skill, a command or an agent brings apart from its text: hooks, `!` commands, MCP
//! servers.
//!
//! Reads a text, writes nothing. Invariant: a head that cannot be parsed plainly is assumed to bring
//! something.

/// Keys of the head whose values name programs.
const KEYS: [(&str, &str); 5] = [
    ("hooks", "hooks"),
    ("mcpservers", "MCP servers"),
    ("mcp-servers", "MCP servers"),
    ("mcp_servers", "MCP servers"),
    ("lspservers", "language servers"),
];

/// The head between two lines `---`, and the rest.
pub fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches('\u{feff}').trim_start().strip_prefix("---")?;
    let end = text.find("\n---").unwrap_or(text.len());
    Some((&text[..end], &text[end..]))
}

/// What the client would run from this text without asking; `None` for a plain text.
pub fn brings(text: &str) -> Option<&'static str> {
    let (head, _) = split(text).unwrap_or_default();
    of_head(head).or_else(|| runs_commands(text).then_some("`!` commands"))
}

fn of_head(head: &str) -> Option<&'static str> {
    let lower = head.to_lowercase();
    for line in lower.lines() {
        let key = line.split(':').next().unwrap_or_default();
        // `"\x68ooks":`, `? hooks`, `<<: *a`, `!!str hooks:` are not plain keys.
        if line.contains(':') && key.contains('\\')
            || line.trim_start().starts_with(['?', '!', '&', '*'])
            || key.trim() == "<<"
        {
            return Some("a head that cannot be read");
        }
    }
    let said = |name: &str| {
        lower.match_indices(name).any(|(at, _)| {
            let before = lower[..at].chars().next_back();
            let after = lower[at + name.len()..].trim_start_matches(['"', '\'']).trim_start();
            before.is_none_or(|c| !(c.is_alphanumeric() || matches!(c, '-' | '_'))) && after.starts_with(':')
        })
    };
    KEYS.iter().find(|(name, _)| said(name)).map(|(_, what)| *what)
}

/// Whether the text contains a command that the client runs while it reads the text: inline, or in a fence
/// that begins with `!`.
fn runs_commands(text: &str) -> bool {
    text.contains("!`")
        || text.lines().any(|line| {
            line.trim_start().trim_start_matches(['`', '~']).starts_with('!')
                && line.trim_start().starts_with(['`', '~'])
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_text_brings_nothing() {
        for text in [
            "",
            "Say hello.\n",
            "---\nname: x\ndescription: it hooks into the build: see below\n---\nhooks: none\n",
            "---\nname: x\ntools: Read, Grep\nmodel: opus\n---\n# Title\n\nUse `rg`! `cat` is fine.\n",
            "---\nname: webhooks-guide\ndescription: on webhooks\n---\nmcpServers: are configured elsewhere\n",
        ] {
            assert_eq!(brings(text), None, "{text}");
        }
    }

    #[test]
    fn what_runs_is_named() {
        for (text, what) in [
            ("---\nname: h\nhooks:\n  PostToolUse: []\n---\n", "hooks"),
            ("\u{feff}---\r\nname: h\r\n\"Hooks\" :\r\n---\r\n", "hooks"),
            ("---\n{name: h, hooks: {}}\n---\n", "hooks"),
            ("---\nname: h\nmcpServers:\n  - x\n---\n", "MCP servers"),
            ("---\nname: h\n\"\\x68ooks\":\n  x: y\n---\n", "a head that cannot be read"),
            ("---\nname: h\n? hooks\n: x\n---\n", "a head that cannot be read"),
            ("---\nname: h\n<<: *base\n---\n", "a head that cannot be read"),
            ("---\nname: h\n---\nState: !`git status`\n", "`!` commands"),
            ("```!\ntouch x\n```\n", "`!` commands"),
            ("---\nhooks:\n  a: b\n", "hooks"),
        ] {
            assert_eq!(brings(text), Some(what), "{text}");
        }
    }
}
