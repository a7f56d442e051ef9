//! The head of a log as the text of a note: origin, size, root (C2SP `tlog-checkpoint`).

use super::text::{base64, from_base64};
use super::tree::Hash;
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which log: `host.example/name`.
    pub origin: String,
    pub size: u64,
    pub root: Hash,
}

impl Checkpoint {
    /// Lines after the third are allowed and ignored.
    pub fn parse(text: &str) -> Result<Self, String> {
        let odd = |what: &str| format!("no checkpoint: {what}");
        let body = text.strip_suffix('\n').ok_or_else(|| odd("the last line is cut off"))?;
        let mut lines = body.split('\n');
        let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next()) else {
            return Err(odd("it has fewer than three lines"));
        };
        if origin.is_empty() || lines.any(str::is_empty) {
            return Err(odd("a line is empty"));
        }
        let size = whole_number(size).ok_or_else(|| odd("the size is not a number"))?;
        let root = hash(root).ok_or_else(|| odd("the root is not a hash"))?;
        Ok(Self { origin: origin.to_owned(), size, root })
    }
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "{}\n{}\n{}", self.origin, self.size, base64(&self.root))
    }
}

/// A decimal number in its only form.
pub fn whole_number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number: &u64| number.to_string() == text)
}

pub(crate) fn hash(line: &str) -> Option<Hash> {
    from_base64(line)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_there_and_back() {
        let text = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
        let checkpoint = Checkpoint::parse(text).unwrap();
        assert_eq!((checkpoint.size, checkpoint.to_string().as_str()), (20_852_163, text));
        assert_eq!(Checkpoint::parse(&format!("{text}more\n")), Ok(checkpoint));
        for bad in [
            "",
            "a\n1\n",
            "a\n01\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n",
            "a\n1\nAAAA\n",
            "\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n",
            "a\n+1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n",
            "a\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=",
            "a\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n",
        ] {
            assert!(Checkpoint::parse(bad).is_err(), "{bad:?}");
        }
    }
}
