//! Types of numbers, and how torch combines them.

use half::{bf16, f16};
use std::fmt;

/// The type of a tensor's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names say it")]
pub enum DType {
    Bool,
    UInt8,
    Int8,
    Int16,
    Int32,
    Int64,
    Float16,
    BFloat16,
    Float32,
    Float64,
}

/// What combines with what: a number of a higher category decides the result's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Category {
    Bool,
    Integer,
    Float,
}

impl DType {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Bool,
        Self::UInt8,
        Self::Int8,
        Self::Int16,
        Self::Int32,
        Self::Int64,
        Self::Float16,
        Self::BFloat16,
        Self::Float32,
        Self::Float64,
    ];

    /// Bytes of one number.
    #[inline]
    pub const fn size(self) -> usize {
        match self {
            Self::Bool | Self::UInt8 | Self::Int8 => 1,
            Self::Int16 | Self::Float16 | Self::BFloat16 => 2,
            Self::Int32 | Self::Float32 => 4,
            Self::Int64 | Self::Float64 => 8,
        }
    }

    /// Whether it can have fractions, and so a gradient.
    #[inline]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::Float16 | Self::BFloat16 | Self::Float32 | Self::Float64)
    }

    #[inline]
    pub(crate) const fn category(self) -> Category {
        match self {
            Self::Bool => Category::Bool,
            dtype if dtype.is_float() => Category::Float,
            _ => Category::Integer,
        }
    }

    /// As in `torch.float32`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::UInt8 => "uint8",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Float16 => "float16",
            Self::BFloat16 => "bfloat16",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
        }
    }

    /// As in error messages and in the profiler: `Float`, `Long`.
    pub const fn scalar_type(self) -> &'static str {
        match self {
            Self::Bool => "Bool",
            Self::UInt8 => "Byte",
            Self::Int8 => "Char",
            Self::Int16 => "Short",
            Self::Int32 => "Int",
            Self::Int64 => "Long",
            Self::Float16 => "Half",
            Self::BFloat16 => "BFloat16",
            Self::Float32 => "Float",
            Self::Float64 => "Double",
        }
    }

    /// The name that the profiler writes with an input: that of the C++ type.
    pub const fn profiler_name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::UInt8 => "unsigned char",
            Self::Int8 => "signed char",
            Self::Int16 => "short int",
            Self::Int32 => "int",
            Self::Int64 => "long int",
            Self::Float16 => "c10::Half",
            Self::BFloat16 => "c10::BFloat16",
            Self::Float32 => "float",
            Self::Float64 => "double",
        }
    }

    /// torch's number for it, which is what the profiler writes for a dtype argument.
    pub const fn number(self) -> i64 {
        match self {
            Self::UInt8 => 0,
            Self::Int8 => 1,
            Self::Int16 => 2,
            Self::Int32 => 3,
            Self::Int64 => 4,
            Self::Float16 => 5,
            Self::Float32 => 6,
            Self::Float64 => 7,
            Self::Bool => 11,
            Self::BFloat16 => 15,
        }
    }

    /// The type that holds what two tensors of these types give.
    pub fn promote(self, other: Self) -> Self {
        use DType::{BFloat16, Float16, Float32, Int8, Int16, UInt8};
        if self == other {
            return self;
        }
        match (self.min(other), self.max(other)) {
            (Float16, BFloat16) => Float32,
            (UInt8, Int8) => Int16,
            // Any float wins over any integer; else the larger wins, and the variants are in that order.
            (_, larger) => larger,
        }
    }

    /// The type to compute in: kernels exist for three, and the others are converted piece by piece.
    pub(crate) const fn compute(self) -> ComputeType {
        match self {
            Self::Float64 => ComputeType::F64,
            Self::Float32 | Self::Float16 | Self::BFloat16 => ComputeType::F32,
            _ => ComputeType::I64,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "torch.{}", self.name())
    }
}

/// The types that kernels compute in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComputeType {
    F32,
    F64,
    I64,
}

/// A number of Python's.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Scalar {
    Bool(bool),
    Int(i64),
    Float(f64),
}

impl Scalar {
    /// The type of a tensor made of it.
    pub fn dtype(self) -> DType {
        match self {
            Self::Bool(_) => DType::Bool,
            Self::Int(_) => DType::Int64,
            Self::Float(_) => default_dtype(),
        }
    }

    /// As a float.
    #[inline]
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Bool(value) => f64::from(u8::from(value)),
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    /// As an integer, cut off at the point.
    #[inline]
    pub fn to_i64(self) -> i64 {
        match self {
            Self::Bool(value) => i64::from(value),
            Self::Int(value) => value,
            Self::Float(value) => value as i64,
        }
    }
}

impl From<f64> for Scalar {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<i64> for Scalar {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<bool> for Scalar {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(true) => f.write_str("True"),
            Self::Bool(false) => f.write_str("False"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => f.write_str(&mindtorch_profiler::float_text(*value)),
        }
    }
}

static DEFAULT: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(DType::Float32 as u8);

/// The type of floats that nobody gave a type.
pub fn default_dtype() -> DType {
    DType::ALL[DEFAULT.load(std::sync::atomic::Ordering::Relaxed) as usize]
}

/// Changes [`default_dtype`].
pub fn set_default_dtype(dtype: DType) {
    DEFAULT.store(dtype as u8, std::sync::atomic::Ordering::Relaxed);
}

/// A type that lies in tensors.
pub trait Element: Copy + Send + Sync + 'static {
    /// Its name at run time.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($type:ty => $dtype:ident),*) => { $(impl Element for $type { const DTYPE: DType = DType::$dtype; })* };
}

elements!(bool => Bool, u8 => UInt8, i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64, f16 => Float16, bf16 => BFloat16, f32 => Float32, f64 => Float64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promotion_is_symmetric_and_keeps_the_higher_category() {
        for a in DType::ALL {
            for b in DType::ALL {
                let both = a.promote(b);
                assert_eq!(both, b.promote(a));
                assert!(both.category() >= a.category().max(b.category()));
            }
        }
        assert_eq!(DType::UInt8.promote(DType::Int8), DType::Int16);
        assert_eq!(DType::Float16.promote(DType::Int64), DType::Float16);
    }
}
