//! `fork`: what belongs here happens in a parent and a child that share a past. Each scenario has a process of its own,
//! since a fork copies whatever the other tests are doing.

#![cfg(unix)]
#![expect(unsafe_code, reason = "the standard library has no fork")]

mod support;

use mindtorch_profiler::{Name, Recorder, Session, Span, Trace, mark, record_function};
use std::sync::{
    Barrier,
    atomic::{AtomicBool, Ordering},
};
use std::thread;
use support::in_own_process;

/// Runs `child` in a forked process and returns whether it succeeded. A child that hangs is killed by its alarm.
fn forked(child: impl FnOnce()) -> bool {
    // SAFETY: the child runs `child` and leaves by `_exit`. That it allocates and locks is what is tested; glibc makes its
    // own allocator good for use after a fork.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork failed");
    if pid == 0 {
        // SAFETY: alarm has no preconditions.
        unsafe { libc::alarm(120) };
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child));
        // SAFETY: _exit has no preconditions; it runs no destructors, which belong to the parent.
        unsafe { libc::_exit(i32::from(outcome.is_err())) };
    }
    let mut status = 0;
    // SAFETY: `status` is a valid place for the result, and `pid` is a child of this process.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

fn names(trace: &Trace) -> Vec<&str> {
    trace.spans().map(|span| span.name()).collect()
}

#[cfg(target_os = "linux")]
fn own_thread_id() -> u64 {
    // SAFETY: gettid has no preconditions.
    unsafe { libc::gettid() }.cast_unsigned().into()
}

#[test]
fn a_child_starts_clean_and_the_parent_goes_on() {
    in_own_process("a_child_starts_clean_and_the_parent_goes_on", || {
        // In options, so that the child can take what the parent keeps.
        let mut session = Some(Session::start());
        drop(Span::enter("before"));
        let mut open = Some(Span::enter("open over the fork"));
        assert!(forked(|| {
            assert!(Recorder::global().capture().is_empty());
            drop(Span::enter("nobody asked for this"));
            assert_eq!(session.as_ref().unwrap().snapshot().span_count(), 0);
            let own = Session::start();
            drop(Span::enter("in the child"));
            let own = own.stop();
            assert_eq!(names(&own), ["in the child"]);
            assert_eq!(own.pid(), std::process::id());
            #[cfg(target_os = "linux")]
            assert_eq!(own.threads()[0].os_id, own_thread_id());
            assert_eq!(session.take().unwrap().stop().span_count(), 0);
            drop(open.take());
        }));
        drop(Span::enter("after"));
        let trace = session.unwrap().stop();
        assert_eq!(names(&trace), ["before", "open over the fork", "after"]);
        let span = trace.spans().nth(1).unwrap();
        assert!(open.is_some() && !span.is_finished() && !span.is_async());
    });
}

#[test]
fn what_was_open_at_the_fork_is_ended_in_the_child_without_a_trace() {
    in_own_process("what_was_open_at_the_fork_is_ended_in_the_child_without_a_trace", || {
        let session = Session::start();
        // Over several chunks, and by a thread that does not exist in the child.
        let mut open: Vec<Span> = (0..10_000).map(|_| Span::enter("open")).collect();
        open.extend(thread::spawn(|| (0..10_000).map(|_| Span::enter("open")).collect::<Vec<_>>()).join().unwrap());
        let mut recording = Some(session.finish());
        assert!(forked(|| {
            assert_eq!(recording.as_ref().unwrap().to_trace().span_count(), 0);
            let own = Session::start();
            open.clear();
            mark(Name::new("mark"));
            recording = None;
            let own = own.stop();
            assert_eq!((own.span_count(), own.marks().count()), (0, 1));
        }));
        let trace = recording.unwrap().into_trace();
        assert_eq!((trace.span_count(), open.len()), (20_000, 20_000));
        assert!(trace.spans().all(|span| !span.is_finished()));
    });
}

#[test]
fn a_child_of_a_child_starts_clean_too() {
    in_own_process("a_child_of_a_child_starts_clean_too", || {
        let session = Session::start();
        let mut open = vec![Span::enter("parent")];
        assert!(forked(|| {
            let own = Session::start();
            open.push(Span::enter("child"));
            assert!(forked(|| {
                let own = Session::start();
                drop(Span::enter("grandchild"));
                open.clear();
                assert_eq!(names(&own.stop()), ["grandchild"]);
            }));
            assert_eq!(names(&own.stop()), ["child"]);
        }));
        assert_eq!(names(&session.stop()), ["parent"]);
    });
}

/// Forks again and again while `work` runs on three threads; checks each child.
fn fork_while(work: impl Fn() + Sync, mut child: impl FnMut()) {
    const FORKS: usize = 60;
    let (done, ready) = (AtomicBool::new(false), Barrier::new(4));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                ready.wait();
                while !done.load(Ordering::Relaxed) {
                    work();
                }
            });
        }
        ready.wait();
        let succeeded = (0..FORKS).filter(|_| forked(&mut child)).count();
        done.store(true, Ordering::Relaxed);
        assert_eq!(succeeded, FORKS);
    });
}

#[test]
fn children_of_a_busy_parent_record_exactly_what_they_do() {
    in_own_process("children_of_a_busy_parent_record_exactly_what_they_do", || {
        let session = Session::start();
        let mut number = 0;
        let names_of_their_own = || {
            let _span = record_function!("busy");
            // Interns, which takes the lock of the names.
            drop(Span::enter(&format!("busy {:?}", std::time::Instant::now())));
        };
        fork_while(names_of_their_own, || {
            number += 1;
            let own = Session::builder().profile_memory(true).start();
            let name = format!("child {number}");
            for _ in 0..1_000 {
                drop(Span::enter(&name));
            }
            let own = own.stop();
            assert_eq!(own.span_count(), 1_000);
            assert!(own.spans().all(|span| span.name() == name && span.is_finished()));
            assert_eq!((own.threads().len(), own.lost_events()), (1, 0));
        });
        let trace = session.stop();
        assert!(trace.spans().all(|span| span.name().starts_with("busy") && span.is_finished()));
    });
}

#[test]
fn children_are_born_while_sessions_come_and_go() {
    in_own_process("children_are_born_while_sessions_come_and_go", || {
        let shared = Session::start();
        let sessions = || {
            let own = Session::start();
            drop(record_function!("busy"));
            shared.step();
            drop(shared.snapshot());
            drop(own.stop());
        };
        // The session that other threads were using at the fork must not hang the child, whatever they had locked.
        let child = || {
            shared.step();
            shared.pause(mindtorch_profiler::Capture::CPU);
            assert_eq!(shared.snapshot().span_count(), 0);
            let own = Session::start();
            drop(record_function!("child"));
            assert_eq!(names(&own.stop()), ["child"]);
        };
        fork_while(sessions, child);
        assert!(shared.current_step() > 0);
        assert!(shared.stop().spans().all(|span| span.name() == "busy"));
    });
}
