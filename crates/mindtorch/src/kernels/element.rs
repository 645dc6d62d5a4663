//! Numbers on their way between memory and registers: kernels compute in a few types, tensors have ten.

#![expect(unsafe_code, reason = "operands are addresses and strides here")]

use super::simd::vectorized;
use crate::dtype::{DType, Element};
use half::{bf16, f16};

/// A type that kernels compute in.
pub(crate) trait Compute: Copy + Default + Send + Sync + 'static {
    /// Whether a tensor of this type can be used as it lies.
    fn is(dtype: DType) -> bool;
    fn of_f32(value: f32) -> Self;
    fn of_f64(value: f64) -> Self;
    fn of_i64(value: i64) -> Self;
    fn to_f32(self) -> f32;
    fn to_f64(self) -> f64;
    fn to_i64(self) -> i64;
    fn is_true(self) -> bool;
}

/// A truth: 0 or 1 in a byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Truth(pub(crate) u8);

impl From<bool> for Truth {
    #[inline(always)]
    fn from(value: bool) -> Self {
        Self(u8::from(value))
    }
}

macro_rules! compute {
    ($type:ty, $dtype:ident) => {
        #[allow(clippy::cast_lossless, reason = "only some casts of only some of the types are")]
        impl Compute for $type {
            #[inline(always)]
            fn is(dtype: DType) -> bool {
                dtype == DType::$dtype
            }
            #[inline(always)]
            fn of_f32(value: f32) -> Self {
                value as $type
            }
            #[inline(always)]
            fn of_f64(value: f64) -> Self {
                value as $type
            }
            #[inline(always)]
            fn of_i64(value: i64) -> Self {
                value as $type
            }
            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn to_i64(self) -> i64 {
                self as i64
            }
            #[inline(always)]
            fn is_true(self) -> bool {
                self != 0 as $type
            }
        }
    };
}

compute!(f32, Float32);
compute!(f64, Float64);
compute!(i64, Int64);

impl Compute for Truth {
    #[inline(always)]
    fn is(dtype: DType) -> bool {
        dtype == DType::Bool
    }
    #[inline(always)]
    fn of_f32(value: f32) -> Self {
        (value != 0.0).into()
    }
    #[inline(always)]
    fn of_f64(value: f64) -> Self {
        (value != 0.0).into()
    }
    #[inline(always)]
    fn of_i64(value: i64) -> Self {
        (value != 0).into()
    }
    #[inline(always)]
    fn to_f32(self) -> f32 {
        f32::from(self.0)
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self.0)
    }
    #[inline(always)]
    fn to_i64(self) -> i64 {
        i64::from(self.0)
    }
    #[inline(always)]
    fn is_true(self) -> bool {
        self.0 != 0
    }
}

/// A type that lies in memory.
trait Stored: Element {
    fn widen<C: Compute>(self) -> C;
    fn narrow<C: Compute>(value: C) -> Self;
}

macro_rules! stored {
    ($($type:ty: $value:ident => $widen:expr, $computed:ident => $narrow:expr;)*) => {$(
        impl Stored for $type {
            #[inline(always)]
            fn widen<C: Compute>(self) -> C {
                let $value = self;
                $widen
            }
            #[inline(always)]
            fn narrow<C: Compute>($computed: C) -> Self {
                $narrow
            }
        }
    )*};
}

stored! {
    f32: x => C::of_f32(x), y => y.to_f32();
    f64: x => C::of_f64(x), y => y.to_f64();
    i64: x => C::of_i64(x), y => y.to_i64();
    i32: x => C::of_i64(i64::from(x)), y => y.to_i64() as i32;
    i16: x => C::of_i64(i64::from(x)), y => y.to_i64() as i16;
    i8: x => C::of_i64(i64::from(x)), y => y.to_i64() as i8;
    u8: x => C::of_i64(i64::from(x)), y => y.to_i64() as u8;
    f16: x => C::of_f32(x.to_f32()), y => f16::from_f32(y.to_f32());
    bf16: x => C::of_f32(x.to_f32()), y => bf16::from_f32(y.to_f32());
}

