//! How many floating-point operations an operation does.

use super::arg::Arg;

/// The count for an operation with these arguments; 0 where torch has none.
pub(super) fn flops(name: &str, args: &[Arg<'_>]) -> u64 {
    let shape = |at: usize| match args.get(at) {
        Some(Arg::Tensor(tensor)) => tensor.shape(),
        _ => &[],
    };
    let pair = |at: usize| match args.get(at) {
        Some(&Arg::Ints(&[height, width])) => Some([height, width]),
        _ => None,
    };
    mindtorch_profiler::flops(name, shape, pair)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Device, Tensor};

    #[test]
    fn arguments_are_found_where_they_are() {
        let tensor = |shape: &[usize]| Tensor::allocate(shape, DType::Float32, Device::Cpu).expect("there is memory");
        let (image, kernel, bias) = (tensor(&[2, 8, 24, 24]), tensor(&[15, 8, 5, 5]), tensor(&[15]));
        let ints = |ints| Arg::Ints(ints);
        let args = [(&image).into(), (&kernel).into(), (&bias).into(), ints(&[2, 2]), ints(&[2, 2]), ints(&[1, 1])];
        assert_eq!(flops("aten::conv2d", &args), 1_728_000);
        assert_eq!(flops("aten::mul", &[(&bias).into(), Arg::Float(2.0)]), 15);
    }
}
