//! The few bytes at which a secret can be recognised, found 64 at a time.
//!
//! Every secret we know has one of them: the sign behind a name, the dash, line or dot
//! that ends a token's prefix, or a rare pair of letters. Invariant: every byte is looked at once. Written as plain
//! loops over fixed blocks, which the compiler turns into vector instructions.

const BLOCK: usize = 64;

/// A sign is an anchor by itself.
pub(super) const fn is_sign(byte: u8) -> bool {
    matches!(byte, b':' | b'=' | b'-' | b'_' | b'.')
}

/// A letter only before the right other one: `AKIA`, `AIza`, `ATATT`, `SK`, `FlyV1`, `Bearer`, `Basic`, `dapi`, `password`, `eyJ`.
pub(super) const fn is_pair(one: u8, next: u8) -> bool {
    match one {
        b'A' => matches!(next, b'K' | b'S' | b'B' | b'I' | b'T'),
        b'B' => matches!(next, b'e' | b'a' | b'E' | b'A'),
        b'F' => next == b'l',
        b'S' => next == b'K',
        b'p' => next == b'i',
        b'w' => next == b'o',
        b'y' => next == b'J',
        _ => false,
    }
}

pub(super) struct Anchors<'a> {
    bytes: &'a [u8],
    base: usize,
    /// A bit for each anchor of the block at `base`.
    found: u64,
}

impl<'a> Anchors<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        let mut anchors = Self { bytes, base: 0, found: 0 };
        anchors.load(0);
        anchors
    }

    /// The first one at or behind `from`, which never goes back.
    pub(super) fn next(&mut self, from: usize) -> Option<usize> {
        let skip = from.saturating_sub(self.base);
        if skip >= BLOCK {
            self.load(from);
        } else {
            self.found &= u64::MAX << skip;
        }
        while self.found == 0 {
            if self.base + BLOCK >= self.bytes.len() {
                return None;
            }
            self.load(self.base + BLOCK);
        }
        Some(self.base + self.found.trailing_zeros() as usize)
    }

    fn load(&mut self, base: usize) {
        self.base = base;
        let rest = self.bytes.get(base..).unwrap_or_default();
        self.found = rest.first_chunk().map_or_else(|| scan(&padded(rest)), scan);
    }
}

/// The last piece, with zeros behind.
fn padded(rest: &[u8]) -> [u8; BLOCK + 1] {
    let mut block = [0; BLOCK + 1];
    block[..rest.len()].copy_from_slice(rest);
    block
}

/// `is_sign` and `is_pair` for a whole block.
#[expect(clippy::needless_bitwise_bool, reason = "with `||` there would be jumps, and no vector instructions")]
fn scan(block: &[u8; BLOCK + 1]) -> u64 {
    let mut flags = [0_u8; BLOCK];
    for n in 0..BLOCK {
        let (b, c) = (block[n], block[n + 1]);
        let sign = (b == b':') | (b == b'=') | (b == b'-') | (b == b'_') | (b == b'.');
        let key = (b == b'A') & ((c == b'K') | (c == b'S') | (c == b'B') | (c == b'I') | (c == b'T'));
        let scheme = (b == b'B') & ((c | 0x20 == b'e') | (c | 0x20 == b'a'));
        let other = ((b == b'F') & (c == b'l')) | ((b == b'S') & (c == b'K')) | ((b == b'y') & (c == b'J'));
        let small = ((b == b'p') & (c == b'i')) | ((b == b'w') & (c == b'o'));
        flags[n] = u8::from(sign | key | scheme | other | small);
    }
    let mut found = 0;
    for (n, eight) in flags.as_chunks::<8>().0.iter().enumerate() {
        // Gathers the lowest bits of eight bytes in the highest byte.
        found |= (u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * n);
    }
    found
}
