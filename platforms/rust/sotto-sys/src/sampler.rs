//! `sotto_sampler.h`: samplers and watermarks.

use core::ffi::c_void;

use crate::*;

pub type sotto_stage = i32;
pub const SOTTO_STAGE_LOGITS_CALLBACK: i32 = 1;
pub const SOTTO_STAGE_BIAS: i32 = 2;
pub const SOTTO_STAGE_SEQUENCE_BIAS: i32 = 3;
pub const SOTTO_STAGE_ALLOWED: i32 = 4;
pub const SOTTO_STAGE_SUPPRESS: i32 = 5;
pub const SOTTO_STAGE_BAD_WORDS: i32 = 6;
pub const SOTTO_STAGE_MIN_TOKENS: i32 = 7;
pub const SOTTO_STAGE_FORCED: i32 = 8;
pub const SOTTO_STAGE_END_DECAY: i32 = 9;
pub const SOTTO_STAGE_REPETITION: i32 = 10;
pub const SOTTO_STAGE_FREQUENCY: i32 = 11;
pub const SOTTO_STAGE_PRESENCE: i32 = 12;
pub const SOTTO_STAGE_NO_REPEAT_NGRAM: i32 = 13;
pub const SOTTO_STAGE_DRY: i32 = 14;
pub const SOTTO_STAGE_TEMPERATURE: i32 = 15;
pub const SOTTO_STAGE_SMOOTHING: i32 = 16;
pub const SOTTO_STAGE_TOP_K: i32 = 17;
pub const SOTTO_STAGE_TOP_P: i32 = 18;
pub const SOTTO_STAGE_MIN_P: i32 = 19;
pub const SOTTO_STAGE_TOP_A: i32 = 20;
pub const SOTTO_STAGE_TAIL_FREE: i32 = 21;
pub const SOTTO_STAGE_TYPICAL: i32 = 22;
pub const SOTTO_STAGE_EPSILON: i32 = 23;
pub const SOTTO_STAGE_ETA: i32 = 24;
pub const SOTTO_STAGE_TOP_N_SIGMA: i32 = 25;
pub const SOTTO_STAGE_TOP_H: i32 = 26;
pub const SOTTO_STAGE_XTC: i32 = 27;
pub const SOTTO_STAGE_WATERMARK: i32 = 28;

pub type sotto_order = i32;
pub const SOTTO_ORDER_DEFAULT: i32 = 0;
pub const SOTTO_ORDER_HF: i32 = 1;
pub const SOTTO_ORDER_OPENAI: i32 = 2;

