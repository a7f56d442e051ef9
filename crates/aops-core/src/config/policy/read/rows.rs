//! Adds the user's `[[project]]` rows after the rest of their file was read.

use super::Reading;
use crate::config::policy::key::Key;
use crate::config::policy::value::Value;

impl Reading<'_> {
    /// The last row that covers this folder counts; what the bundle fixes stays.
    pub(super) fn switch_dangers(&mut self) {
        for (switch, at) in std::mem::take(&mut self.switches) {
            let Some((key, level)) = switch.split_once('=') else { continue };
            if let Some(key) = Key::of(key) {
                self.set(key, Value::Text(level.to_owned()), key.name, (at, at));
            }
        }
    }

    /// They are added to those of `[network]`; what the bundle fixes stays.
    pub(super) fn add_hosts(&mut self) {
        for (name, mut hosts, at) in std::mem::take(&mut self.hosts) {
            let Some(key) = Key::of(name) else { continue };
            let Value::Names(known) = key.get(self.policy) else { continue };
            hosts.retain(|host| !known.contains(host));
            let all = known.into_iter().chain(hosts).collect();
            self.set(key, Value::Names(all), name, (at, at));
        }
    }
}
