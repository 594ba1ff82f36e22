//! Aligned memory for the library, and panics that must not unwind its frames.

use crate::error::{Error, Result};
use crate::sys;
use std::alloc::{alloc, dealloc, Layout};
use std::any::Any;
use std::os::raw::c_void;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::NonNull;
use std::sync::Mutex;

/// Huge pages for large blocks: decoding reads every weight for every token.
#[cfg(any(target_os = "linux", target_os = "android"))]
mod huge_pages {
    use std::os::raw::{c_int, c_void};

    pub(super) const SIZE: usize = 2 << 20;

    const MADV_HUGEPAGE: c_int = 14;

    extern "C" {
        fn madvise(address: *mut c_void, size: usize, advice: c_int) -> c_int;
    }

    pub(super) fn advise(block: *mut c_void, size: usize) {
        // SAFETY: the advice changes no byte, and touches nothing outside the block's pages.
        unsafe { madvise(block, size, MADV_HUGEPAGE) };
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod huge_pages {
    /// No block reaches this size.
    pub(super) const SIZE: usize = 1 << (usize::BITS - 1);

    pub(super) fn advise(_: *mut std::os::raw::c_void, _: usize) {}
}

/// Bytes aligned to `SOTTO_MEMORY_ALIGNMENT`.
pub(crate) struct Block {
    data: NonNull<u8>,
    layout: Layout,
    size: usize,
}

// SAFETY: a block is plain memory with one owner, who controls access to its bytes.
unsafe impl Send for Block {}
unsafe impl Sync for Block {}

impl Block {
    pub(crate) fn new(size: usize) -> Result<Block> {
        let no_memory =
            || Error::new(sys::SOTTO_MEMORY_TOO_SMALL, format!("no memory for {size} bytes"));
        let is_large = size >= huge_pages::SIZE;
        let alignment = if is_large { huge_pages::SIZE } else { sys::SOTTO_MEMORY_ALIGNMENT };
        let layout = Layout::from_size_align(size.max(1), alignment).map_err(|_| no_memory())?;
        // SAFETY: the layout's size is not 0.
        let data = NonNull::new(unsafe { alloc(layout) }).ok_or_else(no_memory)?;
        if is_large {
            huge_pages::advise(data.as_ptr().cast(), size);
        }
        // SAFETY: these are the layout's bytes. The zeros come last because they allocate the pages.
        unsafe { data.as_ptr().write_bytes(0, layout.size()) };
        Ok(Block { data, layout, size })
    }

    pub(crate) fn of(bytes: &[u8]) -> Result<Block> {
        let mut block = Block::new(bytes.len())?;
        block.bytes_mut().copy_from_slice(bytes);
        Ok(block)
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn pointer(&self) -> *mut c_void {
        self.data.as_ptr().cast()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the block owns these bytes, which were initialized with zeros.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr(), self.size) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the block is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.data.as_ptr(), self.size) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.data.as_ptr(), self.layout) }
    }
}

/// Returns a slice of the library's memory; empty if the pointer is null.
///
/// # Safety
/// `data` is null or points to `count` elements that live and do not change during `'a`.
pub(crate) unsafe fn slice<'a, T>(data: *const T, count: usize) -> &'a [T] {
    if data.is_null() || count == 0 {
        &[]
    } else {
        std::slice::from_raw_parts(data, count)
    }
}

/// Returns the address of a slice, or null if it is empty.
pub(crate) fn pointer_of<T>(list: &[T]) -> *const T {
    if list.is_empty() {
        std::ptr::null()
    } else {
        list.as_ptr()
    }
}

/// Holds the panic of a callback until the library has returned.
#[derive(Default)]
pub(crate) struct Panics(Mutex<Option<Box<dyn Any + Send>>>);

impl Panics {
    /// Runs a callback; `None` if it panicked.
    pub(crate) fn catch<T>(&self, callback: impl FnOnce() -> T) -> Option<T> {
        match catch_unwind(AssertUnwindSafe(callback)) {
            Ok(value) => Some(value),
            Err(payload) => {
                *self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(payload);
                None
            }
        }
    }

    /// Resumes the panic after the library has returned.
    pub(crate) fn resume(&self) {
        let payload = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        if let Some(payload) = payload {
            resume_unwind(payload);
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::Block;
    use std::path::Path;

    /// Returns the kernel flags of the mapping at an address (proc(5), VmFlags).
    fn kernel_flags(address: usize) -> String {
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut is_inside = false;
        for line in smaps.lines() {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            if let Some((begin, end)) = range {
                let bound = |text| usize::from_str_radix(text, 16).unwrap();
                is_inside = (bound(begin)..bound(end)).contains(&address);
            } else if is_inside && line.starts_with("VmFlags:") {
                return line.to_string();
            }
        }
        String::new()
    }

    #[test]
    fn large_blocks_ask_for_huge_pages() {
        if !Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
            return;
        }
        let large = Block::new(4 << 20).ok().unwrap();
        let first = large.pointer() as usize;
        assert_eq!(first % (2 << 20), 0);
        for address in [first, first + large.size() - 1] {
            assert!(kernel_flags(address).contains(" hg"));
        }
        assert!(large.bytes().iter().all(|&byte| byte == 0));
    }
}