/// Reads numbers of any type, `stride` apart, as numbers to compute with.
///
/// # Safety
/// From `from` on there must be `into.len()` numbers of type `dtype` that far apart.
pub(crate) unsafe fn load<C: Compute>(dtype: DType, from: *const u8, stride: usize, into: &mut [C]) {
    // SAFETY: as the caller says, and the type is the one that `dtype` names.
    unsafe {
        match dtype {
            // A truth is a byte, whatever is in it.
            DType::Bool => {
                for (index, number) in into.iter_mut().enumerate() {
                    *number = C::of_i64(i64::from(*from.add(index * stride) != 0));
                }
            }
            DType::UInt8 => load_as::<u8, C>(from.cast(), stride, into),
            DType::Int8 => load_as::<i8, C>(from.cast(), stride, into),
            DType::Int16 => load_as::<i16, C>(from.cast(), stride, into),
            DType::Int32 => load_as::<i32, C>(from.cast(), stride, into),
            DType::Int64 => load_as::<i64, C>(from.cast(), stride, into),
            DType::Float16 => load_as::<f16, C>(from.cast(), stride, into),
            DType::BFloat16 => load_as::<bf16, C>(from.cast(), stride, into),
            DType::Float32 => load_as::<f32, C>(from.cast(), stride, into),
            DType::Float64 => load_as::<f64, C>(from.cast(), stride, into),
        }
    }
}

#[inline(always)]
unsafe fn load_as<S: Stored, C: Compute>(from: *const S, stride: usize, into: &mut [C]) {
    vectorized(
        #[inline(always)]
        || {
            if stride == 1 {
                // SAFETY: as the caller of `load` says.
                let from = unsafe { std::slice::from_raw_parts(from, into.len()) };
                for (number, &stored) in into.iter_mut().zip(from) {
                    *number = stored.widen();
                }
            } else {
                for (index, number) in into.iter_mut().enumerate() {
                    // SAFETY: as the caller of `load` says.
                    *number = unsafe { *from.add(index * stride) }.widen();
                }
            }
        },
    );
}

/// Writes computed numbers as numbers of any type, `stride` apart.
///
/// # Safety
/// From `to` on there must be places for `from.len()` numbers of type `dtype` that far apart.
pub(crate) unsafe fn store<C: Compute>(from: &[C], dtype: DType, to: *mut u8, stride: usize) {
    // SAFETY: as the caller says, and the type is the one that `dtype` names.
    unsafe {
        match dtype {
            DType::Bool => {
                for (index, number) in from.iter().enumerate() {
                    *to.add(index * stride) = u8::from(number.is_true());
                }
            }
            DType::UInt8 => store_as::<u8, C>(from, to.cast(), stride),
            DType::Int8 => store_as::<i8, C>(from, to.cast(), stride),
            DType::Int16 => store_as::<i16, C>(from, to.cast(), stride),
            DType::Int32 => store_as::<i32, C>(from, to.cast(), stride),
            DType::Int64 => store_as::<i64, C>(from, to.cast(), stride),
            DType::Float16 => store_as::<f16, C>(from, to.cast(), stride),
            DType::BFloat16 => store_as::<bf16, C>(from, to.cast(), stride),
            DType::Float32 => store_as::<f32, C>(from, to.cast(), stride),
            DType::Float64 => store_as::<f64, C>(from, to.cast(), stride),
        }
    }
}

#[inline(always)]
unsafe fn store_as<S: Stored, C: Compute>(from: &[C], to: *mut S, stride: usize) {
    vectorized(
        #[inline(always)]
        || {
            if stride == 1 {
                // SAFETY: as the caller of `store` says.
                let to = unsafe { std::slice::from_raw_parts_mut(to, from.len()) };
                for (place, &number) in to.iter_mut().zip(from) {
                    *place = S::narrow(number);
                }
            } else {
                for (index, &number) in from.iter().enumerate() {
                    // SAFETY: as the caller of `store` says.
                    unsafe { *to.add(index * stride) = S::narrow(number) };
                }
            }
        },
    );
}
