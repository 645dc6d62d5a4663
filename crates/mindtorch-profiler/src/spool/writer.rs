//! The writing end of a spool.

use super::blocks::{Blocks, Extents, MappedBlock};
use super::entry::{Entry, SpoolBegin};
use super::layout::{PREFIX, SpoolFile};
use super::log::{Log, LogTrouble};
use crate::error::Error;
use crate::quiet::Quiet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// A recording that lives in files, and so outlives its process.
#[derive(Debug)]
pub struct Spool {
    path: PathBuf,
    log: Mutex<Log>,
    blocks: Blocks,
    /// Whether the disk has the names of the files.
    is_listed: AtomicBool,
}

/// How far a spool has come. It differs whenever something was recorded since, but for the end of a span in a block that is
/// full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpoolProgress {
    log: u64,
    records: u64,
}

impl Spool {
    /// Makes a spool in a directory of its own inside `dir`, which is made too, unless it exists. Only the owner can read
    /// what is in it.
    ///
    /// # Errors
    /// When the system refuses, as where the parent of `dir` does not exist. Nothing is left behind.
    pub fn create(dir: &Path) -> Result<Self, Error> {
        let _quiet = Quiet::new();
        let create = || {
            create_unless_there(dir)?;
            let path = create_session(dir)?;
            Self::fill(&path).inspect_err(|_| drop(fs::remove_dir_all(&path)))
        };
        create().map_err(|error| Error::file("create a spool in", dir, error))
    }

    /// The log comes last: where it is, everything is.
    fn fill(path: &Path) -> io::Result<Self> {
        let blocks = Blocks::new(create_file(path, SpoolFile::Records)?)?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let begin = SpoolBegin { pid: std::process::id(), start_epoch_ns: since.as_nanos() as u64 };
        let log = Log::new(create_file(path, SpoolFile::Log)?, begin)?;
        Ok(Self { path: path.to_owned(), log: Mutex::new(log), blocks, is_listed: AtomicBool::new(false) })
    }

    /// The session's own directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends an entry to the log. One that cannot be written is counted: [`Spool::trouble`].
    pub fn log(&self, entry: Entry<'_>) {
        self.log_all([entry]);
    }

    /// Appends entries to the log, with as few calls to the system as that takes.
    pub fn log_all<'a>(&self, entries: impl IntoIterator<Item = Entry<'a>>) {
        let _quiet = Quiet::new();
        self.lock_log().append(entries);
    }

    /// What could not be written to the log, if anything.
    pub fn trouble(&self) -> Option<LogTrouble> {
        self.lock_log().trouble().cloned()
    }

    /// A fresh block for the records of a thread from position `base` on, `slots` of them at most (2048 is the most that a
    /// block has). Every 16th makes the file grow.
    ///
    /// # Errors
    /// When the system refuses: the disk is full, or the process has too many mappings. The next call tries again.
    pub fn block(&self, serial: u32, base: u64, slots: usize) -> io::Result<MappedBlock> {
        let _quiet = Quiet::new();
        self.blocks.block(serial, base, slots)
    }

    /// Waits until everything is on the disk, where a power cut does not take it. The end of the process does not take it
    /// anyway.
    ///
    /// # Errors
    /// When the system cannot write it.
    pub fn sync(&self) -> io::Result<()> {
        let _quiet = Quiet::new();
        if !self.is_listed.load(Ordering::Relaxed) {
            self.sync_directories();
            self.is_listed.store(true, Ordering::Relaxed);
        }
        // Not under the lock: this takes as long as a disk takes.
        let (log, end) = self.log_file()?;
        // First, so that the disk does not have records without what they refer to.
        log.sync_data()?;
        self.blocks.file().sync_data()?;
        if self.log_file()?.1 != end {
            // Records that came meanwhile may refer to what came meanwhile.
            log.sync_data()?;
        }
        Ok(())
    }

    /// Puts the names of the files on the disk, and those of the directories that were made for them. A directory that cannot
    /// be opened was there before.
    fn sync_directories(&self) {
        for directory in self.path.ancestors().take(3) {
            let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
            let _ = File::open(directory).and_then(|directory| directory.sync_all());
        }
    }

    fn log_file(&self) -> io::Result<(File, u64)> {
        let log = self.lock_log();
        Ok((log.file().try_clone()?, log.end()))
    }

    pub(super) fn progress(&self) -> SpoolProgress {
        SpoolProgress { log: self.lock_log().end(), records: self.blocks.fingerprint() }
    }

    /// Removes the files and their directory. Blocks that are mapped stay so. In a forked child it removes nothing.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn remove(&self) -> io::Result<()> {
        if !self.lock_log().is_ours() {
            return Ok(());
        }
        for file in [SpoolFile::Log, SpoolFile::Records] {
            fs::remove_file(self.path.join(file.name()))?;
        }
        fs::remove_dir(&self.path)
    }

    /// Takes the spool's locks, to hold them over a `fork`. They are the last in the order of locks: entries are logged
    /// under those of tables and registries.
    pub fn hold(&self) -> HeldSpool<'_> {
        HeldSpool { log: self.lock_log(), extents: self.blocks.lock(), file: self.blocks.file() }
    }

    fn lock_log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A spool whose locks are held.
#[derive(Debug)]
pub struct HeldSpool<'a> {
    log: MutexGuard<'a, Log>,
    extents: MutexGuard<'a, Extents>,
    file: &'a File,
}

impl HeldSpool<'_> {
    /// In a forked child: nothing that this process does reaches the files from now on. Stores to blocks that were mapped
    /// at the fork are seen by this process alone, new blocks cannot be had, and entries go nowhere.
    ///
    /// # Errors
    /// When the system refuses. Then stores to mapped blocks would be the parent's.
    pub fn leave_to_parent(&mut self) -> io::Result<()> {
        self.log.leave_to_parent();
        self.extents.leave_to_parent(self.file)
    }
}

fn create_unless_there(dir: &Path) -> io::Result<()> {
    match fs::create_dir(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// A new directory with a name that nobody can know beforehand.
fn create_session(dir: &Path) -> io::Result<PathBuf> {
    // `tempfile` words errors with the name of a directory that nobody knows and hides the system's code, so it is kept here.
    let mut refused = None;
    let create = |path: &Path| {
        let created = DirBuilder::new().mode(0o700).create(path);
        created.inspect_err(|error| refused = error.raw_os_error())
    };
    let prefix = format!("{PREFIX}{}-", std::process::id());
    let made = tempfile::Builder::new().prefix(&prefix).rand_bytes(12).disable_cleanup(true).make_in(dir, create);
    let made = made.map_err(|error| refused.map_or(error, io::Error::from_raw_os_error))?;
    Ok(made.path().to_owned())
}

fn create_file(session: &Path, file: SpoolFile) -> io::Result<File> {
    let path = session.join(file.name());
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)
}
