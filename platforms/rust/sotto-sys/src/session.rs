//! `sotto_session.h`: what a session offers beside prefill and next.

use core::ffi::c_void;

use crate::*;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_stop_params {
    pub struct_size: u32,
    pub include_stop_text: u32,
    pub max_tokens: u64,
    pub max_time_ns: u64,
    pub repetition_limit: f32,
    pub repetition_window: u32,
    pub stop_tokens: *const sotto_token,
    pub stop_token_count: usize,
    pub stop_strings: *const sotto_text,
    pub stop_string_count: usize,
    pub banned_strings: *const sotto_text,
    pub banned_string_count: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_score {
    pub struct_size: u32,
    pub reserved: u32,
    pub token_count: u64,
    pub log_probability: f64,
    pub perplexity: f64,
}

pub type sotto_pooling = i32;
pub const SOTTO_POOL_LAST: i32 = 0;
pub const SOTTO_POOL_MEAN: i32 = 1;

pub type sotto_guide_mode = i32;
pub const SOTTO_GUIDE_OFF: i32 = 0;
pub const SOTTO_GUIDE_CFG: i32 = 1;
pub const SOTTO_GUIDE_CONTRAST: i32 = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_guide_params {
    pub struct_size: u32,
    pub mode: sotto_guide_mode,
    pub scale: f32,
    pub alpha: f32,
    pub beta: f32,
    pub reserved: u32,
}

extern "C" {
    pub fn sotto_stop_params_init(params: *mut sotto_stop_params, params_size: usize);
    pub fn sotto_session_set_stops(
        session: *mut sotto_session,
        params: *const sotto_stop_params,
        error: *mut sotto_error,
    ) -> sotto_status;
    pub fn sotto_session_heal(session: *mut sotto_session) -> sotto_status;
    pub fn sotto_session_score(
        session: *mut sotto_session,
        tokens: *const sotto_token,
        count: usize,
        log_probabilities: *mut f32,
        score: *mut sotto_score,
    ) -> sotto_status;
    pub fn sotto_session_hidden(
        session: *mut sotto_session,
        hidden: *mut *const f32,
        count: *mut usize,
    ) -> sotto_status;
    pub fn sotto_session_embed(
        session: *mut sotto_session,
        tokens: *const sotto_token,
        count: usize,
        pooling: sotto_pooling,
        embedding: *mut f32,
    ) -> sotto_status;
    pub fn sotto_guide_params_init(params: *mut sotto_guide_params, params_size: usize);
    pub fn sotto_session_set_guide(
        session: *mut sotto_session,
        guide: *mut sotto_session,
        params: *const sotto_guide_params,
        error: *mut sotto_error,
    ) -> sotto_status;
    pub fn sotto_session_saved_size(
        session: *const sotto_session,
        size: *mut usize,
    ) -> sotto_status;
    pub fn sotto_session_save(
        session: *const sotto_session,
        bytes: *mut c_void,
        capacity: usize,
        size: *mut usize,
    ) -> sotto_status;
    pub fn sotto_session_restore(
        session: *mut sotto_session,
        bytes: *const c_void,
        size: usize,
        error: *mut sotto_error,
    ) -> sotto_status;
    pub fn sotto_session_fork(
        from: *const sotto_session,
        to: *mut sotto_session,
        error: *mut sotto_error,
    ) -> sotto_status;
}
