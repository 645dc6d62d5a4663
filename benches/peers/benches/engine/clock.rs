//! The clocks that spans are compared with, and that threads are timed by.

#![expect(unsafe_code, reason = "one is an intrinsic and the other a system call")]

use std::time::Duration;

/// The processor's time-stamp counter, or the next best.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn read_clock() -> u64 {
    // SAFETY: RDTSC exists on every x86-64 processor and has no effect on memory.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The processor's time-stamp counter, or the next best.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn read_clock() -> u64 {
    system_clock(libc::CLOCK_MONOTONIC).as_nanos() as u64
}

/// The processor time that this thread has used.
pub(crate) fn thread_time() -> Duration {
    system_clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn system_clock(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a local of the right type, and the clocks exist on every system that this runs on.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}
