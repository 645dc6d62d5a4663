//! Recovery: the trace of a process that may be gone, from the files that it recorded to.
//!
//! Its records have its ids. They become this process's when they are read, in place, so that everything after that is as it
//! is for a recording of this process.

use super::{Trace, TraceBuilder};
use crate::clock::TickScale;
use crate::error::Error;
use crate::inputs::{INPUTS, map_names};
use crate::names::{NAMES, Name, STACKS};
use crate::quiet::Quiet;
use crate::recorder::{
    Bound, CarriedSpan, Cut, Head, LoadedChunk, Losses, Piece, RecordKind, RecordKinds, Stream, ThreadLog, Words, pair,
    unpair,
};
use crate::session::{Edge, OpenScope, SessionSettings, StepMark, WindowContents};
use crate::spool::{self, Damage, SpoolContents, SpoolCut};
use crate::sync::Arc;
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};

/// What a process left that recorded to files.
#[derive(Debug)]
#[non_exhaustive]
pub struct Recovered {
    /// The directory of its files.
    pub path: PathBuf,
    /// The number of the process.
    pub pid: u32,
    /// What it recorded, as far as it is there.
    pub trace: Trace,
    /// What is missing.
    pub damage: Damage,
}

impl Trace {
    /// What processes left in a directory that they recorded to ([`SessionBuilder::spool_dir`]), in the order of their files'
    /// names; also that of one session's own directory. A process that is still running is seen up to now. Files that cannot
    /// be read at all are errors of their own.
    ///
    /// [`SessionBuilder::spool_dir`]: crate::SessionBuilder::spool_dir
    ///
    /// # Errors
    /// If the directory cannot be listed.
    pub fn recover(directory: impl AsRef<Path>) -> Result<Vec<Result<Recovered, Error>>, Error> {
        let sessions = spool::sessions(directory.as_ref())?;
        Ok(sessions.iter().map(|session| spool::read(session).map(recovered)).collect())
    }
}

/// No recording is longer than this, 52 days: a file that says so is wrong, and sums of times might overflow.
const LONGEST_NS: u64 = 1 << 52;

fn recovered(mut contents: SpoolContents) -> Recovered {
    let _quiet = Quiet::new();
    let (path, damage) = (contents.path.clone(), contents.damage.clone());
    let pid = contents.begin.map_or(0, |begin| begin.pid);
    let scale = contents.clock.map_or(TickScale::identity(), |clock| TickScale::of_spool(&clock));
    let mut window = window(&mut contents, &scale);
    let latest = scale.ticks_after(window.edges[0].cut.ticks, LONGEST_NS);
    if window.to.ticks > latest {
        window.to = Arc::new(Cut::new(latest, window.to.lost, window.to.positions().to_vec()));
    }
    let mut trace = TraceBuilder::new(window, scale).build();
    trace.header.pid = pid;
    // What a file does not say is not to be found out here.
    trace.header.origin.device_properties = Some("[]".to_owned());
    Recovered { path, pid, trace, damage }
}

