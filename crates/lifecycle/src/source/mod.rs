//! Text to positioned nodes.
