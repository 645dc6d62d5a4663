//! Protobuf read back, by its definition and without a schema.

/// The fields of a message, in order.
#[derive(Clone, Debug)]
pub(crate) struct Message<'a>(Vec<(u64, Field<'a>)>);

#[derive(Clone, Copy, Debug)]
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Message<'a> {
    /// Panics if the bytes are not whole fields.
    pub(crate) fn read(mut bytes: &'a [u8]) -> Self {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let tag = varint(&mut bytes);
            let field = match tag & 7 {
                0 => Field::Number(varint(&mut bytes)),
                1 => Field::Number(u64::from_le_bytes(take(&mut bytes, 8).try_into().unwrap())),
                2 => {
                    let length = varint(&mut bytes);
                    Field::Bytes(take(&mut bytes, length as usize))
                }
                kind => panic!("a field of kind {kind}"),
            };
            assert!(tag >> 3 > 0);
            fields.push((tag >> 3, field));
        }
        Self(fields)
    }

    pub(crate) fn has(&self, field: u64) -> bool {
        self.0.iter().any(|(number, _)| *number == field)
    }

    /// The field that is there last, as counts.
    pub(crate) fn number(&self, field: u64) -> Option<u64> {
        self.numbers(field).last().copied()
    }

    pub(crate) fn numbers(&self, field: u64) -> Vec<u64> {
        let number = |&(at, value): &(u64, Field<'_>)| match value {
            Field::Number(number) if at == field => Some(number),
            _ => None,
        };
        self.0.iter().filter_map(number).collect()
    }

    fn all_bytes(&self, field: u64) -> impl Iterator<Item = &'a [u8]> {
        self.0.iter().filter_map(move |&(at, value)| match value {
            Field::Bytes(bytes) if at == field => Some(bytes),
            _ => None,
        })
    }

    pub(crate) fn text(&self, field: u64) -> Option<String> {
        self.all_bytes(field).last().map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
    }

    pub(crate) fn message(&self, field: u64) -> Option<Message<'a>> {
        self.all_bytes(field).last().map(Message::read)
    }

    pub(crate) fn messages(&self, field: u64) -> Vec<Message<'a>> {
        self.all_bytes(field).map(Message::read).collect()
    }
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(count);
    *bytes = rest;
    taken
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0u128;
    for shift in (0..70).step_by(7) {
        let byte = take(bytes, 1)[0];
        number |= u128::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return u64::try_from(number).unwrap();
        }
    }
    panic!("a number of more than ten bytes");
}
