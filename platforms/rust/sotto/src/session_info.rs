//! What a session tells about itself.

use crate::{sys, Session};

/// Where a session stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub struct SessionInfo {
    pub context_tokens: u32,
    pub batch_tokens: u32,
    pub thread_count: u32,
    pub sink_tokens: u32,
    pub cached_tokens: u32,
    pub token_count: u64,
    pub reanchor_count: u64,
    pub kv_bytes: u64,
    pub memory_bytes: u64,
}

/// Where time went, in tokens and nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub struct SessionTimings {
    pub prefill_tokens: u64,
    pub prefill_ns: u64,
    pub decode_tokens: u64,
    pub decode_ns: u64,
    pub sample_count: u64,
    pub sample_ns: u64,
    pub reanchor_tokens: u64,
    pub reanchor_ns: u64,
}

impl Session {
    /// Where the session stands.
    pub fn info(&self) -> SessionInfo {
        // SAFETY: the struct is plain numbers.
        let info = unsafe {
            let mut info: sys::sotto_session_info = std::mem::zeroed();
            info.struct_size = std::mem::size_of_val(&info) as u32;
            sys::sotto_session_get_info(self.raw(), &mut info);
            info
        };
        SessionInfo {
            context_tokens: info.context_tokens,
            batch_tokens: info.batch_tokens,
            thread_count: info.thread_count,
            sink_tokens: info.sink_tokens,
            cached_tokens: info.cached_tokens,
            token_count: info.token_count,
            reanchor_count: info.reanchor_count,
            kv_bytes: info.kv_bytes,
            memory_bytes: info.memory_bytes,
        }
    }

    /// Where time went since the session was made, or [`Session::reset_timings`].
    pub fn timings(&self) -> SessionTimings {
        // SAFETY: the struct is plain numbers.
        let timings = unsafe {
            let mut timings: sys::sotto_session_timings = std::mem::zeroed();
            timings.struct_size = std::mem::size_of_val(&timings) as u32;
            sys::sotto_session_get_timings(self.raw(), &mut timings);
            timings
        };
        SessionTimings {
            prefill_tokens: timings.prefill_tokens,
            prefill_ns: timings.prefill_ns,
            decode_tokens: timings.decode_tokens,
            decode_ns: timings.decode_ns,
            sample_count: timings.sample_count,
            sample_ns: timings.sample_ns,
            reanchor_tokens: timings.reanchor_tokens,
            reanchor_ns: timings.reanchor_ns,
        }
    }

    /// Begins counting anew.
    pub fn reset_timings(&mut self) {
        unsafe { sys::sotto_session_reset_timings(self.raw()) }
    }
}
