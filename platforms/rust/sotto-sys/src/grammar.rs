//! `sotto_grammar.h`: vocabularies, grammars, matchers.

use core::ffi::c_void;

use crate::*;

opaque!(sotto_vocabulary);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_vocabulary_params {
    pub struct_size: u32,
    pub token_count: u32,
    pub model: *const sotto_model,
    pub bytes: *const u8,
    pub offsets: *const u32,
    pub special: *const u8,
    pub end_tokens: *const sotto_token,
    pub end_token_count: usize,
}

opaque!(sotto_grammar);

pub type sotto_grammar_language = i32;
pub const SOTTO_GRAMMAR_GBNF: i32 = 0;
pub const SOTTO_GRAMMAR_JSON_SCHEMA: i32 = 1;
pub const SOTTO_GRAMMAR_REGEX: i32 = 2;
pub const SOTTO_GRAMMAR_JSON: i32 = 3;
pub const SOTTO_GRAMMAR_JSON_OBJECT: i32 = 4;
pub const SOTTO_GRAMMAR_CHOICES: i32 = 5;
pub const SOTTO_GRAMMAR_NUMBER: i32 = 6;
pub const SOTTO_GRAMMAR_TOOLS: i32 = 7;

pub type sotto_json_space = i32;
pub const SOTTO_JSON_FLEXIBLE: i32 = 0;
pub const SOTTO_JSON_COMPACT: i32 = 1;
pub const SOTTO_JSON_ONE_SPACE: i32 = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_grammar_params {
    pub struct_size: u32,
    pub language: sotto_grammar_language,
    pub root: sotto_text,
    pub vocabulary: *const sotto_vocabulary,
    pub triggers: *const sotto_text,
    pub trigger_count: usize,
    pub trigger_tokens: *const sotto_token,
    pub trigger_token_count: usize,
    pub json_space: sotto_json_space,
    pub maximum_space: u32,
    pub allow_surrounding_whitespace: u32,
    pub schema_draft: u32,
    pub assert_formats: u32,
    pub closed: u32,
    pub distinct_names: u32,
    pub parallel_tool_calls: u32,
    pub log: sotto_log_fn,
    pub log_user_data: *mut c_void,
}

opaque!(sotto_matcher);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_matcher_params {
    pub struct_size: u32,
    pub sequence_count: u32,
    pub rollback_count: u32,
    pub node_count: u32,
    pub frame_count: u32,
    pub config_count: u32,
    pub item_count: u32,
    pub work_count: u32,
    pub mask_bytes: u32,
    pub reserved: u32,
    pub step_budget: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_matcher_info {
    pub struct_size: u32,
    pub may_end: u32,
    pub must_end: u32,
    pub reserved: u32,
    pub token_count: u64,
}

extern "C" {
    pub fn sotto_vocabulary_params_init(params: *mut sotto_vocabulary_params, params_size: usize);
    pub fn sotto_vocabulary_memory_size(
        params: *const sotto_vocabulary_params,
        memory_size: *mut usize,
        error: *mut sotto_error,
    ) -> sotto_status;
    pub fn sotto_vocabulary_init(
        params: *const sotto_vocabulary_params,
        memory: *mut c_void,
        memory_size: usize,
        vocabulary: *mut *mut sotto_vocabulary,
        error: *mut sotto_error,
    ) -> sotto_status;
    pub fn sotto_grammar_params_init(params: *mut sotto_grammar_params, params_size: usize);
    pub fn sotto_grammar_typical_memory(source_size: usize) -> usize;
    pub fn sotto_grammar_compile(
        source: *const u8,
        source_size: usize,
        params: *const sotto_grammar_params,
        memory: *mut c_void,
        memory_size: usize,
        grammar: *mut *mut sotto_grammar,
        grammar_size: *mut usize,
        error: *mut sotto_error,
    ) -> sotto_status;
    pub fn sotto_grammar_save(
        grammar: *const sotto_grammar,
        image: *mut c_void,
        capacity: usize,
        size: *mut usize,
    ) -> sotto_status;
    pub fn sotto_grammar_load(
        image: *const c_void,
        image_size: usize,
        grammar: *mut *const sotto_grammar,
        error: *mut sotto_error,
    ) -> sotto_status;
    pub fn sotto_matcher_params_init(params: *mut sotto_matcher_params, params_size: usize);
    pub fn sotto_matcher_memory_size(
        grammar: *const sotto_grammar,
        vocabulary: *const sotto_vocabulary,
        params: *const sotto_matcher_params,
        memory_size: *mut usize,
        error: *mut sotto_error,
    ) -> sotto_status;
    pub fn sotto_matcher_init(
        grammar: *const sotto_grammar,
        vocabulary: *const sotto_vocabulary,
        params: *const sotto_matcher_params,
        memory: *mut c_void,
        memory_size: usize,
        matcher: *mut *mut sotto_matcher,
        error: *mut sotto_error,
    ) -> sotto_status;
    pub fn sotto_matcher_reset(matcher: *mut sotto_matcher, sequence: u32) -> sotto_status;
    pub fn sotto_matcher_mask(
        matcher: *mut sotto_matcher,
        sequence: u32,
        words: *mut u64,
        word_count: usize,
    ) -> sotto_status;
    pub fn sotto_matcher_borrow_mask(
        matcher: *mut sotto_matcher,
        sequence: u32,
        words: *mut *const u64,
    ) -> sotto_status;
    pub fn sotto_matcher_accept_token(
        matcher: *mut sotto_matcher,
        sequence: u32,
        token: sotto_token,
    ) -> sotto_status;
    pub fn sotto_matcher_accept_text(
        matcher: *mut sotto_matcher,
        sequence: u32,
        text: *const u8,
        text_size: usize,
    ) -> sotto_status;
    pub fn sotto_matcher_test(
        matcher: *mut sotto_matcher,
        sequence: u32,
        text: *const u8,
        text_size: usize,
        begins: *mut u32,
        matches: *mut u32,
    ) -> sotto_status;
    pub fn sotto_matcher_rewind(matcher: *mut sotto_matcher, count: u64) -> sotto_status;
    pub fn sotto_matcher_fork(matcher: *mut sotto_matcher, from: u32, to: u32) -> sotto_status;
    pub fn sotto_matcher_forced_text(
        matcher: *mut sotto_matcher,
        sequence: u32,
        text: *mut u8,
        capacity: usize,
        size: *mut usize,
    ) -> sotto_status;
    pub fn sotto_matcher_get_info(
        matcher: *const sotto_matcher,
        sequence: u32,
        info: *mut sotto_matcher_info,
    ) -> sotto_status;
    pub fn sotto_session_set_matcher(
        session: *mut sotto_session,
        matcher: *mut sotto_matcher,
        error: *mut sotto_error,
    ) -> sotto_status;
}
