//! An accelerator: its memory and its streams.

use super::allocator::Allocator;
use super::error::NpuError;
use super::executor::Executor;
use super::fork::{is_child, refuse_in_child, watch_forks};
use super::point::Point;
use super::queue::{Job, Kernel};
use super::region::Region;
use super::runtime_call::RuntimeCall;
use super::settings::{MAX_DEVICES, Settings};
use super::stream::StreamId;
use mindtorch_profiler::Name;
use std::sync::{Mutex, OnceLock, PoisonError};

static DEVICES: [OnceLock<&Npu>; MAX_DEVICES as usize] = [const { OnceLock::new() }; MAX_DEVICES as usize];

/// How many accelerators there are: 1, or what `MINDTORCH_NPU_COUNT` says. None of them is started for it.
///
/// # Errors
/// If the environment says nonsense.
pub fn device_count() -> Result<u16, NpuError> {
    Ok(Settings::get()?.devices)
}

/// Whether an accelerator has been used in this process.
pub fn is_initialized() -> bool {
    started().next().is_some()
}

/// Blocks until the accelerators have done all that was launched by now, so that a profiler misses nothing. None is started
/// for it, and kernels that fail are still reported to whoever synchronises next.
pub fn finish_all() {
    started().for_each(Npu::finish);
}

fn started() -> impl Iterator<Item = &'static Npu> {
    DEVICES.iter().filter(|_| !is_child()).filter_map(OnceLock::get).copied()
}

/// An accelerator that is a program: it computes on the host, with memory, streams and a thread of its own.
///
/// It runs what is launched on it one by one, while the host goes on: in order on each stream, and of several streams those
/// of the highest priority in turn.
#[derive(Debug)]
pub struct Npu {
    index: u16,
    pub(super) region: Region,
    pub(super) allocator: Mutex<Allocator>,
    pub(super) executor: &'static Executor,
}

impl Npu {
    /// The accelerator with this number. It is started when it is first asked for, and runs until the process ends.
    ///
    /// # Errors
    /// If there is no such device, the environment says nonsense, the host has no memory for it, or the process is a child
    /// that was forked after its parent had used an accelerator.
    pub fn get(index: u16) -> Result<&'static Self, NpuError> {
        refuse_in_child()?;
        match DEVICES.get(usize::from(index)).and_then(OnceLock::get) {
            Some(npu) => Ok(npu),
            None => Self::first(index),
        }
    }

    #[cold]
    fn first(index: u16) -> Result<&'static Self, NpuError> {
        static STARTING: Mutex<()> = Mutex::new(());
        let Settings { devices: count, memory } = Settings::get()?;
        if index >= count {
            return Err(NpuError::NoSuchDevice { index, count });
        }
        watch_forks();
        let _starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let device = &DEVICES[usize::from(index)];
        if let Some(npu) = device.get() {
            return Ok(npu);
        }
        let npu = Self::start(index, memory)?;
        Ok(device.get_or_init(|| npu))
    }

    /// Starts an accelerator.
    pub(super) fn start(index: u16, memory: u64) -> Result<&'static Self, NpuError> {
        let cannot = |what: &str, error| NpuError::CannotStart { device: index, reason: format!("{what}: {error}") };
        let region = Region::map(memory).map_err(|error| cannot("its memory cannot be mapped", error))?;
        let executor = Executor::start(index).map_err(|error| cannot("its thread cannot be started", error))?;
        Ok(Box::leak(Box::new(Self { index, region, allocator: Mutex::new(Allocator::new(memory)), executor })))
    }

    /// Its number.
    pub fn index(&self) -> u16 {
        self.index
    }

    /// What it is called.
    pub fn name(&self) -> &'static str {
        "MindTorch Software NPU (computes on the host)"
    }

    /// The bytes of memory that it has.
    pub fn total_memory(&self) -> u64 {
        self.region.bytes()
    }
}

impl Npu {
    /// A stream of its own for someone. Lower numbers of `priority` go first; what is out of [`PRIORITY_RANGE`] is taken
    /// to be the nearest that is not. There are 32 of each priority, which are given in turn.
    ///
    /// [`PRIORITY_RANGE`]: super::PRIORITY_RANGE
    pub fn new_stream(&self, priority: i32) -> StreamId {
        self.executor.streams.next(priority)
    }

    /// Has `work` run on the accelerator, after all that was launched on the stream before, and does not wait for it. `copy`
    /// has the bytes that it moves, if that is what it does.
    ///
    /// What `work` panics with is kept for whoever synchronises next.
    ///
    /// # Errors
    /// In a forked child.
    pub fn launch(
        &'static self,
        stream: StreamId,
        name: Name,
        copy: Option<u64>,
        work: Box<dyn FnOnce() + Send>,
    ) -> Result<(), NpuError> {
        refuse_in_child()?;
        let call = if copy.is_some() { RuntimeCall::MemcpyAsync } else { RuntimeCall::LaunchKernel }.begin();
        self.executor.submit(stream, Job::Run(Kernel { name, copy, launched_by: call.id(), work }));
        Ok(())
    }

    /// Blocks until the accelerator has done all that was launched by now. Then the profiler has it all, too.
    ///
    /// # Errors
    /// If a kernel has failed since someone last synchronised.
    pub fn synchronize(&'static self) -> Result<(), NpuError> {
        refuse_in_child()?;
        let _call = RuntimeCall::DeviceSynchronize.begin();
        self.executor.synchronize(self.executor.ends())
    }

    /// Blocks until the stream has done all that was launched on it by now.
    ///
    /// # Errors
    /// If a kernel, of any stream, has failed since someone last synchronised.
    pub fn synchronize_stream(&'static self, stream: StreamId) -> Result<(), NpuError> {
        refuse_in_child()?;
        let _call = RuntimeCall::StreamSynchronize.begin();
        self.executor.synchronize([Point::end_of(&self.executor.streams[stream])])
    }

    /// Blocks until all is done that was launched by now. A kernel cannot wait for itself, and goes on.
    pub(super) fn finish(&'static self) {
        _ = self.executor.finish(self.executor.ends());
    }

    /// Whether the stream has done all that was launched on it.
    ///
    /// # Errors
    /// In a forked child.
    pub fn query_stream(&self, stream: StreamId) -> Result<bool, NpuError> {
        refuse_in_child()?;
        let _call = RuntimeCall::StreamQuery.begin();
        Ok(self.executor.streams[stream].is_idle())
    }
}