fn window(contents: &mut SpoolContents, scale: &TickScale) -> WindowContents {
    let ids = Ids::new(contents);
    let threads = std::mem::take(&mut contents.threads);
    let mut latest = 0;
    let mut streams: Vec<Stream> = threads.into_iter().map(|thread| stream(thread, &ids, &mut latest)).collect();
    streams.sort_unstable_by_key(|stream| stream.log.serial);
    let started = contents.edges.first().map(|edge| edge.cut.ticks);
    latest = latest.max(contents.steps.last().map_or(0, |step| step.ticks));
    let to = match &contents.end {
        Some(end) => cut(end),
        None => {
            let positions = streams.iter().map(|stream| (stream.log.serial, stream.to)).collect();
            // After the last record, so that what it was made in is still open then.
            let ticks = latest.max(started.unwrap_or(0)).saturating_add(scale.nanosecond());
            Cut::new(ticks, contents.lost_events, positions)
        }
    };
    let settings = settings(contents, &ids);
    let mut edges: Vec<Edge> = contents
        .edges
        .iter()
        .map(|edge| Edge {
            cut: Arc::new(cut(&edge.cut)),
            capture: edge.capture,
            blocks: Arc::new(edge.blocks.clone()),
        })
        .collect();
    if edges.is_empty() {
        // The log broke off before it said where the session began: everything is in it.
        let first = streams.iter().filter_map(first_ticks).min().unwrap_or(to.ticks);
        let cut = Arc::new(Cut::new(first, 0, Vec::new()));
        edges.push(Edge { cut, capture: settings.capture.with_implied(), blocks: Arc::default() });
    }
    for stream in &mut streams {
        stream.to = stream.to.min(if contents.end.is_some() { to.position(stream.log.serial) } else { u64::MAX });
        stream.from = edges[0].cut.position(stream.log.serial).min(stream.to);
    }
    let step = |step: &spool::SpoolStep| StepMark { ended: step.ended, ticks: step.ticks, os_thread: step.os_thread };
    WindowContents {
        steps: contents.steps.iter().map(step).collect(),
        steps_end: None,
        is_running: contents.end.is_none(),
        losses: losses(contents),
        carried: carried(contents, &streams, &ids),
        settings,
        edges,
        to: Arc::new(to),
        streams,
    }
}

fn carried(contents: &SpoolContents, streams: &[Stream], ids: &Ids) -> Vec<CarriedSpan> {
    let carried = contents.carried.iter().filter(|span| span.position < LAST_POSITION).map(|span| {
        let known =
            streams.iter().find(|stream| stream.log.serial == span.serial).map(|stream| Arc::clone(&stream.log));
        let log = known.unwrap_or_else(|| Arc::new(ThreadLog::new(span.serial, 0, None)));
        let mut slots: Vec<Words> = [span.first].into_iter().chain(span.second).collect();
        ids.map_records(&mut slots, &mut 0);
        CarriedSpan::loaded(&log, span.position, slots)
    });
    let mut carried: Vec<_> = carried.collect();
    carried.sort_by_key(|span| (span.log.serial, span.position()));
    carried
}

fn losses(contents: &SpoolContents) -> Losses {
    let mut losses = Losses::default();
    for gap in &contents.damage.gaps {
        losses.drop_events(gap.serial, gap.to.saturating_sub(gap.from).min(LAST_POSITION));
    }
    losses.unreadable = contents.damage.blocks.iter().map(|block| u64::from(block.unreadable)).sum();
    losses
}

fn cut(cut: &SpoolCut) -> Cut {
    Cut::new(cut.ticks, cut.lost, cut.positions.clone())
}

fn settings(contents: &SpoolContents, ids: &Ids) -> SessionSettings {
    let of_file = contents.settings.clone().unwrap_or_default();
    let scopes = of_file.open_scopes.iter().map(|scope| {
        OpenScope::ended(Name(ids.name(scope.name)), Name(ids.name(scope.note)), scope.os_thread, scope.end)
    });
    SessionSettings {
        capture: of_file.capture,
        record_steps: of_file.record_steps,
        first_step: of_file.first_step.min(u32::MAX.into()) as usize,
        left_out: RecordKinds::from_bits(of_file.left_out),
        open_scopes: scopes.collect(),
        memory_in_use: of_file.memory_in_use,
        hides_memory_events: of_file.hides_memory_events,
        annotates_devices: of_file.annotates_devices,
        accelerator: Some(of_file.accelerator).filter(|name| !name.is_empty()),
        metadata: of_file.metadata,
        bound: Bound::default(),
    }
}

fn first_ticks(stream: &Stream) -> Option<u64> {
    let Some(Piece::Loaded(chunk)) = stream.pieces.first() else { return None };
    chunk.slots.first().map(|words| words[0])
}

/// No thread gets as far as this: what says so is not ours, and sums of it might overflow.
const LAST_POSITION: u64 = 1 << 62;

