//! Reading traces: from files and from standard input, with progress.

use crate::console::Console;
use crate::error::Error;
use indicatif::ProgressBar;
use mindtorch_profiler::Trace;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The name of standard input.
const STDIN: &str = "-";

/// A trace, and what is missing of it.
pub(crate) struct Loaded {
    pub(crate) trace: Trace,
    /// Where and why the file broke off, if it did and that was to be put up with.
    pub(crate) broken: Option<String>,
}

/// Reads the trace at `path`, shows its progress, and says if a part of it is missing.
pub(crate) fn load(path: &Path, console: &mut Console<'_>) -> Result<Trace, Error> {
    let bar = console.progress(&shown(path), length(path));
    let loaded = read(path, console.takes_partial(), &bar);
    bar.finish_and_clear();
    let Loaded { trace, broken } = loaded?;
    if let Some(broken) = broken {
        console.note(&format!("{broken}, and only these are used"));
    }
    Ok(trace)
}

/// Reads the trace at `path` and moves `bar` on; also for threads that have no console. With `partial`, what can be read of a
/// file that is not whole is a trace.
pub(crate) fn read(path: &Path, partial: bool, bar: &ProgressBar) -> Result<Loaded, Error> {
    let source: Box<dyn Read> = if path == Path::new(STDIN) { Box::new(io::stdin()) } else { Box::new(open(path)?) };
    match Trace::read(bar.wrap_read(source)) {
        Ok(trace) => Ok(Loaded { trace, broken: None }),
        Err(mindtorch_profiler::Error::Load(error)) => {
            let mut error = error.at(Path::new(&shown(path)));
            let broken = error.to_string();
            if partial && let Some(trace) = error.take_partial() {
                return Ok(Loaded { trace, broken: Some(broken) });
            }
            Err(Error::Broken(error))
        }
        Err(error) => Err(error.into()),
    }
}

fn open(path: &Path) -> Result<File, Error> {
    let file = File::open(path).map_err(|error| Error::file("open", path, error))?;
    if file.metadata().is_ok_and(|about| about.is_dir()) {
        let name = path.display();
        return Err(Error::Use(format!(
            "cannot read {name}: it is a directory, not a trace; `mtprof recover` reads what processes recorded to one"
        )));
    }
    Ok(file)
}

/// How long the file is; none for what has no end, or only shows it later.
fn length(path: &Path) -> Option<u64> {
    let about = path.metadata().ok()?;
    about.is_file().then_some(about.len())
}

/// What messages call it.
fn shown(path: &Path) -> String {
    if path == Path::new(STDIN) { "standard input".to_owned() } else { path.display().to_string() }
}
