//! Vocabularies and grammars. Both are immutable and may be shared between threads.

use crate::error::{check, Error, Report, Result};
use crate::log::{call_log, LogFunction};
use crate::memory::{pointer_of, Block};
use crate::params::{with_defaults, Lists};
use crate::sys;
use crate::{GrammarLanguage, GrammarParams, Model, Token};
use std::os::raw::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

/// The tokens of a model or of the caller, prepared for computing masks.
#[derive(Clone)]
pub struct Vocabulary(Arc<VocabularyInner>);

struct VocabularyInner {
    raw: NonNull<sys::sotto_vocabulary>,
    size: usize,
    _memory: Block,
    _model: Option<Model>,
    _tokens: OwnTokens,
}

/// The caller's tokens, which the vocabulary reads in place.
#[derive(Default)]
struct OwnTokens {
    bytes: Vec<u8>,
    offsets: Vec<u32>,
    special: Vec<u8>,
    end_tokens: Vec<Token>,
}

// SAFETY: sotto.h: vocabularies never change and may be shared between threads.
unsafe impl Send for VocabularyInner {}
unsafe impl Sync for VocabularyInner {}

impl Vocabulary {
    /// Creates the vocabulary of a model, whose end-of-text token ends a text.
    pub fn new(model: &Model) -> Result<Vocabulary> {
        let mut params = with_defaults!(sotto_vocabulary_params, sotto_vocabulary_params_init);
        params.model = model.raw();
        let size = model.info().vocabulary_size;
        Vocabulary::create(&params, size, Some(model.clone()), OwnTokens::default())
    }

    /// Creates a vocabulary of the caller's tokens. `special` lists tokens without text, `end_tokens` those that end a
    /// text.
    pub fn from_tokens<T: AsRef<[u8]>>(
        tokens: &[T],
        special: &[Token],
        end_tokens: &[Token],
    ) -> Result<Vocabulary> {
        let mut own = OwnTokens {
            offsets: vec![0],
            special: vec![0; tokens.len()],
            end_tokens: end_tokens.to_vec(),
            ..OwnTokens::default()
        };
        for &token in special {
            let flag = usize::try_from(token).ok().and_then(|token| own.special.get_mut(token));
            *flag.ok_or_else(|| {
                Error::invalid(format!("special token {token} is not in the vocabulary"))
            })? = 1;
        }
        for token in tokens {
            own.bytes.extend_from_slice(token.as_ref());
            let offset = u32::try_from(own.bytes.len())
                .map_err(|_| Error::invalid("the tokens have more than 4 GB"))?;
            own.offsets.push(offset);
        }
        let mut params = with_defaults!(sotto_vocabulary_params, sotto_vocabulary_params_init);
        params.token_count = u32::try_from(tokens.len()).unwrap_or(u32::MAX);
        params.bytes = own.bytes.as_ptr();
        params.offsets = own.offsets.as_ptr();
        params.special = pointer_of(&own.special);
        params.end_tokens = pointer_of(&own.end_tokens);
        params.end_token_count = own.end_tokens.len();
        Vocabulary::create(&params, tokens.len(), None, own)
    }

    fn create(
        params: &sys::sotto_vocabulary_params,
        count: usize,
        model: Option<Model>,
        tokens: OwnTokens,
    ) -> Result<Vocabulary> {
        let mut report = Report::new();
        let mut size = 0;
        // SAFETY: what `params` points to is kept by `model` and `tokens`, whose heap does not move.
        unsafe {
            let status = sys::sotto_vocabulary_memory_size(params, &mut size, report.out());
            report.check(status)?;
            let memory = Block::new(size)?;
            let mut raw = std::ptr::null_mut();
            let status = sys::sotto_vocabulary_init(
                params,
                memory.pointer(),
                memory.size(),
                &mut raw,
                report.out(),
            );
            report.check(status)?;
            let raw = NonNull::new(raw).expect("a vocabulary that was made");
            Ok(Vocabulary(Arc::new(VocabularyInner {
                raw,
                size: count,
                _memory: memory,
                _model: model,
                _tokens: tokens,
            })))
        }
    }

    /// Returns the number of tokens.
    pub fn token_count(&self) -> usize {
        self.0.size
    }

    pub(crate) fn raw(&self) -> *const sys::sotto_vocabulary {
        self.0.raw.as_ptr()
    }
}

impl GrammarParams {
    /// Returns the defaults with a language.
    pub fn new(language: GrammarLanguage) -> Self {
        GrammarParams::default().language(language)
    }

