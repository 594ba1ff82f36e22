//! `sotto.h`: models, tokens, sessions.

use core::ffi::c_void;

pub type sotto_status = i32;
pub const SOTTO_OK: i32 = 0;
pub const SOTTO_STOP_END_OF_TEXT: i32 = 1;
pub const SOTTO_STOP_MAX_TOKENS: i32 = 2;
pub const SOTTO_STOP_CONTEXT_FULL: i32 = 3;
pub const SOTTO_STOP_GRAMMAR: i32 = 4;
pub const SOTTO_STOP_CALLBACK: i32 = 5;
pub const SOTTO_STOP_CANCELLED: i32 = 6;
pub const SOTTO_STOP_TOKEN: i32 = 7;
pub const SOTTO_STOP_STRING: i32 = 8;
pub const SOTTO_STOP_TIME: i32 = 9;
pub const SOTTO_STOP_REPETITION: i32 = 10;
pub const SOTTO_STOP_BANNED: i32 = 11;
pub const SOTTO_INVALID_ARGUMENT: i32 = -1;
pub const SOTTO_INVALID_STATE: i32 = -2;
pub const SOTTO_MEMORY_TOO_SMALL: i32 = -3;
pub const SOTTO_MEMORY_MISALIGNED: i32 = -4;
pub const SOTTO_BUFFER_TOO_SMALL: i32 = -5;
pub const SOTTO_MODEL_CORRUPT: i32 = -6;
pub const SOTTO_MODEL_UNSUPPORTED: i32 = -7;
pub const SOTTO_GRAMMAR_SYNTAX: i32 = -8;
pub const SOTTO_GRAMMAR_DEAD_END: i32 = -9;
pub const SOTTO_GRAMMAR_TOO_LARGE: i32 = -10;
pub const SOTTO_CPU_UNSUPPORTED: i32 = -11;
pub const SOTTO_TEXT_INVALID: i32 = -12;
pub const SOTTO_TOKENIZER_MISSING: i32 = -13;
pub const SOTTO_THREADS_UNAVAILABLE: i32 = -14;
pub const SOTTO_STATE_CORRUPT: i32 = -15;
pub const SOTTO_GRAMMAR_UNSUPPORTED: i32 = -16;
pub const SOTTO_GRAMMAR_CORRUPT: i32 = -17;
pub const SOTTO_UNSUPPORTED: i32 = -18;
pub const SOTTO_INTERNAL: i32 = -100;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_error {
    pub struct_size: u32,
    pub status: sotto_status,
    pub offset: u64,
    pub message: [u8; 240],
}

pub type sotto_log_level = i32;
pub const SOTTO_LOG_ERROR: i32 = 1;
pub const SOTTO_LOG_WARNING: i32 = 2;
pub const SOTTO_LOG_INFO: i32 = 3;
pub type sotto_log_fn = Option<
    unsafe extern "C" fn(user_data: *mut c_void, level: sotto_log_level, message: *const u8),
>;
opaque!(sotto_model);

