//! How many floating-point operations an operation does, by torch's count: those of products and convolutions, a product and
//! a sum each, and one for each number of the first input of `add` and `mul`.

use super::arg::Arg;

/// The count for an operation with these arguments; 0 where torch has none.
pub(super) fn flops(name: &str, args: &[Arg<'_>]) -> u64 {
    let shape = |at: usize| match args.get(at) {
        Some(Arg::Tensor(tensor)) => tensor.shape(),
        _ => &[],
    };
    match name {
        "aten::mm" => product(shape(0), shape(1)),
        "aten::addmm" => product(shape(1), shape(2)),
        "aten::bmm" => batch(shape(0), shape(1)),
        "aten::baddbmm" => batch(shape(1), shape(2)),
        "aten::conv2d" => convolution(args, shape(0), shape(1)),
        "aten::add" | "aten::mul" => shape(0).iter().map(|&size| size as u64).product(),
        _ => 0,
    }
}

fn product(left: &[usize], right: &[usize]) -> u64 {
    match (left, right) {
        (&[rows, depth], &[_, columns]) => 2 * (rows * depth * columns) as u64,
        _ => 0,
    }
}

fn batch(left: &[usize], right: &[usize]) -> u64 {
    match (left, right) {
        (&[count, ref left @ ..], &[_, ref right @ ..]) => count as u64 * product(left, right),
        _ => 0,
    }
}

fn convolution(args: &[Arg<'_>], input: &[usize], weight: &[usize]) -> u64 {
    let pair = |at: usize| match args.get(at) {
        Some(&Arg::Ints(&[height, width])) => Some([height, width]),
        _ => None,
    };
    let (Some(stride), Some(padding), Some(dilation)) = (pair(3), pair(4), pair(5)) else { return 0 };
    let (&[images, _, height, width], &[outputs, inputs_of_group, kernel_height, kernel_width]) = (input, weight)
    else {
        return 0;
    };
    let out = |size: usize, kernel: usize, at: usize| {
        let covered = dilation[at] * (kernel as i64 - 1) + 1;
        ((size as i64 + 2 * padding[at] - covered) / stride[at].max(1) + 1).max(0) as u64
    };
    let places = out(height, kernel_height, 0) * out(width, kernel_width, 1);
    2 * places * (images * outputs * inputs_of_group * kernel_height * kernel_width) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Device, Tensor};

    fn tensor(shape: &[usize]) -> Tensor {
        Tensor::allocate(shape, DType::Float32, Device::Cpu).expect("there is memory")
    }

    #[test]
    fn counts_are_those_that_torch_reports() {
        let (image, kernel, bias) = (tensor(&[2, 8, 24, 24]), tensor(&[15, 8, 5, 5]), tensor(&[15]));
        let ints = |ints| Arg::Ints(ints);
        let args = [(&image).into(), (&kernel).into(), (&bias).into(), ints(&[2, 2]), ints(&[2, 2]), ints(&[1, 1])];
        assert_eq!(flops("aten::conv2d", &args), 1_728_000);
        let (left, right) = (tensor(&[40, 33]), tensor(&[33, 243]));
        assert_eq!(flops("aten::mm", &[(&left).into(), (&right).into()]), 641_520);
        assert_eq!(flops("aten::mul", &[(&left).into(), Arg::Float(2.0)]), 1320);
        let (left, right) = (tensor(&[3, 4, 5]), tensor(&[3, 5, 4]));
        assert_eq!(flops("aten::bmm", &[(&left).into(), (&right).into()]), 480);
        assert_eq!(flops("aten::relu", &[(&left).into()]), 0);
    }
}
