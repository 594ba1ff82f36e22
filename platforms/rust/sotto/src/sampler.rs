//! The sampler's chain for any logits.

use crate::error::{Error, Report, Result};
use crate::memory::{pointer_of, slice, Block, Panics};
use crate::params::Lists;
use crate::sys;
use crate::{Model, SamplerParams, Token, WatermarkParams, WatermarkResult};
use std::os::raw::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

/// The input for one token.
#[derive(Clone, Copy, Debug, Default)]
pub struct SamplerInput<'a> {
    /// One per token of the vocabulary.
    pub logits: &'a [f32],
    /// Bit `i % 64` of word `i / 64` allows token i; `None` allows all.
    pub allowed: Option<&'a [u64]>,
    /// The previous tokens, newest last.
    pub history: &'a [Token],
    /// Number of tokens at the end of the history that were generated.
    pub generated_count: u64,
    /// Maximum number of generated tokens, or 0 if it is not known.
    pub token_limit: u64,
    /// The stream of random numbers to draw from.
    pub sequence: u32,
}

/// The sampler's chain without a session. It may be sent to another thread.
pub struct Sampler {
    raw: NonNull<sys::sotto_sampler>,
    vocabulary_size: usize,
    panics: Arc<Panics>,
    _logits: Option<Box<LogitsCalls>>,
    _memory: Block,
    _model: Option<Model>,
}

// SAFETY: sotto.h: a sampler belongs to one thread at a time.
unsafe impl Send for Sampler {}

impl Sampler {
    /// Creates a sampler for a vocabulary whose tokens have no text.
    pub fn new(vocabulary_size: usize) -> Result<Sampler> {
        Sampler::create(None, vocabulary_size, 16384)
    }

    /// Creates a sampler for a model's vocabulary.
    pub fn of_model(model: &Model) -> Result<Sampler> {
        Sampler::create(Some(model.clone()), model.info().vocabulary_size, 16384)
    }

    /// Creates a sampler with `list_bytes` of memory for the lists of its parameters.
    pub fn create(
        model: Option<Model>,
        vocabulary_size: usize,
        list_bytes: u32,
    ) -> Result<Sampler> {
        let mut report = Report::new();
        let mut size = 0;
        let raw_model = model.as_ref().map_or(std::ptr::null(), Model::raw);
        // SAFETY: out-pointers refer to locals; the memory and the model live as long as the sampler.
        unsafe {
            let status = sys::sotto_sampler_memory_size(
                vocabulary_size,
                list_bytes,
                &mut size,
                report.out(),
            );
            report.check(status)?;
            let memory = Block::new(size)?;
            let mut raw = std::ptr::null_mut();
            let status = sys::sotto_sampler_init(
                raw_model,
                vocabulary_size,
                list_bytes,
                memory.pointer(),
                memory.size(),
                &mut raw,
                report.out(),
            );
            report.check(status)?;
            Ok(Sampler {
                raw: NonNull::new(raw).expect("a sampler that was made"),
                vocabulary_size,
                panics: Arc::default(),
                _logits: None,
                _memory: memory,
                _model: model,
            })
        }
    }

    /// Sets the parameters and restarts the random numbers from the seed.
    pub fn set(&mut self, params: &SamplerParams) -> Result<()> {
        let raw = self.raw.as_ptr();
        self._logits = Some(params.lower(&self.panics, |params| {
            let mut report = Report::new();
            // SAFETY: `params` and what it points to live during the call.
            let status = unsafe { sys::sotto_sampler_set(raw, params, report.out()) };
            report.check(status).map(drop)
        })?);
        Ok(())
    }

    /// Selects a token.
    pub fn sample(&mut self, input: &SamplerInput<'_>) -> Result<Token> {
        let raw_input = self.lower(input)?;
        let mut report = Report::new();
        let mut token = -1;
        // SAFETY: `lower` has checked the slices' sizes.
        let status = unsafe {
            sys::sotto_sampler_sample(self.raw.as_ptr(), &raw_input, &mut token, report.out())
        };
        self.panics.resume();
        report.check(status)?;
        Ok(token)
    }

