//! Makes it go.
