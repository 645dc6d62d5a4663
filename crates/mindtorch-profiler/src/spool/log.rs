//! The log: a file of entries that only ever grows.
//!
//! ```text
//! header | length:32 checksum:32 kind:8 fields | length:32 checksum:32 kind:8 fields | ...
//! ```
//!
//! An entry is written by one call to the system, so that it is in the system's hands when the call returns: the end of the
//! process, however it comes, leaves all entries but at most the one that was being written. The length is that of the
//! kind and the fields, and is never 0, so that a stretch of zeros, which a power cut may leave, is no entry.

use super::checksum;
use super::damage::{LogDamage, LogFault};
use super::entry::{Entry, SpoolBegin};
use super::error::{SpoolError, SpoolFault};
use super::fields::FieldWriter;
use super::layout::SpoolFile;
use super::mapping::file_size_limit;
use crate::error::Error;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The length and the checksum.
const FRAME_BYTES: usize = 8;
/// The longest entry. A damaged length does not make a reader ask for more memory than this.
const LONGEST: usize = 64 << 20;
/// Entries that come together are written together, up to about this much.
const BATCH: usize = 1 << 20;

/// The writing end.
#[derive(Debug)]
pub(super) struct Log {
    file: File,
    /// Where the next entry goes. What a write that failed left beyond it is written over.
    end: u64,
    buffer: Vec<u8>,
    buffered: u64,
    /// Writing beyond this would end the process by a signal, unless it ignores that.
    limit: u64,
    trouble: Option<LogTrouble>,
    /// How many entries the log says are missing, and would say with what is buffered.
    admitted: u64,
    admitting: u64,
    is_ours: bool,
}

/// What could not be written to a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogTrouble {
    /// How many entries.
    pub entries: u64,
    /// What the system said the first time.
    pub first: String,
}

impl Log {
    /// Begins the log, by one call to the system too.
    pub(super) fn new(file: File, begin: SpoolBegin) -> io::Result<Self> {
        let mut log = Self {
            file,
            end: 0,
            buffer: SpoolFile::Log.header().to_vec(),
            buffered: 0,
            limit: file_size_limit(),
            trouble: None,
            admitted: 0,
            admitting: 0,
            is_ours: true,
        };
        log.push(&Entry::Begin(begin));
        log.write()?;
        log.clear();
        Ok(log)
    }

    /// Appends entries. What cannot be written is counted, and the log says so itself once it can be written to again.
    pub(super) fn append<'a>(&mut self, entries: impl IntoIterator<Item = Entry<'a>>) {
        if !self.is_ours {
            return;
        }
        for entry in entries {
            if self.buffer.len() >= BATCH {
                self.flush();
            }
            self.admit_trouble();
            self.push(&entry);
        }
        self.flush();
    }

    fn admit_trouble(&mut self) {
        let missing = self.trouble.as_ref().map_or(0, |trouble| trouble.entries);
        if self.buffer.is_empty() && self.admitted < missing {
            self.push(&Entry::Unwritten { entries: missing });
            self.admitting = missing;
            // It is no entry that anyone would miss.
            self.buffered = 0;
        }
    }

    fn push(&mut self, entry: &Entry<'_>) {
        let begin = self.buffer.len();
        self.buffer.extend_from_slice(&[0; FRAME_BYTES]);
        entry.write(&mut FieldWriter(&mut self.buffer));
        let length = self.buffer.len() - begin - FRAME_BYTES;
        if length > LONGEST {
            self.buffer.truncate(begin);
            self.fail(1, &io::Error::other(format!("an entry has {length} bytes, and {LONGEST} at most are kept")));
            return;
        }
        let (frame, payload) = self.buffer[begin..].split_at_mut(FRAME_BYTES);
        let length = (length as u32).to_ne_bytes();
        frame[..4].copy_from_slice(&length);
        frame[4..].copy_from_slice(&checksum::of_entry(length, payload).to_ne_bytes());
        self.buffered += 1;
    }

    fn flush(&mut self) {
        match self.write() {
            Ok(()) => self.admitted = self.admitting,
            Err(error) => {
                self.fail(self.buffered, &error);
                // Else a reader would take what was written for an entry that broke off.
                let _ = self.file.set_len(self.end);
            }
        }
        self.clear();
    }

    fn write(&mut self) -> io::Result<()> {
        let end = self.end + self.buffer.len() as u64;
        if end > self.limit {
            return Err(io::Error::from_raw_os_error(libc::EFBIG));
        }
        self.file.write_all_at(&self.buffer, self.end)?;
        self.end = end;
        Ok(())
    }

    fn clear(&mut self) {
        self.buffer.clear();
        // One long entry is no reason to keep so much.
        self.buffer.shrink_to(2 * BATCH);
        self.buffered = 0;
        self.admitting = self.admitted;
    }

    fn fail(&mut self, entries: u64, error: &io::Error) {
        let trouble = self.trouble.get_or_insert_with(|| LogTrouble { entries: 0, first: error.to_string() });
        trouble.entries += entries;
    }

    pub(super) fn trouble(&self) -> Option<&LogTrouble> {
        self.trouble.as_ref()
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Where the next entry goes.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Whether what is appended goes anywhere.
    pub(super) fn is_ours(&self) -> bool {
        self.is_ours
    }

    /// In a forked child: whatever is appended from now on is the parent's business.
    pub(super) fn leave_to_parent(&mut self) {
        self.is_ours = false;
    }
}