pub type sotto_isa = i32;
pub const SOTTO_ISA_AUTO: i32 = 0;
pub const SOTTO_ISA_REFERENCE: i32 = 1;
pub const SOTTO_ISA_AVX2: i32 = 2;
pub const SOTTO_ISA_AVX512: i32 = 3;
pub const SOTTO_ISA_AVX512VNNI: i32 = 4;
pub const SOTTO_ISA_NEON: i32 = 5;
pub const SOTTO_ISA_NEON_DOTPROD: i32 = 6;
pub const SOTTO_ISA_NEON_I8MM: i32 = 7;
pub const SOTTO_ISA_AVX512AMX: i32 = 8;
pub type sotto_release_fn =
    Option<unsafe extern "C" fn(user_data: *mut c_void, bytes: *const c_void, size: usize)>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_model_params {
    pub struct_size: u32,
    pub isa: sotto_isa,
    pub verify_checksums: u32,
    pub copy_weights: u32,
    pub log: sotto_log_fn,
    pub log_user_data: *mut c_void,
    pub release: sotto_release_fn,
    pub release_user_data: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_model_info {
    pub struct_size: u32,
    pub vocabulary_size: u32,
    pub max_context_tokens: u32,
    pub layer_count: u32,
    pub head_count: u32,
    pub embedding_size: u32,
    pub feed_forward_size: u32,
    pub end_of_text_token: i32,
    pub has_tokenizer: u32,
    pub max_token_bytes: u32,
    pub isa: sotto_isa,
    pub packed_in_place: u32,
    pub parameter_count: u64,
    pub weight_bytes: u64,
    pub vocabulary_bytes: u64,
    pub layer_weight_bits: u32,
    pub head_weight_bits: u32,
}

pub type sotto_token = i32;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_token_list {
    pub tokens: *const sotto_token,
    pub count: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_text {
    pub text: *const u8,
    pub size: usize,
}

pub const SOTTO_TOKENIZE_SPECIAL: u32 = 1;
opaque!(sotto_session);

pub type sotto_overflow = i32;
pub const SOTTO_OVERFLOW_STOP: i32 = 0;
pub const SOTTO_OVERFLOW_RING: i32 = 1;
pub const SOTTO_OVERFLOW_SHIFT: i32 = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_executor {
    pub struct_size: u32,
    pub reserved: u32,
    pub num_threads: Option<unsafe extern "C" fn(executor_context: *mut c_void) -> i32>,
    pub schedule: Option<
        unsafe extern "C" fn(
            executor_context: *mut c_void,
            context: *mut c_void,
            task: Option<unsafe extern "C" fn(context: *mut c_void)>,
        ),
    >,
    pub executor_context: *mut c_void,
}

pub const SOTTO_FEATURE_HIDDEN_HISTORY: u32 = 1;
pub const SOTTO_FEATURE_DOLA: u32 = 2;
pub const SOTTO_FEATURE_GUIDE: u32 = 4;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_session_params {
    pub struct_size: u32,
    pub context_tokens: u32,
    pub batch_tokens: u32,
    pub thread_count: u32,
    pub overflow: sotto_overflow,
    pub sink_tokens: u32,
    pub executor: *const sotto_executor,
    pub sequence_count: u32,
    pub sequence_tokens: u32,
    pub features: u32,
    pub list_bytes: u32,
    pub draft_tokens: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_session_info {
    pub struct_size: u32,
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

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_session_timings {
    pub struct_size: u32,
    pub reserved: u32,
    pub prefill_tokens: u64,
    pub prefill_ns: u64,
    pub decode_tokens: u64,
    pub decode_ns: u64,
    pub sample_count: u64,
    pub sample_ns: u64,
    pub reanchor_tokens: u64,
    pub reanchor_ns: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_alternative {
    pub token: sotto_token,
    pub log_probability: f32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sotto_piece {
    pub text: *const u8,
    pub text_size: usize,
    pub token: sotto_token,
    pub log_probability: f32,
    pub sampled_log_probability: f32,
    pub alternative_count: u32,
    pub alternatives: *const sotto_alternative,
    pub bytes: *const u8,
    pub byte_count: usize,
    pub elapsed_ns: u64,
}

pub type sotto_piece_fn =
    Option<unsafe extern "C" fn(user_data: *mut c_void, piece: *const sotto_piece) -> i32>;

extern "C" {
    pub fn sotto_version() -> u32;
    pub fn sotto_build_text() -> *const u8;
    pub fn sotto_status_text(status: sotto_status) -> *const u8;
    pub fn sotto_isa_text(isa: sotto_isa) -> *const u8;
    pub fn sotto_model_params_init(params: *mut sotto_model_params, params_size: usize);
    pub fn sotto_model_memory_size(
        file: *const c_void,
        file_size: usize,
        params: *const sotto_model_params,
        memory_size: *mut usize,
        error: *mut sotto_error,
    ) -> sotto_status;
    pub fn sotto_model_init(
        file: *const c_void,
        file_size: usize,
        params: *const sotto_model_params,
        memory: *mut c_void,
        memory_size: usize,
        model: *mut *mut sotto_model,
        error: *mut sotto_error,
    ) -> sotto_status;
    pub fn sotto_model_deinit(model: *mut sotto_model);
    pub fn sotto_model_get_info(
        model: *const sotto_model,
        info: *mut sotto_model_info,
    ) -> sotto_status;
    pub fn sotto_tokenize(
        model: *const sotto_model,
        text: *const u8,
        text_size: usize,
        flags: u32,
        tokens: *mut sotto_token,
        capacity: usize,
        count: *mut usize,
        error: *mut sotto_error,
    ) -> sotto_status;
    pub fn sotto_token_bytes(
        model: *const sotto_model,
        token: sotto_token,
        bytes: *mut *const u8,
        size: *mut usize,
    ) -> sotto_status;
    pub fn sotto_detokenize(
        model: *const sotto_model,
        tokens: *const sotto_token,
        count: usize,
        bytes: *mut u8,
        capacity: usize,
        size: *mut usize,
    ) -> sotto_status;
    pub fn sotto_session_params_init(params: *mut sotto_session_params, params_size: usize);
    pub fn sotto_session_memory_size(
        model: *const sotto_model,
        params: *const sotto_session_params,
        memory_size: *mut usize,
        error: *mut sotto_error,
    ) -> sotto_status;
    pub fn sotto_session_init(
        model: *const sotto_model,
        params: *const sotto_session_params,
        memory: *mut c_void,
        memory_size: usize,
        session: *mut *mut sotto_session,
        error: *mut sotto_error,
    ) -> sotto_status;
    pub fn sotto_session_deinit(session: *mut sotto_session);
    pub fn sotto_session_reset(session: *mut sotto_session);
    pub fn sotto_session_prefill(
        session: *mut sotto_session,
        tokens: *const sotto_token,
        count: usize,
    ) -> sotto_status;
    pub fn sotto_session_next(
        session: *mut sotto_session,
        piece: *mut *const sotto_piece,
    ) -> sotto_status;
    pub fn sotto_session_generate(
        session: *mut sotto_session,
        prompt: *const sotto_token,
        prompt_count: usize,
        max_tokens: usize,
        on_piece: sotto_piece_fn,
        user_data: *mut c_void,
    ) -> sotto_status;
    pub fn sotto_session_logits(
        session: *mut sotto_session,
        logits: *mut *const f32,
        count: *mut usize,
    ) -> sotto_status;
    pub fn sotto_session_rewind(session: *mut sotto_session, token_count: u64) -> sotto_status;
    pub fn sotto_session_cancel(session: *mut sotto_session);
    pub fn sotto_session_get_info(
        session: *const sotto_session,
        info: *mut sotto_session_info,
    ) -> sotto_status;
    pub fn sotto_session_get_timings(
        session: *const sotto_session,
        timings: *mut sotto_session_timings,
    ) -> sotto_status;
    pub fn sotto_session_reset_timings(session: *mut sotto_session);
}
