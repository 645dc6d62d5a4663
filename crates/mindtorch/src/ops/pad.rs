//! Tensors with more, or less, at their ends.

use super::float::signed;
use super::update::check_fits;
use super::{cat, copy_, empty, expand, fill_, narrow};
use crate::Tensor;
use crate::autograd::{Context, track};
use crate::dispatch::{Arg, Op};
use crate::dtype::Scalar;
use crate::error::{Result, bail, ensure};
use crate::shape::{Dims, list};

/// What is put at the ends of a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PadMode {
    /// A number.
    Constant(Scalar),
    /// What is there, mirrored at the last number.
    Reflect,
    /// The last number.
    Replicate,
    /// What is at the other end.
    Circular,
}

/// The input with more, or less, at the ends of its last dimensions: `pad` has how much before and how much after each of
/// them, from the last on.
///
/// # Errors
/// If there is nothing that could be put there.
pub fn pad(input: &Tensor, pad: &[i64], mode: PadMode) -> Result<Tensor> {
    static OP: Op = Op::new("aten::pad", "");
    OP.compose(&[input.into(), Arg::Ints(pad), Arg::None, Arg::None], || {
        ensure!(pad.len().is_multiple_of(2), Runtime, "Padding length must be divisible by 2");
        let dims = pad.len() / 2;
        ensure!(
            dims <= input.ndim(),
            Runtime,
            "Padding length should be less than or equal to two times the input dimension but got padding length {} and input \
             of dimension {}",
            pad.len(),
            input.ndim()
        );
        if let PadMode::Constant(value) = mode {
            return constant_pad_nd(input, pad, value);
        }
        ensure!(
            (1..=3).contains(&dims) && (dims + 1..=dims + 2).contains(&input.ndim()),
            NotImplemented,
            "Padding size {} is not supported for {}D input tensor.\nSupported combinations for non-constant padding:\n  - 2D or \
             3D input: padding size = 2 (pads last dimension)\n  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n  \
             - 4D or 5D input: padding size = 6 (pads last 3 dimensions)",
            pad.len(),
            input.ndim()
        );
        mirrored(input, pad, mode)
    })
}

/// The input with a number at its ends, as [`pad`] says; where less than nothing is put, less is left.
///
/// # Errors
/// If less than nothing would be left.
pub fn constant_pad_nd(input: &Tensor, pad: &[i64], value: Scalar) -> Result<Tensor> {
    static OP: Op = Op::new("aten::constant_pad_nd", "");
    let mut shape = signed(input.shape());
    for (dim, pair) in (0..input.ndim()).rev().zip(pad.chunks_exact(2)) {
        shape[dim] += pair[0] + pair[1];
        ensure!(shape[dim] >= 0, Runtime, "narrow(): length must be non-negative.");
    }
    check_fits(value, input.dtype())?;
    let shape: Dims = shape.iter().map(|&size| size as usize).collect();
    let out = OP.run(&[input.into(), Arg::Ints(pad), value.into()], || {
        let out = empty(&shape, input.dtype(), input.device())?;
        if pad.iter().any(|&amount| amount > 0) {
            fill_(&out, value)?;
        }
        let (mut source, mut target) = (input.alias(), out.clone());
        for (dim, pair) in (0..input.ndim()).rev().zip(pad.chunks_exact(2)) {
            let common = input.shape()[dim] as i64 + pair[0].min(0) + pair[1].min(0);
            if pair[0] < 0 || pair[1] < 0 {
                source = narrow(&source, dim as i64, -pair[0].min(0), common.max(0))?;
            }
            if pair[0] > 0 || pair[1] > 0 {
                target = narrow(&target, dim as i64, pair[0].max(0), common.max(0))?;
            }
        }
        copy_(&target, &source)?;
        Ok(out)
    })?;
    track("ConstantPadNdBackward0", [input], &out, || {
        let less: Vec<i64> = pad.iter().map(|amount| -amount).collect();
        move |_: &Context<'_>, grad: &Tensor| Ok([Some(constant_pad_nd(grad, &less, Scalar::Int(0))?)])
    })?;
    Ok(out)
}

/// The input with its own numbers at its ends.
fn mirrored(input: &Tensor, pad: &[i64], mode: PadMode) -> Result<Tensor> {
    static REFLECT: [Op; 3] = [
        Op::new("aten::reflection_pad1d", ""),
        Op::new("aten::reflection_pad2d", ""),
        Op::new("aten::reflection_pad3d", ""),
    ];
    static REPLICATE: [Op; 3] = [
        Op::new("aten::replication_pad1d", ""),
        Op::new("aten::replication_pad2d", ""),
        Op::new("aten::replication_pad3d", ""),
    ];
    static CIRCULAR: Op = Op::new("aten::_pad_circular", "");
    let op = match mode {
        PadMode::Reflect => &REFLECT[pad.len() / 2 - 1],
        PadMode::Replicate => &REPLICATE[pad.len() / 2 - 1],
        _ => &CIRCULAR,
    };
    op.compose(&[input.into(), Arg::Ints(pad)], || {
        let mut out = input.clone();
        for (dim, pair) in (0..input.ndim()).rev().zip(pad.chunks_exact(2)) {
            out = mirrored_along(&out, dim, [pair[0], pair[1]], mode)?;
        }
        Ok(out)
    })
}

