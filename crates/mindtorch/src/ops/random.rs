//! Random numbers. They are drawn on the host, so that a seed gives the same ones on every device.

use super::copy::transfer;
use super::{check_overlap, empty};
use crate::Tensor;
use crate::autograd::{Context, check_in_place, track_in_place};
use crate::dispatch::{Arg, Op};
use crate::dtype::{DType, Scalar};
use crate::error::{Result, ensure};
use crate::generator::Generator;
use crate::kernels::copy as kernel;
use crate::kernels::random::Random;
use crate::tensor::access::write;
use mindtorch_profiler::Device;

/// Fills `target` with what `draw` writes into a tensor of one of the types that are drawn.
fn fill(
    target: &Tensor,
    generator: Option<&Generator>,
    drawn: DType,
    draw: impl FnOnce(&mut Random, &Tensor),
) -> Result<()> {
    let generator = generator.unwrap_or(Generator::default_generator());
    let direct = target.device() == Device::Cpu && target.dtype() == drawn && target.is_contiguous();
    if direct {
        generator.draw(|random| draw(random, target));
        return Ok(());
    }
    let numbers = Tensor::allocate(target.shape(), drawn, Device::Cpu)?;
    generator.draw(|random| draw(random, &numbers));
    if target.device() == Device::Cpu {
        kernel::copy(target, &numbers);
        return Ok(());
    }
    transfer(target, &numbers)
}

/// What an in-place draw is to autograd: nothing of the old numbers is left.
fn filled(target: &Tensor) -> Result<Tensor> {
    track_in_place("UniformBackward0", [target], target, || {
        |_: &Context<'_>, grad: &Tensor| Ok([Some(super::zeros_like(grad)?)])
    })?;
    Ok(target.clone())
}

fn check(target: &Tensor, name: &str) -> Result<()> {
    check_in_place(target)?;
    check_overlap(target)?;
    ensure!(
        target.dtype().is_float(),
        Runtime,
        "\"check_{name}_bounds\" not implemented for '{}'",
        target.dtype().scalar_type()
    );
    Ok(())
}

/// Numbers from `low` to `high`, each as likely.
///
/// # Errors
/// For integers, or if the bounds make no sense.
pub fn uniform_(target: &Tensor, low: f64, high: f64, generator: Option<&Generator>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::uniform_", "");
    check(target, "uniform")?;
    ensure!(low <= high, Runtime, "uniform_ expects to return a [from, to) range, but found from={low} > to={high}");
    OP.run(&[target.into(), Arg::Float(low), Arg::Float(high), Arg::None], || match target.dtype() {
        DType::Float64 => {
            fill(target, generator, DType::Float64, |random, out| random.uniform::<f64>(write(out), low, high))
        }
        _ => fill(target, generator, DType::Float32, |random, out| {
            random.uniform::<f32>(write(out), low as f32, high as f32);
        }),
    })?;
    filled(target)
}

/// Numbers of a normal distribution.
///
/// # Errors
/// For integers, or if the deviation is negative.
pub fn normal_(target: &Tensor, mean: f64, std: f64, generator: Option<&Generator>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::normal_", "");
    check(target, "normal")?;
    ensure!(std >= 0.0, Runtime, "normal expects std >= 0.0, but found std {std}");
    OP.run(&[target.into(), Arg::Float(mean), Arg::Float(std), Arg::None], || match target.dtype() {
        DType::Float64 => {
            fill(target, generator, DType::Float64, |random, out| random.normal::<f64>(write(out), mean, std))
        }
        DType::Float32 => {
            fill(target, generator, DType::Float32, |random, out| random.normal::<f32>(write(out), mean, std))
        }
        _ => fill(target, generator, DType::Float32, |random, out| random.normal_for_half(write(out), mean, std)),
    })?;
    filled(target)
}

/// Numbers of an exponential distribution.
///
/// # Errors
/// For integers, or if the rate is not positive.
pub fn exponential_(target: &Tensor, lambda: f64, generator: Option<&Generator>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::exponential_", "");
    check(target, "exponential")?;
    ensure!(lambda > 0.0, Runtime, "exponential_ expects lambda > 0.0, but found lambda={lambda}");
    OP.run(&[target.into(), Arg::Float(lambda), Arg::None], || match target.dtype() {
        DType::Float64 => {
            fill(target, generator, DType::Float64, |random, out| random.exponential::<f64>(write(out), lambda))
        }
        _ => fill(target, generator, DType::Float32, |random, out| random.exponential::<f32>(write(out), lambda)),
    })?;
    filled(target)
}

