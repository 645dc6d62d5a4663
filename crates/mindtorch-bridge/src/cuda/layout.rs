//! Where CUPTI's activity records have what is read of them.
//!
//! Records differ between versions of CUPTI in what was appended to them. What is read here has been in its place since
//! CUDA 12.0; `scripts/check_cupti_layout.py` looks it up in the headers of a version.

/// Kinds of records, by CUPTI's numbers.
pub(super) mod kind {
    pub(in crate::cuda) const COPY: u32 = 1;
    pub(in crate::cuda) const SET: u32 = 2;
    pub(in crate::cuda) const KERNEL: u32 = 10;
    pub(in crate::cuda) const PEER_COPY: u32 = 22;
    pub(in crate::cuda) const WAIT: u32 = 38;
}

/// The offset of each record's kind.
pub(super) const KIND: usize = 0;

/// `CUpti_ActivityKernel9` and later.
pub(super) mod kernel {
    pub(in crate::cuda) const REGISTERS: usize = 6;
    pub(in crate::cuda) const START: usize = 16;
    pub(in crate::cuda) const END: usize = 24;
    pub(in crate::cuda) const DEVICE: usize = 40;
    pub(in crate::cuda) const CONTEXT: usize = 44;
    pub(in crate::cuda) const STREAM: usize = 48;
    pub(in crate::cuda) const GRID: usize = 52;
    pub(in crate::cuda) const BLOCK: usize = 64;
    pub(in crate::cuda) const STATIC_SHARED_MEMORY: usize = 76;
    pub(in crate::cuda) const DYNAMIC_SHARED_MEMORY: usize = 80;
    pub(in crate::cuda) const CORRELATION: usize = 92;
    pub(in crate::cuda) const NAME: usize = 104;
    pub(in crate::cuda) const GRAPH_NODE: usize = 144;
    pub(in crate::cuda) const GRAPH: usize = 156;
}

/// `CUpti_ActivityMemcpy5` and later.
pub(super) mod copy {
    pub(in crate::cuda) const COPY_KIND: usize = 4;
    pub(in crate::cuda) const SOURCE_KIND: usize = 5;
    pub(in crate::cuda) const TARGET_KIND: usize = 6;
    pub(in crate::cuda) const BYTES: usize = 8;
    pub(in crate::cuda) const START: usize = 16;
    pub(in crate::cuda) const END: usize = 24;
    pub(in crate::cuda) const DEVICE: usize = 32;
    pub(in crate::cuda) const CONTEXT: usize = 36;
    pub(in crate::cuda) const STREAM: usize = 40;
    pub(in crate::cuda) const CORRELATION: usize = 44;
}

/// `CUpti_ActivityMemcpyPtoP4` and later: as a copy, but for this.
pub(super) mod peer_copy {
    pub(in crate::cuda) const SOURCE_DEVICE: usize = 44;
    pub(in crate::cuda) const TARGET_DEVICE: usize = 52;
    pub(in crate::cuda) const CORRELATION: usize = 60;
}

/// `CUpti_ActivityMemset4` and later: as a copy, but for this.
pub(super) mod set {
    pub(in crate::cuda) const MEMORY_KIND: usize = 50;
}

/// `CUpti_ActivitySynchronization` and later.
pub(super) mod wait {
    pub(in crate::cuda) const TYPE: usize = 4;
    pub(in crate::cuda) const START: usize = 8;
    pub(in crate::cuda) const END: usize = 16;
    pub(in crate::cuda) const CORRELATION: usize = 24;
    pub(in crate::cuda) const CONTEXT: usize = 28;
    pub(in crate::cuda) const STREAM: usize = 32;
    pub(in crate::cuda) const EVENT: usize = 36;
}

/// The number of no stream, and of no event.
pub(super) const NONE: u32 = u32::MAX;

/// The bytes of a record, from which numbers are read; what lies beyond their end is 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a>(pub(super) &'a [u8]);

impl Record<'_> {
    fn bytes<const N: usize>(self, at: usize) -> [u8; N] {
        self.0.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
    }

    pub(super) fn u8(self, at: usize) -> u8 {
        self.bytes::<1>(at)[0]
    }

    pub(super) fn u16(self, at: usize) -> u16 {
        u16::from_ne_bytes(self.bytes(at))
    }

    pub(super) fn u32(self, at: usize) -> u32 {
        u32::from_ne_bytes(self.bytes(at))
    }

    pub(super) fn u64(self, at: usize) -> u64 {
        u64::from_ne_bytes(self.bytes(at))
    }

    pub(super) fn three(self, at: usize) -> [u32; 3] {
        [0, 4, 8].map(|more| self.u32(at + more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_where_they_are_and_0_beyond_the_end() {
        let bytes: Vec<u8> = (0..16).collect();
        let record = Record(&bytes);
        assert_eq!(record.u8(3), 3);
        assert_eq!(record.u16(2), u16::from_ne_bytes([2, 3]));
        assert_eq!(record.three(4)[2], u32::from_ne_bytes([12, 13, 14, 15]));
        assert_eq!(record.u64(8), u64::from_ne_bytes([8, 9, 10, 11, 12, 13, 14, 15]));
        assert_eq!((record.u64(9), record.u32(usize::MAX - 8), record.u8(16)), (0, 0, 0));
    }
}
