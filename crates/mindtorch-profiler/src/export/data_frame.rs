//! Tables of columns, for libraries of data frames.

use super::columns::{AverageFrame, EventFrame, Frame};
use crate::clock::ManualClock;
#[cfg(feature = "parquet")]
use crate::error::Error;
use crate::recorder::Recorder;
use crate::session::Session;
use crate::stats::Averages;
use crate::trace::{EventOrder, Trace};
use std::fmt;
#[cfg(feature = "parquet")]
use std::path::Path;
use std::sync::Arc;

/// The events of a trace, or averages, as a table of columns. It keeps what it is of, and is cheap to clone.
///
/// Rows are made in batches, when they are asked for: about 0.2 µs an event. `docs/data_frames.md` says what the columns
/// are.
///
/// ```
/// use mindtorch_profiler::{DataFrame, Session, record_function};
/// use std::sync::Arc;
/// let session = Session::start();
/// drop(record_function!("work"));
/// let events = DataFrame::of_events(Arc::new(session.stop()));
/// assert_eq!(events.len(), 1);
/// ```
#[derive(Clone)]
pub struct DataFrame {
    frame: Arc<dyn Frame>,
}

impl DataFrame {
    /// A row for each event of a trace, in the order of [`Trace::event_order`].
    pub fn of_events(trace: Arc<Trace>) -> Self {
        let order = Arc::new(trace.event_order());
        Self { frame: Arc::new(EventFrame::new(trace, order)) }
    }

    /// The same with the trace's order at hand, and only of the events in some places of it, if they are given.
    pub fn of_ordered_events(trace: Arc<Trace>, order: Arc<EventOrder>, places: Option<Vec<u32>>) -> Self {
        let frame = EventFrame::new(trace, order);
        Self { frame: Arc::new(if let Some(places) = places { frame.select(places) } else { frame }) }
    }

    /// A row for each group, in microseconds and bytes, or only for those in some places, if they are given.
    pub fn of_averages(averages: Arc<Averages>, places: Option<Vec<u32>>) -> Self {
        let frame = AverageFrame::new(averages);
        Self { frame: Arc::new(if let Some(places) = places { frame.select(places) } else { frame }) }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.frame.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows in Arrow's C stream interface, in batches of 65,536, which a reader takes by its address. What it gives
    /// out may be used on any thread, and longer than this. Columns of the trace that have Arrow's layout are not copied.
    #[cfg(feature = "arrow")]
    pub fn arrow_stream(&self) -> super::ArrowArrayStream {
        super::arrow::stream(Arc::clone(&self.frame))
    }

    /// The names and types of the columns in Arrow's C data interface.
    #[cfg(feature = "arrow")]
    pub fn arrow_schema(&self) -> super::ArrowSchema {
        super::arrow::schema(&*self.frame)
    }

    /// Writes the table as a Parquet file; see [`Trace::export_parquet`].
    ///
    /// # Errors
    /// When the system refuses the file. What was there before is then still there.
    #[cfg(feature = "parquet")]
    pub fn export_parquet(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        export(&*self.frame, path.as_ref())
    }
}

#[cfg(feature = "parquet")]
impl Trace {
    /// Writes the events as a Parquet file: a row for each, in the order of [`Trace::event_order`], with the columns of
    /// [`DataFrame::of_events`]. The file is treated as by [`Trace::export_chrome_trace`].
    ///
    /// # Errors
    /// When the system refuses the file. What was there before is then still there.
    pub fn export_parquet(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        export(&EventFrame::new(self, Arc::new(self.event_order())), path.as_ref())
    }
}

#[cfg(feature = "parquet")]
impl Averages {
    /// Writes the groups as a Parquet file, with the columns of [`DataFrame::of_averages`]. The file is treated as by
    /// [`Trace::export_chrome_trace`].
    ///
    /// # Errors
    /// When the system refuses the file. What was there before is then still there.
    pub fn export_parquet(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        export(&AverageFrame::new(self), path.as_ref())
    }
}

#[cfg(feature = "parquet")]
fn export(frame: &dyn Frame, path: &Path) -> Result<(), Error> {
    super::file::write(path, |out| super::parquet::write(frame, out))
}

/// A table without events.
impl Default for DataFrame {
    fn default() -> Self {
        let recorder = Recorder::with_manual_clock(&ManualClock::starting_at(0));
        Self::of_events(Arc::new(Session::builder().on(&recorder).start().stop()))
    }
}

impl fmt::Debug for DataFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<&str> = self.frame.fields().iter().map(|field| field.name).collect();
        f.debug_struct("DataFrame").field("rows", &self.len()).field("columns", &columns).finish()
    }
}
