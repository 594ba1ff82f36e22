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

mod grammar;
mod runtime;
mod sampler;
mod search;
mod session;
mod speculation;

pub use grammar::*;
pub use runtime::*;
pub use sampler::*;
pub use search::*;
pub use session::*;
pub use speculation::*;

/// The version of the header that these declarations follow; `sotto_version` tells that of the library.
pub const SOTTO_VERSION: u32 = 1 << 16 | 1 << 8;

/// Alignment in bytes of a model file's bytes and of every block passed to an `_init` function.
pub const SOTTO_MEMORY_ALIGNMENT: usize = 64;

// The sizes of tests/abi/layout_lp64.txt, where pointers have 64 bits. tests/layout.rs looks at every field.
#[cfg(target_pointer_width = "64")]
const _: () = {
    use core::mem::size_of;
    assert!(size_of::<sotto_error>() == 256);
    assert!(size_of::<sotto_model_params>() == 48);
    assert!(size_of::<sotto_model_info>() == 80);
    assert!(size_of::<sotto_executor>() == 32);
    assert!(size_of::<sotto_session_params>() == 56);
    assert!(size_of::<sotto_session_info>() == 56);
    assert!(size_of::<sotto_session_timings>() == 72);
    assert!(size_of::<sotto_piece>() == 64);
    assert!(size_of::<sotto_vocabulary_params>() == 56);
    assert!(size_of::<sotto_grammar_params>() == 112);
    assert!(size_of::<sotto_matcher_params>() == 48);
    assert!(size_of::<sotto_matcher_info>() == 24);
    assert!(size_of::<sotto_sampler_params>() == 408);
    assert!(size_of::<sotto_sampler_input>() == 56);
    assert!(size_of::<sotto_watermark_params>() == 32);
    assert!(size_of::<sotto_watermark_result>() == 40);
    assert!(size_of::<sotto_search_params>() == 112);
    assert!(size_of::<sotto_sequence>() == 40);
    assert!(size_of::<sotto_stop_params>() == 80);
    assert!(size_of::<sotto_guide_params>() == 24);
    assert!(size_of::<sotto_speculation_params>() == 56);
    assert!(size_of::<sotto_speculation_info>() == 56);
};
