//! A CUPTI that does what the real one does, for tests on machines without a GPU.

#![expect(unsafe_code, reason = "it has CUPTI's C interface")]

use super::api::{
    BufferCompleted, BufferRequested, CallbackData, Cupti, ENTERS, EXITS, MULTIPLE_SUBSCRIBERS, OnCall, Status,
    Subscriber, Timestamp,
};
use super::layout::{kernel, kind};
use std::collections::BTreeSet;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Names of functions, by number.
const DRIVER: [&CStr; 3] = [c"INVALID", c"cuInit", c"cuLaunchKernel"];
const RUNTIME: [&CStr; 4] =
    [c"INVALID", c"cudaGetLastError_v3020", c"cudaLaunchKernel_v7000", c"cudaGraphLaunch_v10000"];
/// The numbers of functions that are not shown, that launch, and that call others.
pub(super) const QUIET: u32 = 1;
pub(super) const LAUNCH: u32 = 2;
pub(super) const OUTER: u32 = 3;

/// As long as a kernel's record is in CUDA 13.
const RECORD: usize = 224;
const REFUSED: Status = 7;
const END: Status = 12;

pub(super) static CUPTI: Cupti = Cupti {
    version: 130_000,
    get_version,
    result_string,
    callback_name,
    subscribe,
    unsubscribe,
    enable_callback,
    enable_domain,
    register_callbacks,
    register_timestamp,
    enable_activity,
    disable_activity,
    flush_all,
    next_record,
    dropped_records,
};

/// What it was told, and is to refuse.
#[derive(Debug, Default)]
pub(super) struct Fake {
    on_call: Option<OnCall>,
    buffers: Option<(BufferRequested, BufferCompleted)>,
    clock: Option<Timestamp>,
    pub(super) kinds: BTreeSet<u32>,
    pub(super) domains: BTreeSet<u32>,
    pub(super) changed: BTreeSet<(u32, u32, u32)>,
    /// Address and bytes in use.
    filling: Option<(usize, usize)>,
    pub(super) is_taken: bool,
    pub(super) refuses_kind: Option<u32>,
    pub(super) dropped: usize,
}

static FAKE: Mutex<Option<Fake>> = Mutex::new(None);
static TURN: Mutex<()> = Mutex::new(());

/// One test at a time has it, as it is at first.
pub(super) fn take() -> MutexGuard<'static, ()> {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    with(|fake| *fake = Fake::default());
    turn
}

pub(super) fn with<T>(change: impl FnOnce(&mut Fake) -> T) -> T {
    let mut fake = FAKE.lock().unwrap_or_else(PoisonError::into_inner);
    change(fake.get_or_insert_default())
}

pub(super) fn is_subscribed() -> bool {
    with(|fake| fake.on_call.is_some())
}

/// Tells of a call, if someone has subscribed.
fn call(domain: u32, number: u32, site: u32, correlation: u32) {
    if let Some(on_call) = with(|fake| fake.on_call) {
        tell(on_call, domain, number, site, correlation);
    }
}

/// Calls as CUPTI does.
pub(super) fn tell(on_call: OnCall, domain: u32, number: u32, site: u32, correlation: u32) {
    let data = CallbackData {
        site,
        function_name: null(),
        function_params: null(),
        function_return_value: null_mut(),
        symbol_name: null(),
        context: null_mut(),
        context_id: 0,
        correlation_data: null_mut(),
        correlation,
    };
    // SAFETY: the data is what it should be, and good for the call.
    unsafe { on_call(null_mut(), domain, number, (&raw const data).cast()) };
}

/// Launches a kernel that takes at least 10 ns. Its record is delivered when the records are requested.
pub(super) fn launch(name: &'static CStr, correlation: u32) {
    call(super::api::RUNTIME, LAUNCH, ENTERS, correlation);
    let (clock, (request, _)) = with(|fake| (fake.clock.expect("a clock"), fake.buffers.expect("buffers")));
    let (address, used) = with(|fake| fake.filling.take()).unwrap_or_else(|| {
        let (mut buffer, mut size, mut most) = (null_mut(), 0, 1);
        // SAFETY: the three places are there.
        unsafe { request(&raw mut buffer, &raw mut size, &raw mut most) };
        assert!(!buffer.is_null() && size >= RECORD && most == 0);
        (buffer.expose_provenance(), 0)
    });
    let start = clock();
    // Several readings of a coarse clock can be equal, and a kernel of no duration would prove nothing.
    let end = std::iter::repeat_with(|| clock()).find(|&now| now >= start + 10).expect("time goes on");
    let record: *mut u8 = std::ptr::with_exposed_provenance_mut(address + used);
    // SAFETY: the buffer has room for some records, and nobody else uses it.
    unsafe {
        record.write_bytes(0, RECORD);
        record.cast::<u32>().write(kind::KERNEL);
        record.add(kernel::START).cast::<u64>().write(start);
        record.add(kernel::END).cast::<u64>().write(end);
        record.add(kernel::STREAM).cast::<u32>().write(7);
        record.add(kernel::CORRELATION).cast::<u32>().write(correlation);
        record.add(kernel::NAME).cast::<usize>().write(name.as_ptr().expose_provenance());
    }
    with(|fake| fake.filling = Some((address, used + RECORD)));
    call(super::api::RUNTIME, LAUNCH, EXITS, correlation);
}

