//! What can go wrong when a trace is read.

use crate::trace::Trace;
use std::fmt;
use std::path::{Path, PathBuf};

/// A file that could not be read to its end, and what could be read of it.
///
/// ```
/// use mindtorch_profiler::{Error, Trace};
/// let text = br#"{"traceEvents": [
///     {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 5.000, "dur": 2.000},
///     {"ph": "X", "cat": "cpu_op", "na"#;
/// let Err(Error::Load(error)) = Trace::read(&text[..]) else { panic!("the text is cut off") };
/// assert_eq!(error.offset(), text.len() as u64);
/// assert_eq!(error.partial().unwrap().span_count(), 1);
/// ```
#[derive(Debug)]
pub struct LoadError {
    path: Option<PathBuf>,
    is_compressed: bool,
    offset: u64,
    what: String,
    partial: Option<Box<Trace>>,
}

impl LoadError {
    pub(super) fn new(offset: u64, what: String, partial: Option<Trace>) -> Self {
        Self { path: None, is_compressed: false, offset, what, partial: partial.map(Box::new) }
    }

    pub(super) fn compressed(mut self, is_compressed: bool) -> Self {
        self.is_compressed = is_compressed;
        self
    }

    /// The same error, of this file: for what was read through a reader.
    pub fn at(mut self, path: &Path) -> Self {
        self.path = Some(path.to_owned());
        self
    }

    /// The file, if it was read by its path.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Where it went wrong: a byte of the text, which is not that of the file if that is compressed.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// What went wrong there, in words.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The events before that place, if there were any.
    pub fn partial(&self) -> Option<&Trace> {
        self.partial.as_deref()
    }

    /// The events before that place, if there were any.
    pub fn into_partial(mut self) -> Option<Trace> {
        self.take_partial()
    }

    /// The events before that place, if there were any. The error does not have them any more.
    pub fn take_partial(&mut self) -> Option<Trace> {
        self.partial.take().map(|trace| *trace)
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot read ")?;
        match &self.path {
            Some(path) => write!(f, "{}", path.display())?,
            None => write!(f, "the trace")?,
        }
        let of = if self.is_compressed { " of what it decompresses to" } else { "" };
        write!(f, ": at byte {}{of}, {}", self.offset, self.what)?;
        match &self.partial {
            Some(trace) => write!(f, "; {} spans could be read before that", trace.span_count()),
            None => Ok(()),
        }
    }
}

impl std::error::Error for LoadError {}
