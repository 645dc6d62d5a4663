//! The file: a whole trace after each write, whatever becomes of the process.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

#[derive(Debug)]
pub(super) struct TraceFile {
    file: File,
    /// Where the ending begins, which the next text takes the place of; none in what is no regular file, where nothing can
    /// be taken back and the ending is written once.
    end: Option<u64>,
}

impl TraceFile {
    /// # Errors
    /// If there can be no such file.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let file = File::options().write(true).create(true).truncate(true).open(path)?;
        let end = file.metadata()?.is_file().then_some(0);
        Ok(Self { file, end })
    }

    /// Writes text after what there is, and an ending after that.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn append(&mut self, text: &str, ending: &str, is_last: bool) -> io::Result<()> {
        match &mut self.end {
            Some(end) => {
                // In one piece, so that there is hardly a moment at which the file has no ending.
                self.file.write_all_at([text, ending].concat().as_bytes(), *end)?;
                *end += text.len() as u64;
                // The last ending may have been longer.
                self.file.set_len(*end + ending.len() as u64)
            }
            None => {
                self.file.write_all(text.as_bytes())?;
                self.file.write_all(if is_last { ending.as_bytes() } else { b"" })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_gives_way_to_what_follows() {
        let path = std::env::temp_dir().join(format!("mindtorch-trace-file-{}", std::process::id()));
        std::fs::write(&path, "what was there before, and is longer").unwrap();
        let mut file = TraceFile::create(&path).unwrap();
        let text = || std::fs::read_to_string(&path).unwrap();
        file.append("a", "long ending", false).unwrap();
        assert_eq!(text(), "along ending");
        file.append("b", "end", false).unwrap();
        assert_eq!(text(), "abend");
        file.append("", "", true).unwrap();
        assert_eq!(text(), "ab");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn what_cannot_be_taken_back_gets_one_ending() {
        let mut file = TraceFile::create(Path::new("/dev/null")).unwrap();
        assert_eq!(file.end, None);
        file.append("a", "end", false).unwrap();
        file.append("b", "end", true).unwrap();
    }
}
