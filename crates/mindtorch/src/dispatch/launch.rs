//! Where a kernel runs: on the host at once, on the NPU when the work that was queued before is done.

use crate::Tensor;
use crate::error::Result;
use crate::npu;
use mindtorch_profiler::{Device, Name};

/// Runs `work` on the device of the tensors, the outputs first. Its outputs were allocated before, so that nothing waits for it.
#[inline]
pub(crate) fn launch<const N: usize>(
    kernel: &'static str,
    tensors: [&Tensor; N],
    work: impl FnOnce([&Tensor; N]) + Send + 'static,
) -> Result<()> {
    match tensors[0].device() {
        Device::Cpu => work(tensors),
        Device::Npu(index) => {
            let tensors = tensors.map(Tensor::alias_for_device);
            npu::enqueue(index, Name::new(kernel), None, Box::new(move || work(tensors.each_ref())))?;
        }
    }
    Ok(())
}

/// [`launch`] for as many tensors as there are; `work` gets those that are none as none.
pub(crate) fn launch_list(
    kernel: &'static str,
    tensors: &[Option<&Tensor>],
    work: impl FnOnce(&[Option<&Tensor>]) + Send + 'static,
) -> Result<()> {
    let device = tensors.iter().flatten().next().map_or(Device::Cpu, |tensor| tensor.device());
    match device {
        Device::Cpu => work(tensors),
        Device::Npu(index) => {
            let tensors: Vec<Option<Tensor>> =
                tensors.iter().map(|tensor| tensor.map(Tensor::alias_for_device)).collect();
            let work = move || work(&tensors.iter().map(Option::as_ref).collect::<Vec<_>>());
            npu::enqueue(index, Name::new(kernel), None, Box::new(work))?;
        }
    }
    Ok(())
}
