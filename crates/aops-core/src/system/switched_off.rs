//! Lets a test switch off parts of the jail, to check that what they protect is then unprotected. Not in a
//! release.

#[expect(clippy::disallowed_methods, reason = "the variable is the tests' own")]
pub fn is_switched_off(part: &str) -> bool {
    std::env::var_os("AOPS_TEST_WITHOUT").is_some_and(|named| named == part)
}
