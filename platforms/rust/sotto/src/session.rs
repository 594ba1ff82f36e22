//! Sessions: streams of text.

use crate::error::{check_whole, Error, Report, Result};
use crate::memory::{pointer_of, slice, Block, Panics};
use crate::params::{read_info, Lists};
use crate::sampler::LogitsCalls;
use crate::speculation::DraftCall;
use crate::stream::{Piece, Prompt, Step, Stream};
use crate::sys;
use crate::{
    Grammar, GuideParams, Matcher, MatcherParams, Model, SamplerParams, SessionParams, Stop, Token,
    Vocabulary,
};
use std::ops::ControlFlow;
use std::os::raw::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

/// The probability of tokens.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Score {
    pub token_count: u64,
    pub log_probability: f64,
    pub perplexity: f64,
    /// ln p of each token; NaN for a first token without context.
    pub log_probabilities: Vec<f32>,
}

/// The session of the library and the objects that it reads.
struct Handle {
    raw: NonNull<sys::sotto_session>,
    _memory: Block,
    _model: Model,
}

// SAFETY: through a shared Handle only sotto_session_cancel is called, which any thread may. Everything else
// goes through the one Session, which is not Sync.
unsafe impl Send for Handle {}
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: no other reference to the handle exists.
        unsafe { sys::sotto_session_deinit(self.raw.as_ptr()) }
    }
}

/// Stops the running call of a session, or its next one. May be used by any thread, even after the session is dropped.
#[derive(Clone)]
pub struct Canceller(Arc<Handle>);

impl Canceller {
    /// Ends the running call, or the next one, with [`Stop::Cancelled`].
    pub fn cancel(&self) {
        // SAFETY: the handle lives; any thread may do this.
        unsafe { sys::sotto_session_cancel(self.0.raw.as_ptr()) }
    }
}

