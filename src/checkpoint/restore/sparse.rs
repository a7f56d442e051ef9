//! Writes a file with holes in place of zeros, so that a restored disk image takes as little space as before.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

/// Shorter runs of zeros are written.
const HOLE: usize = 4096;

pub(super) struct Sparse<'a> {
    file: &'a File,
    at: u64,
}

impl<'a> Sparse<'a> {
    pub(super) fn new(file: &'a File) -> Self {
        Self { file, at: 0 }
    }

    /// Sets the length, which matters where the file ends in a hole.
    pub(super) fn finish(self) -> io::Result<()> {
        self.file.set_len(self.at)
    }
}

impl Write for Sparse<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let empty = |piece: &[u8]| piece.len() == HOLE && piece.iter().all(|byte| *byte == 0);
        let mut rest = bytes;
        while !rest.is_empty() {
            let holes = rest.chunks(HOLE).take_while(|piece| empty(piece)).count() * HOLE;
            self.at += holes as u64;
            rest = &rest[holes..];
            let full: usize = rest.chunks(HOLE).take_while(|piece| !empty(piece)).map(<[u8]>::len).sum();
            self.file.write_all_at(&rest[..full], self.at)?;
            self.at += full as u64;
            rest = &rest[full..];
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(runs in proptest::collection::vec((0_usize..12_000, any::<bool>()), 0..6)) {
            let bytes: Vec<u8> = runs.iter().flat_map(|(n, full)| vec![u8::from(*full); *n]).collect();
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x");
            let file = File::create(&path).unwrap();
            let mut sparse = Sparse::new(&file);
            for piece in bytes.chunks(10_000) {
                sparse.write_all(piece).unwrap();
            }
            sparse.finish().unwrap();
            prop_assert_eq!(std::fs::read(&path).unwrap(), bytes);
        }
    }
}
