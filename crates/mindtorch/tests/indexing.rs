//! Indexing through the public API: values, gradients, errors, on the host and on the accelerator.

use half::bf16;
use mindtorch::{DType, Device, ErrorKind, Result, Scalar, Tensor, autograd, npu, ops};

fn numbers(shape: &[usize]) -> Result<Tensor> {
    let count: usize = shape.iter().product();
    Tensor::from_slice(&(0..count).map(|number| number as f32).collect::<Vec<_>>(), shape)
}

fn ints(numbers: &[i64]) -> Result<Tensor> {
    Tensor::from_slice(numbers, &[numbers.len()])
}

fn truths(tensor: &Tensor) -> Result<Tensor> {
    ops::to_dtype(tensor, DType::Bool)
}

fn leaf(tensor: Tensor) -> Result<Tensor> {
    tensor.set_requires_grad(true)?;
    Ok(tensor)
}

/// The gradient of the sum of what an operation makes of a leaf, where numbers weigh 1, 2, 3 and so on.
fn gradient(leaf: &Tensor, result: &Tensor) -> Result<Vec<f32>> {
    let weights = ops::add(&numbers(result.shape())?, Scalar::Int(1), 1.into())?;
    autograd::backward(std::slice::from_ref(result), &[Some(weights)], &[], autograd::Request::default())?;
    leaf.grad().expect("has a gradient").to_vec()
}

fn error<T>(result: Result<T>) -> (ErrorKind, String) {
    let error = result.err().expect("an error");
    (error.kind(), error.to_string())
}

#[test]
fn an_index_takes_the_place_of_its_dimension() -> Result<()> {
    let x = leaf(numbers(&[2, 3, 2])?)?;
    let picked = ops::index(&x, &[None, Some(ints(&[2, -1, 0])?)])?;
    assert_eq!(picked.shape(), [2, 3, 2]);
    assert_eq!(picked.to_vec::<f32>()?, [4., 5., 4., 5., 0., 1., 10., 11., 10., 11., 6., 7.]);
    assert_eq!(gradient(&x, &picked)?, [5., 6., 0., 0., 4., 6., 11., 12., 0., 0., 16., 18.]);
    Ok(())
}

#[test]
fn indices_apart_from_each_other_come_first() -> Result<()> {
    let x = numbers(&[2, 3, 4])?;
    let picked = ops::index(&x, &[Some(ints(&[1, 0])?), None, Some(ints(&[3])?)])?;
    assert_eq!(picked.shape(), [2, 3]);
    assert_eq!(picked.to_vec::<f32>()?, [15., 19., 23., 3., 7., 11.]);
    Ok(())
}

#[test]
fn a_mask_selects_where_it_is_true_whatever_the_strides() -> Result<()> {
    let mask = truths(&Tensor::from_slice(&[1i64, 0, 0, 1, 1, 0], &[3, 2])?)?;
    for x in [ops::t(&numbers(&[2, 3])?)?, ops::contiguous(&ops::t(&numbers(&[2, 3])?)?)?] {
        assert_eq!(ops::index(&x, &[Some(mask.clone())])?.to_vec::<f32>()?, [0., 4., 2.]);
        assert_eq!(ops::masked_select(&x, &mask)?.to_vec::<f32>()?, [0., 4., 2.]);
    }
    // A truth without dimensions adds one.
    let all = truths(&Tensor::from_slice(&[1i64], &[])?)?;
    assert_eq!(ops::index(&numbers(&[3])?, &[Some(all)])?.shape(), [1, 3]);
    Ok(())
}

#[test]
fn accumulated_values_add_up_in_every_type() -> Result<()> {
    for dtype in DType::ALL.into_iter().filter(|&dtype| dtype != DType::Bool) {
        let target = ops::zeros(&[3], dtype, Device::Cpu)?;
        let values = ops::to_dtype(&ints(&[1, 2, 4])?, dtype)?;
        ops::index_put_(&target, &[Some(ints(&[2, 0, -1])?)], &values, true)?;
        assert_eq!(ops::to_dtype(&target, DType::Int64)?.to_vec::<i64>()?, [2, 0, 5], "{dtype}");
    }
    let truth = truths(&ints(&[0, 0])?)?;
    ops::scatter_add_(&truth, 0, &ints(&[1, 1])?, &truths(&ints(&[1, 1])?)?)?;
    assert_eq!(ops::to_dtype(&truth, DType::Int64)?.to_vec::<i64>()?, [0, 1]);
    Ok(())
}

#[test]
fn a_view_that_is_written_to_passes_gradients_on() -> Result<()> {
    let (x, values) = (leaf(numbers(&[2, 3])?)?, leaf(numbers(&[2])?)?);
    let y = ops::mul(&x, Scalar::Int(2))?;
    ops::index_put_(&ops::select(&y, 0, 1)?, &[Some(ints(&[2, 0])?)], &values, false)?;
    assert_eq!(y.to_vec::<f32>()?, [0., 2., 4., 1., 8., 0.]);
    assert_eq!(gradient(&x, &y)?, [2., 4., 6., 0., 10., 0.]);
    assert_eq!(values.grad().expect("has a gradient").to_vec::<f32>()?, [6., 4.]);
    Ok(())
}

