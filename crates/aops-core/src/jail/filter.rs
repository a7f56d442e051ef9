//! Blocks system calls that no namespace confines: all namespaces share a user's kernel keys, and making a
//! socket needs no file permission.
//!
//! Changes this process and its children. Invariant: the filter covers every machine type that the processor
//! can emulate, not only its own.

use std::io;

/// Which sockets a command can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sockets {
    All,
    /// Only Unix sockets, to programs of this machine; no network.
    Local,
    /// The command's own network and Unix sockets, but no family that crosses namespaces, such as the one to
    /// a virtual machine's host.
    Common,
    /// The command's own network, but no Unix sockets.
    Network,
}

/// A machine type by its number (`AUDIT_ARCH_*`), with its system call numbers.
struct Machine {
    number: u32,
    /// `add_key`, `request_key` and `keyctl`.
    keys: [u32; 3],
    socket: u32,
    /// `ioctl`.
    control: u32,
    /// `prlimit64`.
    limits: u32,
    /// A call that can make sockets but hides its arguments from the filter.
    unclear: u32,
}

#[cfg(target_arch = "x86_64")]
const MACHINES: [Machine; 2] = [
    Machine {
        number: 0xC000_003E,
        keys: [248, 249, 250],
        socket: 41,
        control: 16,
        limits: 302,
        unclear: RING,
    },
    Machine {
        number: 0x4000_0003,
        keys: [286, 287, 288],
        socket: 359,
        control: 54,
        limits: 340,
        unclear: SOCKET_CALL,
    },
];
#[cfg(target_arch = "aarch64")]
const MACHINES: [Machine; 2] = [
    Machine {
        number: 0xC000_00B7,
        keys: [217, 218, 219],
        socket: 198,
        control: 29,
        limits: 261,
        unclear: RING,
    },
    Machine {
        number: 0x4000_0028,
        keys: [309, 310, 311],
        socket: 281,
        control: 54,
        limits: 369,
        unclear: SOCKET_CALL,
    },
];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const MACHINES: [Machine; 0] = [];

/// `socketcall` of 32-bit machines: its arguments lie in memory, where a filter cannot look.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const SOCKET_CALL: u32 = 102;
/// `io_uring_setup`, the same number everywhere: operations of a ring bypass the filter.
const RING: u32 = 425;

/// `TIOCSTI` and `TIOCLINUX` write into a terminal as if a person had typed there, and the shell that reads
/// it is not in the jail.
const TYPES: [u32; 2] = [0x5412, 0x541C];

/// Offsets at which the filter reads the call's number, the machine type, the lower halves of the first two
/// arguments, and both halves of the third.
const CALL: u32 = 0;
const MACHINE: u32 = 4;
const ARGUMENT: u32 = 16;
const SECOND_ARGUMENT: u32 = 24;
const THIRD_ARGUMENT: [u32; 2] = [32, 36];
/// x86-64 has a second number for each call (the x32 ABI), with this bit set.
const SECOND_NAME: u32 = 0x4000_0000;

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const AND: u32 = libc::BPF_ALU | libc::BPF_AND | libc::BPF_K;
const IS: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const ANSWER: u32 = libc::BPF_RET | libc::BPF_K;

