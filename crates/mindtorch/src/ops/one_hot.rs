//! Classes as rows with a single 1.

use super::{on_host, scatter_, unsqueeze, zeros};
use crate::Tensor;
use crate::dispatch::{Arg, Op};
use crate::dtype::{DType, Scalar};
use crate::error::{Result, ensure};
use crate::shape::Dims;
use crate::tensor::access::read;
use mindtorch_profiler::Device;

/// For every class a row of zeros with a 1 at its number. -1 classes are as many as are needed, which waits for the
/// device.
///
/// # Errors
/// If the classes are no 64-bit integers, or if one does not exist.
pub fn one_hot(classes: &Tensor, num_classes: i64) -> Result<Tensor> {
    static OP: Op = Op::new("aten::one_hot", "");
    ensure!(classes.dtype() == DType::Int64, Runtime, "one_hot is only applicable to index tensor of type LongTensor.");
    OP.run(&[classes.into(), Arg::Int(num_classes)], || {
        let width = if classes.numel() == 0 {
            ensure!(num_classes > 0, Runtime, "Can not infer total number of classes from empty tensor.");
            num_classes
        } else if num_classes == -1 || classes.device() == Device::Cpu {
            let host = super::contiguous(&on_host(classes)?)?;
            let (lowest, highest) = extremes(read(&host));
            ensure!(lowest >= 0, Runtime, "Class values must be non-negative.");
            let width = if num_classes == -1 { highest.saturating_add(1) } else { num_classes };
            ensure!(highest < width, Runtime, "Class values must be smaller than num_classes.");
            width
        } else {
            ensure!(num_classes > 0, Runtime, "Class values must be smaller than num_classes.");
            num_classes
        };
        let shape: Dims = classes.shape().iter().copied().chain([width as usize]).collect();
        scatter_(&zeros(&shape, DType::Int64, classes.device())?, -1, &unsqueeze(classes, -1)?, Scalar::Int(1))
    })
}

fn extremes(classes: &[i64]) -> (i64, i64) {
    classes.iter().fold((i64::MAX, i64::MIN), |(lowest, highest), &class| (lowest.min(class), highest.max(class)))
}
