//! What each thread has chosen: a device, and a stream of every device.

use super::block::Block;
use super::device::{Npu, device_count};
use super::error::NpuError;
use super::settings::MAX_DEVICES;
use super::stream::StreamId;
use mindtorch_profiler::Name;
use std::cell::Cell;

thread_local! {
    static DEVICE: Cell<u16> = const { Cell::new(0) };
    static STREAMS: Cell<[StreamId; MAX_DEVICES as usize]> =
        const { Cell::new([StreamId::DEFAULT; MAX_DEVICES as usize]) };
}

/// The device that this thread uses unless it says otherwise: 0, or what [`set_device`] chose.
pub fn current_device() -> u16 {
    DEVICE.get()
}

/// Chooses the device that this thread uses.
///
/// # Errors
/// If there is no such device.
pub fn set_device(index: u16) -> Result<(), NpuError> {
    check(index)?;
    DEVICE.set(index);
    Ok(())
}

/// The stream that this thread's work for a device goes to: the default, or what [`set_current_stream`] chose.
pub fn current_stream(device: u16) -> StreamId {
    STREAMS.get().get(usize::from(device)).copied().unwrap_or_default()
}

/// Chooses the stream that this thread's work for a device goes to.
///
/// # Errors
/// If there is no such device.
pub fn set_current_stream(device: u16, stream: StreamId) -> Result<(), NpuError> {
    check(device)?;
    let mut streams = STREAMS.get();
    streams[usize::from(device)] = stream;
    STREAMS.set(streams);
    Ok(())
}

/// Memory of a device for work of the stream that this thread has chosen: [`Npu::allocate`].
///
/// # Errors
/// If there is no such device, or its memory is full.
pub fn allocate(device: u16, bytes: usize) -> Result<Block, NpuError> {
    Npu::get(device)?.allocate(bytes, current_stream(device))
}

/// Has `work` run on the stream of a device that this thread has chosen: [`Npu::launch`].
///
/// # Errors
/// If there is no such device, or the process is a forked child.
pub fn enqueue(device: u16, name: Name, copy: Option<u64>, work: Box<dyn FnOnce() + Send>) -> Result<(), NpuError> {
    Npu::get(device)?.launch(current_stream(device), name, copy, work)
}

fn check(index: u16) -> Result<(), NpuError> {
    let count = device_count()?;
    if index < count { Ok(()) } else { Err(NpuError::NoSuchDevice { index, count }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_chooses_for_itself() {
        let other = StreamId::new(5).unwrap();
        set_current_stream(0, other).unwrap();
        assert_eq!((current_device(), current_stream(0), current_stream(1)), (0, other, StreamId::DEFAULT));
        std::thread::spawn(|| assert_eq!(current_stream(0), StreamId::DEFAULT)).join().unwrap();
        set_device(0).unwrap();
    }

    #[test]
    fn a_device_that_is_not_there_cannot_be_chosen() {
        for index in [MAX_DEVICES, u16::MAX] {
            assert!(matches!(set_device(index), Err(NpuError::NoSuchDevice { .. })));
            assert!(matches!(set_current_stream(index, StreamId::DEFAULT), Err(NpuError::NoSuchDevice { .. })));
            assert_eq!(current_stream(index), StreamId::DEFAULT);
        }
    }
}
