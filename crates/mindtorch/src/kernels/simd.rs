//! Loops compiled for several instruction sets, chosen when they run.

use std::sync::LazyLock;

/// What this machine has. Asked once: there are some twenty features to ask for.
static ARCH: LazyLock<pulp::Arch> = LazyLock::new(pulp::Arch::new);

/// Runs `body`, compiled for the widest vectors that this machine has. Everything that `body` calls must be inlined into it
/// to profit: mark it `#[inline(always)]`.
#[inline(always)]
pub(crate) fn vectorized<R>(body: impl FnOnce() -> R) -> R {
    ARCH.dispatch(body)
}
