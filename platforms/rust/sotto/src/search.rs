//! Several continuations of one prompt at once.

use crate::error::{Error, Report, Result, Stop};
use crate::memory::{pointer_of, slice, Panics};
use crate::params::{c_enum, list_setters, setters, token_lists, with_defaults};
use crate::sys;
use crate::{Session, Token};
use std::ops::ControlFlow;
use std::os::raw::c_void;

c_enum! {
    /// Which search.
    SearchMode {
        Beam = SOTTO_SEARCH_BEAM,
        BeamSample = SOTTO_SEARCH_BEAM_SAMPLE,
        Sample = SOTTO_SEARCH_SAMPLE,
        Contrastive = SOTTO_SEARCH_CONTRASTIVE,
    }
}
c_enum! {
    /// When beam search ends.
    EarlyStopping {
        Heuristic = SOTTO_EARLY_STOPPING_HEURISTIC,
        AtOnce = SOTTO_EARLY_STOPPING_AT_ONCE,
        Never = SOTTO_EARLY_STOPPING_NEVER,
    }
}
c_enum! {
    /// How scores of unlike lengths compare.
    LengthNorm {
        Power = SOTTO_LENGTH_POWER,
        Gnmt = SOTTO_LENGTH_GNMT,
    }
}
c_enum! {
    /// What a search of samples puts first.
    Rerank {
        Order = SOTTO_RERANK_ORDER,
        Best = SOTTO_RERANK_BEST,
        Exact = SOTTO_RERANK_EXACT,
        Ngram = SOTTO_RERANK_NGRAM,
        Callback = SOTTO_RERANK_CALLBACK,
    }
}

type Similarity<'f> = Box<dyn FnMut(&[Token], &[Token]) -> f64 + 'f>;
type OnStep<'f> = Box<dyn FnMut(u32, Token) -> ControlFlow<()> + 'f>;

/// What to search for.
pub struct SearchParams<'f> {
    raw: sys::sotto_search_params,
    phrases: Vec<Vec<Token>>,
    phrase_groups: Vec<u32>,
    similarity: Option<Similarity<'f>>,
    on_step: Option<OnStep<'f>>,
}

impl Default for SearchParams<'_> {
    fn default() -> Self {
        SearchParams {
            raw: with_defaults!(sotto_search_params, sotto_search_params_init),
            phrases: Vec::new(),
            phrase_groups: Vec::new(),
            similarity: None,
            on_step: None,
        }
    }
}

impl<'f> SearchParams<'f> {
    setters! {
        mode: SearchMode, sequence_count: u32, return_count: u32, max_tokens: u32, length_penalty: f32,
        length_norm: LengthNorm, early_stopping: EarlyStopping, group_count: u32, diversity_penalty: f32,
        rerank: Rerank, contrastive_k: u32, contrastive_alpha: f32,
    }
    list_setters! { phrases: Vec<Token>, phrase_groups: u32, }

    /// For [`Rerank::Callback`].
    #[must_use]
    pub fn similarity(mut self, similarity: impl FnMut(&[Token], &[Token]) -> f64 + 'f) -> Self {
        self.similarity = Some(Box::new(similarity));
        self
    }

    /// Hears of each step's tokens: the sequence and its newest token.
    #[must_use]
    pub fn on_step(mut self, on_step: impl FnMut(u32, Token) -> ControlFlow<()> + 'f) -> Self {
        self.on_step = Some(Box::new(on_step));
        self
    }
}

impl std::fmt::Debug for SearchParams<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SearchParams").finish_non_exhaustive()
    }
}

/// One continuation.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Sequence {
    pub tokens: Vec<Token>,
    pub score: f64,
    pub log_probability: f64,
    /// Why it ended.
    pub stop: Option<Stop>,
    pub index: u32,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResult {
    /// Best first.
    pub sequences: Vec<Sequence>,
    /// [`Stop::Cancelled`] or [`Stop::Callback`] if the search did not come to its end.
    pub stop: Option<Stop>,
}

struct Call<'c, 'f> {
    similarity: Option<Similarity<'f>>,
    on_step: Option<OnStep<'f>>,
    panics: &'c Panics,
}

unsafe extern "C" fn call_similarity(
    call: *mut c_void,
    a: *const Token,
    a_count: usize,
    b: *const Token,
    b_count: usize,
) -> f64 {
    let call = &mut *(call as *mut Call<'_, '_>);
    let (a, b) = (slice(a, a_count), slice(b, b_count));
    match &mut call.similarity {
        Some(function) => call.panics.catch(|| function(a, b)).unwrap_or(0.0),
        None => 0.0,
    }
}

unsafe extern "C" fn call_step(call: *mut c_void, sequence: u32, token: Token) -> i32 {
    let call = &mut *(call as *mut Call<'_, '_>);
    match &mut call.on_step {
        Some(function) => match call.panics.catch(|| function(sequence, token)) {
            Some(ControlFlow::Continue(())) => 0,
            _ => 1,
        },
        None => 0,
    }
}

impl Session {
    /// Continuations of the stream, which stays as it is; to go on with one, prefill its tokens.
    pub fn search(&mut self, params: SearchParams<'_>) -> Result<SearchResult> {
        if !params.phrase_groups.is_empty() && params.phrase_groups.len() != params.phrases.len() {
            return Err(Error::invalid("phrase_groups are not as many as phrases"));
        }
        let panics = std::sync::Arc::clone(&self.panics);
        let phrases = token_lists(&params.phrases);
        let mut raw = params.raw;
        raw.phrases = pointer_of(&phrases);
        raw.phrase_count = phrases.len();
        raw.phrase_groups = pointer_of(&params.phrase_groups);
        let mut call =
            Call { similarity: params.similarity, on_step: params.on_step, panics: &panics };
        raw.similarity = call.similarity.as_ref().map(|_| call_similarity as _);
        raw.on_step = call.on_step.as_ref().map(|_| call_step as _);
        let user_data = &mut call as *mut Call<'_, '_> as *mut c_void;
        raw.similarity_user_data = user_data;
        raw.step_user_data = user_data;
        let mut report = Report::new();
        let (mut found, mut count) = (std::ptr::null(), 0);
        // SAFETY: what `raw` points to lives during the call; the sequences are the session's until its next
        // call, and are copied before.
        unsafe {
            let status =
                sys::sotto_session_search(self.raw(), &raw, &mut found, &mut count, report.out());
            panics.resume();
            let status = report.check(status)?;
            let sequences = slice(found, count)
                .iter()
                .map(|sequence| Sequence {
                    tokens: slice(sequence.tokens, sequence.token_count).to_vec(),
                    score: sequence.score,
                    log_probability: sequence.log_probability,
                    stop: Stop::from_status(sequence.stop),
                    index: sequence.index,
                })
                .collect();
            Ok(SearchResult { sequences, stop: Stop::from_status(status) })
        }
    }
}