fn mirrored_along(input: &Tensor, dim: usize, amounts: [i64; 2], mode: PadMode) -> Result<Tensor> {
    let (size, along) = (input.shape()[dim] as i64, dim as i64);
    let [before, after] = amounts;
    check_mirrored(input, dim, amounts, mode)?;
    let first = (-before).max(0);
    let middle = narrow(input, along, first, size + after.min(0) - first)?;
    let repeated = |place: i64, times: i64| {
        let mut shape = signed(input.shape());
        shape[dim] = times;
        expand(&narrow(input, along, place, 1)?, &shape)
    };
    let mut parts = Vec::new();
    if before > 0 {
        match mode {
            PadMode::Reflect => {
                for place in (1..=before).rev() {
                    parts.push(narrow(input, along, place, 1)?);
                }
            }
            PadMode::Replicate => parts.push(repeated(0, before)?),
            _ => parts.push(narrow(&middle, along, middle.shape()[dim] as i64 - before, before)?),
        }
    }
    parts.push(middle.clone());
    if after > 0 {
        match mode {
            PadMode::Reflect => {
                for place in (size - 1 - after..size - 1).rev() {
                    parts.push(narrow(input, along, place, 1)?);
                }
            }
            PadMode::Replicate => parts.push(repeated(size - 1, after)?),
            _ => parts.push(narrow(&middle, along, 0, after)?),
        }
    }
    cat(&parts, along)
}

fn check_mirrored(input: &Tensor, dim: usize, [before, after]: [i64; 2], mode: PadMode) -> Result<()> {
    let size = input.shape()[dim] as i64;
    let (left, most) = (size + before.min(0) + after.min(0), before.max(after));
    ensure!(
        left >= 0,
        Runtime,
        "padding ({before}, {after}) leaves less than nothing of dimension {dim} of input {}",
        list(input.shape())
    );
    match mode {
        PadMode::Circular if most > left => bail!(Runtime, "Padding value causes wrapping around more than once."),
        PadMode::Reflect if most >= size => bail!(
            Runtime,
            "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding ({before}, \
             {after}) at dimension {dim} of input {}",
            list(input.shape())
        ),
        PadMode::Replicate if most > 0 && size == 0 => {
            bail!(Runtime, "Expected a non-empty dimension {dim} to replicate, but got input {}", list(input.shape()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::float::testing::{gradients, leaf, numbers};
    use super::*;

    #[test]
    fn numbers_are_added_and_taken_away() {
        let x = leaf(&[1.0, 2.0, 3.0, 4.0], &[2, 2]);
        let y = pad(&x, &[-1, 2, 1, 0], PadMode::Constant(Scalar::Float(9.0))).unwrap();
        assert_eq!(y.shape(), [3, 3]);
        assert_eq!(numbers(&y), [9.0, 9.0, 9.0, 2.0, 9.0, 9.0, 4.0, 9.0, 9.0]);
        let found = gradients(&y, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], &[&x]);
        assert_eq!(numbers(&found[0]), [0.0, 4.0, 0.0, 7.0]);
        assert!(pad(&x, &[-2, -1], PadMode::Constant(Scalar::Int(0))).is_err());
    }

    #[test]
    fn ends_are_made_of_what_is_there() {
        let x = leaf(&[1.0, 2.0, 3.0, 4.0], &[1, 1, 4]);
        let padded = |amounts: &[i64], mode| numbers(&pad(&x, amounts, mode).unwrap());
        assert_eq!(padded(&[2, 1], PadMode::Reflect), [3.0, 2.0, 1.0, 2.0, 3.0, 4.0, 3.0]);
        assert_eq!(padded(&[2, 1], PadMode::Replicate), [1.0, 1.0, 1.0, 2.0, 3.0, 4.0, 4.0]);
        assert_eq!(padded(&[2, 1], PadMode::Circular), [3.0, 4.0, 1.0, 2.0, 3.0, 4.0, 1.0]);
        assert_eq!(padded(&[-1, 1], PadMode::Reflect), [2.0, 3.0, 4.0, 3.0]);
        assert_eq!(padded(&[2, -1], PadMode::Circular), [2.0, 3.0, 1.0, 2.0, 3.0]);
        assert!(pad(&x, &[4, 0], PadMode::Reflect).is_err());
    }
}
