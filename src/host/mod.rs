//! The clients that run us: one folder each. No other folder knows their JSON or their files.

pub mod claude;