/// A thread's records, with the ids of this process. Also moves `latest` to the latest time in them.
fn stream(thread: spool::SpoolThread, ids: &Ids, latest: &mut u64) -> Stream {
    let log = Arc::new(ThreadLog::new(thread.serial, thread.os_id, thread.name.as_deref()));
    let mut pieces = Vec::new();
    for mut block in thread.blocks.into_iter().filter(|block| block.base < LAST_POSITION) {
        ids.map_records(&mut block.slots, latest);
        pieces.push(Piece::Loaded(Arc::new(LoadedChunk { base: block.base, slots: block.slots })));
    }
    let to = pieces.last().map_or(0, Piece::end);
    Stream { log, pieces, from: 0, to }
}

/// The ids of this process for those of another.
struct Ids {
    names: FxHashMap<u32, u32>,
    stacks: FxHashMap<u32, u32>,
    inputs: FxHashMap<u32, u32>,
    /// For names that the file does not have.
    unknown: u32,
}

impl Ids {
    fn new(contents: &SpoolContents) -> Self {
        let unknown = NAMES.id("(name not recovered)");
        let names: FxHashMap<u32, u32> = contents.names.iter().map(|(&id, text)| (id, NAMES.id(text))).collect();
        let name = |id: u32| if id == 0 { 0 } else { names.get(&id).copied().unwrap_or(unknown) };
        let stack = |frames: &Vec<u32>| STACKS.id(&frames.iter().map(|&frame| name(frame)).collect::<Vec<_>>());
        let stacks = contents.stacks.iter().map(|(&id, frames)| (id, stack(frames))).collect();
        let inputs = contents.inputs.iter().map(|(&id, words)| (id, INPUTS.id(&map_names(words, name)))).collect();
        Self { stacks, inputs, names, unknown }
    }

    fn name(&self, id: u32) -> u32 {
        if id == 0 { 0 } else { self.names.get(&id).copied().unwrap_or(self.unknown) }
    }

    fn map_records(&self, slots: &mut [Words], latest: &mut u64) {
        let mut index = 0;
        while index < slots.len() {
            let is_detailed = Head::unpack(slots[index][2]).is_detailed() && index + 1 < slots.len();
            let (first, rest) = slots[index..].split_at_mut(1);
            let second = if is_detailed { rest.first_mut() } else { None };
            self.map_record(&mut first[0], second, latest);
            index += 1 + usize::from(is_detailed);
        }
    }

    fn map_record(&self, first: &mut Words, second: Option<&mut Words>, latest: &mut u64) {
        let mut head = Head::unpack(first[2]);
        if head.kind.tells_when() || head.kind.is_device() {
            *latest = (*latest).max(first[0]);
        }
        match head.kind {
            RecordKind::Use | RecordKind::Sources => return,
            RecordKind::Memory => {
                if let Some(second) = second {
                    let (stack, other) = unpair(second[2]);
                    second[2] = pair(self.stack(stack), other);
                }
                return;
            }
            RecordKind::Op | RecordKind::Backward | RecordKind::Annotation | RecordKind::Runtime => {
                *latest = (*latest).max(first[1]);
                let (inputs, other) = unpair(first[3]);
                let inputs = self.inputs.get(&inputs).copied().unwrap_or(0);
                if head.is_numbered() {
                    // One whose number here has more bits than there is room for is shown without.
                    head.track = u16::try_from(self.name(head.track.into())).unwrap_or(0);
                    first[3] = pair(inputs, other);
                } else {
                    first[3] = pair(inputs, self.stack(other));
                }
                if let Some(second) = second {
                    let ((thread, note), (overload, context)) = (unpair(second[2]), unpair(second[3]));
                    second[2] = pair(thread, self.name(note));
                    second[3] = pair(self.name(overload), context);
                }
            }
            RecordKind::Function => *latest = (*latest).max(first[1]),
            RecordKind::Kernel | RecordKind::Copy | RecordKind::Set | RecordKind::Sync => {
                *latest = (*latest).max(first[1]);
                let (device, extra) = unpair(first[3]);
                first[3] = pair(device, self.name(extra));
            }
            RecordKind::Counter | RecordKind::Mark => (),
        }
        head.name = self.name(head.name);
        first[2] = head.pack();
    }

    fn stack(&self, id: u32) -> u32 {
        self.stacks.get(&id).copied().unwrap_or(0)
    }
}
