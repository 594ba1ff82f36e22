//! The parameters of the sampler's chain, and watermarks.

use crate::memory::{pointer_of, Panics};
use crate::params::{c_enum, list_setters, setters, texts, token_lists, with_defaults};
use crate::sys;
use crate::{Dola, Error, Order, Report, Result, Selection, Token};
use std::os::raw::c_void;
use std::sync::Arc;

c_enum! {
    /// How a text is marked.
    WatermarkScheme {
        None = SOTTO_WATERMARK_NONE,
        LeftHash = SOTTO_WATERMARK_LEFT_HASH,
        SelfHash = SOTTO_WATERMARK_SELF_HASH,
        Tournament = SOTTO_WATERMARK_TOURNAMENT,
        Gumbel = SOTTO_WATERMARK_GUMBEL,
    }
}

/// Parameters of a watermark.
#[derive(Clone)]
pub struct WatermarkParams {
    raw: sys::sotto_watermark_params,
}

impl Default for WatermarkParams {
    fn default() -> Self {
        WatermarkParams { raw: with_defaults!(sotto_watermark_params, sotto_watermark_params_init) }
    }
}

/// What is known of a text's watermark.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct WatermarkResult {
    pub is_marked: bool,
    pub token_count: u64,
    pub score: f64,
    pub z: f64,
    pub p_value: f64,
}

impl WatermarkParams {
    setters! {
        scheme: WatermarkScheme, context_width: u32, gamma: f32, delta: f32, tournament_layers: u32, key: u64,
    }

    /// Looks for the watermark in tokens of a model of that vocabulary.
    pub fn detect(&self, vocabulary_size: usize, tokens: &[Token]) -> Result<WatermarkResult> {
        let mut report = Report::new();
        // SAFETY: pointers and sizes are of slices and locals that live.
        let result = unsafe {
            let mut result: sys::sotto_watermark_result = std::mem::zeroed();
            result.struct_size = std::mem::size_of_val(&result) as u32;
            let status = sys::sotto_watermark_detect(
                &self.raw,
                vocabulary_size,
                pointer_of(tokens),
                tokens.len(),
                &mut result,
                report.out(),
            );
            report.check(status)?;
            result
        };
        Ok(WatermarkResult {
            is_marked: result.is_marked != 0,
            token_count: result.token_count,
            score: result.score,
            z: result.z,
            p_value: result.p_value,
        })
    }
}

type LogitsFunction = Arc<dyn Fn(&mut [f32]) + Send + Sync>;

/// How a token is chosen. The defaults are those of the C interface.
///
/// ```
/// let params = sotto::SamplerParams::default().temperature(0.9).top_k(50).seed(42);
/// ```
#[derive(Clone)]
pub struct SamplerParams {
    raw: sys::sotto_sampler_params,
    stages: Vec<i32>,
    dry_breakers: Option<Vec<String>>,
    dry_breaker_tokens: Vec<Token>,
    logit_bias: Vec<(Token, f32)>,
    sequence_bias: Vec<(Vec<Token>, f32)>,
    bad_words: Vec<Vec<Token>>,
    allowed_tokens: Vec<Token>,
    suppressed_tokens: Vec<Token>,
    begin_suppressed_tokens: Vec<Token>,
    forced_prefix: Vec<Token>,
    logits_callback: Option<LogitsFunction>,
    watermark: Option<WatermarkParams>,
}

// SAFETY: `raw` has no pointers but to the library's constants; callbacks are Send and Sync.
unsafe impl Send for SamplerParams {}
unsafe impl Sync for SamplerParams {}

impl Default for SamplerParams {
    fn default() -> Self {
        SamplerParams {
            raw: with_defaults!(sotto_sampler_params, sotto_sampler_params_init),
            stages: Vec::new(),
            dry_breakers: None,
            dry_breaker_tokens: Vec::new(),
            logit_bias: Vec::new(),
            sequence_bias: Vec::new(),
            bad_words: Vec::new(),
            allowed_tokens: Vec::new(),
            suppressed_tokens: Vec::new(),
            begin_suppressed_tokens: Vec::new(),
            forced_prefix: Vec::new(),
            logits_callback: None,
            watermark: None,
        }
    }
}