    /// Calls `use_raw` with the C struct.
    fn lower<T>(&self, use_raw: impl FnOnce(&sys::sotto_grammar_params) -> T) -> T {
        let mut lists = Lists::default();
        let mut raw = self.fill(&mut lists);
        raw.vocabulary = self.vocabulary.as_ref().map_or(std::ptr::null(), Vocabulary::raw);
        if let Some(log) = &self.log {
            raw.log = Some(call_log);
            raw.log_user_data = log as *const LogFunction as *mut c_void;
        }
        use_raw(&raw)
    }
}

/// A compiled grammar. A clone is another handle to the same grammar.
#[derive(Clone)]
pub struct Grammar(Arc<GrammarInner>);

struct GrammarInner {
    raw: NonNull<sys::sotto_grammar>,
    image: Block,
}

// SAFETY: sotto.h: grammars never change and may be shared between threads.
unsafe impl Send for GrammarInner {}
unsafe impl Sync for GrammarInner {}

impl Grammar {
    /// Compiles GBNF.
    pub fn gbnf(source: &str) -> Result<Grammar> {
        Grammar::compile(source, &GrammarParams::default())
    }

    /// Compiles a JSON Schema.
    pub fn json_schema(source: &str) -> Result<Grammar> {
        Grammar::compile(source, &GrammarParams::new(GrammarLanguage::JsonSchema))
    }

    /// Compiles a regular expression that the whole text must match.
    pub fn regex(source: &str) -> Result<Grammar> {
        Grammar::compile(source, &GrammarParams::new(GrammarLanguage::Regex))
    }

    /// Compiles a source of any kind in at most 1 GiB of memory.
    pub fn compile(source: &str, params: &GrammarParams) -> Result<Grammar> {
        Grammar::compile_within(source, params, 1 << 30)
    }

    /// Compiles a source of any kind in at most `memory_limit` bytes.
    pub fn compile_within(
        source: &str,
        params: &GrammarParams,
        memory_limit: usize,
    ) -> Result<Grammar> {
        // SAFETY: the function computes a number.
        let mut size = unsafe { sys::sotto_grammar_typical_memory(source.len()) }.min(memory_limit);
        loop {
            let memory = Block::new(size)?;
            let mut report = Report::new();
            let mut raw = std::ptr::null_mut();
            let mut kept = 0;
            // SAFETY: source, memory and what `raw_params` points to live during the call.
            let status = params.lower(|raw_params| unsafe {
                sys::sotto_grammar_compile(
                    source.as_ptr(),
                    source.len(),
                    raw_params,
                    memory.pointer(),
                    memory.size(),
                    &mut raw,
                    &mut kept,
                    report.out(),
                )
            });
            if status == sys::SOTTO_GRAMMAR_TOO_LARGE && report.offset().is_none() && size < memory_limit {
                size = size.saturating_mul(8).min(memory_limit);
                continue;
            }
            report.check(status)?;
            // Reloads the grammar from its image, because a compiled grammar occupies the compiler's working memory.
            // SAFETY: `raw` lives in `memory`; the image has the requested size.
            unsafe {
                let mut image_size = 0;
                sys::sotto_grammar_save(raw, std::ptr::null_mut(), 0, &mut image_size);
                let image = Block::new(image_size)?;
                let status =
                    sys::sotto_grammar_save(raw, image.pointer(), image_size, &mut image_size);
                check(status)?;
                return Grammar::of_image(image);
            }
        }
    }

    /// Loads an image that [`Grammar::save`] returned. It is verified, so it may come from an untrusted source.
    pub fn load(image: &[u8]) -> Result<Grammar> {
        Grammar::of_image(Block::of(image)?)
    }

    fn of_image(image: Block) -> Result<Grammar> {
        let mut report = Report::new();
        let mut raw = std::ptr::null();
        // SAFETY: the image is aligned and lives as long as the grammar.
        let status = unsafe {
            sys::sotto_grammar_load(image.pointer(), image.size(), &mut raw, report.out())
        };
        report.check(status)?;
        let raw = NonNull::new(raw as *mut _).expect("a grammar that was loaded");
        Ok(Grammar(Arc::new(GrammarInner { raw, image })))
    }

    /// Returns the grammar as bytes, the same on every platform.
    pub fn save(&self) -> Vec<u8> {
        self.0.image.bytes().to_vec()
    }

    pub(crate) fn raw(&self) -> *const sys::sotto_grammar {
        self.0.raw.as_ptr()
    }
}
