//! `sotto_speculation.h`: speculative decoding.

use core::ffi::c_void;

use crate::*;

pub const SOTTO_DRAFT_LOOKUP: u32 = 1;
pub const SOTTO_DRAFT_SESSION: u32 = 2;
pub const SOTTO_DRAFT_EARLY_EXIT: u32 = 4;
pub const SOTTO_DRAFT_LOOKAHEAD: u32 = 8;
pub const SOTTO_DRAFT_CALLBACK: u32 = 16;
pub type sotto_draft_fn = Option<
    unsafe extern "C" fn(
        user_data: *mut c_void,
        tokens: *const sotto_token,
        token_count: usize,
        hidden: *const f32,
        hidden_count: usize,
        drafts: *mut sotto_token,
        capacity: usize,
    ) -> usize,
>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_speculation_params {
    pub struct_size: u32,
    pub sources: u32,
    pub draft_tokens: u32,
    pub min_match: u32,
    pub max_match: u32,
    pub exit_layer: u32,
    pub draft_threshold: f32,
    pub reserved: u32,
    pub draft_session: *mut sotto_session,
    pub draft: sotto_draft_fn,
    pub user_data: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_speculation_info {
    pub struct_size: u32,
    pub reserved: u32,
    pub batch_count: u64,
    pub proposed_count: u64,
    pub accepted_count: u64,
    pub forced_proposed_count: u64,
    pub forced_accepted_count: u64,
    pub draft_ns: u64,
}

extern "C" {
    pub fn sotto_speculation_params_init(params: *mut sotto_speculation_params, params_size: usize);
    pub fn sotto_session_set_speculation(
        session: *mut sotto_session,
        params: *const sotto_speculation_params,
        error: *mut sotto_error,
    ) -> sotto_status;
    pub fn sotto_session_get_speculation_info(
        session: *const sotto_session,
        info: *mut sotto_speculation_info,
    ) -> sotto_status;
}
