//! How many floating-point operations an operator does, by torch's count: those of products and convolutions, a product and
//! a sum each, and one for each number of the first input of `add` and `mul`.

/// The count for an operator whose inputs have these shapes and are these pairs of numbers, both by place; 0 where torch has
/// none. An input that is no tensor has no shape.
///
/// ```
/// use mindtorch_profiler::flops;
/// let shapes: [&[u64]; 2] = [&[40, 33], &[33, 243]];
/// assert_eq!(flops("aten::mm", |at| shapes[at], |_| None), 641_520);
/// ```
pub fn flops<'a, S: Copy + TryInto<u64> + 'a>(
    name: &str,
    shape: impl Fn(usize) -> &'a [S],
    pair: impl Fn(usize) -> Option<[i64; 2]>,
) -> u64 {
    match name {
        "aten::mm" => product(shape(0), shape(1)),
        "aten::addmm" => product(shape(1), shape(2)),
        "aten::bmm" => batch(shape(0), shape(1)),
        "aten::baddbmm" => batch(shape(1), shape(2)),
        "aten::conv2d" => convolution(shape(0), shape(1), pair),
        "aten::add" | "aten::mul" => multiplied(shape(0).iter().map(|&size| number(size))),
        _ => 0,
    }
}

fn number<S: TryInto<u64>>(size: S) -> u64 {
    size.try_into().unwrap_or(0)
}

fn multiplied(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(1, u64::saturating_mul)
}

fn product<S: Copy + TryInto<u64>>(left: &[S], right: &[S]) -> u64 {
    match (left, right) {
        (&[rows, depth], &[_, columns]) => multiplied([2, number(rows), number(depth), number(columns)]),
        _ => 0,
    }
}

fn batch<S: Copy + TryInto<u64>>(left: &[S], right: &[S]) -> u64 {
    match (left, right) {
        (&[count, ref left @ ..], &[_, ref right @ ..]) => number(count).saturating_mul(product(left, right)),
        _ => 0,
    }
}

fn convolution<S: Copy + TryInto<u64>>(input: &[S], weight: &[S], pair: impl Fn(usize) -> Option<[i64; 2]>) -> u64 {
    let (Some(stride), Some(padding), Some(dilation)) = (pair(3), pair(4), pair(5)) else { return 0 };
    let (&[images, _, height, width], &[outputs, inputs_of_group, kernel_height, kernel_width]) = (input, weight)
    else {
        return 0;
    };
    let out = |size: S, kernel: S, at: usize| {
        let (size, kernel) = (number(size).cast_signed(), number(kernel).cast_signed());
        let covered = dilation[at].saturating_mul(kernel - 1).saturating_add(1);
        let room = padding[at].saturating_mul(2).saturating_add(size).saturating_sub(covered);
        (room / stride[at].max(1)).saturating_add(1).max(0).cast_unsigned()
    };
    let (places, rows) = (out(height, kernel_height, 0), out(width, kernel_width, 1));
    let sizes = [images, outputs, inputs_of_group, kernel_height, kernel_width].map(number);
    multiplied([2, places, rows].into_iter().chain(sizes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_that_torch_reports() {
        let count = |name: &str, shapes: &[&[usize]]| {
            let pair = |at| [[2, 2], [2, 2], [1, 1]].get(at - 3).copied();
            flops(name, |at| shapes.get(at).map_or(&[][..], |shape| shape.to_owned()), pair)
        };
        assert_eq!(count("aten::conv2d", &[&[2, 8, 24, 24], &[15, 8, 5, 5], &[15]]), 1_728_000);
        assert_eq!(count("aten::mm", &[&[40, 33], &[33, 243]]), 641_520);
        assert_eq!(count("aten::addmm", &[&[243], &[40, 33], &[33, 243]]), 641_520);
        assert_eq!(count("aten::mul", &[&[40, 33], &[]]), 1320);
        assert_eq!(count("aten::bmm", &[&[3, 4, 5], &[3, 5, 4]]), 480);
        assert_eq!(count("aten::relu", &[&[3, 4, 5]]), 0);
        assert_eq!(count("aten::mm", &[&[usize::MAX, usize::MAX], &[2, 2]]), u64::MAX);
    }
}
