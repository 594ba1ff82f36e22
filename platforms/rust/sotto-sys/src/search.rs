//! `sotto_search.h`: searches.

use core::ffi::c_void;

use crate::*;

pub type sotto_search_mode = i32;
pub const SOTTO_SEARCH_BEAM: i32 = 0;
pub const SOTTO_SEARCH_BEAM_SAMPLE: i32 = 1;
pub const SOTTO_SEARCH_SAMPLE: i32 = 2;
pub const SOTTO_SEARCH_CONTRASTIVE: i32 = 3;

pub type sotto_early_stopping = i32;
pub const SOTTO_EARLY_STOPPING_HEURISTIC: i32 = 0;
pub const SOTTO_EARLY_STOPPING_AT_ONCE: i32 = 1;
pub const SOTTO_EARLY_STOPPING_NEVER: i32 = 2;

pub type sotto_length_norm = i32;
pub const SOTTO_LENGTH_POWER: i32 = 0;
pub const SOTTO_LENGTH_GNMT: i32 = 1;

pub type sotto_rerank = i32;
pub const SOTTO_RERANK_ORDER: i32 = 0;
pub const SOTTO_RERANK_BEST: i32 = 1;
pub const SOTTO_RERANK_EXACT: i32 = 2;
pub const SOTTO_RERANK_NGRAM: i32 = 3;
pub const SOTTO_RERANK_CALLBACK: i32 = 4;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_sequence {
    pub tokens: *const sotto_token,
    pub token_count: usize,
    pub score: f64,
    pub log_probability: f64,
    pub stop: sotto_status,
    pub index: u32,
}

pub type sotto_similarity_fn = Option<
    unsafe extern "C" fn(
        user_data: *mut c_void,
        a: *const sotto_token,
        a_count: usize,
        b: *const sotto_token,
        b_count: usize,
    ) -> f64,
>;
pub type sotto_step_fn =
    Option<unsafe extern "C" fn(user_data: *mut c_void, sequence: u32, token: sotto_token) -> i32>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_search_params {
    pub struct_size: u32,
    pub mode: sotto_search_mode,
    pub sequence_count: u32,
    pub return_count: u32,
    pub max_tokens: u32,
    pub length_penalty: f32,
    pub length_norm: sotto_length_norm,
    pub early_stopping: sotto_early_stopping,
    pub group_count: u32,
    pub diversity_penalty: f32,
    pub rerank: sotto_rerank,
    pub contrastive_k: u32,
    pub contrastive_alpha: f32,
    pub reserved: u32,
    pub phrases: *const sotto_token_list,
    pub phrase_groups: *const u32,
    pub phrase_count: usize,
    pub similarity: sotto_similarity_fn,
    pub similarity_user_data: *mut c_void,
    pub on_step: sotto_step_fn,
    pub step_user_data: *mut c_void,
}

extern "C" {
    pub fn sotto_search_params_init(params: *mut sotto_search_params, params_size: usize);
    pub fn sotto_session_search(
        session: *mut sotto_session,
        params: *const sotto_search_params,
        sequences: *mut *const sotto_sequence,
        count: *mut usize,
        error: *mut sotto_error,
    ) -> sotto_status;
}
