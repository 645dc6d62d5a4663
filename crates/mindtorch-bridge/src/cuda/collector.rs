//! CUPTI, from when someone records until nobody does.

#![expect(unsafe_code, reason = "CUPTI is a C library, and calls back")]

use super::activity::{Activity, Reader};
use super::api::{Cupti, DRIVER, RUNTIME, Subscriber};
use super::buffers::{BUFFER_BYTES, Pool};
use super::callbacks::{Functions, begin_subscription, calls, on_call};
use super::driver::driver;
use super::error::CudaError;
use super::layout::{Record, kind};
use super::library;
use mindtorch_profiler::{DeviceSpan, Recorder, TimeScale, device_span};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// CUPTI's flag for buffers that are not full, and whose last records may not be whole.
const FORCED: u32 = 1;

/// What is always told of. Waits are, if someone asks.
const KINDS: [u32; 4] = [kind::KERNEL, kind::COPY, kind::PEER_COPY, kind::SET];

static CUPTI: OnceLock<Cupti> = OnceLock::new();
static SCALE: OnceLock<TimeScale> = OnceLock::new();
static RUNNING: Mutex<Option<Running>> = Mutex::new(None);
static POOL: Mutex<Pool> = Mutex::new(Pool::new());
static READER: Mutex<Option<Reader>> = Mutex::new(None);
/// Records that CUPTI had no room for.
static LOST: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
struct Running {
    cupti: &'static Cupti,
    subscriber: Handle,
    has_waits: bool,
    /// A forked child has this, but no GPU.
    process: u32,
}

/// What CUPTI knows us by.
#[derive(Debug)]
struct Handle(Subscriber);

// SAFETY: CUPTI's functions may be called from any thread.
unsafe impl Send for Handle {}

/// Records what GPUs do from now on; with waits, if so. False if there is no GPU: then nothing has happened. CUPTI is looked for
/// in `files`, if nobody has loaded it.
///
/// # Errors
/// If CUPTI is not there, another uses it, or it fails.
pub fn start(files: &[PathBuf], waits: bool) -> Result<bool, CudaError> {
    if driver().processors.is_empty() {
        return Ok(false);
    }
    let cupti = match CUPTI.get() {
        Some(cupti) => cupti,
        None => {
            let loaded = library::load(files)?;
            CUPTI.get_or_init(|| loaded)
        }
    };
    let mut running = lock(&RUNNING);
    match &mut *running {
        Some(running) if running.is_here() => {
            // What was done before is not for who starts now.
            running.flush(0)?;
            if waits && !running.has_waits {
                running.enable(kind::WAIT)?;
                running.has_waits = true;
            }
        }
        _ => *running = Some(Running::start(cupti, waits)?),
    }
    Ok(true)
}

/// Sees to it that all which GPUs have done by now is recorded. Who wants what they were asked to do waits for them first.
///
/// # Errors
/// If CUPTI fails.
pub fn flush() -> Result<(), CudaError> {
    flush_with(FORCED)
}

/// As [`flush`], for who looks on: what GPUs are in the middle of is told of later, and some of what they have done.
///
/// # Errors
/// If CUPTI fails.
pub fn catch_up() -> Result<(), CudaError> {
    flush_with(0)
}

fn flush_with(flag: u32) -> Result<(), CudaError> {
    match &*lock(&RUNNING) {
        Some(running) if running.is_here() => running.flush(flag),
        _ => Ok(()),
    }
}

/// Lets CUPTI go, if it is used.
///
/// # Errors
/// If CUPTI fails. It is let go nevertheless, as far as it can be.
pub fn stop() -> Result<(), CudaError> {
    match lock(&RUNNING).take() {
        Some(running) if running.is_here() => running.stop(),
        _ => Ok(()),
    }
}

/// Whether GPUs are recorded.
pub fn is_running() -> bool {
    lock(&RUNNING).as_ref().is_some_and(Running::is_here)
}

/// The versions of the driver, which is that of the latest CUDA that it is for, and of CUPTI, once GPUs were recorded.
pub fn versions() -> Option<(u32, u32)> {
    CUPTI.get().map(|cupti| (driver().version, cupti.version))
}

/// How many activities CUPTI had no room for since this was last asked.
pub fn lost() -> u64 {
    LOST.swap(0, Ordering::Relaxed)
}

impl Running {
    fn start(cupti: &'static Cupti, waits: bool) -> Result<Self, CudaError> {
        let functions = Functions::of(cupti);
        calls();
        begin_subscription();
        SCALE.get_or_init(|| Recorder::global().time_scale());
        lock(&READER).get_or_insert_with(|| Reader::new(&driver().processors));
        let mut subscriber = std::ptr::null_mut();
        // SAFETY: it stores a handle, and calls the function, which takes what CUPTI gives, until it is unsubscribed.
        let status = unsafe { (cupti.subscribe)(&raw mut subscriber, on_call, std::ptr::null_mut()) };
        cupti.check("cuptiSubscribe", status)?;
        let running = Self { cupti, subscriber: Handle(subscriber), has_waits: waits, process: std::process::id() };
        match running.enable_all(functions) {
            Ok(()) => Ok(running),
            Err(error) => {
                // What went wrong first is what is told.
                let _ = running.stop();
                Err(error)
            }
        }
    }

