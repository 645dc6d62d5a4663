//! The reporting allocator, as the process's allocator: every byte is seen, and the profiler's own are not.

mod support;

use mindtorch_profiler::{
    Capture, Device, ManualClock, Memory, MemoryRole, ProfiledAllocator, Recorder, Session, Span, Stack, memory,
    record_function,
};
use std::alloc::{GlobalAlloc, Layout};
use std::io::Write as _;
use std::ptr;
use std::sync::mpsc;
use std::time::Duration;
use support::in_own_process;

#[global_allocator]
static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();

#[test]
fn a_program_sees_its_own_memory_to_the_byte() {
    in_own_process("a_program_sees_its_own_memory_to_the_byte", || {
        // On a coarse clock a span can end at the time of what was allocated just before. On this one, no two times are equal.
        assert!(Recorder::use_manual_clock(&ManualClock::starting_at(1).with_step(1)));
        let session = Session::builder().profile_memory(true).start();
        let kept = {
            let _outer = record_function!("allocator outer");
            let temporary = Box::new([0u8; 100]);
            let mut kept = {
                let _inner = record_function!("allocator inner");
                Vec::<u8>::with_capacity(1000)
            };
            kept.reserve_exact(5000);
            drop(temporary);
            kept
        };
        let trace = session.stop();
        let span = |name| trace.spans().find(|span| span.name() == name).unwrap();
        let inner = span("allocator inner");
        assert_eq!((inner.cpu_memory(), inner.self_cpu_memory()), (1000, 1000));
        assert_eq!(span("allocator outer").cpu_memory(), kept.capacity() as i64);
    });
}

#[test]
fn recording_much_does_not_show_the_recorder_itself() {
    let session = Session::builder().profile_memory(true).start();
    {
        let _outer = record_function!("allocator quiet");
        for _ in 0..50_000 {
            let _span = record_function!("allocator quiet inner");
        }
    }
    let trace = session.stop();
    let outer = trace.spans().find(|span| span.name() == "allocator quiet").unwrap();
    assert_eq!(outer.cpu_memory(), 0);
    let inner = trace.spans().filter(|span| span.name() == "allocator quiet inner");
    assert_eq!(inner.count(), 50_000);
}

/// Aborts the process if it is not dropped within two minutes, so that a deadlock fails instead of hanging.
struct Watchdog(Option<mpsc::Sender<()>>);

impl Watchdog {
    fn start(test: &'static str) -> Self {
        let (alive, is_dropped) = mpsc::channel();
        std::thread::spawn(move || {
            if is_dropped.recv_timeout(Duration::from_secs(120)) == Err(mpsc::RecvTimeoutError::Timeout) {
                // Not a panic: this thread's would leave the threads that hang as they are.
                let _ = writeln!(std::io::stderr(), "{test}: not finished after two minutes");
                std::process::abort();
            }
        });
        Self(Some(alive))
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.0.take());
    }
}

#[test]
fn threads_that_allocate_while_sessions_come_and_go_do_not_deadlock() {
    const THREADS: usize = 4;
    const SPANS: usize = 2_000;
    let test = "threads_that_allocate_while_sessions_come_and_go_do_not_deadlock";
    // In a process of its own, where these threads alone record.
    in_own_process(test, || {
        let _watchdog = Watchdog::start(test);
        let whole = Session::builder().profile_memory(true).start();
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for size in 0..SPANS {
                        // Outside of the span: it is freed after the span has ended.
                        let name = format!("allocator thread {}", size % 7);
                        let _span = record_function!(&name);
                        std::hint::black_box(vec![0u8; size]);
                    }
                });
            }
            for _ in 0..200 {
                let session = Session::builder().profile_memory(true).start();
                let so_far = session.snapshot().span_count();
                let trace = session.stop();
                assert!(so_far <= trace.span_count() && trace.span_count() <= THREADS * SPANS);
                assert_eq!(trace.lost_events(), 0);
            }
        });
        let trace = whole.stop();
        assert_eq!((trace.span_count(), trace.lost_events()), (THREADS * SPANS, 0));
        for thread in trace.threads() {
            let spans = trace.spans().filter(|span| span.thread().number == thread.number);
            assert!(spans.enumerate().all(|(at, span)| span.name() == format!("allocator thread {}", at % SPANS % 7)));
        }
        assert!(trace.spans().all(|span| span.is_finished()));
        // Nothing else has the size of the largest vectors.
        let largest = (SPANS - 1) as i64;
        for bytes in [largest, -largest] {
            assert_eq!(trace.memory().iter().filter(|row| row.bytes == bytes).count(), THREADS);
        }
    });
}

