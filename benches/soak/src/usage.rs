//! The memory and files of this process, as the system counts them.

use std::os::unix::fs::MetadataExt;

/// The memory that it has now.
pub(crate) fn resident() -> u64 {
    status("VmRSS:")
}

/// The most memory that it had.
pub(crate) fn peak() -> u64 {
    status("VmHWM:")
}

/// The memory that it has now which is in no file.
pub(crate) fn private() -> u64 {
    status("RssAnon:")
}

/// Makes it impossible to have more memory of its own, whether used or not, than so many bytes more than now.
pub(crate) fn limit_growth_to(bytes: u64) {
    let most = status("VmData:") + bytes;
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: the call reads one struct.
    #[expect(unsafe_code, reason = "the standard library does not set limits")]
    let outcome = unsafe { libc::setrlimit(libc::RLIMIT_DATA, &raw const limit) };
    assert_eq!(outcome, 0, "the system limits memory");
}

fn status(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("the system tells what a process takes");
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("it counts memory");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("it counts in KiB");
    kib * 1024
}

/// The bytes on disk of the files that it has open and that have no name.
pub(crate) fn unnamed_files() -> u64 {
    let open = std::fs::read_dir("/proc/self/fd").expect("the system lists what is open");
    let files = open.filter_map(|entry| std::fs::metadata(entry.ok()?.path()).ok());
    files.filter(|file| file.is_file() && file.nlink() == 0).map(|file| file.blocks() * 512).sum()
}
