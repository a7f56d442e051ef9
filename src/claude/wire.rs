//! The host's JSON, known nowhere else: what it sends, and how each event spells our answer.

pub mod read;
pub mod answer;
pub mod heard;