    /// The clock comes before the activities that go by it, and these before the calls that cause them.
    fn enable_all(&self, functions: &Functions) -> Result<(), CudaError> {
        let cupti = self.cupti;
        // SAFETY: these functions are good for ever, and do what CUPTI expects of them.
        let clock = unsafe { (cupti.register_timestamp)(timestamp) };
        cupti.check("cuptiActivityRegisterTimestampCallback", clock)?;
        // SAFETY: as above.
        let buffers = unsafe { (cupti.register_callbacks)(buffer_requested, buffer_completed) };
        cupti.check("cuptiActivityRegisterCallbacks", buffers)?;
        KINDS.into_iter().chain(self.has_waits.then_some(kind::WAIT)).try_for_each(|kind| self.enable(kind))?;
        // SAFETY: the handle is good until it is unsubscribed.
        let domain = unsafe { (cupti.enable_domain)(1, self.subscriber.0, RUNTIME) };
        cupti.check("cuptiEnableDomain", domain)?;
        let hidden = functions.hidden_of_runtime().map(|number| (0, RUNTIME, number));
        let shown = functions.shown_of_driver().map(|number| (1, DRIVER, number));
        hidden.chain(shown).try_for_each(|(enable, domain, number)| {
            // SAFETY: as above; the numbers are those of functions that CUPTI knows.
            let status = unsafe { (cupti.enable_callback)(enable, self.subscriber.0, domain, number) };
            cupti.check("cuptiEnableCallback", status)
        })
    }

    fn enable(&self, kind: u32) -> Result<(), CudaError> {
        // SAFETY: it takes a number.
        let status = unsafe { (self.cupti.enable_activity)(kind) };
        self.cupti.check("cuptiActivityEnable", status)
    }

    fn flush(&self, flag: u32) -> Result<(), CudaError> {
        // SAFETY: the functions that it calls are registered.
        let status = unsafe { (self.cupti.flush_all)(flag) };
        self.cupti.check("cuptiActivityFlushAll", status)
    }

    /// Each of these is tried, whatever became of the others; the first error is told.
    fn stop(self) -> Result<(), CudaError> {
        let cupti = self.cupti;
        let mut outcome = Ok(());
        for kind in KINDS.into_iter().chain(self.has_waits.then_some(kind::WAIT)) {
            // SAFETY: it takes a number.
            let status = unsafe { (cupti.disable_activity)(kind) };
            outcome = outcome.and(cupti.check("cuptiActivityDisable", status));
        }
        outcome = outcome.and(self.flush(FORCED));
        // SAFETY: the handle is good, and nobody uses it any more.
        let status = unsafe { (cupti.unsubscribe)(self.subscriber.0) };
        outcome.and(cupti.check("cuptiUnsubscribe", status))
    }

    fn is_here(&self) -> bool {
        self.process == std::process::id()
    }
}

/// The recorder's time, in nanoseconds that are the same there and back.
extern "C" fn timestamp() -> u64 {
    SCALE.get().map_or(0, |scale| scale.epoch_ns(Recorder::global().now()))
}

/// # Safety
/// The three places can be written to.
unsafe extern "C" fn buffer_requested(buffer: *mut *mut u8, size: *mut usize, most_records: *mut usize) {
    let lent = catch_unwind(|| lock(&POOL).lend()).ok().flatten();
    // SAFETY: by the caller.
    unsafe {
        buffer.write(lent.map_or(std::ptr::null_mut(), NonNull::as_ptr));
        size.write(if lent.is_some() { BUFFER_BYTES } else { 0 });
        // As many as fit.
        most_records.write(0);
    }
}

/// # Safety
/// CUPTI has filled the buffer, if it is one of ours, up to `valid`, and has no use for it any more.
unsafe extern "C" fn buffer_completed(context: *mut c_void, stream: u32, buffer: *mut u8, _size: usize, valid: usize) {
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let Some(cupti) = CUPTI.get() else { return };
        if !lock(&POOL).has_lent(buffer) {
            return;
        }
        // SAFETY: by the caller, and since it is one of ours.
        unsafe { record_all(cupti, buffer, valid.min(BUFFER_BYTES)) };
        lock(&POOL).take_back(buffer);
        let mut dropped = 0;
        // SAFETY: it stores a number.
        let status = unsafe { (cupti.dropped_records)(context, stream, &raw mut dropped) };
        if cupti.check("cuptiActivityGetNumDroppedRecords", status).is_ok() {
            LOST.fetch_add(dropped as u64, Ordering::Relaxed);
        }
    }));
}

/// # Safety
/// CUPTI has filled the buffer up to `valid`, and nobody else uses it.
unsafe fn record_all(cupti: &Cupti, buffer: *mut u8, valid: usize) {
    let mut reader = lock(&READER);
    let Some(reader) = &mut *reader else { return };
    let end = buffer.addr() + valid;
    // SAFETY: by the caller.
    for record in unsafe { cupti.records(buffer, valid) } {
        let length = end.saturating_sub(record.addr().get());
        // SAFETY: the record is within the buffer, of which so much is left.
        let bytes = unsafe { std::slice::from_raw_parts(record.as_ptr(), length) };
        // SAFETY: CUPTI keeps the names of kernels.
        if let Some(activity) = unsafe { reader.read(Record(bytes)) } {
            record_one(&activity);
        }
    }
}

fn record_one(activity: &Activity) {
    let Some(scale) = SCALE.get() else { return };
    device_span(&DeviceSpan {
        name: activity.name,
        device: activity.device,
        stream: activity.stream,
        begin: scale.ticks(activity.start),
        end: scale.ticks(activity.end),
        work: activity.work,
        bytes: activity.bytes,
        launched_by: calls().get(activity.call),
        extra: activity.extra,
    });
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
