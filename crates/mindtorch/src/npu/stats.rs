//! What an accelerator's memory was used for, counted as `torch.cuda.memory_stats` counts.

use super::allocator::Pool;

/// A number that goes up and down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// What it is now.
    pub current: u64,
    /// The most that it was since the start or since [`MemoryStats::reset_peak`].
    pub peak: u64,
    /// All that was added, since the start or since [`MemoryStats::reset_accumulated`].
    pub allocated: u64,
    /// All that was taken away.
    pub freed: u64,
}

impl Stat {
    fn add(&mut self, amount: u64) {
        self.current += amount;
        self.peak = self.peak.max(self.current);
        self.allocated += amount;
    }

    fn subtract(&mut self, amount: u64) {
        self.current -= amount;
        self.freed += amount;
    }

    fn entries(&self) -> [(&'static str, u64); 4] {
        [("allocated", self.allocated), ("current", self.current), ("freed", self.freed), ("peak", self.peak)]
    }
}

/// A number of each pool, and of both together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStat {
    /// Both pools.
    pub all: Stat,
    /// The pool of allocations of more than 1 MiB.
    pub large_pool: Stat,
    /// The pool of the others.
    pub small_pool: Stat,
}

impl PoolStat {
    pub(super) fn add(&mut self, pool: Pool, amount: u64) {
        self.all.add(amount);
        self.of(pool).add(amount);
    }

    pub(super) fn subtract(&mut self, pool: Pool, amount: u64) {
        self.all.subtract(amount);
        self.of(pool).subtract(amount);
    }

    pub(super) fn change(&mut self, pool: Pool, difference: i64) {
        match difference {
            0 => {}
            1.. => self.add(pool, difference.unsigned_abs()),
            _ => self.subtract(pool, difference.unsigned_abs()),
        }
    }

    fn of(&mut self, pool: Pool) -> &mut Stat {
        match pool {
            Pool::Small => &mut self.small_pool,
            Pool::Large => &mut self.large_pool,
        }
    }

    fn stats_mut(&mut self) -> [&mut Stat; 3] {
        [&mut self.all, &mut self.large_pool, &mut self.small_pool]
    }
}

/// The statistics of an accelerator's memory. The names are those of torch's keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryStats {
    /// Blocks that someone holds.
    pub allocation: PoolStat,
    /// Their bytes, rounded up as they are set aside.
    pub allocated_bytes: PoolStat,
    /// The bytes that were asked for, of blocks that are active.
    pub requested_bytes: PoolStat,
    /// Blocks that someone holds, or that a stream may still be using.
    pub active: PoolStat,
    /// Their bytes.
    pub active_bytes: PoolStat,
    /// Free blocks in segments that are not wholly free, so that emptying the cache does not release them.
    pub inactive_split: PoolStat,
    /// Their bytes.
    pub inactive_split_bytes: PoolStat,
    /// Segments that the cache holds.
    pub segment: PoolStat,
    /// Their bytes.
    pub reserved_bytes: PoolStat,
    /// Allocations for which the cache was emptied.
    pub num_alloc_retries: u64,
    /// Allocations that failed.
    pub num_ooms: u64,
    /// How often the cache was emptied, for which all streams must come to an end.
    pub num_sync_all_streams: u64,
    /// Segments that were reserved.
    pub num_device_alloc: u64,
    /// Segments that were released.
    pub num_device_free: u64,
}

impl MemoryStats {
    /// Makes every peak what is current.
    pub fn reset_peak(&mut self) {
        for stat in self.pool_stats_mut().into_iter().flat_map(PoolStat::stats_mut) {
            stat.peak = stat.current;
        }
    }

    /// Forgets what has come and gone, so that sums and counts start anew.
    pub fn reset_accumulated(&mut self) {
        for stat in self.pool_stats_mut().into_iter().flat_map(PoolStat::stats_mut) {
            stat.allocated = 0;
            stat.freed = 0;
        }
        let counts = [
            &mut self.num_alloc_retries,
            &mut self.num_ooms,
            &mut self.num_sync_all_streams,
            &mut self.num_device_alloc,
            &mut self.num_device_free,
        ];
        counts.into_iter().for_each(|count| *count = 0);
    }

