//! What layers of networks compute.

use super::args::Args;
use super::call::{Output, bindings};
use mindtorch::ops::{self, Attention, BatchNorm, LossReduction, PadMode, Padding};
use mindtorch::{Error, ErrorKind, Result, Scalar, Tensor};

fn reduction(number: i64) -> Result<LossReduction> {
    match number {
        0 => Ok(LossReduction::None),
        1 => Ok(LossReduction::Mean),
        2 => Ok(LossReduction::Sum),
        other => Err(Error::new(ErrorKind::Value, format!("{other} is not a valid value for reduction"))),
    }
}

fn padding(a: &Args, index: usize) -> Result<Padding<'_>> {
    match a.text_instead(index) {
        None => Ok(Padding::Zeros(a.ints(index))),
        Some("same") => Ok(Padding::Same),
        Some("valid") => Ok(Padding::Valid),
        Some(other) => Err(Error::new(ErrorKind::Runtime, format!("Invalid padding string: '{other}'"))),
    }
}

fn pad_mode(mode: &str, value: Option<Scalar>) -> Result<PadMode> {
    let mode = match mode {
        "constant" => return Ok(PadMode::Constant(value.unwrap_or(Scalar::Float(0.0)))),
        "reflect" => PadMode::Reflect,
        "replicate" => PadMode::Replicate,
        "circular" => PadMode::Circular,
        other => {
            return Err(Error::new(ErrorKind::NotImplemented, format!("Unrecognised padding mode {other}")));
        }
    };
    if value.is_some_and(|value| value.to_f64() != 0.0) {
        let name = format!("{mode:?}").to_lowercase();
        let message = format!("Padding mode \"{name}\" doesn't take in value argument");
        return Err(Error::new(ErrorKind::Runtime, message));
    }
    Ok(mode)
}

fn batch_norm(a: &Args) -> Result<Tensor> {
    let norm = BatchNorm {
        weight: a.opt_tensor(1),
        bias: a.opt_tensor(2),
        running_mean: a.opt_tensor(3),
        running_var: a.opt_tensor(4),
        training: a.bool(5),
        momentum: a.float(6),
        eps: a.float(7),
    };
    ops::batch_norm(a.tensor(0), norm)
}

fn attention(a: &Args) -> Result<Tensor> {
    let attention = Attention {
        mask: a.opt_tensor(3),
        dropout_p: a.float(4),
        is_causal: a.bool(5),
        scale: a.opt_float(6),
        enable_gqa: a.bool(7),
    };
    ops::scaled_dot_product_attention(a.tensor(0), a.tensor(1), a.tensor(2), attention)
}

bindings! {
    softmax: "softmax(Tensor input, int dim, dtype? dtype=None)", Both => |a| ops::softmax(a.tensor(0), a.int(1), a.dtype(2));
    log_softmax: "log_softmax(Tensor input, int dim, dtype? dtype=None)", Both => |a| ops::log_softmax(a.tensor(0), a.int(1), a.dtype(2));
    mse_loss: "mse_loss(Tensor input, Tensor target, int reduction=1)", Function => |a| ops::mse_loss(a.tensor(0), a.tensor(1), reduction(a.int(2))?);
    l1_loss: "l1_loss(Tensor input, Tensor target, int reduction=1)", Function => |a| ops::l1_loss(a.tensor(0), a.tensor(1), reduction(a.int(2))?);
    nll_loss: "nll_loss(Tensor input, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100)", Function => |a| {
        ops::nll_loss(a.tensor(0), a.tensor(1), a.opt_tensor(2), reduction(a.int(3))?, a.int(4))
    };
    cross_entropy_loss: "cross_entropy_loss(Tensor input, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100, float label_smoothing=0.0)", Function => |a| {
        ops::cross_entropy_loss(a.tensor(0), a.tensor(1), a.opt_tensor(2), reduction(a.int(3))?, a.int(4), a.float(5))
    };
    binary_cross_entropy_with_logits: "binary_cross_entropy_with_logits(Tensor input, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1)", Function => |a| {
        ops::binary_cross_entropy_with_logits(a.tensor(0), a.tensor(1), a.opt_tensor(2), a.opt_tensor(3), reduction(a.int(4))?)
    };
    layer_norm: "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True)", Function => |a| {
        ops::layer_norm(a.tensor(0), a.ints(1), a.opt_tensor(2), a.opt_tensor(3), a.float(4))
    };
    rms_norm: "rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None)", Function => |a| {
        ops::rms_norm(a.tensor(0), a.ints(1), a.opt_tensor(2), a.opt_float(3))
    };
    group_norm: "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True)", Function => |a| {
        ops::group_norm(a.tensor(0), a.int(1), a.opt_tensor(2), a.opt_tensor(3), a.float(4))
    };
    batch_norm: "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled)", Function => self::batch_norm;
    dropout: "dropout(Tensor input, float p, bool train)", Function => |a| ops::dropout(a.tensor(0), a.float(1), a.bool(2));
    dropout_: "dropout_(Tensor input, float p, bool train)", Function => |a| ops::dropout_(a.tensor(0), a.float(1), a.bool(2));
    conv1d: "conv1d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[]|str padding=0, int[] dilation=1, int groups=1)", Function => |a| {
        ops::conv1d(a.tensor(0), a.tensor(1), a.opt_tensor(2), a.ints(3), padding(a, 4)?, a.ints(5), a.int(6))
    };
    conv2d: "conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[]|str padding=0, int[] dilation=1, int groups=1)", Function => |a| {
        ops::conv2d(a.tensor(0), a.tensor(1), a.opt_tensor(2), a.ints(3), padding(a, 4)?, a.ints(5), a.int(6))
    };
    max_pool2d: "max_pool2d(Tensor input, int[] kernel_size, int[] stride=[], int[] padding=0, int[] dilation=1, bool ceil_mode=False)", Function => |a| {
        ops::max_pool2d(a.tensor(0), a.ints(1), a.ints(2), a.ints(3), a.ints(4), a.bool(5))
    };
    max_pool2d_with_indices: "max_pool2d_with_indices(Tensor input, int[] kernel_size, int[] stride=[], int[] padding=0, int[] dilation=1, bool ceil_mode=False)", Function => |a| {
        let (out, indices) = ops::max_pool2d_with_indices(a.tensor(0), a.ints(1), a.ints(2), a.ints(3), a.ints(4), a.bool(5))?;
        Ok(Output::Tensors(vec![out, indices]))
    };
    avg_pool2d: "avg_pool2d(Tensor input, int[] kernel_size, int[] stride=[], int[] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None)", Function => |a| {
        ops::avg_pool2d(a.tensor(0), a.ints(1), a.ints(2), a.ints(3), a.bool(4), a.bool(5), a.opt_int(6))
    };
    adaptive_avg_pool2d: "adaptive_avg_pool2d(Tensor input, int[] output_size)", Function => |a| ops::adaptive_avg_pool2d(a.tensor(0), a.ints(1));
    scaled_dot_product_attention: "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False)", Function => self::attention;
    pad: "pad(Tensor input, int[] pad, str mode='constant', Scalar? value=None)", Function => |a| ops::pad(a.tensor(0), a.ints(1), pad_mode(a.text(2), a.opt_scalar(3))?);
    constant_pad_nd: "constant_pad_nd(Tensor input, int[] pad, Scalar value=0)", Function => |a| ops::constant_pad_nd(a.tensor(0), a.ints(1), a.scalar(2));
}