/// In a process of its own, where nothing else allocates.
#[test]
fn what_the_profiler_allocates_and_frees_is_not_the_programs() {
    in_own_process("what_the_profiler_allocates_and_frees_is_not_the_programs", || {
        let names: Vec<String> = (0..10).map(|i| format!("allocator own {i}")).collect();
        let earlier = Session::start();
        for _ in 0..300_000 {
            let _span = record_function!("allocator earlier");
        }
        let session = Session::builder().profile_memory(true).with_stack(true).record_steps(true).start();
        {
            let _span = record_function!("allocator around");
            drop(earlier);
            for name in &names {
                let _span = Span::enter(name);
            }
            session.step();
            session.pause(Capture::DEVICE);
            session.resume(Capture::DEVICE);
            drop(session.snapshot());
            let inner = Session::start().finish();
            drop(inner.into_trace());
        }
        let trace = session.stop();
        let rows: Vec<i64> = trace.memory().iter().map(|row| row.bytes).collect();
        assert!(rows.iter().all(|bytes| bytes.abs() < 200), "only the texts of names and frames: {rows:?}");
        let around = trace.spans().find(|span| span.name() == "allocator around").unwrap();
        assert_eq!(around.cpu_memory(), 0, "{rows:?}");
    });
}

#[test]
fn a_thread_that_records_and_ends_leaves_nothing_behind() {
    in_own_process("a_thread_that_records_and_ends_leaves_nothing_behind", || {
        let names: Vec<String> = (0..10).map(|i| format!("allocator thread {i}")).collect();
        let session = Session::builder().profile_memory(true).start();
        std::thread::scope(|scope| {
            scope.spawn(|| names.iter().for_each(|name| drop(Span::enter(name))));
        });
        let sum: i64 = session.stop().memory().iter().map(|row| row.bytes).sum();
        // What the standard library keeps of a thread is small; what the profiler has for one is not.
        assert!(sum.abs() < 1024, "{sum}");
    });
}

/// An allocator of addresses without memory. No other allocator returns them: they are in the first page.
struct AddressAllocator {
    /// The address that `realloc` returns.
    moves_to: usize,
}

const ADDRESS: usize = 0x100;
const MOVED: usize = 0x200;

#[expect(unsafe_code, reason = "a global allocator is an unsafe trait")]
// SAFETY: the tests do not access the memory.
unsafe impl GlobalAlloc for AddressAllocator {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        ptr::without_provenance_mut(ADDRESS)
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}

    unsafe fn realloc(&self, block: *mut u8, _: Layout, _: usize) -> *mut u8 {
        if self.moves_to != 0 {
            // The block is free, so that the program may get its address again before this call returns. That would be
            // another thread; its report is made here because events of one thread have a fixed order.
            let (address, role) = (block.addr() as u64, MemoryRole::Unknown);
            let stack = Stack::NONE;
            memory(&Memory { address, bytes: 32, device: Device::Cpu, allocated: 32, reserved: 0, stack, role });
        }
        ptr::without_provenance_mut(self.moves_to)
    }
}

/// Records `realloc` of a block from 64 to 96 bytes. Returns the address and size of each event of the two blocks, in order.
#[expect(unsafe_code, reason = "the methods of an allocator are unsafe")]
fn reported_by_realloc(moves_to: usize) -> Vec<(usize, i64)> {
    let allocator = ProfiledAllocator::new(AddressAllocator { moves_to });
    let layout = Layout::from_size_align(64, 8).unwrap();
    let session = Session::builder().profile_memory(true).start();
    // SAFETY: the block is of this allocator and has this layout.
    let moved = unsafe {
        let block = allocator.alloc(layout);
        allocator.realloc(block, layout, 96)
    };
    assert_eq!(moved.addr(), moves_to);
    let trace = session.stop();
    let rows = trace.memory().iter().map(|row| (row.address as usize, row.bytes));
    rows.filter(|(address, _)| [ADDRESS, MOVED].contains(address)).collect()
}

/// In processes of their own, because both tests use the same addresses.
#[test]
fn realloc_reports_the_free_before_another_thread_can_get_the_address() {
    in_own_process("realloc_reports_the_free_before_another_thread_can_get_the_address", || {
        let expected = [(ADDRESS, 64), (ADDRESS, -64), (ADDRESS, 32), (MOVED, 96)];
        assert_eq!(reported_by_realloc(MOVED), expected);
    });
}

#[test]
fn a_realloc_that_fails_leaves_the_old_block_allocated() {
    in_own_process("a_realloc_that_fails_leaves_the_old_block_allocated", || {
        assert_eq!(reported_by_realloc(0), [(ADDRESS, 64), (ADDRESS, -64), (ADDRESS, 64)]);
    });
}
