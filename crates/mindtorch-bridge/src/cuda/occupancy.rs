//! How much of a GPU a kernel can keep busy, by the resources that its blocks take.

/// What a GPU has, and each of its multiprocessors. What is not known is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Processor {
    pub(super) multiprocessors: u32,
    /// The major number of its compute capability.
    pub(super) capability: u32,
    pub(super) warp: u32,
    /// Threads that a block can have.
    pub(super) block_threads: u32,
    /// Threads, blocks, registers and bytes of shared memory that a multiprocessor has room for.
    pub(super) threads: u32,
    pub(super) blocks: u32,
    pub(super) registers: u32,
    pub(super) shared_memory: u32,
    /// Bytes of shared memory that each block takes for the system.
    pub(super) reserved_shared_memory: u32,
}

/// What a kernel was launched with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Launch {
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) registers: u16,
    /// Bytes, both what the kernel declares and what the launch asks for.
    pub(super) shared_memory: u32,
}

/// Registers are given to warps in portions of so many, and a multiprocessor has so many parts with registers of their own.
const REGISTER_PORTION: u32 = 256;
const PARTS: u32 = 4;

impl Launch {
    fn threads(&self) -> u64 {
        self.block.iter().map(|&size| u64::from(size)).product()
    }

    fn blocks(&self) -> u64 {
        self.grid.iter().map(|&size| u64::from(size)).fold(1, u64::saturating_mul)
    }
}

impl Processor {
    /// Blocks for each multiprocessor, were they spread evenly.
    pub(super) fn blocks_per_multiprocessor(&self, launch: &Launch) -> Option<f64> {
        (self.multiprocessors > 0).then(|| launch.blocks() as f64 / f64::from(self.multiprocessors))
    }

    /// Warps for each multiprocessor, likewise.
    pub(super) fn warps_per_multiprocessor(&self, launch: &Launch) -> Option<f64> {
        let blocks = self.blocks_per_multiprocessor(launch)?;
        (self.warp > 0).then(|| blocks * launch.threads() as f64 / f64::from(self.warp))
    }

    /// The part of the threads that have room which the kernel's can take at once, in percent.
    pub(super) fn occupancy_percent(&self, launch: &Launch) -> Option<u32> {
        let per_multiprocessor = self.blocks_per_multiprocessor(launch)?;
        let fit = self.blocks_that_fit(launch)?;
        let blocks = per_multiprocessor.min(f64::from(fit));
        let part = blocks * launch.threads() as f64 / f64::from(self.threads);
        Some((part.min(1.0) * 100.0).round() as u32)
    }

    /// Blocks that have room on a multiprocessor at once.
    fn blocks_that_fit(&self, launch: &Launch) -> Option<u32> {
        let threads = u32::try_from(launch.threads()).ok()?;
        if self.warp == 0 || self.threads == 0 || threads == 0 {
            return None;
        }
        if self.block_threads > 0 && threads > self.block_threads {
            return Some(0);
        }
        let warps = threads.div_ceil(self.warp);
        let by_warps = self.threads / self.warp / warps;
        let registers = (u32::from(launch.registers) * self.warp).next_multiple_of(REGISTER_PORTION);
        let by_registers = match registers {
            0 => u32::MAX,
            of_warp => self.registers / PARTS / of_warp * PARTS / warps,
        };
        let portion = if self.capability >= 8 { 128 } else { 256 };
        let shared =
            launch.shared_memory.saturating_add(self.reserved_shared_memory).checked_next_multiple_of(portion)?;
        let by_shared = self.shared_memory.checked_div(shared).unwrap_or(u32::MAX);
        let by_blocks = if self.blocks > 0 { self.blocks } else { u32::MAX };
        Some(by_warps.min(by_registers).min(by_shared).min(by_blocks))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// What the driver says of an H200.
    pub(in crate::cuda) const H200: Processor = Processor {
        multiprocessors: 132,
        capability: 9,
        warp: 32,
        block_threads: 1024,
        threads: 2048,
        blocks: 32,
        registers: 65_536,
        shared_memory: 233_472,
        reserved_shared_memory: 1024,
    };

    fn launch(grid: u32, block: u32, registers: u16, shared_memory: u32) -> Launch {
        Launch { grid: [grid, 1, 1], block: [block, 1, 1], registers, shared_memory }
    }

    #[test]
    fn a_kernel_fills_what_its_blocks_have_room_for() {
        for (launch, fit) in [
            // Threads: eight blocks of 256 are the 2048 that there are.
            (launch(1, 256, 16, 0), 8),
            // Registers: of 128 for each thread, there are for 512 threads.
            (launch(1, 256, 128, 0), 2),
            // Shared memory: of 64 KiB each, there are three and a half.
            (launch(1, 256, 16, 65_536), 3),
            // Blocks: small ones are still no more than 32.
            (launch(1, 32, 16, 0), 32),
            (launch(1, 2048, 16, 0), 0),
        ] {
            assert_eq!(H200.blocks_that_fit(&launch), Some(fit), "{launch:?}");
        }
    }

    #[test]
    fn occupancy_is_no_more_than_what_was_launched() {
        assert_eq!(H200.occupancy_percent(&launch(1, 256, 18, 0)), Some(0));
        assert_eq!(H200.occupancy_percent(&launch(132, 256, 18, 0)), Some(13));
        assert_eq!(H200.occupancy_percent(&launch(100_000, 256, 18, 0)), Some(100));
        assert_eq!(H200.occupancy_percent(&launch(100_000, 256, 128, 0)), Some(25));
    }

    #[test]
    fn of_what_is_not_known_nothing_is_said() {
        let unknown = Processor::default();
        assert_eq!(unknown.occupancy_percent(&launch(1, 1, 1, 1)), None);
        assert_eq!(unknown.blocks_per_multiprocessor(&launch(1, 1, 1, 1)), None);
        assert_eq!(H200.occupancy_percent(&Launch::default()), None);
    }
}
