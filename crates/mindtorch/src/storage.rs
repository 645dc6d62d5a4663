//! Storage: memory for numbers, reported to the profiler.

use mindtorch_profiler::{Capture, Device, Memory, Stack, capture, memory};
use std::sync::atomic::{AtomicI64, Ordering};

static ALLOCATED: AtomicI64 = AtomicI64::new(0);

/// The bytes that all storages of this process hold on the host.
pub fn allocated_bytes() -> i64 {
    ALLOCATED.load(Ordering::Relaxed)
}

/// Numbers in host memory. A session that profiles memory sees it come and go.
///
/// ```
/// use mindtorch::Storage;
/// use mindtorch_profiler::{Session, record_function};
/// let session = Session::builder().profile_memory(true).start();
/// {
///     let _span = record_function!("fill");
///     let mut numbers = Storage::zeroed(1000);
///     numbers.as_mut_slice().fill(1.0f32);
/// }
/// let trace = session.stop();
/// let sizes: Vec<i64> = trace.memory().iter().map(|row| row.bytes).collect();
/// assert_eq!(sizes, [4000, -4000]);
/// ```
#[derive(Debug)]
pub struct Storage<T> {
    numbers: Box<[T]>,
}

impl<T: Copy + Default> Storage<T> {
    /// A storage of `len` zeros.
    pub fn zeroed(len: usize) -> Self {
        let storage = Self { numbers: vec![T::default(); len].into_boxed_slice() };
        storage.report(storage.bytes());
        storage
    }

    /// The numbers.
    pub fn as_slice(&self) -> &[T] {
        &self.numbers
    }

    /// The numbers, to change.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.numbers
    }
}

impl<T> Storage<T> {
    fn bytes(&self) -> i64 {
        size_of_val(&*self.numbers) as i64
    }

    fn report(&self, bytes: i64) {
        let allocated = ALLOCATED.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if capture().contains(Capture::MEMORY) {
            let address = self.numbers.as_ptr().addr() as u64;
            memory(&Memory { address, bytes, device: Device::Cpu, allocated, reserved: 0, stack: Stack::NONE });
        }
    }
}

impl<T> Drop for Storage<T> {
    fn drop(&mut self) {
        self.report(-self.bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mindtorch_profiler::{Session, Span};

    #[test]
    fn memory_is_attributed_to_the_innermost_span_to_the_byte() {
        let session = Session::builder().profile_memory(true).start();
        let kept = {
            let _outer = Span::enter("storage outer");
            let temporary = Storage::<f64>::zeroed(10);
            let kept = {
                let _inner = Span::enter("storage inner");
                Storage::<f32>::zeroed(3)
            };
            drop(temporary);
            kept
        };
        let trace = session.stop();
        let span = |name| trace.spans().find(|span| span.name() == name).unwrap();
        assert_eq!(span("storage inner").cpu_memory(), 12);
        assert_eq!(span("storage outer").cpu_memory(), 12);
        assert_eq!(span("storage outer").self_cpu_memory(), 0);
        assert!(allocated_bytes() >= 12);
        assert_eq!(kept.as_slice(), [0.0; 3]);
    }
}
