//! Bytes as text, in the encodings that a log's formats use.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}
