//! The C interface of Sotto, as declared by `sotto.h`, whose comments are its specification; under the names of C.
//!
//! The crate needs neither `std` nor an allocator. C's `char` is `u8` here, since texts are UTF-8 bytes; enumerations
//! are `i32`, as in the interface, and sets of bits `u32`. The crate `sotto` wraps all of it safely.
//!
//! How the library is found is told in the crate's README.
#![no_std]
#![allow(non_camel_case_types)]

/// A type that only the library can look into. It may be sent and shared as the comments of `sotto.h` say, no more.
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

/// The version of the header that these declarations follow; `sotto_version` tells that of the library.
pub const SOTTO_VERSION: u32 = 1 << 16 | 1 << 8;

/// Alignment in bytes of a model file's bytes and of every block passed to an `_init` function.
pub const SOTTO_MEMORY_ALIGNMENT: usize = 64;
