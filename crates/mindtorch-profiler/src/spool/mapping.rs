//! What the system must be asked for in its own words: files as memory, and room in them.

#![expect(unsafe_code, reason = "the standard library maps no files and reserves no room in them")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// Part of a file as memory. What is stored there is the file's, from the moment of the store, also when the process ends
/// right after.
#[derive(Debug)]
pub(super) struct Mapping {
    base: NonNull<AtomicU64>,
    words: usize,
    offset: libc::off_t,
}

// SAFETY: a mapping is an address that stays valid until it is dropped, and gives out only atomics, which any thread may use.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `bytes` of the file from `offset` on, for reading and writing. Both are multiples of a page. The room must have
    /// been reserved: a store to a page that the disk has no room for, or beyond the end of the file, ends the process.
    pub(super) fn shared(file: &File, offset: u64, bytes: usize) -> io::Result<Self> {
        let offset = libc::off_t::try_from(offset).map_err(io::Error::other)?;
        // SAFETY: a new mapping, at an address that the system chooses, touches no memory that is there.
        let base = unsafe { map(std::ptr::null_mut(), bytes, libc::MAP_SHARED, Some(file), offset) }?;
        let base = NonNull::new(base.cast::<AtomicU64>()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, words: bytes / size_of::<u64>(), offset })
    }

    pub(super) fn words(&self) -> &[AtomicU64] {
        // SAFETY: so many words are mapped at this address, which is that of a page and so aligned, until `self` is
        // dropped. Any bytes are an atomic integer. Others who write to the file do what other threads do.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.words) }
    }

    /// Makes what this process stores from now on its own: the file, and other processes that have it mapped, do not see
    /// it. For a forked child, whose stores would else be its parent's.
    pub(super) fn make_private(&self, file: &File) -> io::Result<()> {
        let bytes = self.words * size_of::<u64>();
        let place = self.base.as_ptr().cast();
        // SAFETY: exactly this mapping is replaced, by one of the same part of the same file, so that every reference
        // into it stays good.
        unsafe { map(place, bytes, libc::MAP_PRIVATE | libc::MAP_FIXED, Some(file), self.offset) }.map(|_| ())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped, and every reference into it has ended.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.words * size_of::<u64>()) };
    }
}

/// Memory that is a new file without a name in a directory, which is gone when it is unmapped. Its pages are zero, and need
/// no memory for longer than they are used.
pub(crate) fn file_memory(directory: &Path, bytes: usize) -> io::Result<NonNull<[u8]>> {
    let file = tempfile::tempfile_in(directory)?;
    reserve(&file, 0, bytes)?;
    // SAFETY: a new mapping, at an address that the system chooses, touches no memory that is there.
    let base = unsafe { map(std::ptr::null_mut(), bytes, libc::MAP_SHARED, Some(&file), 0) }?;
    pages(base, bytes)
}

/// Memory of its own mapping. It is zero.
pub(crate) fn memory(bytes: usize) -> io::Result<NonNull<[u8]>> {
    // SAFETY: as above.
    let base = unsafe { map(std::ptr::null_mut(), bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, None, 0) }?;
    pages(base, bytes)
}

fn pages(base: *mut libc::c_void, bytes: usize) -> io::Result<NonNull<[u8]>> {
    let base = NonNull::new(base.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
    Ok(NonNull::slice_from_raw_parts(base, bytes))
}

/// Gives memory back.
///
/// # Safety
/// It is of [`file_memory`] or [`memory`], of this size, and no longer used.
pub(crate) unsafe fn unmap(base: NonNull<u8>, bytes: usize) {
    let base = base.as_ptr().cast();
    // SAFETY: by the caller.
    if unsafe { libc::munmap(base, bytes) } != 0 {
        // The system refuses if the hole makes one mapping too many. Then only the addresses stay taken.
        // SAFETY: by the caller.
        unsafe { libc::madvise(base, bytes, libc::MADV_DONTNEED) };
    }
}

/// Gives back what is behind the first `kept` bytes, and the room in the file that it takes.
///
/// # Safety
/// As for [`unmap`], but only for what is behind these bytes.
pub(crate) unsafe fn cut_off(base: NonNull<u8>, bytes: usize, kept: usize) {
    // SAFETY: the call has no preconditions.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let kept = kept.next_multiple_of(page);
    let end = bytes.next_multiple_of(page);
    if kept < end {
        // SAFETY: the pages are whole, mapped, and by the caller no longer used.
        unsafe {
            let tail = base.add(kept).as_ptr().cast();
            // Not every file system can. Then the room is free when all of it is.
            #[cfg(any(target_os = "linux", target_os = "android"))]
            libc::madvise(tail, end - kept, libc::MADV_REMOVE);
            libc::munmap(tail, end - kept);
        }
    }
}

/// # Safety
/// With `MAP_FIXED`, what is mapped at `place` must be the caller's to replace.
unsafe fn map(
    place: *mut libc::c_void,
    bytes: usize,
    flags: libc::c_int,
    file: Option<&File>,
    offset: libc::off_t,
) -> io::Result<*mut libc::c_void> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let descriptor = file.map_or(-1, File::as_raw_fd);
    // SAFETY: the descriptor is open, or none; the caller answers for the place.
    let mapped = unsafe { libc::mmap(place, bytes, protection, flags, descriptor, offset) };
    if mapped == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(mapped) }
}

