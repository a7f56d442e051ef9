//! The client's hook JSON, which no other module knows: the events it sends, and the answer that each event
//! expects.

pub mod result;
pub mod agent_end;
pub mod read;
pub mod answer;
