//! What becomes of a number that another is written to.

use crate::dtype::DType;
use half::{bf16, f16};

/// How numbers are written to where there are numbers already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Update {
    /// They replace them.
    Replace,
    /// They are added to them.
    Add,
}

/// A kernel that writes numbers, for any type of them.
pub(crate) trait Writer {
    /// Writes with this function of what is there and what is written.
    fn write<T: Copy + Send + Sync>(self, update: impl Fn(T, T) -> T + Copy + Sync);
}

impl Update {
    /// Runs a kernel for numbers of type `dtype`.
    pub(crate) fn write(self, dtype: DType, writer: impl Writer) {
        match (self, dtype) {
            (Self::Replace, dtype) => match dtype.size() {
                1 => writer.write::<u8>(|_, new| new),
                2 => writer.write::<u16>(|_, new| new),
                4 => writer.write::<u32>(|_, new| new),
                _ => writer.write::<u64>(|_, new| new),
            },
            (Self::Add, DType::Bool) => writer.write::<u8>(|old, new| u8::from((old | new) != 0)),
            (Self::Add, DType::UInt8) => writer.write(u8::wrapping_add),
            (Self::Add, DType::Int8) => writer.write(i8::wrapping_add),
            (Self::Add, DType::Int16) => writer.write(i16::wrapping_add),
            (Self::Add, DType::Int32) => writer.write(i32::wrapping_add),
            (Self::Add, DType::Int64) => writer.write(i64::wrapping_add),
            (Self::Add, DType::Float16) => writer.write(|old: f16, new| f16::from_f32(old.to_f32() + new.to_f32())),
            (Self::Add, DType::BFloat16) => writer.write(|old: bf16, new| bf16::from_f32(old.to_f32() + new.to_f32())),
            (Self::Add, DType::Float32) => writer.write(|old: f32, new| old + new),
            (Self::Add, DType::Float64) => writer.write(|old: f64, new| old + new),
        }
    }
}