/// Makes the file reach to `offset + bytes`, with room on the disk for the last `bytes` of it, which are zero if they are
/// new. A full disk is an error here, and not a signal at some later store.
pub(super) fn reserve(file: &File, offset: u64, bytes: usize) -> io::Result<()> {
    let end = offset.checked_add(bytes as u64).filter(|&end| end <= file_size_limit());
    if end.is_none() {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    match allocate(file, offset, bytes) {
        // The file system knows no such request.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS)) => {
            write_zeros(file, offset, bytes)
        }
        outcome => outcome,
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn allocate(file: &File, offset: u64, bytes: usize) -> io::Result<()> {
    let offset = libc::off_t::try_from(offset).map_err(io::Error::other)?;
    let bytes = libc::off_t::try_from(bytes).map_err(io::Error::other)?;
    loop {
        // SAFETY: the call has no preconditions but an open descriptor.
        if unsafe { libc::fallocate(file.as_raw_fd(), 0, offset, bytes) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn allocate(_: &File, _: u64, _: usize) -> io::Result<()> {
    Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
}

fn write_zeros(file: &File, offset: u64, bytes: usize) -> io::Result<()> {
    use std::os::unix::fs::FileExt;
    let zeros = [0; 16 << 10];
    for begin in (0..bytes).step_by(zeros.len()) {
        file.write_all_at(&zeros[..zeros.len().min(bytes - begin)], offset + begin as u64)?;
    }
    Ok(())
}

/// Whether a file or an open directory is on a file system that is in memory (`tmpfs` or `ramfs`).
#[cfg(any(target_os = "linux", target_os = "android"))]
#[allow(clippy::unnecessary_cast, reason = "the type of `f_type` differs between architectures")]
pub(super) fn is_in_memory(file: &File) -> bool {
    // From linux/magic.h.
    const RAMFS_MAGIC: i64 = 0x8584_58f6;
    const TMPFS_MAGIC: i64 = 0x0102_1994;
    let mut status = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the descriptor is open, and the place for the answer is good.
    if unsafe { libc::fstatfs(file.as_raw_fd(), status.as_mut_ptr()) } != 0 {
        return false;
    }
    // SAFETY: the call has succeeded, so that it has filled in the answer.
    let kind = unsafe { status.assume_init() }.f_type as i64;
    // A sign extension on 32-bit systems does not matter.
    matches!(kind & 0xffff_ffff, RAMFS_MAGIC | TMPFS_MAGIC)
}

/// Returns false, because there is no portable way to find out.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn is_in_memory(_: &File) -> bool {
    false
}

/// The size that the files of this process may grow to. A write beyond it ends the process by a signal, unless it ignores
/// that.
pub(super) fn file_size_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the place for the answer is good. If there is none, what is in it stays.
    unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
    limit.rlim_cur
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;
    use std::sync::atomic::Ordering;

    const BYTES: usize = 128 << 10;

    #[test]
    fn stores_are_the_files_until_they_are_private() {
        let file = tempfile::tempfile().unwrap();
        let offset = 64 << 10;
        reserve(&file, offset, BYTES).unwrap();
        assert_eq!(file.metadata().unwrap().len(), offset + BYTES as u64);
        let mapping = Mapping::shared(&file, offset, BYTES).unwrap();
        let last = mapping.words().last().unwrap();
        let stored = || {
            let mut bytes = [0; 8];
            file.read_exact_at(&mut bytes, offset + BYTES as u64 - 8).unwrap();
            u64::from_ne_bytes(bytes)
        };
        assert_eq!((last.load(Ordering::Relaxed), stored()), (0, 0));
        last.store(7, Ordering::Relaxed);
        assert_eq!(stored(), 7);
        mapping.make_private(&file).unwrap();
        assert_eq!(last.load(Ordering::Relaxed), 7);
        last.store(8, Ordering::Relaxed);
        assert_eq!((last.load(Ordering::Relaxed), stored()), (8, 7));
    }

    #[test]
    fn room_is_zeros_where_the_system_gives_none() {
        let file = tempfile::tempfile().unwrap();
        write_zeros(&file, 3, 40_000).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 40_003);
    }

    #[test]
    fn what_cannot_be_is_an_error() {
        let file = tempfile::tempfile().unwrap();
        assert!(reserve(&file, u64::MAX, 1).is_err());
        assert!(reserve(&file, 1 << 62, BYTES).is_err());
        assert!(Mapping::shared(&file, 1, BYTES).is_err());
        assert!(Mapping::shared(&file, u64::MAX, BYTES).is_err());
    }
}