    /// Returns the distribution after the chain: tokens in order with their probabilities.
    pub fn apply(&mut self, input: &SamplerInput<'_>) -> Result<Vec<(Token, f32)>> {
        let raw_input = self.lower(input)?;
        let mut report = Report::new();
        let mut tokens = vec![0; self.vocabulary_size];
        let mut probabilities = vec![0.0; self.vocabulary_size];
        let mut count = 0;
        // SAFETY: as above; both arrays have the given capacity.
        let status = unsafe {
            sys::sotto_sampler_apply(
                self.raw.as_ptr(),
                &raw_input,
                tokens.as_mut_ptr(),
                probabilities.as_mut_ptr(),
                tokens.len(),
                &mut count,
                report.out(),
            )
        };
        self.panics.resume();
        report.check(status)?;
        Ok(tokens.into_iter().zip(probabilities).take(count).collect())
    }

    fn lower(&self, input: &SamplerInput<'_>) -> Result<sys::sotto_sampler_input> {
        let words = (self.vocabulary_size + 63) / 64;
        if input.logits.len() != self.vocabulary_size {
            let (count, size) = (input.logits.len(), self.vocabulary_size);
            return Err(Error::invalid(format!(
                "logits has {count} elements; it must have {size}"
            )));
        }
        if input.allowed.map_or(false, |allowed| allowed.len() < words) {
            return Err(Error::invalid(format!("allowed must have at least {words} words")));
        }
        Ok(sys::sotto_sampler_input {
            struct_size: std::mem::size_of::<sys::sotto_sampler_input>() as u32,
            sequence: input.sequence,
            logits: input.logits.as_ptr(),
            allowed: input.allowed.map_or(std::ptr::null(), <[u64]>::as_ptr),
            history: pointer_of(input.history),
            history_count: input.history.len(),
            generated_count: input.generated_count,
            token_limit: input.token_limit,
        })
    }
}

impl WatermarkParams {
    /// Detects a watermark in tokens of a model whose vocabulary has `vocabulary_size` tokens.
    pub fn detect(&self, vocabulary_size: usize, tokens: &[Token]) -> Result<WatermarkResult> {
        let mut report = Report::new();
        // SAFETY: pointers and sizes come from live slices and locals.
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
        Ok(result.into())
    }
}

pub(crate) type LogitsFunction = Arc<dyn Fn(&mut [f32]) + Send + Sync>;
pub(crate) type LogitsProcessor = Arc<dyn Fn(&[Token], u32, &mut [f32]) + Send + Sync>;

impl SamplerParams {
    /// Calls `set` with the C struct. Returns the callbacks, which must live as long as the parameters
    /// are set.
    pub(crate) fn lower(
        &self,
        panics: &Arc<Panics>,
        set: impl FnOnce(&sys::sotto_sampler_params) -> std::result::Result<(), Error>,
    ) -> Result<Box<LogitsCalls>> {
        let mut lists = Lists::default();
        let mut raw = self.fill(&mut lists);
        if let Some(watermark) = &self.watermark {
            raw.watermark = &watermark.raw;
        }
        let calls = Box::new(LogitsCalls {
            callback: self.logits_callback.clone(),
            processor: self.logits_processor.clone(),
            panics: Arc::clone(panics),
        });
        raw.logits_callback = calls.callback.as_ref().map(|_| call_logits as _);
        raw.logits_processor = calls.processor.as_ref().map(|_| process_logits as _);
        raw.logits_user_data = calls.as_ref() as *const LogitsCalls as *mut c_void;
        raw.processor_user_data = raw.logits_user_data;
        set(&raw)?;
        Ok(calls)
    }
}

/// The callbacks for logits and the place for their panics, as user data of C.
pub(crate) struct LogitsCalls {
    callback: Option<LogitsFunction>,
    processor: Option<LogitsProcessor>,
    panics: Arc<Panics>,
}

unsafe extern "C" fn call_logits(calls: *mut c_void, logits: *mut f32, count: usize) {
    let calls = &*(calls as *const LogitsCalls);
    let logits = std::slice::from_raw_parts_mut(logits, count);
    if let Some(function) = &calls.callback {
        calls.panics.catch(|| function(logits));
    }
}

unsafe extern "C" fn process_logits(
    calls: *mut c_void,
    tokens: *const Token,
    token_count: usize,
    sequence: u32,
    logits: *mut f32,
    count: usize,
) {
    let calls = &*(calls as *const LogitsCalls);
    let tokens = slice(tokens, token_count);
    let logits = std::slice::from_raw_parts_mut(logits, count);
    if let Some(function) = &calls.processor {
        calls.panics.catch(|| function(tokens, sequence, logits));
    }
}
