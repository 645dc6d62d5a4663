//! A reader of Arrow's C stream interface, as simple as it can be: rows of JSON values.

#![expect(unsafe_code, reason = "the interface is C structures behind pointers")]

use mindtorch_profiler::{ArrowArray, ArrowArrayStream, ArrowSchema};
use serde_json::{Map, Value};
use std::ffi::CStr;
use std::mem::MaybeUninit;

/// What a stream gives: a value for each row and name, the sizes of its batches, and the metadata of its schema.
pub(crate) struct Read {
    pub(crate) rows: Vec<Map<String, Value>>,
    pub(crate) batches: Vec<usize>,
    pub(crate) metadata: Map<String, Value>,
    /// The arrays, which were not given back yet, and may be looked at.
    pub(crate) arrays: Vec<ArrowArray>,
}

pub(crate) fn schema_of(stream: &mut ArrowArrayStream) -> ArrowSchema {
    let mut schema = MaybeUninit::uninit();
    // SAFETY: the stream was not given back, and there is a place for the schema.
    unsafe {
        assert_eq!(stream.get_schema.unwrap()(stream, schema.as_mut_ptr()), 0);
        schema.assume_init()
    }
}

pub(crate) fn next(stream: &mut ArrowArrayStream) -> Option<ArrowArray> {
    let mut array = MaybeUninit::<ArrowArray>::uninit();
    // SAFETY: the stream was not given back, and there is a place for the array.
    let array = unsafe {
        assert_eq!(stream.get_next.unwrap()(stream, array.as_mut_ptr()), 0);
        array.assume_init()
    };
    array.release.is_some().then_some(array)
}

pub(crate) fn read(mut stream: ArrowArrayStream) -> Read {
    let schema = schema_of(&mut stream);
    let mut read = Read { rows: Vec::new(), batches: Vec::new(), metadata: metadata(&schema), arrays: Vec::new() };
    while let Some(array) = next(&mut stream) {
        read.batches.push(array.length as usize);
        for row in 0..array.length as usize {
            let Value::Object(values) = value(&schema, &array, row) else { panic!("a batch is a structure") };
            read.rows.push(values);
        }
        read.arrays.push(array);
    }
    assert!(next(&mut stream).is_none(), "the end stays the end");
    read
}

/// The part of an array with this name.
pub(crate) fn column<'a>(schema: &ArrowSchema, array: &'a ArrowArray, name: &str) -> &'a ArrowArray {
    let at = (0..schema.n_children as usize).find(|&at| text(child(schema, at).name) == name).unwrap();
    part(array, at)
}

/// A value of an array, as the schema says.
fn value(schema: &ArrowSchema, array: &ArrowArray, row: usize) -> Value {
    assert_eq!(array.offset, 0);
    assert!(row < array.length as usize);
    // SAFETY: the buffers are as long as the interface wants them for an array of this type and length.
    unsafe {
        let buffer = |at: usize| *array.buffers.add(at);
        let validity = buffer(0).cast::<u8>();
        if !validity.is_null() && !bit(validity, row) {
            assert!(schema.flags & 2 != 0 && array.null_count > 0, "nulls are where they may be");
            return Value::Null;
        }
        if !array.dictionary.is_null() {
            assert_eq!(text(schema.format), "i");
            let code = *buffer(1).cast::<i32>().add(row);
            return value(&*schema.dictionary, &*array.dictionary, code as usize);
        }
        match text(schema.format) {
            "l" => (*buffer(1).cast::<i64>().add(row)).into(),
            "g" => (*buffer(1).cast::<f64>().add(row)).into(),
            "b" => bit(buffer(1).cast(), row).into(),
            "u" => {
                let (start, end) = range(buffer(1).cast(), row);
                let bytes = std::slice::from_raw_parts(buffer(2).cast::<u8>().add(start), end - start);
                std::str::from_utf8(bytes).unwrap().into()
            }
            "+l" => {
                let (start, end) = range(buffer(1).cast(), row);
                (start..end).map(|item| value(child(schema, 0), part(array, 0), item)).collect::<Vec<_>>().into()
            }
            "+s" => {
                let named = (0..schema.n_children as usize).map(|at| {
                    let (field, part) = (child(schema, at), part(array, at));
                    assert_eq!(part.length, array.length);
                    (text(field.name).to_owned(), value(field, part, row))
                });
                named.collect::<Map<_, _>>().into()
            }
            other => panic!("no such type was expected: {other}"),
        }
    }
}

fn child(schema: &ArrowSchema, at: usize) -> &ArrowSchema {
    assert!(at < schema.n_children as usize);
    // SAFETY: there are so many.
    unsafe { &**schema.children.add(at) }
}

fn part(array: &ArrowArray, at: usize) -> &ArrowArray {
    assert!(at < array.n_children as usize);
    // SAFETY: there are so many.
    unsafe { &**array.children.add(at) }
}

fn text<'a>(pointer: *const std::ffi::c_char) -> &'a str {
    // SAFETY: names and formats end in a zero, and the tests keep their schemas.
    unsafe { CStr::from_ptr(pointer) }.to_str().unwrap()
}

/// # Safety
/// There are so many bits.
unsafe fn bit(bits: *const u8, at: usize) -> bool {
    // SAFETY: the caller says so.
    unsafe { *bits.add(at / 8) & (1 << (at % 8)) != 0 }
}

/// # Safety
/// There are two more offsets than `at`.
unsafe fn range(offsets: *const i32, at: usize) -> (usize, usize) {
    // SAFETY: the caller says so.
    unsafe { (*offsets.add(at) as usize, *offsets.add(at + 1) as usize) }
}

fn metadata(schema: &ArrowSchema) -> Map<String, Value> {
    let mut entries = Map::new();
    if schema.metadata.is_null() {
        return entries;
    }
    let mut at = schema.metadata.cast::<u8>();
    let mut take = |length: usize| {
        // SAFETY: the metadata has what it says.
        unsafe {
            let bytes = std::slice::from_raw_parts(at, length);
            at = at.add(length);
            bytes.to_vec()
        }
    };
    let number = |take: &mut dyn FnMut(usize) -> Vec<u8>| i32::from_ne_bytes(take(4).try_into().unwrap()) as usize;
    for _ in 0..number(&mut take) {
        let [key, value] = [(); 2].map(|()| {
            let length = number(&mut take);
            String::from_utf8(take(length)).unwrap()
        });
        entries.insert(key, value.into());
    }
    entries
}

/// A buffer of an array.
pub(crate) fn buffer(array: &ArrowArray, at: usize) -> *const std::ffi::c_void {
    assert!(at < array.n_buffers as usize);
    // SAFETY: there are so many.
    unsafe { *array.buffers.add(at) }
}

/// Moves a part out of an array, as readers may: its place then says that it was.
pub(crate) fn take(array: &ArrowArray, at: usize) -> ArrowArray {
    assert!(at < array.n_children as usize);
    // SAFETY: there are so many, and the part is known in one place only.
    unsafe {
        let part = *array.children.add(at);
        let taken = part.read();
        (*part).release = None;
        taken
    }
}
