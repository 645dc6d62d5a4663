//! The things that records refer to by id: names and stacks. Operator inputs are in `inputs.rs`.

use crate::intern::{Interner, Recent};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

thread_local! {
    static RECENT_NAMES: RefCell<Recent<str>> = const { RefCell::new(Recent::new()) };
    static RECENT_STACKS: RefCell<Recent<[u32]>> = const { RefCell::new(Recent::new()) };
}

pub(crate) static NAMES: Interner<str> = Interner::new(&RECENT_NAMES);
pub(crate) static STACKS: Interner<[u32]> = Interner::new(&RECENT_STACKS);

/// An interned name. Equal texts give equal names, in the whole process, for as long as it runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Name(pub(crate) u32);

impl Name {
    /// That of no text.
    pub const EMPTY: Self = Self(0);

    /// The name with this text: about 10 ns for a short text that this thread used lately.
    pub fn new(text: &str) -> Self {
        if text.is_empty() { Self::EMPTY } else { Self(NAMES.id(text)) }
    }

    /// The name with these bytes, which should be UTF-8; what is not is replaced by U+FFFD, visibly.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self::new(&String::from_utf8_lossy(bytes))
    }

    /// The text.
    pub fn text(self) -> Arc<str> {
        NAMES.value(self.0).unwrap_or_default()
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Name({:?})", self.text())
    }
}

/// An interned source stack, innermost frame first. Equal stacks give equal ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stack(pub(crate) u32);

impl Stack {
    /// No stack.
    pub const NONE: Self = Self(0);

    /// The stack of these frames, innermost first, each written as torch writes it: `file(line): function`.
    pub fn new(frames: &[Name]) -> Self {
        if frames.is_empty() {
            return Self::NONE;
        }
        let ids: SmallVec<[u32; 32]> = frames.iter().map(|frame| frame.0).collect();
        Self(STACKS.id(&ids))
    }

    /// The stack of one frame.
    pub(crate) fn of_site(frame: &str) -> Self {
        Self::new(&[Name::new(frame)])
    }

    /// The frames, innermost first.
    pub fn frames(self) -> Vec<Name> {
        STACKS.value(self.0).map_or_else(Vec::new, |ids| ids.iter().map(|&id| Name(id)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_bytes_and_show_what_is_not_text() {
        for text in ["", "a", "say \"hi\"", "a\\b", "a\nb", "a\0b", "日本語", "re"] {
            assert_eq!(&*Name::new(text).text(), text);
        }
        assert_eq!(&*Name::from_bytes(b"a\xffb").text(), "a\u{fffd}b");
    }

    #[test]
    fn stacks_keep_their_frames() {
        let frames = [Name::new("leaf.py(3): leaf"), Name::new("main.py(9): <module>")];
        assert_eq!(Stack::new(&frames).frames(), frames);
        assert_eq!(Stack::new(&frames), Stack::new(&frames));
        assert_eq!(Stack::new(&[]), Stack::NONE);
    }
}
