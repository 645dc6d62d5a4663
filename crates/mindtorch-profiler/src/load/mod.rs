//! Loading: traces from files that torch or this profiler wrote.
//!
//! The text passes once, in pieces: [`chunks`] reads and decompresses them, [`file`] finds events in them, [`event`] reads one,
//! and [`collector`] makes it a loose row; [`crate::trace::loaded`] makes the rows a trace. What grows with the file is the
//! trace alone. What repeats, and nearly all does (names, shapes, stacks, the text between values), is looked at once
//! ([`raw_table`], [`key`]).

mod captured;
mod category;
mod chunks;
mod collector;
mod cursor;
mod device_work;
mod error;
mod event;
mod file;
mod head;
mod inputs;
mod instants;
mod key;
mod labels;
mod notes;
mod number;
mod overloads;
mod pump;
mod raw_table;
mod runs;
mod spans;
mod stacks;
mod text;
mod verbatim;

pub use error::LoadError;

use crate::error::Error;
use crate::quiet::Quiet;
use crate::trace::Trace;
use std::fs::File;
use std::io::Read;
use std::path::Path;

impl Trace {
    /// Reads a Chrome trace: one that torch wrote, with either of its exporters, or that
    /// [`Trace::export_chrome_trace`] did; plain or compressed with gzip, whatever its name.
    ///
    /// The result is like a trace that was recorded here: spans have parents and self times, device work its launchers,
    /// backward nodes their forward operators. What a file does not tell cannot be: which thread closed a span that its own
    /// did not, the stacks of allocations, tasks that took turns on a thread.
    ///
    /// # Errors
    /// When the system refuses the file, and [`Error::Load`] when it is not a whole trace. That error has the place, and the
    /// events before it.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("trace.json.gz");
    /// use mindtorch_profiler::{Session, Trace, record_function};
    /// let session = Session::start();
    /// drop(record_function!("work"));
    /// session.stop().export_chrome_trace(&path)?;
    ///
    /// let trace = Trace::load(&path)?;
    /// assert_eq!(trace.spans().next().unwrap().name(), "work");
    /// println!("{}", trace.key_averages());
    /// # Ok::<(), mindtorch_profiler::Error>(())
    /// ```
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|error| Error::file("open", path, error))?;
        let _quiet = Quiet::new();
        match pump::read(file) {
            Ok(loaded) => loaded.map_err(|error| Error::Load(error.at(path))),
            Err(error) => Err(Error::file("read", path, error)),
        }
    }

    /// Reads a trace from anything that can be read, as [`Trace::load`] does.
    ///
    /// # Errors
    /// [`Error::Load`] when what is read is not a whole trace, or reading fails.
    pub fn read(reader: impl Read) -> Result<Self, Error> {
        let _quiet = Quiet::new();
        let loaded =
            pump::read(reader).unwrap_or_else(|error| Err(LoadError::new(0, format!("reading failed: {error}"), None)));
        loaded.map_err(Error::Load)
    }
}
