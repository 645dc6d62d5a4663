//! Sessions: windows over the recorder's streams.

mod builder;
mod scope;
mod spooled;
#[cfg(all(test, not(loom)))]
mod tests;

pub use builder::SessionBuilder;
pub use scope::OpenScope;

use crate::capture::Capture;
use crate::column::Store;
use crate::quiet::{Quiet, QuietDrop};
use crate::recorder::{
    Bound, CarriedSpan, Cut, Device, Losses, MemoryUse, OpenedWindow, Piece, RecordKinds, Recorder, Stream, WindowId,
    WindowReading, Words,
};
use crate::spool::Spool;
use crate::sync::{Arc, Mutex, MutexGuard};
use crate::trace::{Trace, TraceBuilder};
use spooled::SessionSpool;
use std::sync::PoisonError;

/// A running profile: it sees what happens on all threads from its start to its stop.
///
/// Any number of sessions may run at once, nested or overlapping, started and stopped on any threads. None disturbs
/// another: each sees its own window with its own settings. Stopping costs the same however much was recorded, and a
/// session that is dropped instead of stopped is simply over.
///
/// ```
/// use mindtorch_profiler::{Session, record_function};
/// let session = Session::start();
/// {
///     let _span = record_function!("work");
/// }
/// let trace = session.stop();
/// assert_eq!(trace.spans().next().unwrap().name(), "work");
/// ```
#[derive(Debug)]
#[must_use = "a session that is dropped is over; bind it to a variable, and stop it"]
pub struct Session {
    window: HeldWindow,
    /// After the window, which has chunks that are in its files.
    spool: Option<SessionSpool>,
    settings: SessionSettings,
    start: Edge,
    state: Mutex<SessionState>,
    quiet: QuietDrop,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.quiet.begin();
    }
}

const SLOT_BYTES: u64 = size_of::<Words>() as u64;

/// From so many steps, or changes of what is collected, those that a ring has nothing left of are forgotten.
const MANY: usize = 1024;

/// Whether it is time to look for what can be forgotten: seldom, also if there is nothing.
fn is_many(count: usize) -> bool {
    count >= MANY && count.is_power_of_two()
}

/// A window that is released when nobody needs it any more.
#[derive(Debug)]
struct HeldWindow {
    recorder: Recorder,
    id: WindowId,
}

impl Drop for HeldWindow {
    fn drop(&mut self) {
        self.recorder.release_window(self.id);
    }
}

/// What a session was asked to do.
#[derive(Clone, Debug)]
pub(crate) struct SessionSettings {
    pub(crate) capture: Capture,
    pub(crate) record_steps: bool,
    pub(crate) first_step: usize,
    pub(crate) left_out: RecordKinds,
    pub(crate) open_scopes: Vec<OpenScope>,
    /// What was in use on devices when it began.
    pub(crate) memory_in_use: Vec<(Device, i64)>,
    /// Whether allocations are shown only as what spans allocated.
    pub(crate) hides_memory_events: bool,
    /// Whether scopes of the program are shown on devices.
    pub(crate) annotates_devices: bool,
    /// What the accelerator is called, if not as the engine calls it.
    pub(crate) accelerator: Option<String>,
    pub(crate) metadata: Vec<(String, String)>,
    pub(crate) bound: Bound,
}

#[derive(Debug)]
struct SessionState {
    collecting: Capture,
    edges: Vec<Edge>,
    carried: Vec<CarriedSpan>,
    steps: Vec<StepMark>,
    /// Steps before these, of which a ring has nothing left.
    forgotten_steps: usize,
    /// When the last of them ended, if that was before the session does.
    steps_end: Option<u64>,
}

/// From this cut on, the session sees what is in `capture`.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) cut: Arc<Cut>,
    pub(crate) capture: Capture,
    /// The blocks of memory that were known to be there, if it sees memory.
    pub(crate) blocks: Arc<Vec<MemoryUse>>,
}

/// The beginning of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepMark {
    /// When the step before it ended.
    pub(crate) ended: u64,
    pub(crate) ticks: u64,
    /// The system's number of the thread that made the step.
    pub(crate) os_thread: u64,
}

/// All that a trace is made of.
#[derive(Debug)]
pub(crate) struct WindowContents {
    pub(crate) settings: SessionSettings,
    pub(crate) edges: Vec<Edge>,
    pub(crate) to: Arc<Cut>,
    pub(crate) is_running: bool,
    pub(crate) carried: Vec<CarriedSpan>,
    pub(crate) steps: Vec<StepMark>,
    /// When the last of them ended, if that was before all else did.
    pub(crate) steps_end: Option<u64>,
    pub(crate) streams: Vec<Stream>,
    pub(crate) losses: Losses,
}

impl WindowContents {
    /// Where a trace of this goes. A recording that is larger than the memory it may take has a trace that is, too: it goes to
    /// files, unless no directory on a disk is known.
    pub(crate) fn store(&self) -> Store {
        let slots: u64 = self.streams.iter().map(Stream::slots).sum();
        let bound = &self.settings.bound;
        let directory = if slots * SLOT_BYTES <= bound.max_bytes { None } else { bound.directory() };
        directory.map_or_else(Store::default, |directory| Store::files_in(&directory))
    }
}

