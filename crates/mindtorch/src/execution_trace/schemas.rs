//! torch's signatures of our operations, by which tools that replay a trace find them.

use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// By what stands before the parenthesis: `aten::add.Tensor`.
static SCHEMAS: LazyLock<FxHashMap<&str, &str>> = LazyLock::new(|| {
    let lines = include_str!("schemas.txt").lines();
    lines.filter_map(|line| line.split_once('(').map(|(name, _)| (name, line))).collect()
});

/// The signature of an operation, or `""`.
pub(super) fn schema(name: &str, overload: &str) -> &'static str {
    let found = if overload.is_empty() { SCHEMAS.get(name) } else { SCHEMAS.get(&*format!("{name}.{overload}")) };
    found.copied().unwrap_or_default()
}
