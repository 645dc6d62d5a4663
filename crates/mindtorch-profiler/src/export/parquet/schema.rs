//! The types of tables, in the format's terms.

use crate::export::columns::{Field, Kind};
use ::parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use ::parquet::errors::Result;
use ::parquet::schema::types::{ColumnPath, Type};
use std::sync::Arc;

pub(super) fn of_fields(fields: &[Field]) -> Result<Type> {
    let fields = fields.iter().map(|field| of_field(field.name, field).map(Arc::new)).collect::<Result<_>>()?;
    Type::group_type_builder("schema").with_fields(fields).build()
}

fn of_field(name: &str, field: &Field) -> Result<Type> {
    let repetition = if field.is_nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let plain = |physical| Type::primitive_type_builder(name, physical).with_repetition(repetition);
    match field.kind {
        Kind::Int => plain(Physical::INT64).build(),
        Kind::Float => plain(Physical::DOUBLE).build(),
        Kind::Flag => plain(Physical::BOOLEAN).build(),
        Kind::Symbol | Kind::Text => {
            let text = plain(Physical::BYTE_ARRAY).with_logical_type(Some(LogicalType::String));
            text.with_converted_type(ConvertedType::UTF8).build()
        }
        Kind::List(item) => {
            let element = Arc::new(of_field("element", item)?);
            let entry = Type::group_type_builder("list").with_repetition(Repetition::REPEATED);
            let entry = Arc::new(entry.with_fields(vec![element]).build()?);
            let list = Type::group_type_builder(name).with_repetition(repetition).with_fields(vec![entry]);
            list.with_logical_type(Some(LogicalType::List)).with_converted_type(ConvertedType::LIST).build()
        }
    }
}

/// What is in the innermost lists of a column.
pub(super) fn leaf(field: &Field) -> &Field {
    if let Kind::List(item) = &field.kind { leaf(item) } else { field }
}

/// The columns that hold integers, within lists or not.
pub(super) fn numbers(fields: &[Field]) -> impl Iterator<Item = ColumnPath> {
    let path = |field: &Field| {
        let mut parts = vec![field.name.to_owned()];
        let mut field = field;
        while let Kind::List(item) = field.kind {
            parts.extend(["list".to_owned(), "element".to_owned()]);
            field = item;
        }
        ColumnPath::new(parts)
    };
    fields.iter().filter(|field| matches!(leaf(field).kind, Kind::Int)).map(path)
}
