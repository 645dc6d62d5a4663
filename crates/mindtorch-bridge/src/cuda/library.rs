//! Where CUPTI is.

use super::api::Cupti;
use super::error::CudaError;
use crate::loader::{Library, path_text};
use std::ffi::CStr;
use std::path::{Path, PathBuf};

/// What it is called, the latest first.
const NAMES: [&CStr; 2] = [c"libcupti.so.13", c"libcupti.so.12"];

/// Loads CUPTI: that which PyTorch has loaded, one of these files, or what the system finds by name.
pub(super) fn load(files: &[PathBuf]) -> Result<Cupti, CudaError> {
    let loaded = NAMES.iter().find_map(|name| Library::loaded(name).ok());
    let of_files = || files.iter().find_map(|file| open(file));
    let of_system = || NAMES.iter().find_map(|name| Library::open(name).ok());
    let library = loaded.or_else(of_files).or_else(of_system);
    Cupti::load(library.ok_or_else(|| CudaError::Library { tried: tried(files) })?)
}

fn open(file: &Path) -> Option<Library> {
    Library::open(&path_text(file).ok()?).ok()
}

fn tried(files: &[PathBuf]) -> String {
    let files = files.iter().map(|file| file.display().to_string());
    let names = NAMES.iter().map(|name| name.to_string_lossy().into_owned());
    files.chain(names).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_where_it_looked() {
        let text = tried(&[PathBuf::from("/opt/cuda/libcupti.so.12")]);
        assert_eq!(text, "/opt/cuda/libcupti.so.12, libcupti.so.13, libcupti.so.12");
    }

    #[test]
    fn a_file_that_is_no_library_is_passed_over() {
        assert!(open(Path::new("/nowhere/libcupti.so.13")).is_none());
        assert!(open(Path::new("a\0b")).is_none());
        assert!(open(&std::env::current_exe().expect("there is a file")).is_none_or(|library| {
            matches!(Cupti::load(library), Err(CudaError::Function { name }) if name == c"cuptiGetVersion")
        }));
    }
}
