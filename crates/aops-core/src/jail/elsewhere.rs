//! Systems without namespaces and Landlock: macOS has its sandbox; any other system has no jail, and we say
//! so.
//!
//! Changes this process alone. Offers the same functions as `enter` on Linux, and is compiled there with the
//! tests, which compare the two. The call of macOS' own library was never compiled.

use super::plan::Ground;
use super::receipt::Receipt;
use super::seatbelt;
use crate::model::profile::{Hold, JailState, Profile};
use std::ffi::CString;
use std::path::Path;

/// There are no throwaway layers here, so there is no value of this type.
pub enum Trial {}

impl Trial {
    pub fn begin(self, _: Option<Receipt>, _: &[i32]) -> Result<(), String> {
        match self {}
    }
}

/// There are no throwaway layers here to end.
pub fn end_all(_: &Path) {}

pub fn enter(hold: Hold, profile: Profile, ground: &Ground, _: &Path) -> Result<Option<Trial>, String> {
    let unheld = || format!("profile `{}` does not work on this system", profile.name());
    match hold {
        Hold::Words => Ok(None),
        Hold::Seatbelt if profile.is_quiet() => Err(unheld()),
        Hold::Seatbelt => {
            let text = seatbelt::profile(&ground.plan(profile)?).and_then(|text| CString::new(text).ok());
            system::apply(&text.ok_or_else(unheld)?).map(|()| None)
        }
        Hold::Namespaces | Hold::Landlock => Err(unheld()),
    }
}

/// Nobody outside the jail waits for a command here, so only the client can say how it ended.
pub fn watch(_: Receipt) -> Result<(), String> {
    Ok(())
}

pub fn lock(_: Hold, _: Profile, _: &Ground, _: &Path) -> Result<(), String> {
    Ok(())
}

pub fn holds(hold: Hold, _: Profile, _: &Ground) -> Result<bool, String> {
    Ok(hold == Hold::Seatbelt && system::IS_THERE)
}

/// Nothing is tried out here: if a command cannot enter its profile, it does not run.
pub fn what_holds(ground: &Ground, wanted: Profile) -> Result<JailState, String> {
    let project = ground.project.to_string_lossy().into_owned();
    let hold = if holds(Hold::Seatbelt, wanted, ground)? { Hold::Seatbelt } else { Hold::Words };
    let why = if hold == Hold::Seatbelt { "macOS has no throwaway layers" } else { NOTHING };
    Ok(JailState { hold, project, why: why.to_owned(), ..JailState::default() })
}

const NOTHING: &str = "this system has neither namespaces nor Landlock";

/// Each means by name, and whether it holds for this project.
pub fn what_each(ground: &Ground) -> Vec<(&'static str, Result<(), String>)> {
    let held =
        what_holds(ground, Profile::Work).and_then(|held| if held.is_on() { Ok(()) } else { Err(held.why) });
    vec![("sandbox (untested)", held)]
}

pub fn close_on_exec() {}

/// The sandbox needs nothing prepared.
pub fn prepare(_: &Path, _: std::time::Duration, _: impl FnOnce() -> Ground) -> std::io::Result<()> {
    Ok(())
}

#[cfg(target_os = "macos")]
#[allow(unsafe_code, reason = "no safe crate offers it")]
mod system {
    use std::ffi::{CStr, c_char, c_int};

    pub(super) const IS_THERE: bool = true;

    unsafe extern "C" {
        /// What `sandbox-exec -p` calls.
        fn sandbox_init(profile: *const c_char, flags: u64, error: *mut *mut c_char) -> c_int;
    }

    pub(super) fn apply(profile: &CStr) -> Result<(), String> {
        let mut error: *mut c_char = std::ptr::null_mut();
        // SAFETY: the profile ends with a zero byte, and so does the error, which is read before the process
        // ends.
        unsafe {
            match sandbox_init(profile.as_ptr(), 0, &raw mut error) {
                0 => Ok(()),
                _ if error.is_null() => Err("the sandbox could not be entered".to_owned()),
                _ => Err(CStr::from_ptr(error).to_string_lossy().into_owned()),
            }
        }
    }
}

#[cfg(not(target_os = "macos"))]
mod system {
    use std::ffi::CStr;

    pub(super) const IS_THERE: bool = false;

    pub(super) fn apply(_: &CStr) -> Result<(), String> {
        Err("there is no sandbox on this system".to_owned())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::enter as here;
    use super::*;

    type Enter<L> = fn(Hold, Profile, &Ground, &Path) -> Result<Option<L>, String>;
    type Lock = fn(Hold, Profile, &Ground, &Path) -> Result<(), String>;
    type Report<L> = fn(L, Option<Receipt>, &[i32]) -> Result<(), String>;
    type Holds = fn(Hold, Profile, &Ground) -> Result<bool, String>;
    type What = fn(&Ground, Profile) -> Result<JailState, String>;
    type Each = fn(&Ground) -> Vec<(&'static str, Result<(), String>)>;

    /// Code written for one system must compile for the other.
    #[test]
    fn both_systems_offer_the_same() {
        let _: (Enter<here::Trial>, Enter<Trial>) = (here::enter, enter);
        let _: [Lock; 2] = [here::lock, lock];
        let _: [Holds; 2] = [here::holds, holds];
        let _: [What; 2] = [here::what_holds, what_holds];
        let _: [Each; 2] = [here::what_each, what_each];
        let _: [fn(); 2] = [here::close_on_exec, close_on_exec];
        let _: (Report<here::Trial>, Report<Trial>) = (here::Trial::begin, Trial::begin);
    }

    #[test]
    fn where_nothing_holds_only_words_pass() {
        let ground = Ground::default();
        let enter =
            |hold, profile| enter(hold, profile, &ground, Path::new("/")).map(|layers| layers.is_none());
        assert_eq!(enter(Hold::Words, Profile::Trial), Ok(true));
        for hold in [Hold::Namespaces, Hold::Landlock, Hold::Seatbelt] {
            assert!(enter(hold, Profile::Work).is_err());
        }
        let state = what_holds(&ground, Profile::Trial).unwrap();
        assert_eq!((state.hold, state.trial, state.why.as_str()), (Hold::Words, false, NOTHING));
        assert_eq!(what_each(&ground), [("sandbox (untested)", Err(NOTHING.to_owned()))]);
    }
}