pub type sotto_selection = i32;
pub const SOTTO_SELECT_MULTINOMIAL: i32 = 0;
pub const SOTTO_SELECT_GREEDY: i32 = 1;
pub const SOTTO_SELECT_GUMBEL: i32 = 2;
pub const SOTTO_SELECT_MIROSTAT: i32 = 3;
pub const SOTTO_SELECT_MIROSTAT_V2: i32 = 4;
pub const SOTTO_SELECT_ADAPTIVE_P: i32 = 5;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_token_bias {
    pub token: sotto_token,
    pub bias: f32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_sequence_bias {
    pub tokens: *const sotto_token,
    pub count: usize,
    pub bias: f32,
    pub reserved: u32,
}

pub type sotto_logits_fn =
    Option<unsafe extern "C" fn(user_data: *mut c_void, logits: *mut f32, count: usize)>;

pub type sotto_watermark_scheme = i32;
pub const SOTTO_WATERMARK_NONE: i32 = 0;
pub const SOTTO_WATERMARK_LEFT_HASH: i32 = 1;
pub const SOTTO_WATERMARK_SELF_HASH: i32 = 2;
pub const SOTTO_WATERMARK_TOURNAMENT: i32 = 3;
pub const SOTTO_WATERMARK_GUMBEL: i32 = 4;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_watermark_params {
    pub struct_size: u32,
    pub scheme: sotto_watermark_scheme,
    pub context_width: u32,
    pub gamma: f32,
    pub delta: f32,
    pub tournament_layers: u32,
    pub key: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_watermark_result {
    pub struct_size: u32,
    pub is_marked: u32,
    pub token_count: u64,
    pub score: f64,
    pub z: f64,
    pub p_value: f64,
}

pub type sotto_dola = i32;
pub const SOTTO_DOLA_OFF: i32 = 0;
pub const SOTTO_DOLA_LOW: i32 = 1;
pub const SOTTO_DOLA_HIGH: i32 = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_sampler_params {
    pub struct_size: u32,
    pub temperature: f32,
    pub top_k: u32,
    pub top_p: f32,
    pub min_p: f32,
    pub repetition_penalty: f32,
    pub repetition_window: u32,
    pub log_probabilities: u32,
    pub seed: u64,
    pub order: sotto_order,
    pub min_keep: u32,
    pub stages: *const sotto_stage,
    pub stage_count: usize,
    pub frequency_penalty: f32,
    pub presence_penalty: f32,
    pub penalize_prompt: u32,
    pub penalty_slope: f32,
    pub no_repeat_ngram: u32,
    pub dry_multiplier: f32,
    pub dry_base: f32,
    pub dry_allowed_length: u32,
    pub dry_window: u32,
    pub guard_window: u32,
    pub guard_penalty: f32,
    pub reserved0: u32,
    pub dry_breakers: *const sotto_text,
    pub dry_breaker_count: usize,
    pub dry_breaker_tokens: *const sotto_token,
    pub dry_breaker_token_count: usize,
    pub temperature_range: f32,
    pub temperature_exponent: f32,
    pub smoothing_factor: f32,
    pub smoothing_curve: f32,
    pub top_p_decay: f32,
    pub top_p_min: f32,
    pub top_p_reset_token: sotto_token,
    pub top_a: f32,
    pub tail_free: f32,
    pub typical_p: f32,
    pub epsilon: f32,
    pub eta: f32,
    pub top_n_sigma: f32,
    pub top_h: f32,
    pub xtc_probability: f32,
    pub xtc_threshold: f32,
    pub selection: sotto_selection,
    pub mirostat_tau: f32,
    pub mirostat_eta: f32,
    pub mirostat_m: u32,
    pub adaptive_target: f32,
    pub adaptive_decay: f32,
    pub min_new_tokens: u32,
    pub ignore_end: u32,
    pub end_decay_start: u32,
    pub end_decay_factor: f32,
    pub forced_last_token: sotto_token,
    pub reserved1: u32,
    pub logit_bias: *const sotto_token_bias,
    pub logit_bias_count: usize,
    pub sequence_bias: *const sotto_sequence_bias,
    pub sequence_bias_count: usize,
    pub bad_words: *const sotto_token_list,
    pub bad_word_count: usize,
    pub allowed_tokens: *const sotto_token,
    pub allowed_token_count: usize,
    pub suppressed_tokens: *const sotto_token,
    pub suppressed_token_count: usize,
    pub begin_suppressed_tokens: *const sotto_token,
    pub begin_suppressed_token_count: usize,
    pub forced_prefix: *const sotto_token,
    pub forced_prefix_count: usize,
    pub logits_callback: sotto_logits_fn,
    pub logits_user_data: *mut c_void,
    pub watermark: *const sotto_watermark_params,
    pub dola: sotto_dola,
    pub dola_relative_top: f32,
    pub alternative_count: u32,
    pub reserved2: u32,
}

opaque!(sotto_sampler);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_sampler_input {
    pub struct_size: u32,
    pub sequence: u32,
    pub logits: *const f32,
    pub allowed: *const u64,
    pub history: *const sotto_token,
    pub history_count: usize,
    pub generated_count: u64,
    pub token_limit: u64,
}

extern "C" {
    pub fn sotto_watermark_params_init(params: *mut sotto_watermark_params, params_size: usize);
    pub fn sotto_watermark_detect(
        params: *const sotto_watermark_params,
        vocabulary_size: usize,
        tokens: *const sotto_token,
        count: usize,
        result: *mut sotto_watermark_result,
        error: *mut sotto_error,
    ) -> sotto_status;
    pub fn sotto_sampler_params_init(params: *mut sotto_sampler_params, params_size: usize);
    pub fn sotto_session_set_sampler(
        session: *mut sotto_session,
        params: *const sotto_sampler_params,
        error: *mut sotto_error,
    ) -> sotto_status;
    pub fn sotto_sampler_memory_size(
        vocabulary_size: usize,
        list_bytes: u32,
        memory_size: *mut usize,
        error: *mut sotto_error,
    ) -> sotto_status;
    pub fn sotto_sampler_init(
        model: *const sotto_model,
        vocabulary_size: usize,
        list_bytes: u32,
        memory: *mut c_void,
        memory_size: usize,
        sampler: *mut *mut sotto_sampler,
        error: *mut sotto_error,
    ) -> sotto_status;
    pub fn sotto_sampler_set(
        sampler: *mut sotto_sampler,
        params: *const sotto_sampler_params,
        error: *mut sotto_error,
    ) -> sotto_status;
    pub fn sotto_sampler_pick(
        sampler: *mut sotto_sampler,
        input: *const sotto_sampler_input,
        token: *mut sotto_token,
        error: *mut sotto_error,
    ) -> sotto_status;
    pub fn sotto_sampler_apply(
        sampler: *mut sotto_sampler,
        input: *const sotto_sampler_input,
        tokens: *mut sotto_token,
        probabilities: *mut f32,
        capacity: usize,
        count: *mut usize,
        error: *mut sotto_error,
    ) -> sotto_status;
}
