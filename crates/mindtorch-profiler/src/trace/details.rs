//! The columns of what operators have besides a name and times.

use super::columns::Sparse;
use crate::column::Column;

/// By row. Most operators have a sequence number and an overload and no more: eight bytes, where a [`DetailRow`] is 32.
#[derive(Debug, Default)]
pub(crate) struct Details {
    /// One higher; 0 is none, or that it is in the row's [`DetailRow`].
    sequence: Sparse<u32>,
    overload: Sparse<u32>,
    /// Index into `rows`, one higher.
    place: Sparse<u32>,
    rows: Column<DetailRow>,
}

/// What a row has. Names are indices into the trace's names, of which the first is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DetailRow {
    /// One higher; 0 is none.
    pub(crate) sequence_plus_one: u64,
    pub(crate) flops: u64,
    pub(crate) forward_thread: u32,
    pub(crate) note: u32,
    pub(crate) overload: u32,
    /// 0 is none.
    pub(crate) record_function: u32,
}

impl DetailRow {
    pub(crate) fn sequence(&self) -> Option<u64> {
        self.sequence_plus_one.checked_sub(1)
    }
}

impl Details {
    #[inline]
    pub(crate) fn set(&mut self, row: usize, detail: DetailRow) {
        let DetailRow { sequence_plus_one, overload, .. } = detail;
        let is_short = DetailRow { sequence_plus_one, overload, ..DetailRow::default() } == detail;
        match u32::try_from(sequence_plus_one) {
            Ok(sequence) if is_short => self.set_short(row, sequence, overload),
            _ => {
                self.rows.push(detail);
                self.place.set(row, self.rows.len() as u32);
            }
        }
    }

    /// A row that has no more than these.
    #[inline]
    pub(super) fn set_short(&mut self, row: usize, sequence_plus_one: u32, overload: u32) {
        self.sequence.set(row, sequence_plus_one);
        self.overload.set(row, overload);
    }

    /// What the row has, if it has anything.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> Option<DetailRow> {
        if let Some(place) = self.place.get(row).checked_sub(1) {
            return Some(self.rows[place as usize]);
        }
        let (sequence_plus_one, overload) = (u64::from(self.sequence.get(row)), self.overload.get(row));
        let has_any = sequence_plus_one != 0 || overload != 0;
        has_any.then(|| DetailRow { sequence_plus_one, overload, ..DetailRow::default() })
    }

    /// Those that have more than a sequence number and an overload.
    pub(crate) fn long_rows(&self) -> &[DetailRow] {
        &self.rows
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sequence.is_empty() && self.overload.is_empty() && self.rows.is_empty()
    }

    /// Puts the rows of `part` at `rows` and behind, with other names.
    pub(super) fn append(&mut self, rows: usize, part: &Self, names: &[u32]) {
        let used = part.sequence.len().max(part.overload.len()).max(part.place.len());
        for (row, mut detail) in (0..used).filter_map(|row| Some((row, part.get(row)?))) {
            (detail.note, detail.overload) = (names[detail.note as usize], names[detail.overload as usize]);
            self.set(rows + row, detail);
        }
    }

    pub(super) fn shrink(&mut self) {
        [&mut self.sequence, &mut self.overload, &mut self.place].into_iter().for_each(Sparse::shrink);
        self.rows.shrink_to_fit();
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let columns = [&self.sequence, &self.overload, &self.place].into_iter().map(Sparse::memory_bytes);
        columns.sum::<usize>() + self.rows.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_as_they_were_set() {
        let rows = [
            DetailRow::default(),
            DetailRow { sequence_plus_one: 1, ..DetailRow::default() },
            DetailRow { overload: 3, ..DetailRow::default() },
            DetailRow { sequence_plus_one: u32::MAX.into(), overload: 1, ..DetailRow::default() },
            DetailRow { sequence_plus_one: 1 << 32, overload: 1, ..DetailRow::default() },
            DetailRow { sequence_plus_one: 7, flops: 9, ..DetailRow::default() },
            DetailRow { forward_thread: 2, ..DetailRow::default() },
            DetailRow { note: 2, record_function: 5, ..DetailRow::default() },
        ];
        let mut details = Details::default();
        rows.into_iter().enumerate().for_each(|(row, detail)| details.set(row, detail));
        let mut twice = Details::default();
        twice.append(0, &details, &[0, 11, 12, 13]);
        twice.append(rows.len(), &details, &[0, 1, 2, 3]);
        for (row, detail) in rows.into_iter().enumerate() {
            assert_eq!(details.get(row).unwrap_or_default(), detail);
            assert_eq!(twice.get(rows.len() + row).unwrap_or_default(), detail);
            let name = |name| if name == 0 { 0 } else { name + 10 };
            let renamed = DetailRow { note: name(detail.note), overload: name(detail.overload), ..detail };
            assert_eq!(twice.get(row).unwrap_or_default(), renamed);
        }
        assert_eq!(details.long_rows().len(), 4);
        assert_eq!(details.get(rows.len()), None);
    }
}