unsafe extern "C" fn get_version(version: *mut u32) -> Status {
    // SAFETY: by the caller.
    unsafe { version.write(CUPTI.version) };
    0
}

unsafe extern "C" fn result_string(status: Status, name: *mut *const c_char) -> Status {
    if status != REFUSED {
        return REFUSED;
    }
    // SAFETY: by the caller.
    unsafe { name.write(c"CUPTI_ERROR_OF_A_TEST".as_ptr()) };
    0
}

unsafe extern "C" fn callback_name(domain: u32, number: u32, name: *mut *const c_char) -> Status {
    let names = if domain == super::api::RUNTIME { &RUNTIME[..] } else { &DRIVER[..] };
    let Some(found) = names.get(number as usize) else { return 1 };
    // SAFETY: by the caller.
    unsafe { name.write(found.as_ptr()) };
    0
}

unsafe extern "C" fn subscribe(subscriber: *mut Subscriber, on_call: OnCall, _: *mut c_void) -> Status {
    with(|fake| {
        if fake.is_taken || fake.on_call.is_some() {
            return MULTIPLE_SUBSCRIBERS;
        }
        fake.on_call = Some(on_call);
        // SAFETY: by the caller.
        unsafe { subscriber.write(null_mut()) };
        0
    })
}

unsafe extern "C" fn unsubscribe(_: Subscriber) -> Status {
    with(|fake| fake.on_call = None);
    0
}

unsafe extern "C" fn enable_callback(enable: u32, _: Subscriber, domain: u32, number: u32) -> Status {
    with(|fake| fake.changed.insert((enable, domain, number)));
    0
}

unsafe extern "C" fn enable_domain(enable: u32, _: Subscriber, domain: u32) -> Status {
    with(|fake| if enable == 1 { fake.domains.insert(domain) } else { fake.domains.remove(&domain) });
    0
}

unsafe extern "C" fn register_callbacks(request: BufferRequested, complete: BufferCompleted) -> Status {
    with(|fake| fake.buffers = Some((request, complete)));
    0
}

unsafe extern "C" fn register_timestamp(clock: Timestamp) -> Status {
    with(|fake| fake.clock = Some(clock));
    0
}

unsafe extern "C" fn enable_activity(kind: u32) -> Status {
    with(|fake| {
        if fake.refuses_kind == Some(kind) {
            return REFUSED;
        }
        fake.kinds.insert(kind);
        0
    })
}

unsafe extern "C" fn disable_activity(kind: u32) -> Status {
    with(|fake| fake.kinds.remove(&kind));
    0
}

unsafe extern "C" fn flush_all(_: u32) -> Status {
    let (buffers, filling) = with(|fake| (fake.buffers, fake.filling.take()));
    if let (Some((_, complete)), Some((address, used))) = (buffers, filling) {
        // SAFETY: the buffer is one that was given, and has been filled so far.
        unsafe { complete(null_mut(), 0, std::ptr::with_exposed_provenance_mut(address), used, used) };
    }
    0
}

unsafe extern "C" fn next_record(buffer: *mut u8, valid: usize, record: *mut *mut u8) -> Status {
    // SAFETY: by the caller.
    let last = unsafe { record.read() };
    let next = if last.is_null() { buffer } else { last.wrapping_add(RECORD) };
    if next.addr() + RECORD > buffer.addr() + valid {
        return END;
    }
    // SAFETY: by the caller.
    unsafe { record.write(next) };
    0
}

unsafe extern "C" fn dropped_records(_: *mut c_void, _: u32, dropped: *mut usize) -> Status {
    // SAFETY: by the caller.
    unsafe { dropped.write(with(|fake| std::mem::take(&mut fake.dropped))) };
    0
}