impl Session {
    /// Starts a session that collects host and device activity, with no further detail.
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// Configures a session.
    pub fn builder() -> SessionBuilder {
        SessionBuilder::default()
    }

    fn new(recorder: Recorder, settings: SessionSettings, spool: Option<std::sync::Arc<Spool>>) -> Self {
        let _quiet = Quiet::new();
        let capture = settings.capture.with_implied();
        let spool = spool.map(|spool| SessionSpool::begin(spool, &recorder, &settings));
        let OpenedWindow { id, from, carried, blocks } = recorder.open_window(capture, settings.bound.clone());
        let first_step = StepMark { ended: from.ticks, ticks: from.ticks, os_thread: crate::recorder::os_thread_id() };
        let start = Edge { cut: from, capture, blocks: Arc::new(blocks) };
        if let Some(spool) = &spool {
            spool.edge(&start);
            spool.carried(&carried);
            spool.step(&first_step, 1);
        }
        let state = SessionState {
            collecting: capture,
            edges: vec![start.clone()],
            carried,
            steps: vec![first_step],
            forgotten_steps: 0,
            steps_end: None,
        };
        Self {
            window: HeldWindow { recorder, id },
            spool,
            settings,
            start,
            state: Mutex::new(state),
            quiet: QuietDrop::default(),
        }
    }

    /// Stops collecting the given activities ([`Capture::CPU`], [`Capture::DEVICE`]) until they are resumed. A span that
    /// is open now is still seen whole.
    pub fn pause(&self, activities: Capture) {
        self.collect(|now| now & !(activities & Capture::ACTIVITIES));
    }

    /// Collects the given activities again, as far as the session was started with them. Spans that began meanwhile are
    /// not seen, even if they are still open.
    pub fn resume(&self, activities: Capture) {
        let asked_for = self.settings.capture;
        self.collect(|now| now | (activities & asked_for & Capture::ACTIVITIES));
    }

    fn collect(&self, change: impl FnOnce(Capture) -> Capture) {
        let _quiet = Quiet::new();
        let Some(mut state) = self.lock() else { return };
        let capture = change(state.collecting);
        if capture == state.collecting {
            return;
        }
        // With every activity paused there is nothing that detail could be about.
        let collected = if (capture & Capture::ACTIVITIES).is_empty() { Capture::NONE } else { capture };
        if let Some((cut, blocks)) = self.window.recorder.change_window(self.window.id, collected) {
            let edge = Edge { cut, capture: collected, blocks: Arc::new(blocks) };
            self.spool.iter().for_each(|spool| spool.edge(&edge));
            state.edges.push(edge);
            state.collecting = capture;
            if is_many(state.edges.len()) {
                self.forget_edges(&mut state);
            }
        }
    }

    /// Forgets what was collected before everything that a ring still has. The beginning stays, as does the change before the
    /// first that counts: it tells what that one began.
    fn forget_edges(&self, state: &mut SessionState) {
        let Some(oldest) = self.window.recorder.oldest_kept(self.window.id) else { return };
        let later = state.edges.partition_point(|edge| edge.cut.ticks < oldest);
        state.edges.drain(1..later.saturating_sub(2).max(1));
    }

    /// Begins the next step. Events carry the number of the step in which they began, from 0 or from
    /// [`SessionBuilder::first_step`].
    pub fn step(&self) {
        let _quiet = Quiet::new();
        let Some(mut state) = self.lock() else { return };
        // Read under the lock, so that the marks are in the order of time.
        let ended = self.window.recorder.now().0;
        // Read again: two steps that touch overlap for programs that add a duration to a start as floats.
        let ticks = self.window.recorder.now().0;
        let mark = StepMark { ended, ticks, os_thread: crate::recorder::os_thread_id() };
        state.steps.push(mark);
        state.steps_end = None;
        self.spool.iter().for_each(|spool| spool.step(&mark, state.steps.len()));
        if is_many(state.steps.len()) {
            self.forget_steps(&mut state);
        }
    }

    /// Ends the last step, which else lasts for as long as the session: for whoever ends spans around the steps before the session.
    pub fn end_steps(&self) {
        let _quiet = Quiet::new();
        let Some(mut state) = self.lock() else { return };
        state.steps_end = Some(self.window.recorder.now().0);
    }

    /// Forgets the steps that ended before everything that a ring still has.
    fn forget_steps(&self, state: &mut SessionState) {
        let Some(oldest) = self.window.recorder.oldest_kept(self.window.id) else { return };
        let ended = state.steps.partition_point(|mark| mark.ticks < oldest).saturating_sub(1);
        state.steps.drain(..ended);
        state.forgotten_steps += ended;
    }

    /// The number of the current step.
    pub fn current_step(&self) -> usize {
        let steps = |state: MutexGuard<'_, SessionState>| state.forgotten_steps + state.steps.len() - 1;
        self.settings.first_step + self.lock().map_or(0, steps)
    }

