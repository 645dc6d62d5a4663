//! The operations, each a function with torch's name: it checks its arguments, allocates the result, launches the kernel and
//! says how its gradient is computed.

mod binary;
mod compare;
mod copy;
mod creation;
mod join;
mod operand;
mod reduce;
mod ternary;
mod unary;
mod view;

pub use binary::*;
pub use compare::*;
pub use copy::*;
pub use creation::*;
pub use join::*;
pub use operand::*;
pub use reduce::*;
pub use ternary::*;
pub use unary::*;
pub use view::*;
