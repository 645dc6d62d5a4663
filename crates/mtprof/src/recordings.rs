//! The recordings of one program: a trace, or a directory of traces of runs that are alike.

use crate::console::Console;
use crate::error::Error;
use crate::input;
use mindtorch_analysis::{By, Recording};
use mindtorch_profiler::Trace;
use std::fs;
use std::path::{Path, PathBuf};

/// What `path` says, one trace at a time. `see` is shown each trace before it is let go.
pub(crate) fn load(
    path: &Path,
    by: By,
    console: &mut Console<'_>,
    mut see: impl FnMut(&Path, &Trace, &Recording),
) -> Result<Vec<Recording>, Error> {
    let mut recordings = Vec::new();
    for file in files(path)? {
        let trace = input::load(&file, console)?;
        let recording = Recording::of(&trace, by);
        see(&file, &trace, &recording);
        recordings.push(recording);
    }
    Ok(recordings)
}

/// The file, or those of the directory that have a trace's name.
fn files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let refused = |error| Error::file("open", path, error);
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(refused)? {
        let file = entry.map_err(refused)?.path();
        let name = file.to_string_lossy();
        if name.ends_with(".json") || name.ends_with(".json.gz") {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(Error::Use(format!("{} has no trace: no .json and no .json.gz", path.display())));
    }
    Ok(files)
}
