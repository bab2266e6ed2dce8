//! What a change of a definition means for whom.
//!
//! Pure: texts and values in, values out.