/// Ones with probability `p`, else zeros.
///
/// # Errors
/// If `p` is no probability.
pub fn bernoulli_(target: &Tensor, p: f64, generator: Option<&Generator>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::bernoulli_", "float");
    check_in_place(target)?;
    check_overlap(target)?;
    ensure!((0.0..=1.0).contains(&p), Runtime, "bernoulli_ expects p to be in [0, 1], but got p={p}");
    OP.run(&[target.into(), Arg::Float(p), Arg::None], || {
        fill(target, generator, DType::UInt8, |random, out| random.bernoulli(write(out), p))
    })?;
    filled(target)
}

/// Ones with the probabilities of a tensor.
///
/// # Errors
/// For integers, or if there is no memory.
pub fn bernoulli(input: &Tensor, generator: Option<&Generator>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::bernoulli", "");
    ensure!(
        input.dtype().is_float(),
        Runtime,
        "bernoulli_tensor_cpu_p_ expects a floating tensor, but got {}",
        input.dtype().scalar_type()
    );
    OP.run(&[input.into(), Arg::None], || {
        let numbers = Tensor::allocate(input.shape(), DType::Float64, input.device())?;
        uniform_(&numbers, 0.0, 1.0, generator)?;
        super::to_dtype(&super::lt(&numbers, input)?, input.dtype())
    })
}

/// Integers from `low` up to, not including, `high`.
///
/// # Errors
/// If there are none between them.
pub fn random_(target: &Tensor, low: i64, high: Option<i64>, generator: Option<&Generator>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::random_", "from");
    check_in_place(target)?;
    check_overlap(target)?;
    // All that the type can hold exactly, unless a bound is given.
    let high = high.map_or(
        match target.dtype() {
            DType::Bool => 2,
            DType::UInt8 => 1 << 8,
            DType::Int8 => 1 << 7,
            DType::Int16 => 1 << 15,
            DType::Int32 => 1 << 31,
            DType::Int64 => i64::MAX,
            DType::Float16 => (1 << 11) + 1,
            DType::BFloat16 => (1 << 8) + 1,
            DType::Float32 => (1 << 24) + 1,
            DType::Float64 => (1 << 53) + 1,
        },
        |high| high,
    );
    ensure!(low < high, Runtime, "random_ expects 'from' to be less than 'to', but got from={low} >= to={high}");
    OP.run(&[target.into(), Arg::Int(low), Arg::Int(high), Arg::None], || {
        let range = high.wrapping_sub(low).cast_unsigned();
        fill(target, generator, DType::Int64, |random, out| random.integers(write(out), low, range))
    })?;
    filled(target)
}

/// Numbers from 0 to 1, each as likely.
///
/// # Errors
/// For integers, or if there is no memory.
pub fn rand(shape: &[usize], dtype: DType, device: Device, generator: Option<&Generator>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::rand", "");
    OP.run(&[Arg::Sizes(shape), Arg::DType(dtype), Arg::None, Arg::None, Arg::None], || {
        uniform_(&empty(shape, dtype, device)?, 0.0, 1.0, generator)
    })
}

/// Numbers of the standard normal distribution.
///
/// # Errors
/// For integers, or if there is no memory.
pub fn randn(shape: &[usize], dtype: DType, device: Device, generator: Option<&Generator>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::randn", "");
    OP.run(&[Arg::Sizes(shape), Arg::DType(dtype), Arg::None, Arg::None, Arg::None], || {
        normal_(&empty(shape, dtype, device)?, 0.0, 1.0, generator)
    })
}

/// Integers from `low` up to, not including, `high`.
///
/// # Errors
/// If there are none between them, or if there is no memory.
pub fn randint(
    low: i64,
    high: i64,
    shape: &[usize],
    dtype: DType,
    device: Device,
    generator: Option<&Generator>,
) -> Result<Tensor> {
    static OP: Op = Op::new("aten::randint", "low");
    OP.run(
        &[Arg::Int(low), Arg::Int(high), Arg::Sizes(shape), Arg::DType(dtype), Arg::None, Arg::None, Arg::None],
        || random_(&empty(shape, dtype, device)?, low, Some(high), generator),
    )
}

/// The numbers from 0 up to `n` in some order.
///
/// # Errors
/// If there is no memory.
pub fn randperm(n: usize, dtype: DType, device: Device, generator: Option<&Generator>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::randperm", "");
    OP.run(&[Arg::Scalar(Scalar::Int(n as i64)), Arg::DType(dtype), Arg::None, Arg::None, Arg::None], || {
        let out = empty(&[n], dtype, device)?;
        fill(&out, generator, DType::Int64, |random, out| random.permutation(write(out)))?;
        Ok(out)
    })
}
