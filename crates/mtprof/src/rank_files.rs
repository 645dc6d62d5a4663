//! The files of many ranks: which they are, and whose.

use crate::console::Console;
use crate::error::Error;
use crate::input::{self, Loaded};
use flate2::read::MultiGzDecoder;
use indicatif::ProgressBar;
use mindtorch_profiler::Trace;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{self, Read};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// What traces in a directory end in; `.pt.trace.json` does, too.
const SUFFIXES: [&str; 2] = [".json", ".json.gz"];
/// The parts of a name behind the last of which a number may be the rank's.
const EXTENSIONS: [&str; 4] = [".gz", ".json", ".trace", ".pt"];
/// The head of a file is looked for in so much of its text.
const HEAD: u64 = 1 << 20;

/// The trace of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RankFile {
    pub(crate) rank: u32,
    pub(crate) path: PathBuf,
}

impl RankFile {
    /// The files that are meant by these paths, of which some may be directories, in the order of ranks.
    pub(crate) fn find(paths: &[PathBuf]) -> Result<Vec<Self>, Error> {
        let mut files = Vec::new();
        for path in paths {
            if path.is_dir() { files.extend(traces_in(path)?) } else { files.push(path.clone()) }
        }
        let ranks = files.into_iter().map(|path| Ok(Self { rank: rank_of(&path)?, path }));
        let mut ranks = ranks.collect::<Result<Vec<Self>, Error>>()?;
        ranks.sort_by(|one, other| (one.rank, &one.path).cmp(&(other.rank, &other.path)));
        if let Some([one, other]) = ranks.array_windows().find(|[one, other]| one.rank == other.rank) {
            let (rank, one, other) = (one.rank, one.path.display(), other.path.display());
            return Err(Error::Use(format!("{one} and {other} are both of rank {rank}; give one file of each rank")));
        }
        Ok(ranks)
    }

    fn bytes(&self) -> u64 {
        self.path.metadata().map_or(0, |about| about.len())
    }
}

/// The reading of many ranks, with one bar for all of them. Threads share it.
pub(crate) struct Reading {
    partial: bool,
    bar: ProgressBar,
    /// What is missing of files that are not whole.
    broken: Mutex<Vec<String>>,
}

impl Reading {
    pub(crate) fn new(files: &[RankFile], console: &Console<'_>) -> Self {
        let bar = console.progress(&format!("{} ranks", files.len()), Some(files.iter().map(RankFile::bytes).sum()));
        Self { partial: console.takes_partial(), bar, broken: Mutex::default() }
    }

    pub(crate) fn load(&self, file: &RankFile) -> Result<Trace, Error> {
        let Loaded { trace, broken } = input::read(&file.path, self.partial, &self.bar)?;
        self.broken.lock().unwrap_or_else(PoisonError::into_inner).extend(broken);
        match trace.ranks().len() {
            0 => Ok(trace),
            ranks => {
                let path = file.path.display();
                Err(Error::Use(format!("{path} has {ranks} ranks: it was merged already; give the files of the ranks")))
            }
        }
    }

    /// Says what was missing.
    pub(crate) fn finish(self, console: &mut Console<'_>) {
        self.bar.finish_and_clear();
        let mut broken = self.broken.into_inner().unwrap_or_else(PoisonError::into_inner);
        broken.sort();
        broken.iter().for_each(|broken| console.note(&format!("{broken}, and only these are used")));
    }
}

/// Asks something of every rank's trace, as many at a time as there are processors, and returns the answers in the order of
/// ranks.
pub(crate) fn ask_all<T: Send>(
    files: &[RankFile],
    reading: &Reading,
    ask: impl Fn(&RankFile, Trace) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    let next = AtomicUsize::new(0);
    let answers = Mutex::new(Vec::new());
    let work = || {
        while let Some((at, file)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, files.get(at)?)))
        {
            let answer = reading.load(file).and_then(|trace| ask(file, trace));
            let is_error = answer.is_err();
            answers.lock().unwrap_or_else(PoisonError::into_inner).push((at, answer));
            if is_error {
                // What is not begun is not needed.
                next.store(files.len(), Ordering::Relaxed);
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(files.len());
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let mut answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
    answers.sort_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

fn traces_in(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let refused = |error: io::Error| Error::file("read", directory, error);
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).map_err(refused)? {
        let path = entry.map_err(refused)?.path();
        let name = name_of(&path).to_lowercase();
        if SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) && path.is_file() {
            found.push(path);
        }
    }
    // The same error, whatever the order of the system.
    found.sort();
    if found.is_empty() {
        let directory = directory.display();
        return Err(Error::Use(format!("{directory} has no trace: no file in it ends in .json or .json.gz")));
    }
    Ok(found)
}

