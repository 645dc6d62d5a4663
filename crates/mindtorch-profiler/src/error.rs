//! What can go wrong when a trace is exported or read.

use crate::export::StackMetric;
use crate::load::LoadError;
use crate::spool::SpoolError;
use std::io;
use std::path::{Path, PathBuf};

/// An export or a load that failed. Recording has no errors: what cannot be recorded is counted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused a file. What was at the path before is still there.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was being done.
        action: &'static str,
        /// The path that was asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no such metric for folded stacks.
    #[error("metric should be one of: ['{}'], not {given:?}", StackMetric::NAMES.join("', '"))]
    UnknownMetric {
        /// The name that was asked for.
        given: String,
    },
    /// There is nothing that a picture could show.
    #[error("there is no {metric} to draw: nothing was recorded that took any")]
    NothingToDraw {
        /// What was to be drawn.
        metric: StackMetric,
    },
    /// A file is not a whole trace. The error has what could be read of it.
    #[error(transparent)]
    Load(LoadError),
    /// Two sessions cannot record to files at once.
    #[error("cannot record to {}: another session of this process records to files already", path.display())]
    SpoolInUse {
        /// The directory that was asked for.
        path: PathBuf,
    },
    /// A file is not a spool's, or one of another version.
    #[error(transparent)]
    Spool(SpoolError),
}

impl Error {
    pub(crate) fn file(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::File { action, path: path.to_owned(), source }
    }
}
