//! Speculative decoding.

use crate::error::{Report, Result};
use crate::memory::{slice, Panics};
use crate::sys;
use crate::{Session, SpeculationParams, Token};
use std::os::raw::c_void;
use std::sync::Arc;

pub(crate) type DraftFunction = Box<dyn FnMut(&[Token], &[f32], &mut [Token]) -> usize + Send>;

/// A draft callback and the place for its panic, as user data of C.
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
    /// Sets speculative decoding, which does not change the text.
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

    /// Ends speculation except for text that a matcher forces. Returns the draft session.
    pub fn clear_speculation(&mut self) -> Option<Session> {
        if self.draft.is_some() || self.draft_session.is_some() {
            let none = std::ptr::null();
            // SAFETY: null ends the use.
            unsafe { sys::sotto_session_set_speculation(self.raw(), none, std::ptr::null_mut()) };
            self.draft = None;
        }
        self.draft_session.take().map(|session| *session)
    }
}
