//! Execution traces: the operations of a program with the tensors that they took and gave, as the Chakra tools read them.
//!
//! Apart from the profiler's recorder, which knows when things happened: this is a log of what happened and what depends on
//! what, for those who replay or simulate a program. While a [`Trace`] runs, the flag
//! [`Capture::TENSORS`](mindtorch_profiler::Capture::TENSORS) is set, and whatever is an event for the profiler also makes
//! an [`OpenNode`] here; else nothing of this is ever reached.
//!
//! The file is JSON with one node for the process (number 1), one for each thread, and one for each operation, backward node
//! and scope, written when it ends:
//!
//! ```text
//! {"schema": "1.1.1-chakra.0.0.4", "pid": …, "time": …, "start_ts": …, "nodes": [
//!    {"id": 7, "name": "aten::mm", "ctrl_deps": 4,           the node that it is part of
//!     "inputs": {"values": […], "shapes": […], "types": […], "strides": […]}, "outputs": {…},
//!     "attrs": [{"name": "rf_id", "type": "uint64", "value": 3}, …]}, …], "finish_ts": …}
//! ```
//!
//! A tensor is `[its number, its storage's, offset, count of numbers, bytes of one, device]`: an operation depends on the one
//! whose output has the number of its input. Nodes, tensors and storages share one count, and no number is given twice.

mod file;
mod fork;
mod json;
mod log;
mod node;
mod open;
mod schemas;
mod serial;
mod values;

pub use open::OpenNode;
pub(crate) use serial::Serial;
pub(crate) use values::Outputs;

use file::TraceFile;
use log::Log;
use mindtorch_profiler::{Capture, Recorder};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The trace of this process, if there is one. A leaf among locks: whoever holds it takes no other.
static LOG: Mutex<Option<Log>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Log>> {
    LOG.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` with the log, if that is still the one with this number.
fn with_log<T>(generation: u64, work: impl FnOnce(&mut Log) -> T) -> Option<T> {
    lock().as_mut().filter(|log| log.generation == generation).map(work)
}

/// An execution trace that is being written. There is one at a time.
///
/// ```
/// use mindtorch::{Tensor, execution_trace::Trace, ops};
/// # let directory = std::env::temp_dir().join(format!("mindtorch-doc-et-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory)?;
/// # let path = directory.join("trace.json");
/// let x = Tensor::from_slice(&[1.0f32, 2.0], &[2])?;
/// let trace = Trace::create(&path, "2030-01-01 12:00:00", 0)?.expect("there is no other");
/// trace.start();
/// ops::mul(&x, &x)?;
/// trace.close()?;
/// assert!(std::fs::read_to_string(&path)?.contains(r#""name": "aten::mul""#));
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Trace {
    generation: u64,
}

impl Trace {
    /// Creates the file, with nothing in it yet; it is compressed if its name ends in `.gz`. `time` is for
    /// people to read; `start_ms` is the time of the clock that all later times are of. None if there is a trace already.
    ///
    /// # Errors
    /// If the file cannot be written. Then there is none, unless there was one before.
    pub fn create(path: &Path, time: &str, start_ms: u64) -> io::Result<Option<Self>> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        fork::watch();
        if lock().is_some() {
            return Ok(None);
        }
        let was_there = path.symlink_metadata().is_ok();
        let generation = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        // Not under the lock, which forks take: to open a pipe is to wait for whoever reads it.
        let mut new = Log::new(generation, TraceFile::create(path)?, time, start_ms);
        if let Err(error) = new.flush(false) {
            if !was_there {
                let _ = std::fs::remove_file(path);
            }
            return Err(error);
        }
        let mut log = lock();
        if log.is_some() {
            return Ok(None);
        }
        *log = Some(new);
        Ok(Some(Self { generation }))
    }

    /// Begins to record, or goes on with it. False if the trace is closed.
    pub fn start(&self) -> bool {
        let is_open = self.is_open();
        if is_open {
            Recorder::global().watch(Capture::TENSORS, true);
        }
        is_open
    }

    /// Pauses. What was recorded is in the file.
    ///
    /// # Errors
    /// If something could not be written, now or before.
    pub fn stop(&self) -> io::Result<()> {
        if self.is_open() {
            Recorder::global().watch(Capture::TENSORS, false);
        }
        with_log(self.generation, |log| log.flush(false)).unwrap_or(Ok(()))
    }

    /// Ends the trace. What is still under way is in the file without its outputs. Ending it again does nothing, nor does
    /// it do anything in a forked child, whose parent has the trace.
    ///
    /// # Errors
    /// If something could not be written, now or before.
    pub fn close(&self) -> io::Result<()> {
        if !self.is_open() {
            return Ok(());
        }
        Recorder::global().watch(Capture::TENSORS, false);
        let closed = lock().take_if(|log| log.generation == self.generation);
        closed.map_or(Ok(()), |mut log| log.flush(true))
    }

    /// Whether it has not been closed. In a forked child it is closed.
    pub fn is_open(&self) -> bool {
        with_log(self.generation, |_| ()).is_some()
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = self.close();
    }
}
