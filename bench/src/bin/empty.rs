//! Starts and ends: what any program pays.

fn main() {}
