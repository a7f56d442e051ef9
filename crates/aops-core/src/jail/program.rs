//! Replaces this process by another program.
//!
//! Invariant: signals, streams and process group stay as they are.

use std::convert::Infallible;
use std::ffi::{CStr, CString, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

fn c_text(bytes: &[u8]) -> Result<CString, String> {
    CString::new(bytes).map_err(|_| "it holds a zero byte".to_owned())
}

/// Runs this program in this process with these words, the first of which is the name it is called by.
/// Returns only if that fails.
pub(super) fn become_program<'a>(
    program: &Path,
    words: &[&[u8]],
    variables: impl Iterator<Item = (&'a String, &'a OsString)>,
) -> Result<Infallible, String> {
    let words: Vec<CString> = words.iter().map(|word| c_text(word)).collect::<Result<_, _>>()?;
    let given = variables.map(|(name, value)| c_text(&[name.as_bytes(), b"=", value.as_bytes()].concat()));
    let given: Vec<CString> = given.collect::<Result<_, _>>()?;
    let path = c_text(program.as_os_str().as_bytes())?;
    Err(format!("`{}`: {}", program.display(), execute(&path, &words, &given)))
}

fn execute(program: &CStr, words: &[CString], variables: &[CString]) -> io::Error {
    let ended =
        |texts: &[CString]| texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect();
    let words: Vec<_> = ended(words);
    let variables: Vec<_> = ended(variables);
    #[expect(unsafe_code, reason = "std would reset signals that the program must inherit")]
    // SAFETY: both lists end with a null pointer and outlive the call.
    unsafe {
        libc::execve(program.as_ptr(), words.as_ptr(), variables.as_ptr());
    }
    io::Error::last_os_error()
}
