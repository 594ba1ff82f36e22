//! Rust bindings of Sotto, an embeddable runtime for GPT-2 models: streaming text, all modes of sampling and search,
//! and grammars.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = match std::env::var("SOTTO_DEMO_MODEL") { Ok(path) => path, Err(_) => return Ok(()) };
//! let model = sotto::Model::open(path)?;
//! let mut session = model.session()?;
//! for chunk in session.stream("Once upon a time", 20)? {
//!     print!("{}", chunk?);
//! }
//! # Ok(()) }
//! ```
//!
//! A [`Model`] may be shared by threads, and lives as long as any object that uses it. A [`Session`] is one stream of
//! text, which may be sent to another thread, but which only one thread at a time can use:
//!
//! ```
//! fn sent<T: Send>() {}
//! sent::<sotto::Session>();
//! ```
//! ```compile_fail
//! fn shared<T: Sync>() {}
//! shared::<sotto::Session>();
//! ```
//!
//! Parameters have the names and meanings of `sotto.h`. The library does not allocate after an object is created, but
//! those functions of this crate do that return a `String` or `Vec`.
#![warn(missing_docs)]

/// The declarations of the C interface.
pub use sotto_sys as sys;

mod chat;
mod error;
mod generated;
mod grammar;
mod log;
mod matcher;
mod memory;
mod model;
mod params;
mod sampler;
mod search;
mod session;
mod speculation;
mod stream;

/// A token of a vocabulary.
pub type Token = i32;

pub use chat::Chat;
pub use error::{Error, Result};
pub use generated::*;
pub use grammar::{Grammar, Vocabulary};
pub use log::LogFunction;
pub use matcher::Matcher;
pub use model::Model;
pub use sampler::{Sampler, SamplerInput};
pub use search::{SearchResult, Sequence};
pub use session::{Canceller, Score, Session};
pub use stream::{Chunk, Piece, Prompt, Step, Stream};

/// The version of the linked library: major << 16 | minor << 8 | patch.
pub fn version() -> u32 {
    // SAFETY: the function returns a constant.
    unsafe { sys::sotto_version() }
}

/// Returns the features of the linked library as words separated by spaces.
pub fn build_text() -> &'static str {
    // SAFETY: the function returns static, terminated ASCII.
    let text = unsafe { std::ffi::CStr::from_ptr(sys::sotto_build_text().cast()) };
    text.to_str().unwrap_or_default()
}

macro_rules! opaque_debug {
    ($($type:ty),*) => {$(
        impl std::fmt::Debug for $type {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.debug_struct(stringify!($type)).finish_non_exhaustive()
            }
        }
    )*};
}
opaque_debug!(Model, Session, Canceller, Chat, Sampler, Vocabulary, Grammar, Matcher, ModelParams);
opaque_debug!(
    SessionParams,
    StopParams,
    SamplerParams,
    WatermarkParams,
    GrammarParams,
    MatcherParams
);
opaque_debug!(GuideParams, SpeculationParams, ChatParams);
