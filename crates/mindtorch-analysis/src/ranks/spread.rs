//! How far ranks are apart.

use serde::Serialize;

/// A quantity that every rank has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// The rank with the least.
    pub lowest: Extreme,
    /// The one in the middle, the lower of two.
    pub median: u64,
    /// The rank with the most.
    pub highest: Extreme,
}

/// The value of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Extreme {
    /// The rank; of several with the same value the lowest.
    pub rank: u32,
    /// The value.
    pub value: u64,
}

impl Spread {
    /// That of these ranks and their values; none if there are none.
    pub fn of(values: impl IntoIterator<Item = (u32, u64)>) -> Option<Self> {
        let values: Vec<Extreme> = values.into_iter().map(|(rank, value)| Extreme { rank, value }).collect();
        let lowest = *values.iter().min_by_key(|one| (one.value, one.rank))?;
        let highest = *values.iter().max_by_key(|one| (one.value, std::cmp::Reverse(one.rank)))?;
        let mut sorted: Vec<u64> = values.iter().map(|one| one.value).collect();
        sorted.sort_unstable();
        Some(Self { lowest, median: sorted[(sorted.len() - 1) / 2], highest })
    }
}
