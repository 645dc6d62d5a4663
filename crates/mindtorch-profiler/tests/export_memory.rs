//! What an export takes of memory, counted by the process's allocator: little, whatever the size of the trace.

use mindtorch_profiler::{
    Device, Filter, Inputs, ManualClock, Memory, MemoryRole, Name, Recorder, Session, SpanArgs, SpanKind, Stack, Trace,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What an export may take, whatever the size of the trace.
const MOST: usize = 64 << 20;

/// Of every kind of event. Whatever grew with them by 34 bytes or more would show.
const EVENTS: u64 = 2_000_000;

#[global_allocator]
static ALLOCATOR: Counting = Counting { now: AtomicUsize::new(0), most: AtomicUsize::new(0) };

/// Counts the bytes that are allocated, and remembers the most that there were.
struct Counting {
    now: AtomicUsize,
    most: AtomicUsize,
}

// SAFETY: all is left to the system's allocator; the numbers have no influence on what is returned.
#[expect(unsafe_code, reason = "an allocator is unsafe to implement")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = self.now.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        self.most.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        self.now.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

impl Counting {
    /// The most that was allocated while `run` ran, above what it left behind, and what it left behind.
    fn measure(&self, run: impl FnOnce()) -> (usize, usize) {
        let before = self.now.load(Ordering::Relaxed);
        self.most.store(before, Ordering::Relaxed);
        run();
        let (after, most) = (self.now.load(Ordering::Relaxed), self.most.load(Ordering::Relaxed));
        (most - after, after.saturating_sub(before))
    }
}

/// A trace with everything that an export looks up: sequence numbers and nodes, functions with stacks, memory, ever new
/// names and inputs.
fn trace(events: u64) -> Trace {
    let clock = ManualClock::starting_at(1_790_900_000_000_000_000);
    let recorder = Recorder::with_manual_clock(&clock);
    let session = Session::builder().on(&recorder).record_shapes(true).with_stack(true).profile_memory(true).start();
    let mut thread = recorder.thread(1, None);
    let (forward, backward, function) = (Name::new("aten::mm"), Name::new("MmBackward0"), Name::new("a.py(3): f"));
    for event in 0..events {
        let call = thread.begin(&SpanArgs::new(SpanKind::Function, function).call(7, None)).unwrap();
        let sizes = [event as i64, 8];
        let inputs =
            if event % 10 == 0 { Inputs::encode().tensor("float", &sizes, &[8, 1]).finish() } else { Inputs::NONE };
        let span = thread.begin(&SpanArgs::new(SpanKind::Op, forward).sequence(event).inputs(inputs)).unwrap();
        thread.memory(&Memory {
            address: event,
            bytes: 8,
            device: Device::Cpu,
            allocated: 8 * (event as i64 + 1),
            reserved: 0,
            stack: Stack::NONE,
            role: MemoryRole::Unknown,
        });
        clock.advance(10);
        thread.end(span);
        let node = SpanArgs::new(SpanKind::Backward, backward).sequence(event).forward_thread(1);
        let span = thread.begin(&node).unwrap();
        clock.advance(10);
        thread.end(span);
        thread.end(call);
        if event % 10 == 0 {
            let span = thread.begin(&SpanArgs::new(SpanKind::Annotation, Name::new(&format!("name {event}")))).unwrap();
            thread.end(span);
        }
    }
    session.stop()
}

/// One test, since what others allocated meanwhile would be counted.
#[test]
fn an_export_takes_little_memory() {
    let trace = trace(EVENTS);
    assert_eq!(trace.span_count() as u64, 3 * EVENTS + EVENTS / 10);
    assert_eq!(trace.memory().len() as u64, EVENTS);
    let (first, kept) = ALLOCATOR.measure(|| trace.write_chrome_trace(io::sink(), "").unwrap());
    assert!(first < MOST, "the first export took {first} bytes");
    // What it worked out stays with the trace: the numbers of functions, links and the order of memory.
    assert!(kept < 40 * EVENTS as usize, "{kept} bytes");
    let (second, kept) = ALLOCATOR.measure(|| trace.write_chrome_trace(io::sink(), "").unwrap());
    assert!(second < MOST && kept < 1 << 20, "a further export took {second} bytes, and kept {kept}");
    let part = Filter::new().time_range_ns(0..trace.duration_ns() / 20);
    let chrome = trace.chrome_trace().filter(&part).gzip(true);
    let (compressed, _) = ALLOCATOR.measure(|| chrome.write(io::sink()).unwrap());
    assert!(compressed < MOST, "a compressed export took {compressed} bytes");
    let (packets, kept) = ALLOCATOR.measure(|| trace.perfetto_trace().write(io::sink()).unwrap());
    assert!(packets < MOST && kept < 1 << 20, "packets took {packets} bytes, and kept {kept}");
    let (estimate, _) = ALLOCATOR.measure(|| assert!(trace.chrome_trace().estimated_bytes() > EVENTS * 500));
    assert!(estimate < MOST, "an estimate took {estimate} bytes");
}