    /// What was recorded so far. The session goes on; spans that are open are shown up to now.
    pub fn snapshot(&self) -> Trace {
        let _quiet = Quiet::new();
        self.contents(true).map_or_else(|| self.empty_trace(), |contents| self.build(contents))
    }

    /// Ends the session and makes its trace: [`Session::finish`], then [`Recording::into_trace`].
    pub fn stop(self) -> Trace {
        self.finish().into_trace()
    }

    /// Ends the session. What it recorded is kept as it is until someone asks for the trace, so this takes the same time
    /// however much that is.
    pub fn finish(self) -> Recording {
        let cut = self.window.recorder.close_window(self.window.id);
        if let (Some(spool), Some(cut), Some(state)) = (&self.spool, cut, self.lock()) {
            spool.end(&cut, &state.carried);
        }
        Recording { session: self }
    }

    fn contents(&self, is_running: bool) -> Option<WindowContents> {
        let state = self.lock()?;
        let WindowReading { streams, to, carried: dropped_around, losses } =
            self.window.recorder.read_window(self.window.id)?;
        let mut carried = state.carried.clone();
        carried.extend(dropped_around);
        carried.sort_by_key(|span| (span.log.serial, span.position()));
        let first_step = self.settings.first_step + state.forgotten_steps;
        Some(WindowContents {
            settings: SessionSettings { first_step, ..self.settings.clone() },
            edges: state.edges.clone(),
            to,
            is_running,
            carried,
            steps: state.steps.clone(),
            steps_end: state.steps_end,
            streams,
            losses,
        })
    }

    fn build(&self, contents: WindowContents) -> Trace {
        TraceBuilder::new(contents, self.window.recorder.scale()).build()
    }

    /// What a session that belongs to another process recorded in this one.
    fn empty_trace(&self) -> Trace {
        self.build(WindowContents {
            settings: self.settings.clone(),
            edges: vec![self.start.clone()],
            to: Arc::clone(&self.start.cut),
            is_running: false,
            carried: Vec::new(),
            steps: Vec::new(),
            steps_end: None,
            streams: Vec::new(),
            losses: Losses::default(),
        })
    }

    /// Whether it has taken the memory that it may take, so that what is recorded since goes to a file, takes the place of
    /// what is older, or is not recorded.
    pub fn was_full(&self) -> bool {
        self.fullness().0
    }

    /// What was dropped so far to stay within [`SessionBuilder::max_bytes`], and why it no longer records, if so.
    pub fn losses(&self) -> Losses {
        self.fullness().1
    }

    fn fullness(&self) -> (bool, Losses) {
        self.window.recorder.fullness(self.window.id)
    }

    /// The directory of the files that it records to, if it does.
    pub fn spool_path(&self) -> Option<&std::path::Path> {
        self.spool.as_ref().map(SessionSpool::path)
    }

    /// Why what it records no longer outlives the process, if it should.
    pub fn spool_trouble(&self) -> Option<String> {
        self.spool.as_ref().and_then(SessionSpool::trouble)
    }

    /// Returns a warning if the directory of [`SessionBuilder::spill_dir`] is in memory (`tmpfs`), so that the parts of the
    /// recording that are spilled to it still take memory.
    pub fn spill_trouble(&self) -> Option<String> {
        let file = self.settings.bound.file.as_ref().filter(|file| file.is_in_memory())?;
        let directory = file.directory().display();
        Some(format!(
            "{directory} is in memory (tmpfs): what is spilled there still takes memory, beside max_bytes. Give spill_dir a \
             directory on a disk"
        ))
    }

    /// `None` in a forked child, where the parent's sessions are over; another thread may have held the lock when the
    /// process forked, and would never release it.
    fn lock(&self) -> Option<MutexGuard<'_, SessionState>> {
        let is_known = self.window.recorder.has_window(self.window.id);
        is_known.then(|| self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What a session recorded: 32 to 64 bytes an event, until [`Recording::into_trace`] makes something of it.
#[derive(Debug)]
#[must_use = "a recording that is dropped is gone"]
pub struct Recording {
    session: Session,
}

impl Recording {
    /// Makes the trace. Takes 20 to 40 ns an event; the recording's memory is then free for the next one.
    pub fn into_trace(self) -> Trace {
        self.to_trace()
    }

    /// The bytes of memory that the recording takes.
    pub fn memory_held(&self) -> usize {
        let window = &self.session.window;
        let streams = window.recorder.read_window(window.id).map_or_else(Vec::new, |reading| reading.streams);
        streams.iter().flat_map(|stream| &stream.pieces).map(Piece::memory_held).sum()
    }

    /// See [`Session::was_full`].
    pub fn was_full(&self) -> bool {
        self.session.was_full()
    }

    /// See [`Session::losses`].
    pub fn losses(&self) -> Losses {
        self.session.losses()
    }

    /// See [`Session::spool_path`].
    pub fn spool_path(&self) -> Option<&std::path::Path> {
        self.session.spool_path()
    }

    /// Makes a trace and keeps the recording.
    pub fn to_trace(&self) -> Trace {
        let _quiet = Quiet::new();
        self.session.contents(false).map_or_else(|| self.session.empty_trace(), |contents| self.session.build(contents))
    }
}