    /// All of it under torch's keys, in their order: `("active.all.allocated", 0)`.
    ///
    /// No size is too large to be split here, so what torch calls oversize is 0, and the limit is -1.
    pub fn entries(&self) -> Vec<(String, i64)> {
        let mut entries = Vec::with_capacity(9 * 12 + 14);
        for (name, stat) in self.pool_stats() {
            for (pool, stat) in [("all", stat.all), ("large_pool", stat.large_pool), ("small_pool", stat.small_pool)] {
                for (key, value) in stat.entries() {
                    entries.push((format!("{name}.{pool}.{key}"), value.cast_signed()));
                }
            }
        }
        for name in ["oversize_allocations", "oversize_segments"] {
            for (key, _) in Stat::default().entries() {
                entries.push((format!("{name}.{key}"), 0));
            }
        }
        let counts = [
            ("num_alloc_retries", self.num_alloc_retries),
            ("num_device_alloc", self.num_device_alloc),
            ("num_device_free", self.num_device_free),
            ("num_ooms", self.num_ooms),
            ("num_sync_all_streams", self.num_sync_all_streams),
        ];
        entries.extend(counts.map(|(name, count)| (name.to_owned(), count.cast_signed())));
        entries.push(("max_split_size".to_owned(), -1));
        entries.sort_unstable();
        entries
    }

    fn pool_stats(&self) -> [(&'static str, &PoolStat); 9] {
        [
            ("active", &self.active),
            ("active_bytes", &self.active_bytes),
            ("allocated_bytes", &self.allocated_bytes),
            ("allocation", &self.allocation),
            ("inactive_split", &self.inactive_split),
            ("inactive_split_bytes", &self.inactive_split_bytes),
            ("requested_bytes", &self.requested_bytes),
            ("reserved_bytes", &self.reserved_bytes),
            ("segment", &self.segment),
        ]
    }

    fn pool_stats_mut(&mut self) -> [&mut PoolStat; 9] {
        [
            &mut self.active,
            &mut self.active_bytes,
            &mut self.allocated_bytes,
            &mut self.allocation,
            &mut self.inactive_split,
            &mut self.inactive_split_bytes,
            &mut self.requested_bytes,
            &mut self.reserved_bytes,
            &mut self.segment,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_keeps_its_peak_and_its_sums_until_they_are_reset() {
        let mut stats = MemoryStats::default();
        stats.active.add(Pool::Small, 5);
        stats.active.add(Pool::Large, 2);
        stats.active.subtract(Pool::Small, 4);
        stats.num_ooms = 3;
        assert_eq!(stats.active.all, Stat { current: 3, peak: 7, allocated: 7, freed: 4 });
        assert_eq!(stats.active.small_pool, Stat { current: 1, peak: 5, allocated: 5, freed: 4 });
        assert_eq!(stats.active.large_pool, Stat { current: 2, peak: 2, allocated: 2, freed: 0 });
        stats.reset_peak();
        assert_eq!(stats.active.all, Stat { current: 3, peak: 3, allocated: 7, freed: 4 });
        stats.reset_accumulated();
        assert_eq!(stats.active.all, Stat { current: 3, peak: 3, allocated: 0, freed: 0 });
        assert_eq!(stats.num_ooms, 0);
    }

    #[test]
    fn the_keys_are_torchs_in_order() {
        let mut stats = MemoryStats::default();
        stats.segment.add(Pool::Small, 1);
        let entries = stats.entries();
        assert_eq!(entries.len(), 9 * 12 + 14);
        assert!(entries.is_sorted());
        assert_eq!(entries[0].0, "active.all.allocated");
        let value = |key: &str| entries.iter().find(|(known, _)| known == key).unwrap().1;
        assert_eq!(value("segment.small_pool.peak"), 1);
        assert_eq!(value("segment.large_pool.peak"), 0);
        assert_eq!((value("num_ooms"), value("oversize_segments.current"), value("max_split_size")), (0, 0, -1));
    }
}
