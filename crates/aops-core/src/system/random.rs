//! Random bytes from the operating system.
//!
//! Asks the kernel: `getrandom` on Linux; elsewhere, and on a kernel without it, reads `/dev/urandom`.

use std::fs::File;
use std::io::{self, Read};

pub fn fill(bytes: &mut [u8]) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if rustix::rand::getrandom(&mut *bytes, rustix::rand::GetRandomFlags::empty()) == Ok(bytes.len()) {
        return Ok(());
    }
    read_device(bytes)
}

/// Random bytes as hex digits, two for each byte; at most 32 bytes.
pub fn hex(bytes: usize) -> io::Result<String> {
    let mut all = [0; 32];
    fill(&mut all)?;
    Ok(all.iter().take(bytes).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat())
}

fn read_device(bytes: &mut [u8]) -> io::Result<()> {
    File::open("/dev/urandom")?.read_exact(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sources_fill_all_bytes_and_never_repeat() {
        for fill in [fill, read_device] {
            let mut drawn = [[0; 32]; 2];
            for bytes in &mut drawn {
                fill(bytes).unwrap();
            }
            assert!(drawn[0] != drawn[1] && drawn.iter().all(|bytes| bytes[16..] != [0; 16]));
        }
    }
}