#[expect(clippy::cast_possible_truncation, reason = "every code is below 256")]
const fn step(code: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

/// Families that every machine has. Any other looks as if the kernel had been built without it.
const COMMON: [u32; 3] =
    [libc::AF_UNIX.unsigned_abs(), libc::AF_INET.unsigned_abs(), libc::AF_INET6.unsigned_abs()];

/// The families that may be used; `None` if all may.
fn families(sockets: Sockets) -> Option<[libc::c_int; 4]> {
    match sockets {
        Sockets::All => None,
        Sockets::Local => Some([libc::AF_UNIX, libc::AF_UNIX, libc::AF_NETLINK, libc::AF_NETLINK]),
        Sockets::Common => Some([libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]),
        Sockets::Network => Some([libc::AF_INET, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]),
    }
}

fn refuse(code: libc::c_int) -> libc::sock_filter {
    step(ANSWER, libc::SECCOMP_RET_ERRNO | code.unsigned_abs(), 0, 0)
}

/// The filter's steps for one machine type, after its number has matched.
fn steps(machine: &Machine, sockets: Sockets) -> Vec<libc::sock_filter> {
    let allow = step(ANSWER, libc::SECCOMP_RET_ALLOW, 0, 0);
    let [first, second, third] = machine.keys;
    let mut steps = vec![
        step(LOAD, CALL, 0, 0),
        step(AND, !SECOND_NAME, 0, 0),
        step(IS, first, 2, 0),
        step(IS, second, 1, 0),
        step(IS, third, 0, 1),
        refuse(libc::ENOSYS),
        step(IS, machine.control, 0, 5),
        step(LOAD, SECOND_ARGUMENT, 0, 0),
        step(IS, TYPES[0], 1, 0),
        step(IS, TYPES[1], 0, 1),
        refuse(libc::EPERM),
        allow,
        // New limits for another process: a client or a hook with none left records nothing.
        step(IS, machine.limits, 0, 8),
        step(LOAD, ARGUMENT, 0, 0),
        step(IS, 0, 5, 0),
        step(LOAD, THIRD_ARGUMENT[0], 0, 0),
        step(IS, 0, 0, 2),
        step(LOAD, THIRD_ARGUMENT[1], 0, 0),
        step(IS, 0, 1, 0),
        refuse(libc::EPERM),
        allow,
    ];
    if let Some([one, two, three, four]) = families(sockets).map(|all| all.map(libc::c_int::unsigned_abs)) {
        steps.extend([
            step(IS, machine.unclear, 1, 0),
            step(IS, RING, 0, 1),
            refuse(libc::ENOSYS),
            step(IS, machine.socket, 0, 10),
            step(LOAD, ARGUMENT, 0, 0),
            step(IS, one, 8, 0),
            step(IS, two, 7, 0),
            step(IS, three, 6, 0),
            step(IS, four, 5, 0),
            step(IS, COMMON[0], 3, 0),
            step(IS, COMMON[1], 2, 0),
            step(IS, COMMON[2], 1, 0),
            refuse(libc::EAFNOSUPPORT),
            refuse(libc::EACCES),
        ]);
    }
    steps.push(allow);
    steps
}

fn program(sockets: Sockets) -> Vec<libc::sock_filter> {
    let mut all = vec![step(LOAD, MACHINE, 0, 0)];
    for machine in &MACHINES {
        let steps = steps(machine, sockets);
        all.push(step(IS, machine.number, 0, u8::try_from(steps.len()).unwrap_or(u8::MAX)));
        all.extend(steps);
    }
    all.push(step(ANSWER, libc::SECCOMP_RET_ALLOW, 0, 0));
    all
}

/// From here on this process can use no kernel keys, and only these sockets.
pub(super) fn forbid(sockets: Sockets) -> io::Result<()> {
    if MACHINES.is_empty() && matches!(sockets, Sockets::Common | Sockets::Network) {
        return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
    }
    let mut steps = program(sockets);
    let program =
        libc::sock_fprog { len: u16::try_from(steps.len()).unwrap_or(0), filter: steps.as_mut_ptr() };
    #[expect(unsafe_code, reason = "no safe crate here supports filters")]
    // SAFETY: the kernel copies the program, whose length is right, before it returns.
    let set =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel answers to this call of this machine type if the filter is `steps`.
    fn answer(steps: &[libc::sock_filter], machine: u32, call: u32, arguments: [u32; 3]) -> u32 {
        let mut at = 0;
        let mut held = 0;
        loop {
            let step = &steps[at];
            at += 1;
            match (u32::from(step.code), step.k) {
                (LOAD, CALL) => held = call,
                (LOAD, MACHINE) => held = machine,
                (LOAD, ARGUMENT) => held = arguments[0],
                (LOAD, SECOND_ARGUMENT) => held = arguments[1],
                (LOAD, at) if at == THIRD_ARGUMENT[0] => held = arguments[2],
                (LOAD, at) if at == THIRD_ARGUMENT[1] => held = 0,
                (AND, bits) => held &= bits,
                (IS, wanted) => at += usize::from(if held == wanted { step.jt } else { step.jf }),
                (ANSWER, said) => return said,
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn each_machine_has_no_keys_and_the_sockets_that_it_may_have() {
        let refused = |code: libc::c_int| libc::SECCOMP_RET_ERRNO | code.unsigned_abs();
        let allowed = libc::SECCOMP_RET_ALLOW;
        let [unix, inet, six, vsock] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_VSOCK];
        let table = [
            (Sockets::All, [true, true, true, true]),
            (Sockets::Local, [true, false, false, false]),
            (Sockets::Common, [true, true, true, false]),
            (Sockets::Network, [false, true, true, false]),
        ];
        for (sockets, families) in table {
            let steps = program(sockets);
            for machine in &MACHINES {
                let said = |call, argument| answer(&steps, machine.number, call, [argument, 0, 0]);
                let control = |wanted| answer(&steps, machine.number, machine.control, [0, wanted, 0]);
                let limits = |pid, new| answer(&steps, machine.number, machine.limits, [pid, 0, new]);
                let limits = [limits(0, 9), limits(7, 0), limits(7, 9)];
                assert_eq!(limits, [allowed, allowed, refused(libc::EPERM)], "{sockets:?}");
                assert_eq!(TYPES.map(control), [refused(libc::EPERM); 2], "{sockets:?}");
                assert_eq!([0x5401, 0x5413].map(control), [allowed; 2], "{sockets:?}");
                for key in machine.keys.into_iter().flat_map(|key| [key, key | SECOND_NAME]) {
                    assert_eq!(said(key, 0), refused(libc::ENOSYS), "{sockets:?}");
                }
                for (family, may) in [unix, inet, six, vsock].into_iter().zip(families) {
                    let code = if family == vsock { libc::EAFNOSUPPORT } else { libc::EACCES };
                    let wanted = if may { allowed } else { refused(code) };
                    assert_eq!(said(machine.socket, family.unsigned_abs()), wanted, "{sockets:?} {family}");
                }
                let hidden = if sockets == Sockets::All { allowed } else { refused(libc::ENOSYS) };
                assert_eq!((said(RING, 0), said(machine.unclear, 0)), (hidden, hidden), "{sockets:?}");
                // `read`, `openat` and similar calls.
                assert_eq!([said(0, 2), said(3, 2), said(56, 2)], [allowed; 3], "{sockets:?}");
            }
        }
    }
}
