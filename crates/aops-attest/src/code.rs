//! Why a commit does not pass, in one word for programs and one sentence for people.

use aops_ledger::named;

named! {
    #[derive(PartialOrd, Ord)]
    pub enum Code {
        /// Nothing attests it.
        None = "NONE",
        KeyUnknown = "KEY_UNKNOWN",
        Signature = "SIGNATURE",
        /// The note names another commit.
        Subject = "SUBJECT",
        /// Only part of it is attested, or only part of what is attested is in it.
        Part = "PART",
        /// A merge with changes of its own.
        MergeOwn = "MERGE_OWN",
        Log = "LOG",
        Witness = "WITNESS",
        Level = "LEVEL",
        Property = "PROPERTY",
        Age = "AGE",
        Form = "FORM",
        /// It cannot be checked here.
        Objects = "OBJECTS",
    }
}

impl Code {
    /// What it means, for a list of rules.
    pub fn about(self) -> &'static str {
        match self {
            Self::None => "no attestation describes this commit",
            Self::KeyUnknown => {
                "the attestation is signed by a key that is not trusted, or not for that time"
            }
            Self::Signature => "a signature in the name of a trusted key is wrong",
            Self::Subject => "the attestation describes another commit or repository",
            Self::Part => {
                "only a part of this change is attested, or only a part of an attested change is here"
            }
            Self::MergeOwn => "the merge changes more than its parents do",
            Self::Log => "the attestation is not proven to be in the signed log",
            Self::Witness => "not enough trusted witnesses saw the log, or a cosignature is wrong",
            Self::Level => "the level is lower than what is required",
            Self::Property => "a required property is missing",
            Self::Age => "the attestation is older than allowed",
            Self::Form => "the note or the statement is malformed or too large",
            Self::Objects => "the commit cannot be checked here: objects are missing",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub code: Code,
    pub why: String,
    /// The signature or proof of a trusted key is wrong: somebody forged something.
    pub is_alarm: bool,
}

impl Trouble {
    pub fn new(code: Code, why: impl Into<String>) -> Self {
        Self { code, why: why.into(), is_alarm: false }
    }

    pub fn alarm(code: Code, why: impl Into<String>) -> Self {
        Self { code, why: why.into(), is_alarm: true }
    }

    /// How telling the reason is compared with others: forgery first, then wrong form, unknown signer, and
    /// what is missing.
    pub fn weight(&self) -> u8 {
        let order = [Code::Signature, Code::Log, Code::Witness, Code::Form, Code::KeyUnknown, Code::Subject];
        let place = order.iter().position(|code| *code == self.code).unwrap_or(order.len());
        u8::try_from(place).unwrap_or(u8::MAX) + if self.is_alarm { 0 } else { 100 }
    }
}
