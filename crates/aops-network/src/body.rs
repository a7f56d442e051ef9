//! Where the body of a plain request ends. Bytes after it are not passed on.
//!
//! Pure. Invariant: a body that is passed on has only one reading: no chunk has an extension, no line end is
//! bare.

/// Maximum number of digits of a chunk's size.
const LONGEST_SIZE: u32 = 12;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// This many bytes are missing.
    Length(u64),
    Chunks(Chunk),
}

/// The position of the next byte in a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunk {
    /// The size so far, and its digits.
    Size(u64, u32),
    /// Before the line feed after the size.
    SizeEnd(u64),
    Data(u64),
    DataEnd(Ending),
    /// After the last chunk, which is empty.
    Last(Ending),
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Return,
    Feed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadBody;

impl Body {
    pub const NONE: Self = Self::Length(0);
    pub const CHUNKED: Self = Self::Chunks(Chunk::Size(0, 0));

    pub fn is_whole(&self) -> bool {
        matches!(self, Self::Length(0) | Self::Chunks(Chunk::Done))
    }

    /// How many of these bytes belong to the body.
    pub fn take(&mut self, bytes: &[u8]) -> Result<usize, BadBody> {
        match self {
            Self::Length(left) => {
                let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= taken as u64;
                Ok(taken)
            }
            Self::Chunks(at) => {
                let mut taken = 0;
                while taken < bytes.len() && *at != Chunk::Done {
                    taken += at.step(&bytes[taken..])?;
                }
                Ok(taken)
            }
        }
    }
}

impl Chunk {
    /// Consumes one byte, or as much of a chunk's data as available.
    fn step(&mut self, bytes: &[u8]) -> Result<usize, BadBody> {
        use Ending::{Feed, Return};
        let byte = bytes[0];
        let digit = || char::from(byte).to_digit(16).map(u64::from);
        *self = match (*self, byte) {
            (Self::Size(size, digits), b'\r') if digits > 0 => Self::SizeEnd(size),
            (Self::Size(size, digits), _) if digits < LONGEST_SIZE => {
                Self::Size(size << 4 | digit().ok_or(BadBody)?, digits + 1)
            }
            (Self::SizeEnd(0), b'\n') => Self::Last(Return),
            (Self::SizeEnd(size), b'\n') => Self::Data(size),
            (Self::Data(left), _) => {
                let taken = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                let left = left - taken as u64;
                *self = if left == 0 { Self::DataEnd(Return) } else { Self::Data(left) };
                return Ok(taken);
            }
            (Self::DataEnd(Return), b'\r') => Self::DataEnd(Feed),
            (Self::DataEnd(Feed), b'\n') => Self::Size(0, 0),
            (Self::Last(Return), b'\r') => Self::Last(Feed),
            (Self::Last(Feed), b'\n') => Self::Done,
            _ => return Err(BadBody),
        };
        Ok(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_length_is_taken_and_no_more() {
        let mut body = Body::Length(5);
        assert_eq!((body.take(b"abc"), body.is_whole()), (Ok(3), false));
        assert_eq!((body.take(b"deGET /"), body.is_whole()), (Ok(2), true));
        assert_eq!(body.take(b"GET /"), Ok(0));
    }

    #[test]
    fn chunks_have_one_form() {
        let text = b"5\r\nhello\r\n0A\r\n0123456789\r\n0\r\n\r\n";
        let mut body = Body::CHUNKED;
        assert_eq!(
            (body.take(&[&text[..], b"GET / HTTP/1.1\r\n"].concat()), body.is_whole()),
            (Ok(text.len()), true)
        );
        for bad in [
            "\r\n", "5\nhello", "5;x=y\r\nhello", "5 \r\n", "+5\r\n", "0x5\r\n", "g\r\n", "1\r\nab",
            "1\r\na\n", "0\r\nTrailer: x\r\n", "0\r\n\n", "0000000000001\r\n", "-1\r\n", "5\r\rhello",
        ] {
            let mut body = Body::CHUNKED;
            assert_eq!(body.take(bad.as_bytes()), Err(BadBody), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn chunks_in_any_pieces_end_at_the_same_byte(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..40), 0..6),
            after in proptest::collection::vec(any::<u8>(), 0..20),
            size in 1usize..50,
        ) {
            let mut text: Vec<u8> = chunks.iter()
                .flat_map(|chunk| [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat()).collect();
            text.extend(b"0\r\n\r\n");
            let all = [&text[..], &after].concat();
            let mut body = Body::CHUNKED;
            let mut taken = 0;
            for piece in all.chunks(size) {
                taken += body.take(piece).unwrap();
            }
            prop_assert!(body.is_whole());
            prop_assert_eq!(taken, text.len());
        }

        #[test]
        fn any_bytes_are_taken_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut body = Body::CHUNKED;
            if let Ok(taken) = body.take(&bytes) {
                prop_assert!(taken <= bytes.len() && (taken == bytes.len() || body.is_whole()));
            }
        }
    }
}
