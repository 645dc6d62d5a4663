//! Arrays that are too large for the stack.

/// So many of the same.
pub(crate) fn boxed<T: Clone, const N: usize>(each: T) -> Box<[T; N]> {
    vec![each; N]
        .into_boxed_slice()
        .try_into()
        .unwrap_or_else(|_| unreachable!("a slice has the length that it was made with"))
}
