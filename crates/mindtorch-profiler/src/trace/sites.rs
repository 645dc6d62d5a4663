//! The stacks of spans that know only where they began: the places of the spans around them are the frames beneath.

use super::columns::Sparse;
use crate::names::STACKS;
use rustc_hash::FxHashMap;

/// A stack has at most this many frames: the innermost, as a reader would want them. Without a bound, spans that nest
/// thousands deep would need memory in the square of their depth.
const DEEPEST: usize = 128;

#[derive(Default)]
pub(super) struct SiteStacks {
    /// By row: the stack of the innermost span that has one, itself or around it.
    innermost: Sparse<u32>,
    /// Whole stacks, by site and by the stack around it.
    whole: FxHashMap<(u32, u32), u32>,
}

impl SiteStacks {
    /// The stack that has `site` on top of those of the spans around it, of which `parent` is the innermost.
    pub(super) fn below(&mut self, site: u32, parent: u32) -> u32 {
        let around = self.innermost(parent);
        if around == 0 {
            return site;
        }
        *self.whole.entry((site, around)).or_insert_with(|| {
            let frames = [site, around].into_iter().filter_map(|stack| STACKS.value(stack));
            let frames: Vec<u32> = frames.flat_map(|stack| stack.to_vec()).take(DEEPEST).collect();
            STACKS.id(&frames)
        })
    }

    /// The stack of the innermost span that has one, of `parent` and those around it.
    pub(super) fn innermost(&self, parent: u32) -> u32 {
        self.innermost.get(parent as usize)
    }

    /// Notes the stack of a row, or that it has none of its own.
    pub(super) fn enter(&mut self, row: usize, stack: u32, parent: u32) {
        let innermost = if stack == 0 { self.innermost(parent) } else { stack };
        self.innermost.set(row, innermost);
    }
}
