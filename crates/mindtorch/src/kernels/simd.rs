//! Loops compiled for several instruction sets, chosen when they run.

/// Runs `body`, compiled for the widest vectors that this machine has. Everything that `body` calls must be inlined into it
/// to profit: mark it `#[inline(always)]`.
#[inline(always)]
pub(crate) fn vectorized<R>(body: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(body)
}
