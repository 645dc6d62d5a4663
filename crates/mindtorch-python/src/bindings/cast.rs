//! Tensors in another type, by the type's name.

use super::call::bindings;
use mindtorch::{DType, ops};

bindings! {
    float: "float(Tensor input)", Method => |a| ops::to_dtype(a.tensor(0), DType::Float32);
    double: "double(Tensor input)", Method => |a| ops::to_dtype(a.tensor(0), DType::Float64);
    half: "half(Tensor input)", Method => |a| ops::to_dtype(a.tensor(0), DType::Float16);
    bfloat16: "bfloat16(Tensor input)", Method => |a| ops::to_dtype(a.tensor(0), DType::BFloat16);
    long: "long(Tensor input)", Method => |a| ops::to_dtype(a.tensor(0), DType::Int64);
    int: "int(Tensor input)", Method => |a| ops::to_dtype(a.tensor(0), DType::Int32);
    short: "short(Tensor input)", Method => |a| ops::to_dtype(a.tensor(0), DType::Int16);
    char: "char(Tensor input)", Method => |a| ops::to_dtype(a.tensor(0), DType::Int8);
    byte: "byte(Tensor input)", Method => |a| ops::to_dtype(a.tensor(0), DType::UInt8);
    bool: "bool(Tensor input)", Method => |a| ops::to_dtype(a.tensor(0), DType::Bool);
}
