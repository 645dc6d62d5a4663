//! Directories for temporary files that have to be on a disk: on a file system that is in memory they would save no memory.

use super::mapping::is_in_memory;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Returns the directories that temporary files may be in, in the order of preference: the system's, which is often in memory,
/// and the one for larger files that outlive a restart.
pub(crate) fn spill_directories() -> Vec<PathBuf> {
    let mut directories = vec![std::env::temp_dir(), PathBuf::from("/var/tmp")];
    directories.dedup();
    directories
}

/// Creates a file without a name in the first of the directories that is on a disk and can be written.
///
/// # Errors
/// The reason, if there is none.
pub(crate) fn temporary_file_on_disk(directories: &[PathBuf]) -> Result<(File, &Path), String> {
    choose(directories, is_in_memory)
}

fn choose(directories: &[PathBuf], is_in_memory: impl Fn(&File) -> bool) -> Result<(File, &Path), String> {
    let mut reasons = Vec::new();
    for directory in directories {
        match tempfile::tempfile_in(directory) {
            Ok(file) if !is_in_memory(&file) => return Ok((file, directory)),
            Ok(_) => reasons.push(format!("{} is in memory (tmpfs)", directory.display())),
            Err(error) => reasons.push(format!("cannot create a temporary file in {}: {error}", directory.display())),
        }
    }
    let reasons = if reasons.is_empty() { "no directory is known".to_owned() } else { reasons.join("; ") };
    Err(format!("{reasons}. Give spill_dir a directory on a disk"))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn the_first_directory_on_a_disk_that_can_be_written_is_chosen() {
        let [first, second, third] = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let missing = first.path().join("missing");
        let directories = [&missing, first.path(), second.path(), third.path()].map(Path::to_owned);
        // The first file that is created is in `first`.
        let asked = std::cell::Cell::new(0);
        let is_first = |_: &File| asked.replace(asked.get() + 1) == 0;
        let (file, chosen) = choose(&directories, is_first).unwrap();
        assert_eq!((chosen, asked.get()), (second.path(), 2));
        assert_eq!(file.metadata().unwrap().nlink(), 0);
        assert_eq!(choose(&directories, |_| false).unwrap().1, first.path());
    }

    #[test]
    fn if_there_is_none_the_error_gives_the_reason_for_each() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("missing");
        let why = choose(&[directory.path().to_owned(), missing.clone()], |_| true).unwrap_err();
        let start = format!(
            "{} is in memory (tmpfs); cannot create a temporary file in {}: ",
            directory.path().display(),
            missing.display()
        );
        assert!(why.starts_with(&start) && why.ends_with(". Give spill_dir a directory on a disk"), "{why}");
        assert!(choose(&[], |_| false).unwrap_err().starts_with("no directory is known"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn shared_memory_is_in_memory() {
        // Always a tmpfs where there is one.
        if let Ok(file) = tempfile::tempfile_in("/dev/shm") {
            assert!(is_in_memory(&file));
        }
        assert!(!is_in_memory(&File::open("/proc").unwrap()));
    }
}