/// Runs a call of the library with a C callback and its data, which pass each piece to `on_piece`. Resumes a panic.
pub(crate) fn call_with_pieces(
    panics: &Panics,
    on_piece: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
    run: impl FnOnce(sys::sotto_piece_fn, *mut c_void) -> i32,
) -> i32 {
    struct Call<'c> {
        function: &'c mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
        panics: &'c Panics,
    }
    unsafe extern "C" fn call(user_data: *mut c_void, piece: *const sys::sotto_piece) -> i32 {
        let call = &mut *(user_data as *mut Call<'_>);
        let function = &mut call.function;
        match call.panics.catch(|| function(Piece(&*piece))) {
            Some(ControlFlow::Continue(())) => 0,
            _ => 1,
        }
    }
    let mut user_data = Call { function: on_piece, panics };
    let status = run(Some(call), &mut user_data as *mut Call<'_> as *mut c_void);
    panics.resume();
    status
}

/// Returns the stop for the status of a call that generates a text.
pub(crate) fn stop_of(status: i32) -> Stop {
    Stop::from_status(status).unwrap_or(Stop::Other(status))
}

/// A stream of text. It owns its matcher, its guide and its draft session, and holds its model.
pub struct Session {
    handle: Arc<Handle>,
    pub(crate) model: Model,
    pub(crate) panics: Arc<Panics>,
    matcher: Option<Matcher>,
    guide: Option<Box<Session>>,
    pub(crate) draft_session: Option<Box<Session>>,
    pub(crate) draft: Option<Box<DraftCall>>,
    logits: Option<Box<LogitsCalls>>,
    // The library's objects belong to one thread at a time.
    _not_sync: std::marker::PhantomData<std::cell::Cell<()>>,
}

impl Drop for Session {
    fn drop(&mut self) {
        // A Canceller may outlive the session: its handle must not refer to the objects that are dropped now.
        drop(self.take_guide());
        drop(self.clear_speculation());
        drop(self.take_matcher());
    }
}

impl Session {
    /// Creates a session of a model.
    pub fn new(model: &Model, params: &SessionParams) -> Result<Session> {
        let mut report = Report::new();
        let mut size = 0;
        // SAFETY: model and memory live as long as the handle.
        unsafe {
            let status =
                sys::sotto_session_memory_size(model.raw(), &params.raw, &mut size, report.out());
            report.check(status)?;
            let memory = Block::new(size)?;
            let mut raw = std::ptr::null_mut();
            let status = sys::sotto_session_init(
                model.raw(),
                &params.raw,
                memory.pointer(),
                memory.size(),
                &mut raw,
                report.out(),
            );
            report.check(status)?;
            let raw = NonNull::new(raw).expect("a session that was made");
            Ok(Session {
                handle: Arc::new(Handle { raw, _memory: memory, _model: model.clone() }),
                model: model.clone(),
                panics: Arc::default(),
                matcher: None,
                guide: None,
                draft_session: None,
                draft: None,
                logits: None,
                _not_sync: std::marker::PhantomData,
            })
        }
    }

    pub(crate) fn raw(&self) -> *mut sys::sotto_session {
        self.handle.raw.as_ptr()
    }

    /// Returns the model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    // Methods of sotto_session, written by capi/generate from capi/params.

    /// Appends a prompt to the stream and evaluates it. A cancellation is an error with a
    /// [`stop`](crate::Error::stop).
    pub fn prefill(&mut self, prompt: impl Prompt) -> Result<()> {
        let prompt = prompt.tokens(&self.model)?;
        // SAFETY: the object is alive, and the arguments are valid during the call.
        let status =
            unsafe { sys::sotto_session_prefill(self.raw(), pointer_of(&prompt), prompt.len()) };
        self.check_whole(status)
    }

    /// Limits the number of tokens that are generated one by one, from now on until the next
    /// prompt. There is no limit if `max_tokens` is `None`.
    pub fn set_limit(&mut self, max_tokens: impl Into<Option<usize>>) {
        let max_tokens = max_tokens.into().unwrap_or(usize::MAX);
        // SAFETY: the object is alive, and the arguments are valid during the call.
        unsafe { sys::sotto_session_set_limit(self.raw(), max_tokens) };
    }

    /// Evaluates a prompt and generates text until a stop. An empty prompt continues the text.
    /// Calls `on_piece` with each piece until it breaks. Returns the reason why the text ended.
    /// There is no limit if `max_tokens` is `None`.
    pub fn generate(
        &mut self,
        prompt: impl Prompt,
        max_tokens: impl Into<Option<usize>>,
        mut on_piece: impl FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Result<crate::Stop> {
        let prompt = prompt.tokens(&self.model)?;
        let max_tokens = max_tokens.into().unwrap_or(usize::MAX);
        let status = call_with_pieces(&self.panics, &mut on_piece, |call, data| {
            // SAFETY: the object is alive, and the arguments are valid during the call.
            unsafe {
                sys::sotto_session_generate(
                    self.raw(),
                    pointer_of(&prompt),
                    prompt.len(),
                    max_tokens,
                    call,
                    data,
                )
            }
        });
        self.check(status).map(stop_of)
    }

    /// Evaluates tokens and returns their pooled hidden states.
    pub fn embed(&mut self, prompt: impl Prompt, pooling: crate::Pooling) -> Result<Vec<f32>> {
        let prompt = prompt.tokens(&self.model)?;
        let mut embedding = vec![0.0; self.model.info().embedding_size];
        // SAFETY: the object is alive, and the arguments are valid during the call.
        let status = unsafe {
            sys::sotto_session_embed(
                self.raw(),
                pointer_of(&prompt),
                prompt.len(),
                pooling as i32,
                embedding.as_mut_ptr(),
            )
        };
        self.check_whole(status)?;
        Ok(embedding)
    }

    /// Replaces the stops: the conditions that end a text.
    pub fn set_stops(&mut self, params: &crate::StopParams) -> Result<()> {
        let mut lists = Lists::default();
        let raw = params.fill(&mut lists);
        let mut report = Report::new();
        // SAFETY: the object is alive, and the arguments are valid during the call.
        let status = unsafe { sys::sotto_session_set_stops(self.raw(), &raw, report.out()) };
        report.check(status).map(drop)
    }

    /// Applies token healing, for a prompt that ends inside a word. Call it after a prefill.
    pub fn heal(&mut self) -> Result<()> {
        // SAFETY: the object is alive, and the arguments are valid during the call.
        let status = unsafe { sys::sotto_session_heal(self.raw()) };
        self.check(status).map(drop)
    }

    /// Rolls the stream back to its first tokens.
    pub fn rewind(&mut self, token_count: u64) -> Result<()> {
        // SAFETY: the object is alive, and the arguments are valid during the call.
        let status = unsafe { sys::sotto_session_rewind(self.raw(), token_count) };
        self.check(status).map(drop)
    }

    /// Removes all tokens and restarts the sampler. The parameters stay in effect.
    pub fn reset(&mut self) {
        // SAFETY: the object is alive, and the arguments are valid during the call.
        unsafe { sys::sotto_session_reset(self.raw()) };
    }

    /// Returns the dimensions and the state of the session.
    pub fn info(&self) -> crate::SessionInfo {
        // SAFETY: the object is alive, and the arguments are valid during the call.
        let read = |info| unsafe { sys::sotto_session_get_info(self.raw(), info) };
        read_info!(sotto_session_info, read).expect("a session of the library").into()
    }

    /// Returns the counts of tokens and the times since the session was created or its timings were
    /// reset.
    pub fn timings(&self) -> crate::SessionTimings {
        // SAFETY: the object is alive, and the arguments are valid during the call.
        let read = |info| unsafe { sys::sotto_session_get_timings(self.raw(), info) };
        read_info!(sotto_session_timings, read).expect("a session of the library").into()
    }

    /// Sets all counts and times to zero.
    pub fn reset_timings(&mut self) {
        // SAFETY: the object is alive, and the arguments are valid during the call.
        unsafe { sys::sotto_session_reset_timings(self.raw()) };
    }

    /// Returns the logits after the last token, before the sampler.
    pub fn logits(&mut self) -> Result<&[f32]> {
        let (mut data, mut count) = (std::ptr::null(), 0);
        // SAFETY: the floats are the session's until its next call, which the borrow prevents.
        unsafe {
            self.check_whole(sys::sotto_session_logits(self.raw(), &mut data, &mut count))?;
            Ok(slice(data, count))
        }
    }

    /// Returns the hidden state of the last token.
    pub fn hidden(&mut self) -> Result<&[f32]> {
        let (mut data, mut count) = (std::ptr::null(), 0);
        // SAFETY: the floats are the session's until its next call, which the borrow prevents.
        unsafe {
            self.check_whole(sys::sotto_session_hidden(self.raw(), &mut data, &mut count))?;
            Ok(slice(data, count))
        }
    }

    /// Returns the stream as bytes, the same on every platform.
    pub fn save(&self) -> Result<Vec<u8>> {
        // SAFETY: the object is alive, and the arguments are valid during the call.
        unsafe {
            let mut size = 0;
            sys::sotto_session_save(self.raw(), std::ptr::null_mut(), 0, &mut size);
            let mut bytes = vec![0u8; size];
            let data = bytes.as_mut_ptr().cast();
            self.check(sys::sotto_session_save(self.raw(), data, bytes.len(), &mut size))?;
            Ok(bytes)
        }
    }

    /// Restores a saved stream. The state is validated, so it may come from an untrusted source.
    pub fn restore(&mut self, state: &[u8]) -> Result<()> {
        let mut report = Report::new();
        // SAFETY: the object is alive, and the arguments are valid during the call.
        let status = unsafe {
            sys::sotto_session_restore(self.raw(), state.as_ptr().cast(), state.len(), report.out())
        };
        report.check(status).map(drop)
    }

    /// Returns the statistics of speculative decoding. A reset of the timings sets them to zero.
    pub fn speculation_info(&self) -> crate::SpeculationInfo {
        // SAFETY: the object is alive, and the arguments are valid during the call.
        let read = |info| unsafe { sys::sotto_session_get_speculation_info(self.raw(), info) };
        read_info!(sotto_speculation_info, read).expect("a session of the library").into()
    }

    // End of the generated methods.

    /// Sets the sampler's parameters and restarts the random numbers from the seed.
    pub fn set_sampler(&mut self, params: &SamplerParams) -> Result<()> {
        let raw = self.raw();
        self.logits = Some(params.lower(&self.panics, |params| {
            let mut report = Report::new();
            // SAFETY: `params` and what it points to live during the call; the callback as long as set.
            let status = unsafe { sys::sotto_session_set_sampler(raw, params, report.out()) };
            report.check(status).map(drop)
        })?);
        Ok(())
    }

    /// Constrains the generated text by a grammar, through a new matcher. [`Session::take_matcher`] removes it. Before
    /// another text, set the grammar again or call [`reset`](Session::reset).
    ///
    /// ```
    /// use sotto::{Grammar, GrammarLanguage, GrammarParams};
    /// # fn example(mut session: sotto::Session, schema: &str) -> sotto::Result<()> {
    /// let params = GrammarParams::new(GrammarLanguage::JsonSchema).forbid_additional(true);
    /// session.set_grammar(&Grammar::compile(schema, &params)?)?;
    /// # Ok(()) }
    /// ```
    pub fn set_grammar(&mut self, grammar: &Grammar) -> Result<()> {
        self.set_grammar_within(grammar, 0)
    }

    /// Like [`set_grammar`](Session::set_grammar), for a text that is complete after at most
    /// `finish_within` tokens. 0 means no limit.
    pub fn set_grammar_within(&mut self, grammar: &Grammar, finish_within: u32) -> Result<()> {
        let params = MatcherParams::default()
            .sequence_count(self.info().matcher_sequence_count)
            .finish_within(finish_within);
        let vocabulary = Vocabulary::new(&self.model)?;
        self.set_matcher(Matcher::create(grammar, Some(&vocabulary), &params)?)
    }

    /// Constrains the generated text to continue sequence 0 of a matcher. The session owns the matcher until it is
    /// removed.
    pub fn set_matcher(&mut self, matcher: Matcher) -> Result<()> {
        let mut report = Report::new();
        // SAFETY: the session keeps the matcher as long as it is set.
        let status =
            unsafe { sys::sotto_session_set_matcher(self.raw(), matcher.raw(), report.out()) };
        report.check(status)?;
        self.matcher = Some(matcher);
        Ok(())
    }

    /// Removes the matcher and returns it.
    pub fn take_matcher(&mut self) -> Option<Matcher> {
        let matcher = self.matcher.take()?;
        // SAFETY: null ends the use, which cannot fail.
        unsafe {
            sys::sotto_session_set_matcher(self.raw(), std::ptr::null_mut(), std::ptr::null_mut());
        }
        Some(matcher)
    }

    /// Sets a prefilled session as the guide. This session needs `SOTTO_FEATURE_GUIDE`, and owns the guide until it is
    /// removed.
    pub fn set_guide(&mut self, guide: Session, params: &GuideParams) -> Result<()> {
        let mut report = Report::new();
        // SAFETY: the session keeps the guide as long as it is set.
        let status = unsafe {
            sys::sotto_session_set_guide(self.raw(), guide.raw(), &params.raw, report.out())
        };
        report.check(status)?;
        self.guide = Some(Box::new(guide));
        Ok(())
    }

    /// Removes the guide and returns it.
    pub fn take_guide(&mut self) -> Option<Session> {
        let guide = self.guide.take()?;
        let none = std::ptr::null_mut();
        // SAFETY: null ends the use.
        unsafe {
            sys::sotto_session_set_guide(self.raw(), none, std::ptr::null(), std::ptr::null_mut());
        }
        Some(*guide)
    }

    /// Begins an empty stream with rows of `embedding_size` floats instead of tokens.
    pub fn prefill_embeddings(&mut self, embeddings: &[f32]) -> Result<()> {
        let size = self.model.info().embedding_size;
        if embeddings.len() % size != 0 {
            return Err(Error::invalid(format!(
                "embeddings has {} floats; it must have {size} per row",
                embeddings.len()
            )));
        }
        let count = embeddings.len() / size;
        // SAFETY: the slice has as many floats as the rows.
        let status = unsafe {
            sys::sotto_session_prefill_embeddings(self.raw(), pointer_of(embeddings), count)
        };
        self.check_whole(status)
    }

    /// Returns the error for a status of a call without an error parameter, which the session describes.
    fn check(&self, status: i32) -> Result<i32> {
        let mut report = Report::new();
        if status < 0 {
            // SAFETY: the report is the library's to fill.
            unsafe { sys::sotto_session_get_error(self.raw(), report.out()) };
        }
        report.check(status)
    }

    /// Like `check`, but a stop is an error as well.
    fn check_whole(&self, status: i32) -> Result<()> {
        check_whole(self.check(status)?)
    }

    /// Generates one token without an allocation.
    pub fn next_piece(&mut self) -> Result<Step<'_>> {
        let mut piece = std::ptr::null();
        // SAFETY: on success `piece` is the session's until its next call, which the borrow prevents.
        let status = unsafe { sys::sotto_session_next(self.raw(), &mut piece) };
        self.panics.resume();
        self.step(status, piece)
    }

    /// Returns the step for the status and the piece of a call, which are valid until the session's next call.
    fn step(&self, status: i32, piece: *const sys::sotto_piece) -> Result<Step<'_>> {
        let status = self.check(status)?;
        // SAFETY: without a failure, there is a piece.
        let piece = Piece(unsafe { &*piece });
        Ok(match Stop::from_status(status) {
            None => Step::Piece(piece),
            Some(stop) => Step::Stop(stop, piece.text()),
        })
    }

    /// Generates one token in each of several sessions of the same model, in one batch, which takes less time than
    /// [`next_piece`](Session::next_piece) in one after the other, and gives the same results.
    pub fn next_of<'s>(sessions: &'s mut [&mut Session]) -> Result<Vec<Result<Step<'s>>>> {
        let handles: Vec<_> = sessions.iter().map(|session| session.raw()).collect();
        let mut pieces = vec![std::ptr::null(); handles.len()];
        let mut statuses = vec![0; handles.len()];
        let mut report = Report::new();
        // SAFETY: the arrays have one element per session; the sessions are alive and borrowed.
        let status = unsafe {
            sys::sotto_sessions_next(
                handles.as_ptr(),
                handles.len(),
                pieces.as_mut_ptr(),
                statuses.as_mut_ptr(),
                report.out(),
            )
        };
        report.check(status)?;
        sessions.iter().for_each(|session| session.panics.resume());
        let results = statuses.iter().zip(&pieces);
        Ok(sessions
            .iter()
            .zip(results)
            .map(|(session, (&status, &piece))| session.step(status, piece))
            .collect())
    }

    /// Evaluates a prompt and returns an iterator over the tokens that follow, at most `max_tokens` of
    /// them; `None` sets no limit. An empty prompt continues the text.
    pub fn stream(
        &mut self,
        prompt: impl Prompt,
        max_tokens: impl Into<Option<usize>>,
    ) -> Result<Stream<'_>> {
        let stop = match self.prefill(prompt) {
            Ok(()) => None,
            Err(error) => Some(error.stop().filter(|&stop| stop == Stop::Cancelled).ok_or(error)?),
        };
        self.set_limit(max_tokens);
        Ok(Stream::new(self, stop))
    }

    /// Evaluates tokens and returns their total score and ln p of each.
    pub fn score(&mut self, tokens: &[Token]) -> Result<Score> {
        let mut log_probabilities = vec![f32::NAN; tokens.len()];
        // SAFETY: both arrays have `tokens.len()` elements; the struct is plain numbers.
        let score = unsafe {
            let mut score: sys::sotto_score = std::mem::zeroed();
            score.struct_size = std::mem::size_of_val(&score) as u32;
            self.check_whole(sys::sotto_session_score(
                self.raw(),
                pointer_of(tokens),
                tokens.len(),
                log_probabilities.as_mut_ptr(),
                &mut score,
            ))?;
            score
        };
        Ok(Score {
            token_count: score.token_count,
            log_probability: score.log_probability,
            perplexity: score.perplexity,
            log_probabilities,
        })
    }

    /// Makes `to` a copy of this stream; its sampler, stops and matcher stay.
    pub fn fork_into(&self, to: &mut Session) -> Result<()> {
        let mut report = Report::new();
        // SAFETY: two sessions, as one is borrowed exclusively.
        let status = unsafe { sys::sotto_session_fork(self.raw(), to.raw(), report.out()) };
        report.check(status).map(drop)
    }

    /// Returns an object that lets another thread stop this session.
    pub fn canceller(&self) -> Canceller {
        Canceller(Arc::clone(&self.handle))
    }
}
