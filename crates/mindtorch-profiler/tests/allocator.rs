//! The reporting allocator, as the process's allocator: every byte is seen, and the profiler's own are not.

use mindtorch_profiler::{ProfiledAllocator, Session, record_function};

#[global_allocator]
static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();

#[test]
fn a_program_sees_its_own_memory_to_the_byte() {
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

#[test]
fn threads_that_allocate_while_sessions_come_and_go_do_not_deadlock() {
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for size in 0..2_000 {
                    let _span = record_function!(&format!("allocator thread {}", size % 7));
                    std::hint::black_box(vec![0u8; size]);
                }
            });
        }
        for _ in 0..200 {
            let session = Session::builder().profile_memory(true).start();
            std::hint::black_box(session.snapshot().span_count());
            drop(session);
        }
    });
}
