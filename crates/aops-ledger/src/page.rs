//! A buffer that a serialiser writes to. It implements `Write` like a file, but is in memory.

use std::io::{self, Write};

/// Bytes that are rewritten many thousand times. A serialiser usually writes single bytes, for which a `Vec`
/// is slower.
#[derive(Clone, Debug, Default)]
pub struct Page {
    room: Vec<u8>,
    long: usize,
}

impl Page {
    pub fn clear(&mut self) {
        self.long = 0;
    }

    /// Replaces everything after this many bytes.
    pub fn rewrite(&mut self, after: usize, text: &[u8]) {
        self.long = self.long.min(after);
        let _ = self.write_all(text);
    }

    pub fn bytes(&self) -> &[u8] {
        &self.room[..self.long]
    }
}

impl Write for Page {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.write_all(piece).map(|()| piece.len())
    }

    #[expect(clippy::inline_always, reason = "a call for each byte took a tenth of `verify`")]
    #[inline(always)]
    fn write_all(&mut self, piece: &[u8]) -> io::Result<()> {
        let end = self.long + piece.len();
        if end > self.room.len() {
            self.room.resize(end * 2, 0);
        }
        self.room[self.long..end].copy_from_slice(piece);
        self.long = end;
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
