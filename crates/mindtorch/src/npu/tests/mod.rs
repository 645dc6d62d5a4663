//! The accelerator as a whole, on devices of the tests' own.

mod allocator;
mod events;
mod fork;
mod memory;
mod profiling;
mod streams;

use super::{Npu, StreamId};
use mindtorch_profiler::Name;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, mpsc};

const MIB: u64 = 1 << 20;

/// A device of its own with so much memory. Its number is no other's, so that a trace tells whose work it shows.
fn device(memory: u64) -> &'static Npu {
    static NEXT: AtomicU16 = AtomicU16::new(100);
    Npu::start(NEXT.fetch_add(1, Ordering::Relaxed), memory).unwrap()
}

/// Two streams besides the default one.
fn two_streams(npu: &Npu) -> [StreamId; 2] {
    [npu.new_stream(0), npu.new_stream(0)]
}

fn launch(npu: &'static Npu, stream: StreamId, work: impl FnOnce() + Send + 'static) {
    npu.launch(stream, Name::new("test kernel"), None, Box::new(work)).unwrap();
}

/// Keeps a device busy on a stream until it is dropped.
struct Busy {
    _release: mpsc::Sender<()>,
}

impl Busy {
    /// Returns when the device has begun.
    fn on(npu: &'static Npu, stream: StreamId) -> Self {
        let (release, released) = mpsc::channel();
        let (begin, begun) = mpsc::channel();
        launch(npu, stream, move || {
            begin.send(()).unwrap();
            assert!(released.recv().is_err());
        });
        begun.recv().unwrap();
        Self { _release: release }
    }
}

/// The order in which kernels ran.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<&'static str>>>);

impl Log {
    /// Launches a kernel that writes its name down.
    fn launch(&self, npu: &'static Npu, stream: StreamId, name: &'static str) {
        let log = Arc::clone(&self.0);
        launch(npu, stream, move || log.lock().unwrap().push(name));
    }

    fn read(&self) -> Vec<&'static str> {
        self.0.lock().unwrap().clone()
    }
}
