//! One integration binary: every feature is a file here.
