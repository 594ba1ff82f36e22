//! Huge pages for large blocks: decoding reads all weights for every token.

pub(crate) use system::{ask_for, SIZE};

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use std::os::raw::{c_int, c_void};
    use std::ptr::NonNull;

    pub(crate) const SIZE: usize = 2 << 20;

    const MADV_HUGEPAGE: c_int = 14;

    extern "C" {
        fn madvise(address: *mut c_void, size: usize, advice: c_int) -> c_int;
    }

    /// Systems without huge pages keep small ones.
    pub(crate) fn ask_for(block: NonNull<u8>, size: usize) {
        // SAFETY: the advice changes no byte, and touches nothing outside the block's pages.
        unsafe { madvise(block.as_ptr().cast(), size, MADV_HUGEPAGE) };
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod system {
    use std::ptr::NonNull;

    /// No block is that large.
    pub(crate) const SIZE: usize = 1 << (usize::BITS - 1);

    pub(crate) fn ask_for(_: NonNull<u8>, _: usize) {}
}
