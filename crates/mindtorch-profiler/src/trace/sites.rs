//! The stacks of spans that know only where they began: the places of the spans around them are the frames beneath.

use crate::names::STACKS;
use rustc_hash::FxHashMap;

/// A stack has at most this many frames: the innermost, as a reader would want them. Without a bound, spans that nest
/// thousands deep would need memory in the square of their depth.
const DEEPEST: usize = 128;

/// Whole stacks, by site and by the stack of the span around it.
#[derive(Default)]
pub(super) struct SiteStacks(FxHashMap<(u32, u32), u32>);

impl SiteStacks {
    /// The stack that has `site` on top of the stack `around`.
    pub(super) fn below(&mut self, site: u32, around: u32) -> u32 {
        if around == 0 {
            return site;
        }
        *self.0.entry((site, around)).or_insert_with(|| {
            let frames = [site, around].into_iter().filter_map(|stack| STACKS.value(stack));
            let frames: Vec<u32> = frames.flat_map(|stack| stack.to_vec()).take(DEEPEST).collect();
            STACKS.id(&frames)
        })
    }
}