impl SamplerParams {
    setters! {
        temperature: f32, top_k: u32, top_p: f32, min_p: f32, repetition_penalty: f32, repetition_window: u32,
        log_probabilities: bool, seed: u64, order: Order, min_keep: u32, frequency_penalty: f32,
        presence_penalty: f32, penalize_prompt: bool, penalty_slope: f32, no_repeat_ngram: u32,
        dry_multiplier: f32, dry_base: f32, dry_allowed_length: u32, dry_window: u32, guard_window: u32,
        guard_penalty: f32, temperature_range: f32, temperature_exponent: f32, smoothing_factor: f32,
        smoothing_curve: f32, top_p_decay: f32, top_p_min: f32, top_p_reset_token: Token, top_a: f32,
        tail_free: f32, typical_p: f32, epsilon: f32, eta: f32, top_n_sigma: f32, top_h: f32,
        xtc_probability: f32, xtc_threshold: f32, selection: Selection, mirostat_tau: f32, mirostat_eta: f32,
        mirostat_m: u32, adaptive_target: f32, adaptive_decay: f32, min_new_tokens: u32, ignore_end: bool,
        end_decay_start: u32, end_decay_factor: f32, forced_last_token: Token, dola: Dola,
        dola_relative_top: f32, alternative_count: u32,
    }
    list_setters! {
        stages: i32, dry_breaker_tokens: Token, logit_bias: (Token, f32), sequence_bias: (Vec<Token>, f32),
        bad_words: Vec<Token>, allowed_tokens: Token, suppressed_tokens: Token,
        begin_suppressed_tokens: Token, forced_prefix: Token,
    }

    /// Sets `dry_breakers`, in place of the default ones.
    #[must_use]
    pub fn dry_breakers(mut self, breakers: impl Into<Vec<String>>) -> Self {
        self.dry_breakers = Some(breakers.into());
        self
    }

    /// Changes the logits before the chain, once a token and sequence.
    #[must_use]
    pub fn logits_callback(
        mut self,
        callback: impl Fn(&mut [f32]) + Send + Sync + 'static,
    ) -> Self {
        self.logits_callback = Some(Arc::new(callback));
        self
    }

    /// Marks the text.
    #[must_use]
    pub fn watermark(mut self, watermark: WatermarkParams) -> Self {
        self.watermark = Some(watermark);
        self
    }

    /// Calls `set` with the struct as the library wants it. What it needs to live as long as it is
    /// the sampler's comes back.
    pub(crate) fn lower(
        &self,
        panics: &Arc<Panics>,
        set: impl FnOnce(&sys::sotto_sampler_params) -> std::result::Result<(), Error>,
    ) -> Result<Option<Box<LogitsCall>>> {
        let mut raw = self.raw;
        raw.stages = pointer_of(&self.stages);
        raw.stage_count = self.stages.len();
        let breakers = self.dry_breakers.as_ref().map(|list| texts(list));
        if let Some(breakers) = &breakers {
            raw.dry_breakers = pointer_of(breakers);
            raw.dry_breaker_count = breakers.len();
        }
        raw.dry_breaker_tokens = pointer_of(&self.dry_breaker_tokens);
        raw.dry_breaker_token_count = self.dry_breaker_tokens.len();
        let bias: Vec<sys::sotto_token_bias> = self
            .logit_bias
            .iter()
            .map(|&(token, bias)| sys::sotto_token_bias { token, bias })
            .collect();
        raw.logit_bias = pointer_of(&bias);
        raw.logit_bias_count = bias.len();
        let sequences: Vec<sys::sotto_sequence_bias> = self
            .sequence_bias
            .iter()
            .map(|(tokens, bias)| sys::sotto_sequence_bias {
                tokens: tokens.as_ptr(),
                count: tokens.len(),
                bias: *bias,
                reserved: 0,
            })
            .collect();
        raw.sequence_bias = pointer_of(&sequences);
        raw.sequence_bias_count = sequences.len();
        let bad_words = token_lists(&self.bad_words);
        raw.bad_words = pointer_of(&bad_words);
        raw.bad_word_count = bad_words.len();
        raw.allowed_tokens = pointer_of(&self.allowed_tokens);
        raw.allowed_token_count = self.allowed_tokens.len();
        raw.suppressed_tokens = pointer_of(&self.suppressed_tokens);
        raw.suppressed_token_count = self.suppressed_tokens.len();
        raw.begin_suppressed_tokens = pointer_of(&self.begin_suppressed_tokens);
        raw.begin_suppressed_token_count = self.begin_suppressed_tokens.len();
        raw.forced_prefix = pointer_of(&self.forced_prefix);
        raw.forced_prefix_count = self.forced_prefix.len();
        if let Some(watermark) = &self.watermark {
            raw.watermark = &watermark.raw;
        }
        let call = self
            .logits_callback
            .clone()
            .map(|function| Box::new(LogitsCall { function, panics: Arc::clone(panics) }));
        if let Some(call) = &call {
            raw.logits_callback = Some(call_logits);
            raw.logits_user_data = call.as_ref() as *const LogitsCall as *mut c_void;
        }
        set(&raw)?;
        Ok(call)
    }
}

/// A callback over logits, where the library can reach it.
pub(crate) struct LogitsCall {
    function: LogitsFunction,
    panics: Arc<Panics>,
}

unsafe extern "C" fn call_logits(call: *mut c_void, logits: *mut f32, count: usize) {
    let call = &*(call as *const LogitsCall);
    let logits = std::slice::from_raw_parts_mut(logits, count);
    call.panics.catch(|| (call.function)(logits));
}