/// The rank of a file: what its head says of a run of several, else what its name says, else what its head says at all.
fn rank_of(path: &Path) -> Result<u32, Error> {
    let head = head_of(path).map_err(|error| Error::file("read", path, error))?;
    let told = distributed_info(&head);
    let number = |key: &str| told.as_ref().and_then(|told| told.get(key)?.as_u64()).and_then(|n| u32::try_from(n).ok());
    let is_of_several = number("world_size").is_some_and(|size| size > 1);
    let in_name = || rank_in_name(&name_of(path));
    let rank = if is_of_several { number("rank").or_else(in_name) } else { in_name().or_else(|| number("rank")) };
    rank.ok_or_else(|| {
        let path = path.display();
        Error::Use(format!(
            "{path} does not say which rank it is of: neither has its head distributedInfo before the events, nor its name a \
             number as in rank3.json or trace_3.json"
        ))
    })
}

/// The text before the events, or the first of it.
fn head_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut first = [0; 2];
    let is_gzip = File::open(path)?.read_exact(&mut first).is_ok() && first == [0x1f, 0x8b];
    let file = File::open(path)?;
    let text: Box<dyn Read> = if is_gzip { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let mut head = Vec::new();
    // A file that is broken says so when it is loaded, and where.
    let _ = text.take(HEAD).read_to_end(&mut head);
    let events = find(&head, b"\"traceEvents\"").unwrap_or(head.len());
    head.truncate(events);
    Ok(head)
}

fn distributed_info(head: &[u8]) -> Option<Value> {
    const KEY: &[u8] = b"\"distributedInfo\"";
    let value = &head[find(head, KEY)? + KEY.len()..].trim_ascii_start();
    let value = value.strip_prefix(b":")?;
    serde_json::Deserializer::from_slice(value).into_iter().next()?.ok()
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|here| here == part)
}

/// The number behind the last `rank`, or behind a `_` at the end.
fn rank_in_name(name: &str) -> Option<u32> {
    let name = name.to_lowercase();
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>();
    if let Some((_, rest)) = name.rsplit_once("rank") {
        let rest = rest.trim_start_matches(['_', '-', '=', '.', ' ']);
        if let Ok(rank) = digits(rest).parse() {
            return Some(rank);
        }
    }
    let mut stem = name.as_str();
    for extension in EXTENSIONS {
        stem = stem.strip_suffix(extension).unwrap_or(stem);
    }
    let (_, number) = stem.rsplit_once('_')?;
    if number.chars().all(|c| c.is_ascii_digit()) { number.parse().ok() } else { None }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_ranks() {
        let names = [
            ("rank3.json", Some(3)),
            ("trace-rank_12.pt.trace.json.gz", Some(12)),
            ("rank=7.json", Some(7)),
            ("RANK0.JSON", Some(0)),
            ("trace_5.json.gz", Some(5)),
            ("node_1_8.pt.trace.json", Some(8)),
            // The number of a process, and a time.
            ("host_30880.1790857.pt.trace.json", None),
            ("trace.json", None),
            ("trace_a5.json", None),
            ("rank.json", None),
            ("rank99999999999.json", None),
        ];
        for (name, rank) in names {
            assert_eq!(rank_in_name(name), rank, "{name}");
        }
    }

    #[test]
    fn heads_of_several_ranks_count_more_than_names_and_those_of_one_less() {
        let directory = tempfile::tempdir().unwrap();
        let rank = |name: &str, head: &str| {
            let path = directory.path().join(name);
            fs::write(&path, format!("{{{head} \"traceEvents\": []}}")).unwrap();
            rank_of(&path).map_err(|error| error.to_string())
        };
        let several = r#""distributedInfo": {"rank": 2, "world_size": 4},"#;
        let alone = r#""distributedInfo" : {"backend": "", "rank": 0, "world_size": 1},"#;
        assert_eq!(rank("rank7.json", several), Ok(2));
        assert_eq!(rank("rank7.json", alone), Ok(7));
        assert_eq!(rank("trace.json", alone), Ok(0));
        assert_eq!(rank("rank7.json", ""), Ok(7));
        let error = rank("trace.json", "").unwrap_err();
        assert!(error.contains("trace.json does not say which rank it is of"), "{error}");
    }
}
