//! `fork`: a child that uses its parent's accelerator is told so. It has a process of its own, since a fork copies whatever
//! the other tests are doing.

#![cfg(unix)]
#![expect(unsafe_code, reason = "the standard library has no fork")]

use crate::npu::{Event, Npu, NpuError, StreamId, device_count, enqueue, finish_all, is_initialized};
use mindtorch_profiler::Name;
use std::process::Command;

const IN_CHILD: &str = "MINDTORCH_TEST_FORK";
const DEFAULT: StreamId = StreamId::DEFAULT;

#[test]
fn a_forked_child_is_refused_and_does_not_hang() {
    if std::env::var_os(IN_CHILD).is_some() {
        return parent_and_child();
    }
    let program = std::env::current_exe().unwrap();
    let this = "npu::tests::fork::a_forked_child_is_refused_and_does_not_hang";
    let output = Command::new(program).args([this, "--exact", "--nocapture"]).env(IN_CHILD, "1").output().unwrap();
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
}

fn parent_and_child() {
    assert_eq!(device_count(), Ok(1));
    // Nobody has used an accelerator so far, and asking how many there are is no use.
    assert!(forked(|| Npu::get(0).unwrap().synchronize().unwrap()));
    let npu = Npu::get(0).unwrap();
    let mut block = Some(npu.allocate(512, DEFAULT).unwrap());
    let event = Event::new(true);
    event.record(npu, DEFAULT).unwrap();
    assert!(forked(|| {
        assert_eq!(Npu::get(0).map(Npu::index), Err(NpuError::Forked));
        assert!(NpuError::Forked.to_string().starts_with("Cannot re-initialize the NPU in a forked subprocess."));
        assert_eq!(npu.allocate(8, DEFAULT).map(|block| block.bytes()), Err(NpuError::Forked));
        assert_eq!(npu.launch(DEFAULT, Name::new("kernel"), None, Box::new(|| ())), Err(NpuError::Forked));
        assert_eq!(enqueue(0, Name::new("kernel"), None, Box::new(|| ())), Err(NpuError::Forked));
        assert_eq!([npu.synchronize(), npu.empty_cache(), event.synchronize()], [const { Err(NpuError::Forked) }; 3]);
        assert_eq!(npu.memory_stats(), Err(NpuError::Forked));
        assert_eq!((event.query(), event.elapsed_time(&event)), (Err(NpuError::Forked), Err(NpuError::Forked)));
        finish_all();
        assert_eq!((device_count(), is_initialized()), (Ok(1), false));
        block.as_ref().unwrap().record_stream(npu.new_stream(0));
        drop(block.take());
    }));
    // The parent goes on as if nothing had happened.
    npu.launch(DEFAULT, Name::new("kernel"), None, Box::new(|| ())).unwrap();
    npu.synchronize().unwrap();
    drop(block);
    assert_eq!(npu.memory_stats().unwrap().allocation.all.current, 0);
}

/// Runs `child` in a forked process and returns whether it succeeded. A child that hangs is killed by its alarm.
fn forked(child: impl FnOnce()) -> bool {
    // SAFETY: the child runs `child` and leaves by `_exit`; glibc makes its allocator good for use after a fork.
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
