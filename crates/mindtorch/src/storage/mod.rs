//! Storage: the memory of tensors, wherever it lies. All of it is reported to the profiler.

mod host;
pub(crate) mod role;

use crate::error::Result;
use crate::execution_trace::Serial;
use crate::npu::Block;
use host::HostBuffer;
use mindtorch_profiler::{Capture, Device, Memory, Stack, capture, memory};
use role::RoleWord;
use std::any::Any;
use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

static ALLOCATED: AtomicI64 = AtomicI64::new(0);

/// The bytes that all storages of this process hold on the host.
pub fn allocated_bytes() -> i64 {
    ALLOCATED.load(Ordering::Relaxed)
}

/// Bytes on a device, shared by the tensors that are views of them.
#[derive(Clone)]
pub struct Storage(Arc<Inner>);

/// Storages of up to so many bytes on the host need no buffer.
const INLINE: usize = 64;

struct Inner {
    /// Dangling if the bytes are inline.
    data: NonNull<u8>,
    bytes: usize,
    device: Device,
    /// How often the bytes were changed in place, so that the backward pass can tell that what it saved is no longer there.
    version: AtomicU32,
    role: RoleWord,
    serial: Serial,
    owner: Owner,
}

#[expect(dead_code, reason = "most owners are there to be dropped")]
enum Owner {
    Host(HostBuffer),
    /// A few numbers, in the storage itself: one allocation less.
    Inline(UnsafeCell<[u64; INLINE / 8]>),
    Npu(Block),
    /// Someone else's memory, which lives as long as this does.
    Foreign(Box<dyn Any + Send + Sync>),
    /// Memory of a device, for work that is queued there: it is in use by no one else until that is done, as the device
    /// does its work in order.
    Borrowed,
}

// SAFETY: the bytes are plain numbers, and the owner is Send and Sync. Programs that change a tensor on one thread while
// another thread uses it get some mixture of numbers, as in torch; the runtime itself never does.
#[expect(unsafe_code, reason = "a pointer is not Send by itself")]
unsafe impl Send for Inner {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "a pointer is not Sync by itself")]
unsafe impl Sync for Inner {}

impl Storage {
    /// Memory of `bytes` bytes with whatever is in it.
    ///
    /// # Errors
    /// If the device has not so much memory left.
    pub fn allocate(bytes: usize, device: Device) -> Result<Self> {
        let (data, owner) = match device {
            Device::Cpu if bytes <= INLINE => (NonNull::dangling(), Owner::Inline(UnsafeCell::new([0; INLINE / 8]))),
            Device::Cpu => {
                let buffer = HostBuffer::allocate(bytes)?;
                (buffer.data(), Owner::Host(buffer))
            }
            Device::Npu(index) => {
                let block = crate::npu::allocate(index, bytes)?;
                (block.data(), Owner::Npu(block))
            }
        };
        let storage = Self::new(data, bytes, device, owner);
        storage.0.begin_role();
        storage.0.report(bytes as i64);
        Ok(storage)
    }

    /// Memory on the host that belongs to `owner`. The profiler is not told of it: it was not allocated here.
    pub fn foreign(data: NonNull<u8>, bytes: usize, owner: Box<dyn Any + Send + Sync>) -> Self {
        Self::new(data, bytes, Device::Cpu, Owner::Foreign(owner))
    }

    /// The same memory for work that is queued on its device.
    pub(crate) fn borrow_for_device(&self) -> Self {
        Self::new(self.0.data(), self.0.bytes, self.0.device, Owner::Borrowed)
    }

    fn new(data: NonNull<u8>, bytes: usize, device: Device, owner: Owner) -> Self {
        let (version, role, serial) = (AtomicU32::new(0), RoleWord::default(), Serial::default());
        Self(Arc::new(Inner { data, bytes, device, version, role, serial, owner }))
    }

    /// Where the bytes are.
    #[inline]
    pub fn data(&self) -> NonNull<u8> {
        self.0.data()
    }

    /// How many bytes there are.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// The device on which they are.
    #[inline]
    pub fn device(&self) -> Device {
        self.0.device
    }

    /// How often the bytes were changed in place.
    #[inline]
    pub fn version(&self) -> u32 {
        self.0.version.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn bump_version(&self) {
        self.0.version.fetch_add(1, Ordering::Relaxed);
    }

    /// Distinguishes storages for ever.
    pub(crate) fn serial(&self) -> u64 {
        self.0.serial.get()
    }

    /// Whether both are the same memory.
    #[inline]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether nothing else refers to this memory.
    pub(crate) fn is_unshared(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    /// How many tensors share the memory, this one included.
    pub fn use_count(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    /// The work queued on `stream` uses this memory, which was allocated for another stream: it must not be given away before.
    pub fn record_stream(&self, stream: crate::npu::StreamId) {
        if let Owner::Npu(block) = &self.0.owner {
            block.record_stream(stream);
        }
    }
}

impl Inner {
    #[inline]
    fn data(&self) -> NonNull<u8> {
        match &self.owner {
            // Inside the `Arc`, which does not move it.
            Owner::Inline(bytes) => NonNull::from(bytes).cast(),
            _ => self.data,
        }
    }

    /// Devices report their own.
    #[inline]
    fn report(&self, bytes: i64) {
        if !matches!(self.owner, Owner::Host(_) | Owner::Inline(_)) || bytes == 0 {
            return;
        }
        let allocated = ALLOCATED.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if capture().contains(Capture::MEMORY) {
            let address = self.data().addr().get() as u64;
            let (device, stack, role) = (Device::Cpu, Stack::NONE, self.role.role());
            memory(&Memory { address, bytes, device, allocated, reserved: 0, stack, role });
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.end_role();
        self.report(-(self.bytes as i64));
    }
}
