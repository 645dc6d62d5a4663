//! Why a question could not be asked.

use mindtorch_profiler::LoadError;
use std::io;
use std::path::Path;

/// What went wrong. Its text names the file, or the argument, and what was expected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A trace could not be read or written.
    #[error(transparent)]
    Trace(#[from] mindtorch_profiler::Error),
    /// A trace is not whole, and it was not asked for what there is of it.
    #[error("{0}{advice}", advice = advice(.0))]
    Broken(LoadError),
    /// Standard output could not be written to.
    #[error("cannot write the answer: {0}")]
    Output(#[from] io::Error),
    /// Arguments that are right by themselves, and wrong together or for these files.
    #[error("{0}")]
    Use(String),
}

impl Error {
    /// The system refused a file.
    pub(crate) fn file(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Trace(mindtorch_profiler::Error::File { action, path: path.to_owned(), source })
    }
}

fn advice(error: &LoadError) -> &'static str {
    if error.partial().is_some() { " (--partial uses them)" } else { "" }
}
