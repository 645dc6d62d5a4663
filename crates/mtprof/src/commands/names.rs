//! Names as tables show them: those of kernels can be longer than a page.

/// Characters of a name that are shown.
const SHOWN: usize = 100;

pub(super) fn short(name: &str) -> String {
    match name.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}
