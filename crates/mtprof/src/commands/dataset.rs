//! Many ranks as a data set of Parquet files, a partition for each rank.

use crate::OK;
use crate::console::Console;
use crate::error::Error;
use crate::rank_files::{RankFile, Reading, ask_all};
use mindtorch_analysis::ranks::{Aligner, Alignment, Anchors};
use mindtorch_profiler::{DataFrame, Trace, write_file};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A row of the table `ranks`.
#[derive(Debug, Serialize)]
pub(crate) struct RankOfDataset {
    file: PathBuf,
    #[serde(flatten)]
    partition: Partition,
    #[serde(flatten)]
    alignment: Alignment,
}

#[derive(Debug, Serialize)]
struct Partition {
    host: Option<String>,
    pid: u32,
    rows: usize,
    start_epoch_ns: u64,
    duration_ns: u64,
    lost_events: u64,
}

/// Writes the data set of the ranks in a directory into another, which is new or empty: `events/rank=3/part-0.parquet` for
/// each, and `ranks.json`, a line for each. As many traces are in memory as there are processors.
pub(crate) fn run(ranks: &Path, directory: &Path, console: &mut Console<'_>) -> Result<u8, Error> {
    let files = RankFile::find(&[ranks.to_owned()])?;
    if fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some()) {
        let directory = directory.display();
        return Err(Error::Use(format!(
            "{directory} is not empty: its files would be taken for ranks of this data set"
        )));
    }
    let reading = Reading::new(&files, console);
    let written = ask_all(&files, &reading, |file, trace| {
        let anchors = Anchors::of(&trace, file.rank);
        Ok((Partition::write(trace, &directory.join(format!("events/rank={}", file.rank)))?, anchors))
    })?;
    reading.finish(console);
    let mut aligner = Aligner::new();
    let ranks: Vec<RankOfDataset> = files
        .into_iter()
        .zip(written)
        .map(|(file, (partition, anchors))| RankOfDataset {
            file: file.path,
            partition,
            alignment: aligner.align(&anchors),
        })
        .collect();
    write_file(directory.join("ranks.json"), |out| {
        ranks.iter().try_for_each(|rank| {
            serde_json::to_writer(&mut *out, rank)?;
            out.write_all(b"\n")
        })
    })?;
    console.answer(&ranks, |ranks| text(ranks, directory))?;
    Ok(OK)
}

fn text(ranks: &[RankOfDataset], directory: &Path) -> String {
    let rows: usize = ranks.iter().map(|rank| rank.partition.rows).sum();
    format!("{rows} events of {} ranks written to {}\n", ranks.len(), directory.display())
}

impl Partition {
    fn write(trace: Trace, directory: &Path) -> Result<Self, Error> {
        fs::create_dir_all(directory).map_err(|error| Error::file("create", directory, error))?;
        let order = Arc::new(trace.event_order_with_memory());
        let trace = Arc::new(trace);
        let frame = DataFrame::of_ordered_events(Arc::clone(&trace), order, None);
        frame.export_parquet(directory.join("part-0.parquet"))?;
        Ok(Self {
            host: trace.host_name().map(str::to_owned),
            pid: trace.pid(),
            rows: frame.len(),
            start_epoch_ns: trace.start_epoch_ns(),
            duration_ns: trace.duration_ns(),
            lost_events: trace.lost_events(),
        })
    }
}
