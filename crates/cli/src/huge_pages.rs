//! Turns off transparent huge pages for this process.

/// Has it given in small pages only. In huge ones, each part of the program that touches a little has two megabytes: an idle
/// server takes half as much again, and under load it made no difference that could be measured.
pub(crate) fn avoid() {
    #[cfg(target_os = "linux")]
    // A system without this feature has nothing to turn off.
    rustix::thread::disable_transparent_huge_pages(true).ok();
}
