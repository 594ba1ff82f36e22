//! The C interface of Sotto under its C names, as declared and specified by `sotto.h`.
//!
//! The crate needs neither `std` nor an allocator. C's `char` is `u8` here, since texts are UTF-8 bytes; enumerations
//! are `i32`, as in the interface, and sets of bits `u32`. The crate `sotto` wraps all of it safely.
//!
//! The README of the crate describes how the library is found.
#![no_std]
#![allow(non_camel_case_types)]

/// An opaque type of the library. Sending and sharing it follow the rules in `sotto.h`.
macro_rules! opaque {
    ($name:ident) => {
        #[repr(C)]
        pub struct $name {
            _data: [u8; 0],
            _marker: core::marker::PhantomData<(*mut u8, core::marker::PhantomPinned)>,
        }
    };
}

mod generated;

pub use generated::*;

/// The version of the header that these declarations follow; `sotto_version` returns the library's.
pub const SOTTO_VERSION: u32 = 1 << 16 | 1 << 8;

/// Alignment in bytes of a model file's bytes and of every block passed to an `_init` function.
pub const SOTTO_MEMORY_ALIGNMENT: usize = 64;
