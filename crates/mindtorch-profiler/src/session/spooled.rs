//! A session that records to files, which outlive the process.

use super::{Edge, SessionSettings, StepMark};
use crate::clock::TickScale;
use crate::error::Error;
use crate::recorder::{CarriedSpan, Cut, Recorder};
use crate::spool::{Entry, Flusher, Spool, SpoolCut, SpoolEdge, SpoolScope, SpoolSettings, SpoolSpan, SpoolStep};
use crate::spooling;
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Files that a session is about to record to. They are the only ones of their recorder.
#[derive(Debug)]
pub(super) struct SpoolClaim(Option<Arc<Spool>>);

impl SpoolClaim {
    /// Makes the files, for a session of this recorder.
    pub(super) fn new(recorder: &Recorder, directory: &Path) -> Result<Self, Error> {
        let spool = Arc::new(Spool::create(directory)?);
        if recorder.claim_spool(&spool) {
            return Ok(Self(Some(spool)));
        }
        let _ = spool.remove();
        Err(Error::SpoolInUse { path: directory.to_owned() })
    }

    /// The files.
    pub(super) fn take(mut self) -> Option<Arc<Spool>> {
        self.0.take()
    }
}

impl Drop for SpoolClaim {
    /// Nobody has recorded to them.
    fn drop(&mut self) {
        if let Some(spool) = &self.0 {
            let _ = spool.remove();
        }
    }
}

/// The files of a session.
#[derive(Debug)]
pub(super) struct SessionSpool {
    spool: Arc<Spool>,
    recorder: Recorder,
    flusher: Option<Flusher>,
    /// Whether the session was stopped, so that what it recorded is in somebody's hands.
    is_ended: AtomicBool,
}

impl SessionSpool {
    /// From now on, all that threads record goes to the files.
    pub(super) fn begin(spool: Arc<Spool>, recorder: &Recorder, settings: &SessionSettings) -> Self {
        spooling::begin(&spool);
        let flusher = Flusher::start(&spool);
        let begun = Self { spool, recorder: recorder.clone(), flusher, is_ended: AtomicBool::new(false) };
        begun.spool.log(Entry::Settings(Cow::Owned(described(settings))));
        begun.log_clock(recorder.scale());
        begun.recorder.begin_spool(&begun.spool);
        begun
    }

    fn log_clock(&self, scale: TickScale) {
        self.spool.log(Entry::Clock(scale.spooled()));
    }

    pub(super) fn carried(&self, spans: &[CarriedSpan]) {
        self.spool.log_all(spans.iter().map(|span| {
            let (_, first, second) = span.read();
            Entry::Carried(SpoolSpan { serial: span.log.serial, position: span.position(), first, second })
        }));
    }

    pub(super) fn edge(&self, edge: &Edge) {
        let (cut, blocks) = (cut_of(&edge.cut), edge.blocks.to_vec());
        self.spool.log(Entry::Edge(SpoolEdge { cut, capture: edge.capture, blocks }));
    }

    /// `number` steps have begun. What is known of the clock's rate becomes better, and less so.
    pub(super) fn step(&self, mark: &StepMark, number: usize) {
        let StepMark { ended, ticks, os_thread } = *mark;
        self.spool.log(Entry::Step(SpoolStep { ended, ticks, os_thread }));
        if number.is_power_of_two() {
            self.log_clock(self.recorder.scale());
        }
    }

    /// The session was stopped here.
    pub(super) fn end(&self, cut: &Cut, carried: &[CarriedSpan]) {
        self.recorder.end_spool();
        spooling::end(&self.spool);
        // Some have ended since.
        self.carried(carried);
        self.log_clock(self.recorder.scale());
        self.spool.log(Entry::End(cut_of(cut)));
        self.flusher.iter().for_each(Flusher::finish);
        self.is_ended.store(true, Ordering::Relaxed);
    }

    /// The directory of its files.
    pub(super) fn path(&self) -> &Path {
        self.spool.path()
    }

    /// Why not all of it is in the files, if so.
    pub(super) fn trouble(&self) -> Option<String> {
        let refused = self.recorder.spool_trouble();
        let unwritten = || self.spool.trouble().map(|trouble| trouble.first);
        let unsynced = || self.flusher.as_ref().and_then(Flusher::trouble);
        refused.or_else(unwritten).or_else(unsynced)
    }
}

impl Drop for SessionSpool {
    /// What was stopped, and is now let go, is no longer needed. What was not may be all that is left of a program that
    /// failed.
    fn drop(&mut self) {
        if self.is_ended.load(Ordering::Relaxed) {
            let _ = self.spool.remove();
        } else {
            self.recorder.end_spool();
            spooling::end(&self.spool);
        }
    }
}

fn cut_of(cut: &Cut) -> SpoolCut {
    SpoolCut { ticks: cut.ticks, lost: cut.lost, positions: cut.positions().to_vec() }
}

fn described(settings: &SessionSettings) -> SpoolSettings {
    let scope = |scope: &super::OpenScope| SpoolScope {
        name: scope.name.0,
        note: scope.note.0,
        os_thread: scope.os_thread,
        end: scope.end(),
    };
    SpoolSettings {
        capture: settings.capture,
        record_steps: settings.record_steps,
        first_step: settings.first_step as u64,
        left_out: settings.left_out.bits(),
        hides_memory_events: settings.hides_memory_events,
        annotates_devices: settings.annotates_devices,
        accelerator: settings.accelerator.clone().unwrap_or_default(),
        metadata: settings.metadata.clone(),
        memory_in_use: settings.memory_in_use.clone(),
        open_scopes: settings.open_scopes.iter().map(scope).collect(),
    }
}
