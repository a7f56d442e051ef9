//! Parts of the jail that a test switches off, to see that what they hold is found open then. Not in a
//! release.

/// Whether this part is off.
#[expect(clippy::disallowed_methods, reason = "the variable is the tests' own")]
pub fn is_switched_off(part: &str) -> bool {
    std::env::var_os("AOPS_TEST_WITHOUT").is_some_and(|named| named == part)
}
