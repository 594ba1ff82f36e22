//! Guides, and tokens evaluated ahead.

use crate::error::{Report, Result};
use crate::memory::{slice, Panics};
use crate::params::{c_enum, setters, with_defaults};
use crate::sys;
use crate::{Session, Token};
use std::os::raw::c_void;
use std::sync::Arc;

c_enum! {
    /// What a guide is for.
    GuideMode {
        Off = SOTTO_GUIDE_OFF,
        Cfg = SOTTO_GUIDE_CFG,
        Contrast = SOTTO_GUIDE_CONTRAST,
    }
}

/// How a guide counts.
#[derive(Clone)]
pub struct GuideParams {
    pub(crate) raw: sys::sotto_guide_params,
}

impl Default for GuideParams {
    fn default() -> Self {
        GuideParams { raw: with_defaults!(sotto_guide_params, sotto_guide_params_init) }
    }
}

impl GuideParams {
    setters! { mode: GuideMode, scale: f32, alpha: f32, beta: f32, }
}

type DraftFunction = Box<dyn FnMut(&[Token], &[f32], &mut [Token]) -> usize + Send>;

/// Where guesses come from.
pub struct SpeculationParams {
    raw: sys::sotto_speculation_params,
    draft_session: Option<Session>,
    draft: Option<DraftFunction>,
}

// SAFETY: `raw` holds no pointers: there is no setter for them.
unsafe impl Send for SpeculationParams {}

impl Default for SpeculationParams {
    fn default() -> Self {
        SpeculationParams {
            raw: with_defaults!(sotto_speculation_params, sotto_speculation_params_init),
            draft_session: None,
            draft: None,
        }
    }
}

impl SpeculationParams {
    setters! {
        /// Bits: `sys::SOTTO_DRAFT_LOOKUP` and its like.
        sources: u32,
        draft_tokens: u32, min_match: u32, max_match: u32, exit_layer: u32, draft_threshold: f32,
    }

    /// A session that drafts, for `SOTTO_DRAFT_SESSION`.
    #[must_use]
    pub fn draft_session(mut self, session: Session) -> Self {
        self.draft_session = Some(session);
        self
    }

    /// Writes tokens that may follow and returns how many, for `SOTTO_DRAFT_CALLBACK`. It gets the newest tokens and
    /// the hidden state that the last of them was drawn from, or none.
    #[must_use]
    pub fn draft(
        mut self,
        draft: impl FnMut(&[Token], &[f32], &mut [Token]) -> usize + Send + 'static,
    ) -> Self {
        self.draft = Some(Box::new(draft));
        self
    }
}

/// What guesses were worth.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub struct SpeculationInfo {
    pub batch_count: u64,
    pub proposed_count: u64,
    pub accepted_count: u64,
    pub forced_proposed_count: u64,
    pub forced_accepted_count: u64,
    pub draft_ns: u64,
}

/// A callback that drafts, where the library can reach it.
pub(crate) struct DraftCall {
    function: DraftFunction,
    panics: Arc<Panics>,
}

unsafe extern "C" fn call_draft(
    call: *mut c_void,
    tokens: *const Token,
    token_count: usize,
    hidden: *const f32,
    hidden_count: usize,
    drafts: *mut Token,
    capacity: usize,
) -> usize {
    let call = &mut *(call as *mut DraftCall);
    let (tokens, hidden) = (slice(tokens, token_count), slice(hidden, hidden_count));
    let drafts = std::slice::from_raw_parts_mut(drafts, capacity);
    drafts.fill(-1);
    let function = &mut call.function;
    call.panics.catch(|| function(tokens, hidden, drafts)).unwrap_or(0)
}

impl Session {
    /// Sets how the session guesses. Not a bit of the text changes.
    pub fn set_speculation(&mut self, params: SpeculationParams) -> Result<()> {
        let mut raw = params.raw;
        let panics = Arc::clone(&self.panics);
        let mut draft = params.draft.map(|function| Box::new(DraftCall { function, panics }));
        if let Some(draft) = &mut draft {
            raw.draft = Some(call_draft);
            raw.user_data = draft.as_mut() as *mut DraftCall as *mut c_void;
        }
        raw.draft_session =
            params.draft_session.as_ref().map_or(std::ptr::null_mut(), Session::raw);
        let mut report = Report::new();
        // SAFETY: the session keeps callback and draft session as long as they are set.
        let status = unsafe { sys::sotto_session_set_speculation(self.raw(), &raw, report.out()) };
        report.check(status)?;
        self.draft = draft;
        self.draft_session = params.draft_session.map(Box::new);
        Ok(())
    }

    /// Goes on without guesses but those that a matcher forces. Gives the session that drafted back.
    pub fn clear_speculation(&mut self) -> Option<Session> {
        if self.draft.is_some() || self.draft_session.is_some() {
            let none = std::ptr::null();
            // SAFETY: null ends the use.
            unsafe { sys::sotto_session_set_speculation(self.raw(), none, std::ptr::null_mut()) };
            self.draft = None;
        }
        self.draft_session.take().map(|session| *session)
    }

    /// Counts since the session was made, or [`Session::reset_timings`].
    pub fn speculation_info(&self) -> SpeculationInfo {
        // SAFETY: the struct is plain numbers.
        let info = unsafe {
            let mut info: sys::sotto_speculation_info = std::mem::zeroed();
            info.struct_size = std::mem::size_of_val(&info) as u32;
            sys::sotto_session_get_speculation_info(self.raw(), &mut info);
            info
        };
        SpeculationInfo {
            batch_count: info.batch_count,
            proposed_count: info.proposed_count,
            accepted_count: info.accepted_count,
            forced_proposed_count: info.forced_proposed_count,
            forced_accepted_count: info.forced_accepted_count,
            draft_ns: info.draft_ns,
        }
    }
}
