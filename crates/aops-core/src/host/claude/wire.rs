//! The client's hook JSON, known nowhere else: the events it sends, and the answer that each event wants.

pub mod result;
pub mod agent_end;
pub mod read;
pub mod answer;
