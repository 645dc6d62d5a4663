//! Parquet files: a group of rows for each batch, compressed with Snappy. Texts and lists are as all readers know them.

mod levels;
mod schema;

use super::columns::{Column, Field, Frame, Ints, Kind};
use ::parquet::basic::Compression;
use ::parquet::column::writer::ColumnWriterImpl;
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use levels::{Leaf, Levels};
use std::io::{self, Write};
use std::sync::Arc;

pub(super) fn write(frame: &dyn Frame, out: &mut dyn Write) -> io::Result<()> {
    // The writer wants something that it could give to another thread: a buffer, which is passed on after every group.
    let mut writer = new_writer(frame).map_err(failed)?;
    let mut start = 0;
    while start < frame.len() {
        let batch = frame.batch(start);
        start += batch.rows;
        let mut group = writer.next_row_group().map_err(failed)?;
        for (field, column) in frame.fields().iter().zip(&batch.columns) {
            let Some(mut into) = group.next_column().map_err(failed)? else { break };
            write_column(&mut into, field, column, batch.rows).and_then(|()| into.close()).map_err(failed)?;
        }
        group.close().map_err(failed)?;
        writer.flush()?;
        out.write_all(&std::mem::take(writer.inner_mut()))?;
    }
    out.write_all(&writer.into_inner().map_err(failed)?)?;
    out.flush()
}

fn new_writer(frame: &dyn Frame) -> Result<SerializedFileWriter<Vec<u8>>> {
    let entries = frame.metadata().into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value));
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("mindtorch-profiler version ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(entries.collect()))
        .set_compression(Compression::SNAPPY);
    for path in schema::numbers(frame.fields()) {
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, ::parquet::basic::Encoding::DELTA_BINARY_PACKED);
    }
    SerializedFileWriter::new(Vec::new(), Arc::new(schema::of_fields(frame.fields())?), Arc::new(properties.build()))
}

/// An error of the format's library, as one of writing.
fn failed(error: ParquetError) -> io::Error {
    io::Error::other(error)
}

fn write_column(into: &mut SerializedColumnWriter<'_>, field: &Field, column: &Column<'_>, rows: usize) -> Result<()> {
    let levels = Levels::of(field, column, rows);
    let rows = || levels.rows.iter().map(|&row| row as usize);
    match levels.leaf {
        Leaf::Ints(ints) => {
            let values: Vec<i64> = match ints {
                Ints::Made(values) => rows().map(|row| values[row]).collect(),
                Ints::OfTrace(values) => rows().map(|row| values[row].cast_signed()).collect(),
            };
            levels.write(into.typed::<Int64Type>(), &values)
        }
        Leaf::Floats(values) => {
            let values: Vec<f64> = rows().map(|row| values[row]).collect();
            levels.write(into.typed::<DoubleType>(), &values)
        }
        Leaf::Flags(flags) => {
            let values: Vec<bool> = rows().map(|row| flags.get(row)).collect();
            levels.write(into.typed::<BoolType>(), &values)
        }
        Leaf::Symbols(codes, texts) => {
            let texts: Vec<ByteArray> = (0..texts.len()).map(|number| texts.bytes_of(number).to_vec().into()).collect();
            let values: Vec<ByteArray> = rows().map(|row| texts[codes[row] as usize].clone()).collect();
            levels.write(into.typed::<ByteArrayType>(), &values)
        }
        Leaf::Texts(texts) => {
            let values: Vec<ByteArray> = rows().map(|row| texts.bytes_of(row).to_vec().into()).collect();
            levels.write(into.typed::<ByteArrayType>(), &values)
        }
        Leaf::Nulls => match schema::leaf(field).kind {
            Kind::Int => levels.write(into.typed::<Int64Type>(), &[]),
            Kind::Float => levels.write(into.typed::<DoubleType>(), &[]),
            Kind::Flag => levels.write(into.typed::<BoolType>(), &[]),
            Kind::Symbol | Kind::Text | Kind::List(_) => levels.write(into.typed::<ByteArrayType>(), &[]),
        },
    }
}

impl Levels<'_> {
    fn write<T: DataType>(&self, into: &mut ColumnWriterImpl<'_, T>, values: &[T::T]) -> Result<()> {
        let definitions = (self.deepest > 0).then_some(self.definitions.as_slice());
        let repetitions = (self.lists > 0).then_some(self.repetitions.as_slice());
        into.write_batch(values, definitions, repetitions).map(|_| ())
    }
}
