//! How to collect.

use super::spooled::SpoolClaim;
use super::{OpenScope, Session, SessionSettings};
use crate::capture::Capture;
use crate::error::Error;
use crate::recorder::{Bound, Device, DeviceWork, RecordKinds, Recorder, SpanKind, WhenFull};
use crate::spool::SpillFile;
use std::path::Path;

/// What a [`Session`] collects. Each switch has the name and the meaning that it has in `torch.profiler.profile`.
///
/// ```
/// use mindtorch_profiler::{Capture, Session};
/// let session = Session::builder()
///     .activities(Capture::CPU)
///     .profile_memory(true)
///     .with_stack(true)
///     .metadata("run", "7")
///     .start();
/// ```
#[derive(Debug)]
#[must_use = "a builder does nothing until it is started"]
pub struct SessionBuilder {
    recorder: Option<Recorder>,
    settings: SessionSettings,
    spool: Option<SpoolClaim>,
}

impl Default for SessionBuilder {
    fn default() -> Self {
        let settings = SessionSettings {
            capture: Capture::ACTIVITIES,
            record_steps: false,
            first_step: 0,
            left_out: RecordKinds::default(),
            open_scopes: Vec::new(),
            memory_in_use: Vec::new(),
            hides_memory_events: false,
            annotates_devices: false,
            accelerator: None,
            metadata: Vec::new(),
            bound: Bound::default(),
        };
        Self { recorder: None, settings, spool: None }
    }
}

impl SessionBuilder {
    /// Which activities to collect: [`Capture::CPU`], [`Capture::DEVICE`] or both, which is the default.
    pub fn activities(self, activities: Capture) -> Self {
        self.set(Capture::ACTIVITIES, false).set(activities & Capture::ACTIVITIES, true)
    }

    /// Whether to keep operators' input shapes.
    pub fn record_shapes(self, on: bool) -> Self {
        self.set(Capture::SHAPES, on)
    }

    /// Whether to keep where in the source spans began.
    pub fn with_stack(self, on: bool) -> Self {
        self.set(Capture::STACK, on)
    }

    /// Whether to collect allocations and frees. A Rust program's own are seen if it uses
    /// [`ProfiledAllocator`](crate::ProfiledAllocator).
    pub fn profile_memory(self, on: bool) -> Self {
        self.set(Capture::MEMORY, on)
    }

    /// Whether to keep operators' floating-point operations.
    pub fn with_flops(self, on: bool) -> Self {
        self.set(Capture::FLOPS, on)
    }

    /// Whether each step is a span of its own, `ProfilerStep#N`, on the thread that made it.
    pub fn record_steps(mut self, on: bool) -> Self {
        self.settings.record_steps = on;
        self
    }

    /// The number of the step that the session starts in.
    pub fn first_step(mut self, number: usize) -> Self {
        self.settings.first_step = number;
        self
    }

    /// A text to write into the trace file.
    pub fn metadata(mut self, key: &str, value: &str) -> Self {
        self.settings.metadata.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Whether to keep the names of operators' overloads. A Chrome trace then has them behind the operators' names.
    pub fn overload_names(self, on: bool) -> Self {
        self.set(Capture::OVERLOADS, on)
    }

    /// Scopes that are open now, of which the recorder does not know, those of a thread from the outermost.
    pub fn open_scopes(mut self, scopes: Vec<OpenScope>) -> Self {
        self.settings.open_scopes = scopes;
        self
    }

    /// How many bytes of devices' memory are in use now. Only a program that reports its memory knows.
    pub fn memory_in_use(mut self, bytes: Vec<(Device, i64)>) -> Self {
        self.settings.memory_in_use = bytes;
        self
    }

    /// Whether to show allocations and frees only as what spans allocated, and not as events of their own.
    pub fn hide_memory_events(mut self, hide: bool) -> Self {
        self.settings.hides_memory_events = hide;
        self
    }

    /// Whether scopes of the program are shown on devices, too: as wide as the work that was launched in them.
    pub fn annotate_devices(mut self, on: bool) -> Self {
        self.settings.annotates_devices = on;
        self
    }

    /// What traces call the accelerator, such as `"CUDA"`; else it is `"NPU"`.
    pub fn accelerator(mut self, name: &str) -> Self {
        self.settings.accelerator = Some(name.to_owned());
        self
    }

    /// Leaves spans of this kind out of the trace.
    pub fn without(mut self, kind: SpanKind) -> Self {
        self.settings.left_out.add(kind.record_kind());
        self
    }

    /// Leaves this kind of devices' work out of the trace.
    pub fn without_work(mut self, work: DeviceWork) -> Self {
        self.settings.left_out.add(work.record_kind());
        self
    }

    /// How much memory the recording may take, at least 1 MiB: by default an eighth of the memory that the process may use, and
    /// no more than 2 GiB. The process may use the machine's memory, or less if a control group (cgroup) limits it, as in a container.
    /// A chunk of 64 KiB for each thread, and for each span that is open for long, may come on top of it.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.settings.bound.max_bytes = bytes.max(Bound::LEAST);
        self
    }

    /// The action when the bound is reached. By default the oldest parts go to an unnamed file in the system's directory for
    /// temporary files, or in `/var/tmp` if that directory is in memory (`tmpfs`). If no directory on a disk can be written, the recording ends instead.
    pub fn when_full(mut self, when_full: WhenFull) -> Self {
        self.settings.bound.when_full = when_full;
        self
    }

    /// Puts that file, which has no name, into this directory. [`Session::spill_trouble`] warns if it is in memory.
    ///
    /// # Errors
    /// If no file can be made there.
    pub fn spill_dir(mut self, directory: impl AsRef<Path>) -> Result<Self, Error> {
        self.settings.bound.file = Some(SpillFile::temporary(directory.as_ref())?);
        Ok(self)
    }

    /// Spills to this file, or to one in the first of these directories that is on a disk.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn spill_to(mut self, file: Option<SpillFile>, directories: &[&Path]) -> Self {
        let directories = directories.iter().copied().map(Path::to_owned).collect();
        self.settings.bound = Bound { file, directories, ..self.settings.bound };
        self
    }

    /// Records to files in a directory of their own inside this one, which is made if only it is missing. They outlive the
    /// process, however it ends: [`Trace::recover`](crate::Trace::recover) reads them. They are removed when what was recorded
    /// is let go after the session was stopped. If it is not the process's recorder, [`Self::on`] comes first.
    ///
    /// # Errors
    /// If the files cannot be made, or another session records to files.
    pub fn spool_dir(mut self, directory: impl AsRef<Path>) -> Result<Self, Error> {
        let recorder = self.recorder.as_ref().unwrap_or_else(|| Recorder::global());
        self.spool = Some(SpoolClaim::new(recorder, directory.as_ref())?);
        Ok(self)
    }

    /// Collects from this recorder instead of the process's.
    pub fn on(mut self, recorder: &Recorder) -> Self {
        self.recorder = Some(recorder.clone());
        self
    }

    /// Starts the session.
    pub fn start(self) -> Session {
        let recorder = self.recorder.unwrap_or_else(|| Recorder::global().clone());
        let spool = self.spool.and_then(SpoolClaim::take);
        Session::new(recorder, self.settings, spool)
    }

    fn set(mut self, flags: Capture, on: bool) -> Self {
        let capture = self.settings.capture;
        self.settings.capture = if on { capture | flags } else { capture & !flags };
        self
    }
}
