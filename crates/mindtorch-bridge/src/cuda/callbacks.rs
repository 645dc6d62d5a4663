//! Calls of CUDA's functions, from their beginning to their end: CUPTI tells of both, on the thread that calls.

#![expect(unsafe_code, reason = "CUPTI passes pointers")]

use super::api::{CallbackData, Cupti, DRIVER, ENTERS, EXITS, RUNTIME};
use super::correlation::Correlations;
use super::words::without_version;
use mindtorch_profiler::{Name, Span, SpanArgs, SpanKind};
use std::cell::RefCell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

static FUNCTIONS: OnceLock<Functions> = OnceLock::new();
static CALLS: OnceLock<Correlations> = OnceLock::new();

/// How often CUPTI was subscribed to.
static SUBSCRIPTIONS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static OPEN: RefCell<OpenCalls> = const { RefCell::new(OpenCalls { subscription: 0, calls: Vec::new() }) };
}

/// The calls of a thread that have not returned.
#[derive(Debug)]
struct OpenCalls {
    /// During which they were made: CUPTI does not tell of their ends after it.
    subscription: u32,
    calls: Vec<OpenCall>,
}

/// A call of the driver may have the number of the runtime's that made it.
#[derive(Debug)]
struct OpenCall {
    domain: u32,
    number: u32,
    span: Span,
}

/// Says that CUPTI is subscribed to anew: what is open now will not be told to end.
pub(super) fn begin_subscription() {
    SUBSCRIPTIONS.fetch_add(1, Ordering::Relaxed);
}

/// The spans of calls, by their numbers.
pub(super) fn calls() -> &'static Correlations {
    CALLS.get_or_init(Correlations::new)
}

/// The functions whose calls are recorded, by CUPTI's numbers of them.
#[derive(Debug, Default)]
pub(super) struct Functions {
    runtime: Vec<Option<Function>>,
    driver: Vec<Option<Function>>,
}

/// What traces show of a call.
#[derive(Clone, Copy, Debug)]
struct Function {
    name: Name,
    /// Its number, as torch writes it.
    extra: Name,
}

impl Functions {
    /// What CUPTI calls its functions, looked up once.
    pub(super) fn of(cupti: &Cupti) -> &'static Self {
        FUNCTIONS.get_or_init(|| Self {
            runtime: shown(cupti, RUNTIME, is_shown_of_runtime),
            driver: shown(cupti, DRIVER, is_shown_of_driver),
        })
    }

    /// The numbers of functions of the runtime that are not recorded.
    pub(super) fn hidden_of_runtime(&self) -> impl Iterator<Item = u32> {
        numbers(&self.runtime, false)
    }

    /// The numbers of functions of the driver that are.
    pub(super) fn shown_of_driver(&self) -> impl Iterator<Item = u32> {
        numbers(&self.driver, true)
    }

    fn get(&self, domain: u32, number: u32) -> Option<Function> {
        let functions = if domain == RUNTIME { &self.runtime } else { &self.driver };
        functions.get(number as usize).copied().flatten()
    }
}

/// From 1: there is no function 0.
fn numbers(functions: &[Option<Function>], shown: bool) -> impl Iterator<Item = u32> {
    (0..).zip(functions).skip(1).filter(move |(_, function)| function.is_some() == shown).map(|(number, _)| number)
}

fn shown(cupti: &Cupti, domain: u32, is_shown: fn(&str) -> bool) -> Vec<Option<Function>> {
    let all = (0..).map_while(|number| Some((number, cupti.function_name(domain, number)?)));
    all.map(|(number, name)| {
        let name = without_version(&name);
        is_shown(name).then(|| Function { name: Name::new(name), extra: Name::new(&format!("\"cbid\":{number}")) })
    })
    .collect()
}

/// Torch does not show what is called all the time and takes none.
fn is_shown_of_runtime(name: &str) -> bool {
    !matches!(
        name,
        "cudaGetDevice"
            | "cudaSetDevice"
            | "cudaGetLastError"
            | "cudaEventCreate"
            | "cudaEventCreateWithFlags"
            | "cudaEventDestroy"
    )
}

/// The runtime calls the driver all the time. What asks for work may be called by others, such as compiled kernels' launchers.
fn is_shown_of_driver(name: &str) -> bool {
    let is_copy = ["cuMemcpy", "cuMemset"].iter().any(|start| name.starts_with(start)) && name.contains("Async");
    is_copy
        || ["cuLaunchKernel", "cuLaunchCooperativeKernel", "cuGraphLaunch"].iter().any(|start| name.starts_with(start))
}

/// What CUPTI calls, for as long as it is subscribed to.
///
/// # Safety
/// In the domains that are enabled, `data` is a [`CallbackData`] that is good for this call.
pub(super) unsafe extern "C" fn on_call(_: *mut c_void, domain: u32, number: u32, data: *const c_void) {
    if domain != RUNTIME && domain != DRIVER {
        return;
    }
    // SAFETY: by the caller.
    let Some(data) = (unsafe { data.cast::<CallbackData>().as_ref() }) else { return };
    // A panic here would be one into CUDA: the call goes on, and is not recorded.
    let _ = catch_unwind(AssertUnwindSafe(|| match data.site {
        ENTERS => enter(domain, number, data.correlation),
        EXITS => exit(domain, data.correlation),
        _ => {}
    }));
}

fn enter(domain: u32, number: u32, call: u32) {
    let Some(function) = FUNCTIONS.get().and_then(|functions| functions.get(domain, number)) else { return };
    // A thread that is being torn down has no list any more.
    let _ = OPEN.try_with(|open| {
        let mut open = open.borrow_mut();
        let subscription = SUBSCRIPTIONS.load(Ordering::Relaxed);
        if open.subscription != subscription {
            open.subscription = subscription;
            open.calls.clear();
        }
        // What the runtime does by the driver is its call, by whichever number the work will have.
        if domain == DRIVER
            && let Some(caller) = open.calls.last()
        {
            if let Some(span) = caller.span.id() {
                calls().put(call, span);
            }
            return;
        }
        let span = Span::begin(&SpanArgs::new(SpanKind::Runtime, function.name).extra(function.extra));
        if let Some(id) = span.id() {
            calls().put(call, id);
            open.calls.push(OpenCall { domain, number: call, span });
        }
    });
}

fn exit(domain: u32, call: u32) {
    let _ = OPEN.try_with(|open| {
        let calls = &mut open.borrow_mut().calls;
        // None: it began before anyone recorded, or is part of another.
        let at = calls.iter().rposition(|open| open.domain == domain && open.number == call)?;
        // Those that it called have returned, whether or not CUPTI told.
        calls.drain(at..).next()
    });
}

#[cfg(test)]
mod tests;
