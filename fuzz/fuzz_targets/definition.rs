//! Bytes to a pack: `pack.yaml`, a line `%%%%`, a lifecycle; more lifecycles may follow.
//!
//! Whatever comes, compiling answers, and what it finds wrong can be shown.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::source::Sources;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let mut sources = Sources::new();
    let mut files =
        text.split("\n%%%%\n").enumerate().map(|(at, text)| sources.add(format!("{at}.yaml"), text));
    let Some(pack) = files.next() else { return };
    let lifecycles = files.take(4).collect();
    match compile(&sources, &PackFiles { pack, lifecycles }) {
        Ok((pack, warnings)) => {
            assert!(!warnings.has_errors());
            std::hint::black_box(format!("{pack:?}"));
        }
        Err(problems) => {
            assert!(problems.has_errors(), "nothing compiled and nothing was said about it");
            std::hint::black_box((problems.render(&sources, false), problems.to_json(&sources)));
        }
    }
});
