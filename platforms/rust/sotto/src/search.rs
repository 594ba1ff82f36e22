//! Searches for several continuations of a stream.

use crate::error::{Error, Report, Result};
use crate::memory::{slice, Panics};
use crate::params::Lists;
use crate::sys;
use crate::{SearchParams, Session, Stop, Token};
use std::ops::ControlFlow;
use std::os::raw::c_void;

pub(crate) type Similarity<'f> = Box<dyn FnMut(&[Token], &[Token]) -> f64 + 'f>;
pub(crate) type OnStep<'f> = Box<dyn FnMut(u32, Token) -> ControlFlow<()> + 'f>;

impl std::fmt::Debug for SearchParams<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SearchParams").finish_non_exhaustive()
    }
}

/// A continuation that a search found.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Sequence {
    pub tokens: Vec<Token>,
    pub score: f64,
    pub log_probability: f64,
    /// The reason why it ended.
    pub stop: Option<Stop>,
    pub index: u32,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResult {
    /// Best first.
    pub sequences: Vec<Sequence>,
    /// [`Stop::Cancelled`] or [`Stop::Callback`] if the search did not finish.
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
    /// Returns continuations of the stream, which does not change; to continue with one of them, prefill its tokens.
    pub fn search(&mut self, params: SearchParams<'_>) -> Result<SearchResult> {
        let groups = params.phrase_groups.as_ref().map_or(0, Vec::len);
        let phrases = params.phrases.as_ref().map_or(0, Vec::len);
        if groups != 0 && groups != phrases {
            return Err(Error::invalid(format!(
                "phrase_groups has {groups} elements; it must have {phrases}, one per phrase"
            )));
        }
        let panics = std::sync::Arc::clone(&self.panics);
        let mut lists = Lists::default();
        let mut raw = params.fill(&mut lists);
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
