//! The file: a whole trace after each write, whatever becomes of the process.

use flate2::{Compression, write::GzEncoder};
use mindtorch_profiler::open_patiently;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

#[derive(Debug)]
pub(super) struct TraceFile {
    file: File,
    /// A compressed file may be made of several, one after the other; each piece of text is one.
    is_compressed: bool,
    /// None in what is no regular file, where nothing can be taken back and the ending is written once.
    ending: Option<Ending>,
}

/// What the next text takes the place of.
#[derive(Debug, Default)]
struct Ending {
    at: u64,
    bytes: Vec<u8>,
}

impl TraceFile {
    /// Creates a file with the permissions that the umask leaves; one that exists keeps its own. It is compressed if its name
    /// ends in `.gz`.
    ///
    /// # Errors
    /// If there can be no such file.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let file = if path.metadata().is_ok_and(|found| !found.is_file()) {
            open_patiently(path)?
        } else {
            OpenOptions::new().write(true).create(true).truncate(true).open(path)?
        };
        let ending = file.metadata()?.is_file().then(Ending::default);
        let is_compressed = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
        Ok(Self { file, is_compressed, ending })
    }

    /// Writes text after what there is, and an ending after that.
    ///
    /// # Errors
    /// If it cannot be written. What was in a regular file before is then still there, and whole.
    pub(super) fn append(&mut self, text: &str, ending: &str, is_last: bool) -> io::Result<()> {
        let text = self.encode(text)?;
        let bytes = self.encode(ending)?;
        let Some(old) = &mut self.ending else {
            self.file.write_all(&text)?;
            return self.file.write_all(if is_last { &bytes } else { &[] });
        };
        let put = |parts: &[&[u8]]| -> io::Result<()> {
            // In one piece, so that there is hardly a moment at which the file has no ending. The last one may have been longer.
            let all = parts.concat();
            self.file.write_all_at(&all, old.at)?;
            self.file.set_len(old.at + all.len() as u64)
        };
        // The old ending needs no more of the disk than it had.
        put(&[&text, &bytes]).inspect_err(|_| drop(put(&[&old.bytes])))?;
        *old = Ending { at: old.at + text.len() as u64, bytes };
        Ok(())
    }

    fn encode(&self, text: &str) -> io::Result<Vec<u8>> {
        if !self.is_compressed || text.is_empty() {
            return Ok(text.as_bytes().to_owned());
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes())?;
        encoder.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// A path that no other test has.
    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("mindtorch-{}-{name}", std::process::id()))
    }

    #[test]
    fn an_ending_gives_way_to_what_follows() {
        let path = path("trace-file");
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
    fn a_compressed_file_is_whole_after_each_piece() {
        let path = path("trace-file.json.gz");
        let mut file = TraceFile::create(&path).unwrap();
        let text = || io::read_to_string(flate2::read::MultiGzDecoder::new(File::open(&path).unwrap())).unwrap();
        file.append("a", "long ending", false).unwrap();
        assert_eq!(text(), "along ending");
        file.append("b", "end", true).unwrap();
        assert_eq!(text(), "abend");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn what_cannot_be_taken_back_gets_one_ending() {
        let mut file = TraceFile::create(Path::new("/dev/null")).unwrap();
        assert!(file.ending.is_none());
        file.append("a", "end", false).unwrap();
        file.append("b", "end", true).unwrap();
    }
}