#[test]
fn writing_a_tensor_to_itself_reads_what_was_there() -> Result<()> {
    let x = numbers(&[4])?;
    ops::index_copy_(&x, 0, &ints(&[1, 2, 3])?, &ops::slice(&x, 0, Some(0), Some(3), 1)?)?;
    assert_eq!(x.to_vec::<f32>()?, [0., 0., 1., 2.]);
    Ok(())
}

#[test]
fn many_rows_are_the_same_on_many_threads() -> Result<()> {
    let (rows, width) = (5_000, 40);
    let indices: Vec<i64> = (0..rows).map(|row| row * 7919 % 97).collect();
    let values = ops::add(&numbers(&[rows as usize, width])?, Scalar::Int(0), 1.into())?;
    let small = ops::remainder(&values, Scalar::Int(11))?;
    let source = small.to_vec::<f32>()?;
    let mut sums = vec![0f32; 97 * width];
    let mut last = vec![0f32; 97 * width];
    for (row, &index) in indices.iter().enumerate() {
        for column in 0..width {
            sums[index as usize * width + column] += source[row * width + column];
            last[index as usize * width + column] = source[row * width + column];
        }
    }
    let zeros = || ops::zeros(&[97, width], DType::Float32, Device::Cpu);
    let index = ints(&indices)?;
    mindtorch::set_num_threads(3);
    assert_eq!(ops::index_add(&zeros()?, 0, &index, &small, 1.into())?.to_vec::<f32>()?, sums);
    assert_eq!(ops::index_copy(&zeros()?, 0, &index, &small)?.to_vec::<f32>()?, last);
    let each = ops::expand(&ops::unsqueeze(&index, 1)?, &[-1, width as i64])?;
    assert_eq!(ops::scatter_add(&zeros()?, 0, &each, &small)?.to_vec::<f32>()?, sums);
    let across = ops::scatter_add(&ops::t(&zeros()?)?, 1, &ops::t(&each)?, &ops::t(&small)?)?;
    assert_eq!(ops::contiguous(&ops::t(&across)?)?.to_vec::<f32>()?, sums);
    let table = Tensor::from_slice(&sums, &[97, width])?;
    let expected: Vec<f32> =
        indices.iter().flat_map(|&index| sums[index as usize * width..][..width].to_vec()).collect();
    assert_eq!(ops::embedding(&table, &index, -1, false, false)?.to_vec::<f32>()?, expected);
    assert_eq!(ops::gather(&table, 0, &each)?.to_vec::<f32>()?, expected);
    Ok(())
}

#[test]
fn the_gradient_of_a_gradient_goes_through() -> Result<()> {
    let create = || autograd::Request { create_graph: true, retain_graph: true };
    let operations: [fn(&Tensor) -> Result<Tensor>; 8] = [
        |x| ops::index(x, &[Some(ints(&[2, 0, 2])?)]),
        |x| ops::index_select(x, 0, &ints(&[2, 0, 2])?),
        |x| ops::gather(x, 0, &ints(&[2, 0, 2])?),
        |x| ops::reshape(&ops::embedding(&ops::unsqueeze(x, 1)?, &ints(&[2, 0, 2])?, -1, false, false)?, &[-1]),
        |x| {
            let longer = ops::cat(&[x.clone(), ops::slice(x, 0, Some(2), None, 1)?], 0)?;
            ops::masked_select(&longer, &truths(&ints(&[1, 0, 1, 1])?)?)
        },
        |x| {
            let source = ops::index_select(x, 0, &ints(&[0, 0, 2])?)?;
            ops::scatter_add(&ops::zeros(&[3], DType::Float32, Device::Cpu)?, 0, &ints(&[0, 0, 1])?, &source)
        },
        |x| Ok(ops::sort(&ops::index_select(x, 0, &ints(&[2, 0, 2])?)?, 0, true, None)?.0),
        |x| Ok(ops::topk(&ops::index_select(x, 0, &ints(&[2, 0, 2])?)?, 3, 0, true, true)?.0),
    ];
    for (number, operation) in operations.iter().enumerate() {
        let x = leaf(Tensor::from_slice(&[1f32, 2., 3.], &[3])?)?;
        let y = operation(&x)?;
        let square = ops::sum(&ops::mul(&y, &y)?, &[], false, None)?;
        let first = autograd::grad(&[square], &[None], std::slice::from_ref(&x), create())?;
        let first = first[0].clone().expect("has a gradient");
        let again = ops::sum(&ops::mul(&first, &first)?, &[], false, None)?;
        autograd::backward(&[again], &[None], &[], autograd::Request::default())?;
        let second = x.grad().expect("has a gradient").to_vec::<f32>()?;
        // Of each number as often as it was selected: the first is 2 n x, the second 8 n² x.
        let expected = if number == 5 { [128., 0., 24.] } else { [8., 0., 96.] };
        assert_eq!(second, expected, "operation {number}");
    }
    Ok(())
}

