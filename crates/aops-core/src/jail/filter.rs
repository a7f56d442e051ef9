//! System calls that no namespace holds: the keys that the kernel keeps for a user are the same in every one.
//!
//! Changes this process alone, and what it starts. Invariant: on every machine that a processor can pose as, not only on its
//! own.

use std::io;

/// A kind of machine by its number (`AUDIT_ARCH_*`), with its `add_key`, `request_key` and `keyctl`.
#[cfg(target_arch = "x86_64")]
const CALLS: [(u32, [u32; 3]); 2] = [(0xC000_003E, [248, 249, 250]), (0x4000_0003, [286, 287, 288])];
#[cfg(target_arch = "aarch64")]
const CALLS: [(u32, [u32; 3]); 2] = [(0xC000_00B7, [217, 218, 219]), (0x4000_0028, [309, 310, 311])];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const CALLS: [(u32, [u32; 3]); 0] = [];

/// Where the kernel shows a filter the number of the call, and the kind of machine.
const CALL: u32 = 0;
const MACHINE: u32 = 4;
/// x86-64 knows each call by a second number, with this bit.
const SECOND_NAME: u32 = 0x4000_0000;

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const AND: u32 = libc::BPF_ALU | libc::BPF_AND | libc::BPF_K;
const IS: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const ANSWER: u32 = libc::BPF_RET | libc::BPF_K;

#[expect(clippy::cast_possible_truncation, reason = "every code is below 256")]
const fn step(code: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

fn program() -> Vec<libc::sock_filter> {
    let none = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
    let mut steps = vec![step(LOAD, MACHINE, 0, 0)];
    for (machine, [first, second, third]) in CALLS {
        steps.extend([
            step(IS, machine, 0, 7),
            step(LOAD, CALL, 0, 0),
            step(AND, !SECOND_NAME, 0, 0),
            step(IS, first, 2, 0),
            step(IS, second, 1, 0),
            step(IS, third, 0, 1),
            step(ANSWER, none, 0, 0),
            step(ANSWER, libc::SECCOMP_RET_ALLOW, 0, 0),
        ]);
    }
    steps.push(step(ANSWER, libc::SECCOMP_RET_ALLOW, 0, 0));
    steps
}

/// From here on there are no keys of the kernel.
pub(super) fn forbid_keys() -> io::Result<()> {
    let mut steps = program();
    let program = libc::sock_fprog { len: u16::try_from(steps.len()).unwrap_or(0), filter: steps.as_mut_ptr() };
    #[expect(unsafe_code, reason = "no safe crate here knows filters")]
    // SAFETY: the kernel copies the program, whose length is right, before it returns.
    let set = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
