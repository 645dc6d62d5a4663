//! Batches, as the interface has them: columns as they are, with what keeps them.

#![expect(unsafe_code, reason = "structures that are given back by a function of whoever made them")]

use super::abi::ArrowArray;
use crate::export::columns::{BATCH_ROWS, Batch, Column, Field, Frame, Ints, Kind, Texts, Validity};
use std::any::Any;
use std::borrow::Cow;
use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

/// What an array points to.
#[derive(Default)]
struct Kept {
    buffers: Vec<*const c_void>,
    /// The buffers that were made for it.
    made: Vec<Box<dyn Any + Send>>,
    /// What the other buffers belong to.
    owner: Option<Arc<dyn Frame>>,
    children: Vec<*mut ArrowArray>,
    dictionary: Option<*mut ArrowArray>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        for part in self.children.drain(..).chain(self.dictionary.take()) {
            // SAFETY: `boxed` took them out of boxes. One that was moved says so, and does nothing when it is dropped.
            drop(unsafe { Box::from_raw(part) });
        }
    }
}

fn boxed(part: ArrowArray) -> *mut ArrowArray {
    Box::into_raw(Box::new(part))
}

impl Kept {
    fn null(&mut self) {
        self.buffers.push(std::ptr::null());
    }

    fn validity(&mut self, validity: Validity) {
        match validity.into_flags() {
            Some(flags) => self.made(flags.into_bytes()),
            None => self.null(),
        }
    }

    fn made<T: Send + 'static>(&mut self, buffer: Vec<T>) {
        self.buffers.push(buffer.as_ptr().cast());
        self.made.push(Box::new(buffer));
    }

    /// A buffer of the table's.
    fn lent<T>(&mut self, buffer: &[T], owner: &Arc<dyn Frame>) {
        self.buffers.push(buffer.as_ptr().cast());
        self.owner = Some(Arc::clone(owner));
    }

    fn finish(self, rows: usize, nulls: usize) -> ArrowArray {
        let mut kept = Box::new(self);
        ArrowArray {
            length: rows as i64,
            null_count: nulls as i64,
            offset: 0,
            n_buffers: kept.buffers.len() as i64,
            n_children: kept.children.len() as i64,
            buffers: kept.buffers.as_mut_ptr(),
            children: kept.children.as_mut_ptr(),
            dictionary: kept.dictionary.unwrap_or(std::ptr::null_mut()),
            release: Some(release),
            private_data: Box::into_raw(kept).cast(),
        }
    }
}

/// A batch of a table. What it lends is kept by holding the table, which never changes.
pub(super) fn of_batch(frame: &Arc<dyn Frame>, start: usize) -> ArrowArray {
    let Batch { rows, columns } = frame.batch(start);
    let mut kept = Kept::default();
    kept.null();
    for (field, column) in frame.fields().iter().zip(columns) {
        kept.children.push(boxed(of_column(frame, field, column, rows)));
    }
    kept.finish(rows, 0)
}

fn of_column(frame: &Arc<dyn Frame>, field: &Field, column: Column<'_>, rows: usize) -> ArrowArray {
    let mut kept = Kept::default();
    let mut nulls = 0;
    let mut validity = |kept: &mut Kept, validity: Validity| {
        nulls = validity.nulls();
        kept.validity(validity);
    };
    match column {
        Column::Ints(ints, valid) => {
            validity(&mut kept, valid);
            match ints {
                Ints::Made(values) => kept.made(values),
                Ints::OfTrace(values) => kept.lent(values, frame),
            }
        }
        Column::Floats(values, valid) => {
            validity(&mut kept, valid);
            kept.made(values);
        }
        Column::Flags(flags, valid) => {
            validity(&mut kept, valid);
            kept.made(flags.into_bytes());
        }
        Column::Symbols(codes, valid, texts) => {
            validity(&mut kept, valid);
            match codes {
                Cow::Owned(codes) => kept.made(codes),
                Cow::Borrowed(codes) => kept.lent(codes, frame),
            }
            kept.dictionary = Some(boxed(of_shared_texts(texts)));
        }
        Column::Texts(texts, valid) => {
            validity(&mut kept, valid);
            kept.made(texts.offsets);
            kept.made(texts.bytes);
        }
        Column::Lists(offsets, valid, items) => {
            validity(&mut kept, valid);
            let count = offsets.last().map_or(0, |&end| end as usize);
            kept.made(offsets);
            if let Kind::List(item) = field.kind {
                kept.children.push(boxed(of_column(frame, item, *items, count)));
            }
        }
        Column::Nulls => return of_nulls(field, rows),
    }
    kept.finish(rows, nulls)
}

/// Texts that other batches have, too.
fn of_shared_texts(texts: Arc<Texts>) -> ArrowArray {
    let mut kept = Kept::default();
    kept.null();
    kept.buffers.extend([texts.offsets.as_ptr().cast(), texts.bytes.as_ptr().cast()]);
    let count = texts.len();
    kept.made.push(Box::new(texts));
    kept.finish(count, 0)
}

/// A column of nulls. All have the same buffers: zeros, of which no bit says that there is a value.
fn of_nulls(field: &Field, rows: usize) -> ArrowArray {
    static ZEROS: OnceLock<Vec<u64>> = OnceLock::new();
    let zeros = ZEROS.get_or_init(|| vec![0; BATCH_ROWS + 1]).as_ptr().cast();
    let mut kept = Kept::default();
    kept.buffers.extend([zeros, zeros]);
    match field.kind {
        Kind::Int | Kind::Float | Kind::Flag => {}
        Kind::Text => kept.buffers.push(zeros),
        Kind::Symbol => kept.dictionary = Some(boxed(of_shared_texts(Arc::default()))),
        Kind::List(item) => kept.children.push(boxed(of_nulls(item, 0))),
    }
    kept.finish(rows, rows)
}

unsafe extern "C" fn release(array: *mut ArrowArray) {
    // SAFETY: the interface has it called once, with an array that `finish` made.
    unsafe {
        drop(Box::from_raw((*array).private_data.cast::<Kept>()));
        (*array).release = None;
    }
}