#[test]
fn sorted_numbers_know_where_they_were() -> Result<()> {
    let x = leaf(Tensor::from_slice(&[2f32, f32::NAN, -1., 2.], &[4])?)?;
    let (values, indices) = ops::sort(&x, -1, false, Some(true))?;
    assert_eq!(indices.to_vec::<i64>()?, [2, 0, 3, 1]);
    assert!(values.to_vec::<f32>()?[3].is_nan());
    assert_eq!(gradient(&x, &values)?, [2., 4., 1., 3.]);
    let halves = [1.5, -2., 8.].map(bf16::from_f32);
    let (values, indices) = ops::topk(&Tensor::from_slice(&halves, &[3])?, 2, 0, true, true)?;
    assert_eq!((values.to_vec::<bf16>()?, indices.to_vec::<i64>()?), (vec![halves[2], halves[0]], vec![2, 0]));
    assert_eq!(ops::argsort(&truths(&ints(&[1, 0, 1])?)?, 0, true, None)?.to_vec::<i64>()?, [0, 2, 1]);
    Ok(())
}

#[test]
fn rows_of_a_table_get_their_gradient_but_for_padding() -> Result<()> {
    let table = leaf(numbers(&[3, 2])?)?;
    let indices = Tensor::from_slice(&[0i64, 2, 2, 1], &[2, 2])?;
    let rows = ops::embedding(&table, &indices, 1, false, false)?;
    assert_eq!(rows.shape(), [2, 2, 2]);
    assert_eq!(gradient(&table, &rows)?, [1., 2., 0., 0., 8., 10.]);
    let ones = ops::ones(&[2, 2, 2], DType::Float32, Device::Cpu)?;
    let shared = ops::embedding_dense_backward(&ones, &indices, 3, -1, true)?;
    assert_eq!(shared.to_vec::<f32>()?, [1.; 6]);
    assert_eq!(ops::one_hot(&ints(&[1, 0])?, -1)?.to_vec::<i64>()?, [0, 1, 1, 0]);
    Ok(())
}

#[test]
fn mistakes_are_told_in_the_words_of_torch() -> Result<()> {
    let (x, index) = (numbers(&[3, 4])?, ints(&[5])?);
    let outside = "index 5 is out of bounds for dimension 0 with size 3".to_owned();
    assert_eq!(error(ops::index(&x, &[Some(index.clone())])), (ErrorKind::Index, outside.clone()));
    let column = ops::unsqueeze(&index, 1)?;
    assert_eq!(error(ops::gather(&x, 0, &column)), (ErrorKind::Runtime, outside));
    let in_self = (ErrorKind::Index, "index out of range in self".to_owned());
    assert_eq!(error(ops::index_select(&x, 0, &index)), in_self);
    assert_eq!(error(ops::embedding(&x, &index, -1, false, false)), in_self);
    let (_, message) = error(ops::index(&x, &[Some(x.clone())]));
    assert_eq!(message, "tensors used as indices must be long, int, byte or bool tensors");
    let (_, message) = error(ops::index_put_(&x, &[Some(ints(&[0, 0])?)], &numbers(&[3])?, false));
    assert_eq!(
        message,
        "shape mismatch: value tensor of shape [3] cannot be broadcast to indexing result of shape [2, 4]"
    );
    let half = ops::to_dtype(&x, DType::Float16)?;
    let (_, message) = error(ops::masked_fill(&half, &truths(&x)?, Scalar::Float(1e9)));
    assert_eq!(message, "value cannot be converted to type c10::Half without overflow");
    assert_eq!(error(ops::topk(&x, 5, 1, true, true)).1, "selected index k out of range");
    Ok(())
}

#[test]
fn the_accelerator_computes_the_same_and_finds_bad_indices_later() -> Result<()> {
    let npu = Device::Npu(0);
    let there = |tensor: &Tensor| ops::to(tensor, None, Some(npu), false);
    let x = there(&numbers(&[3, 4])?)?;
    let picked = ops::index(&x, &[Some(ints(&[2, 0])?)])?;
    assert_eq!((picked.device(), picked.to_vec::<f32>()?), (npu, vec![8., 9., 10., 11., 0., 1., 2., 3.]));
    let mask = ops::gt(&x, Scalar::Int(9))?;
    assert_eq!(ops::masked_select(&x, &mask)?.to_vec::<f32>()?, [10., 11.]);
    let value = there(&Tensor::from_slice(&[7f32], &[])?)?;
    ops::masked_fill_(&x, &mask, &value)?;
    ops::index_fill_(&x, 1, &there(&ints(&[0])?)?, Scalar::Int(-1))?;
    assert_eq!(x.to_vec::<f32>()?, [-1., 1., 2., 3., -1., 5., 6., 7., -1., 9., 7., 7.]);
    let bad = ops::index_select(&x, 0, &there(&ints(&[-1])?)?)?;
    let (_, message) = error(bad.to_vec::<f32>());
    assert!(message.contains("index -1 is out of bounds for dimension 0 with size 3"), "{message}");
    npu::Npu::get(0)?.synchronize()?;
    Ok(())
}
