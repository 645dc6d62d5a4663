//! One number for each event, as planes of bytes: all lowest bytes, then all second ones, and so on.
//!
//! Numbers of one column are alike in size, so the higher planes are mostly zeros, which deflate to nothing, and reading them
//! takes no branch.

use flate2::{Compression, write::DeflateEncoder};
use std::io::Write;

/// Numbers that are being collected.
#[derive(Debug, Default)]
pub(crate) struct Column {
    planes: Vec<Vec<u8>>,
    len: usize,
}

impl Column {
    /// Adds a number.
    pub(crate) fn push(&mut self, value: u64) {
        let mut rest = value;
        let mut plane = 0;
        while rest != 0 {
            if plane == self.planes.len() {
                self.planes.push(Vec::new());
            }
            // Planes are as long as their last byte that is not 0 is far.
            self.planes[plane].resize(self.len, 0);
            self.planes[plane].push(rest as u8);
            rest >>= 8;
            plane += 1;
        }
        self.len += 1;
    }

    /// Adds a number that may be negative; small ones of either sign are small.
    pub(crate) fn push_signed(&mut self, value: i64) {
        self.push(((value << 1) ^ (value >> 63)).cast_unsigned());
    }

    /// How many numbers there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The column as it is put into the page.
    pub(crate) fn pack(mut self) -> PackedColumn {
        for plane in &mut self.planes {
            plane.resize(self.len, 0);
        }
        PackedColumn {
            count: self.len,
            planes: self.planes.len(),
            bytes: deflate(self.planes.iter().map(Vec::as_slice)),
        }
    }
}

impl FromIterator<u64> for Column {
    fn from_iter<I: IntoIterator<Item = u64>>(values: I) -> Self {
        let mut column = Self::default();
        values.into_iter().for_each(|value| column.push(value));
        column
    }
}

/// A column that is complete.
#[derive(Debug)]
pub(crate) struct PackedColumn {
    pub(crate) count: usize,
    pub(crate) planes: usize,
    /// Deflated, without a header.
    pub(crate) bytes: Vec<u8>,
}

#[cfg(test)]
impl PackedColumn {
    /// The numbers, as the page reads them.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::DeflateDecoder::new(&self.bytes[..]), &mut bytes).unwrap();
        assert_eq!(bytes.len(), self.planes * self.count);
        let byte = |plane: usize, at: usize| u64::from(bytes[plane * self.count + at]) << (8 * plane);
        (0..self.count).map(|at| (0..self.planes).map(|plane| byte(plane, at)).sum()).collect()
    }
}

/// All pieces, one after the other, deflated without a header.
pub(crate) fn deflate<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    // Higher levels take several times as long and save a few percent of numbers that hardly repeat.
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(4));
    // A vector takes everything.
    for piece in pieces {
        let _ = encoder.write_all(piece);
    }
    encoder.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_in_as_few_planes_as_they_need() {
        let cases: [(&[u64], usize); 5] =
            [(&[], 0), (&[0, 0], 0), (&[0, 255, 0], 1), (&[0, 256, 1, 0], 2), (&[u64::MAX, 0, 1 << 40], 8)];
        for (values, planes) in cases {
            let packed: PackedColumn = values.iter().copied().collect::<Column>().pack();
            assert_eq!((packed.numbers().as_slice(), packed.planes), (values, planes));
        }
    }

    #[test]
    fn small_numbers_of_either_sign_are_small() {
        let mut column = Column::default();
        for value in [0, -1, 1, -2, i64::MIN, i64::MAX] {
            column.push_signed(value);
        }
        assert_eq!(column.pack().numbers(), [0, 1, 2, 3, u64::MAX, u64::MAX - 1]);
    }
}
