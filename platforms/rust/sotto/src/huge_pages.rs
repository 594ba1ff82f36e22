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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use crate::memory::Block;
    use std::path::Path;

    /// Those of the mapping that has the address, as proc(5) describes them.
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
