//! What is wrong with a definition before it runs.
//!
//! Pure: texts and values in, values out.