/// Calls `found` with each entry of a log of `length` bytes, up to where it cannot be read any further.
pub(super) fn read_log(
    mut source: impl Read,
    length: u64,
    path: &Path,
    mut found: impl FnMut(Entry<'_>),
) -> Result<Option<LogDamage>, Error> {
    let mut header = [0; SpoolFile::HEADER_BYTES];
    if !read_whole(&mut source, &mut header, path)? {
        return Err(Error::Spool(SpoolError::new(path, length, SpoolFault::NoHeader)));
    }
    SpoolFile::Log.check(&header).map_err(|(at, fault)| Error::Spool(SpoolError::new(path, at, fault)))?;
    let mut offset = header.len() as u64;
    let mut payload = Vec::new();
    while offset < length {
        let left = length - offset;
        let damage = |fault| Ok(Some(LogDamage { offset, bytes: left, fault }));
        let mut frame = [0; FRAME_BYTES];
        if left < FRAME_BYTES as u64 || !read_whole(&mut source, &mut frame, path)? {
            return damage(LogFault::Torn);
        }
        let [a, b, c, d, check @ ..] = frame;
        let stored = [a, b, c, d];
        let size = u32::from_ne_bytes(stored) as usize;
        if size == 0 || size > LONGEST {
            return damage(LogFault::Changed);
        }
        payload.clear();
        let taken = (&mut source).take(size as u64).read_to_end(&mut payload);
        if taken.map_err(|error| Error::file("read", path, error))? < size {
            return damage(LogFault::Torn);
        }
        if checksum::of_entry(stored, &payload) != u32::from_ne_bytes(check) && !cfg!(fuzzing) {
            return damage(LogFault::Changed);
        }
        let kind = payload[0];
        let fault = if Entry::is_kind(kind) { SpoolFault::MalformedEntry } else { SpoolFault::UnknownEntry };
        let entry = Entry::read(&payload);
        found(entry.ok_or_else(|| Error::Spool(SpoolError::new(path, offset, fault(kind))))?);
        offset += (FRAME_BYTES + size) as u64;
    }
    Ok(None)
}

/// Fills `bytes`; false if there are not so many.
fn read_whole(source: &mut impl Read, bytes: &mut [u8], path: &Path) -> Result<bool, Error> {
    match source.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(Error::file("read", path, error)),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn read(file: &File) -> (Vec<Entry<'static>>, Option<LogDamage>) {
        let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        let mut entries = Vec::new();
        let damage = read_log(&bytes[..], bytes.len() as u64, Path::new("log"), |entry| {
            entries.push(match entry {
                Entry::Name { id, text } => Entry::Name { id, text: text.into_owned().into() },
                Entry::Begin(begin) => Entry::Begin(begin),
                Entry::Unwritten { entries } => Entry::Unwritten { entries },
                other => panic!("nobody wrote {other:?}"),
            });
        });
        (entries, damage.unwrap())
    }

    fn name(id: u32, text: &str) -> Entry<'_> {
        Entry::Name { id, text: text.into() }
    }

    const BEGIN: SpoolBegin = SpoolBegin { pid: 1, start_epoch_ns: 2 };

    #[test]
    fn an_entry_that_is_too_long_is_counted_and_the_log_says_so() {
        let mut log = Log::new(tempfile::tempfile().unwrap(), BEGIN).unwrap();
        let long = "x".repeat(LONGEST);
        log.append([name(1, "one"), name(2, &long), name(3, "three")]);
        assert_eq!(log.trouble().unwrap().entries, 1);
        assert!(log.buffer.capacity() <= 2 * BATCH);
        log.append([name(4, "four")]);
        log.append([name(5, "five")]);
        let expected = vec![
            Entry::Begin(BEGIN),
            name(1, "one"),
            name(3, "three"),
            Entry::Unwritten { entries: 1 },
            name(4, "four"),
            name(5, "five"),
        ];
        assert_eq!(read(log.file()), (expected, None));
    }

    #[test]
    fn what_cannot_be_written_leaves_the_log_whole() {
        let mut log = Log::new(tempfile::tempfile().unwrap(), BEGIN).unwrap();
        log.limit = log.end + 60;
        let half = "x".repeat(50);
        log.append([name(1, &half), name(2, &half)]);
        assert_eq!(log.trouble().unwrap().entries, 2);
        log.limit = u64::MAX;
        log.append([name(3, "three")]);
        assert_eq!(read(log.file()).0[1..], [Entry::Unwritten { entries: 2 }, name(3, "three")]);
        assert_eq!(log.trouble().unwrap().entries, 2);
    }

    #[test]
    fn many_entries_are_written_in_pieces() {
        let mut log = Log::new(tempfile::tempfile().unwrap(), BEGIN).unwrap();
        let text = "x".repeat(1000);
        log.append((1..=3000).map(|id| name(id, &text)));
        let (entries, damage) = read(log.file());
        assert_eq!((entries.len(), damage), (3001, None));
        assert!(log.buffer.capacity() <= 2 * BATCH);
    }

    #[test]
    fn zeros_are_no_entries() {
        let log = Log::new(tempfile::tempfile().unwrap(), BEGIN).unwrap();
        log.file.set_len(log.end + 4096).unwrap();
        let expected = LogDamage { offset: log.end, bytes: 4096, fault: LogFault::Changed };
        assert_eq!(read(log.file()).1, Some(expected));
        // Nor is one without a kind, whatever its checksum says.
        let sum = checksum::of_entry([0; 4], &[]).to_ne_bytes();
        log.file.write_all_at(&sum, log.end + 4).unwrap();
        assert_eq!(read(log.file()).1, Some(expected));
    }
}
