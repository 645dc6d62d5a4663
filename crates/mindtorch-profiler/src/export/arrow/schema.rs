//! The types of tables, in the interface's letters.

#![expect(unsafe_code, reason = "structures that are given back by a function of whoever made them")]

use super::abi::ArrowSchema;
use crate::export::columns::{Field, Frame, Kind};
use std::ffi::{CStr, CString, c_char};

const NULLABLE: i64 = 2;

/// What a schema points to.
struct Kept {
    name: CString,
    metadata: Vec<u8>,
    children: Vec<*mut ArrowSchema>,
    dictionary: Option<*mut ArrowSchema>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        for part in self.children.drain(..).chain(self.dictionary.take()) {
            // SAFETY: `new` took them out of boxes. One that was moved says so, and does nothing when it is dropped.
            drop(unsafe { Box::from_raw(part) });
        }
    }
}

pub(super) fn of_frame(frame: &dyn Frame) -> ArrowSchema {
    let children = frame.fields().iter().map(of_field).collect();
    new(c"+s", "", 0, metadata(&frame.metadata()), children, None)
}

fn of_field(field: &Field) -> ArrowSchema {
    let flags = if field.is_nullable { NULLABLE } else { 0 };
    let plain = |format| new(format, field.name, flags, Vec::new(), Vec::new(), None);
    match field.kind {
        Kind::Int => plain(c"l"),
        Kind::Float => plain(c"g"),
        Kind::Flag => plain(c"b"),
        Kind::Text => plain(c"u"),
        // Numbers with a sign, for some readers take no others.
        Kind::Symbol => {
            let texts = new(c"u", "", 0, Vec::new(), Vec::new(), None);
            new(c"i", field.name, flags, Vec::new(), Vec::new(), Some(texts))
        }
        Kind::List(item) => new(c"+l", field.name, flags, Vec::new(), vec![of_field(item)], None),
    }
}

/// Keys and values in the interface's form: their number, and each with its length before it.
fn metadata(entries: &[(&str, String)]) -> Vec<u8> {
    if entries.is_empty() {
        return Vec::new();
    }
    let mut bytes = (entries.len() as i32).to_ne_bytes().to_vec();
    for text in entries.iter().flat_map(|(key, value)| [*key, value.as_str()]) {
        bytes.extend((text.len() as i32).to_ne_bytes());
        bytes.extend(text.as_bytes());
    }
    bytes
}

fn new(
    format: &'static CStr,
    name: &str,
    flags: i64,
    metadata: Vec<u8>,
    children: Vec<ArrowSchema>,
    dictionary: Option<ArrowSchema>,
) -> ArrowSchema {
    let boxed = |part| Box::into_raw(Box::new(part));
    let mut kept = Box::new(Kept {
        name: CString::new(name).unwrap_or_default(),
        metadata,
        children: children.into_iter().map(boxed).collect(),
        dictionary: dictionary.map(boxed),
    });
    ArrowSchema {
        format: format.as_ptr(),
        name: kept.name.as_ptr(),
        metadata: if kept.metadata.is_empty() { std::ptr::null() } else { kept.metadata.as_ptr().cast::<c_char>() },
        flags,
        n_children: kept.children.len() as i64,
        children: kept.children.as_mut_ptr(),
        dictionary: kept.dictionary.unwrap_or(std::ptr::null_mut()),
        release: Some(release),
        private_data: Box::into_raw(kept).cast(),
    }
}

unsafe extern "C" fn release(schema: *mut ArrowSchema) {
    // SAFETY: the interface has it called once, with a schema that `new` made.
    unsafe {
        drop(Box::from_raw((*schema).private_data.cast::<Kept>()));
        (*schema).release = None;
    }
}
