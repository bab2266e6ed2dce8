//! Properties proved within a bound, by running the law.
//!
//! Pure: texts and values in, values out.
