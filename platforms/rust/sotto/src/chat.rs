//! Conversations over a session.

use crate::error::{check, Report, Result};
use crate::memory::Block;
use crate::params::{read_info, Lists};
use crate::session::{call_with_pieces, stop_of};
use crate::sys;
use crate::{ChatFormat, ChatParams, Grammar, Piece, SamplerParams, Session};
use std::ops::ControlFlow;
use std::ptr::NonNull;

impl ChatFormat {
    /// Returns the text of the format.
    pub fn text(self) -> &'static str {
        // SAFETY: the function returns static, terminated ASCII for any value.
        let text =
            unsafe { std::ffi::CStr::from_ptr(sys::sotto_chat_format_text(self as i32).cast()) };
        text.to_str().unwrap_or_default()
    }
}

/// A conversation: messages with roles and replies. It owns its session, whose sampler and grammar apply to replies.
///
/// ```
/// use sotto::{Chat, ChatFormat, ChatParams, ChatRole};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let path = match std::env::var("SOTTO_DEMO_MODEL") { Ok(path) => path, Err(_) => return Ok(()) };
/// let session = sotto::Model::open(path)?.session()?;
/// let params = ChatParams::default().reply_tokens(100);
/// let mut chat = Chat::new(session, ChatFormat::Plain.text(), &params)?;
/// chat.add(ChatRole::System, "Answer in one sentence.")?;
/// chat.add(ChatRole::User, "Who are you?")?;
/// println!("{}", chat.reply(100)?);
/// chat.undo_reply()?;
/// assert_eq!(chat.info().message_count, 2);
/// # Ok(()) }
/// ```
///
/// The session can be read, but not replaced, as the conversation refers to it:
///
/// ```compile_fail
/// # fn example(chat: sotto::Chat, other: sotto::Session) {
/// *chat.session() = other;
/// # }
/// ```
pub struct Chat {
    raw: NonNull<sys::sotto_chat>,
    session: Session,
    _memory: Block,
}

// SAFETY: sotto_chat.h: a conversation belongs to one thread at a time, as its session.
unsafe impl Send for Chat {}

impl Chat {
    /// Begins a conversation. The format is the text of a predefined one, or a text of the caller.
    pub fn new(session: Session, format: &str, params: &ChatParams) -> Result<Chat> {
        let mut report = Report::new();
        let mut size = 0;
        // SAFETY: session and memory live as long as the conversation; the library copies the format.
        unsafe {
            let status =
                sys::sotto_chat_memory_size(session.raw(), &params.raw, &mut size, report.out());
            report.check(status)?;
            let memory = Block::new(size)?;
            let mut raw = std::ptr::null_mut();
            let status = sys::sotto_chat_init(
                session.raw(),
                &params.raw,
                format.as_ptr(),
                format.len(),
                memory.pointer(),
                memory.size(),
                &mut raw,
                report.out(),
            );
            report.check(status)?;
            let raw = NonNull::new(raw).expect("a conversation that was made");
            Ok(Chat { raw, session, _memory: memory })
        }
    }

    fn raw(&self) -> *mut sys::sotto_chat {
        self.raw.as_ptr()
    }

    /// Returns the session. What this type does not set on it has to be set before [`Chat::new`].
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Ends the conversation and returns the session.
    pub fn into_session(self) -> Session {
        self.session
    }

    /// Sets the parameters of the session's sampler, as [`Session::set_sampler`].
    pub fn set_sampler(&mut self, params: &SamplerParams) -> Result<()> {
        self.session.set_sampler(params)
    }

    /// Constrains the next reply by a grammar, as [`Session::set_grammar_within`]. It has to be set again for each
    /// reply, and removed by [`Chat::remove_grammar`] before one without a grammar.
    pub fn set_grammar_within(&mut self, grammar: &Grammar, finish_within: u32) -> Result<()> {
        self.session.set_grammar_within(grammar, finish_within)
    }

    /// Removes the grammar.
    pub fn remove_grammar(&mut self) {
        drop(self.session.take_matcher());
    }

    // Methods of sotto_chat, written by capi/generate from capi/params.

    /// Sets the stops of the session, and adds the string that ends a reply.
    pub fn set_stops(&mut self, params: &crate::StopParams) -> Result<()> {
        let mut lists = Lists::default();
        let raw = params.fill(&mut lists);
        let mut report = Report::new();
        // SAFETY: the object is alive, and the arguments are valid during the call.
        let status = unsafe { sys::sotto_chat_set_stops(self.raw(), &raw, report.out()) };
        report.check(status).map(drop)
    }

    /// Adds a message. A system message replaces an earlier one.
    pub fn add(&mut self, role: crate::ChatRole, text: impl AsRef<[u8]>) -> Result<()> {
        let text = text.as_ref();
        let mut report = Report::new();
        // SAFETY: the object is alive, and the arguments are valid during the call.
        let status = unsafe {
            sys::sotto_chat_add(self.raw(), role as i32, text.as_ptr(), text.len(), report.out())
        };
        report.check(status).map(drop)
    }

    /// Removes all messages.
    pub fn reset(&mut self) {
        // SAFETY: the object is alive, and the arguments are valid during the call.
        unsafe { sys::sotto_chat_reset(self.raw()) };
    }

    /// Returns the state of the conversation.
    pub fn info(&self) -> crate::ChatInfo {
        // SAFETY: the object is alive, and the arguments are valid during the call.
        let read = |info| unsafe { sys::sotto_chat_get_info(self.raw(), info) };
        read_info!(sotto_chat_info, read).expect("a chat of the library").into()
    }

    /// Removes the last turn.
    pub fn undo(&mut self) -> Result<()> {
        let mut report = Report::new();
        // SAFETY: the object is alive, and the arguments are valid during the call.
        let status = unsafe { sys::sotto_chat_undo(self.raw(), 0, report.out()) };
        report.check(status).map(drop)
    }

    /// Removes the last reply. Another one can then be generated.
    pub fn undo_reply(&mut self) -> Result<()> {
        let mut report = Report::new();
        // SAFETY: the object is alive, and the arguments are valid during the call.
        let status = unsafe { sys::sotto_chat_undo(self.raw(), 1, report.out()) };
        report.check(status).map(drop)
    }

    /// Generates a reply. Calls `on_piece` with each piece until it breaks. Returns the reason why
    /// the text ended. There is no limit if `max_tokens` is `None`.
    pub fn reply_with(
        &mut self,
        max_tokens: impl Into<Option<usize>>,
        mut on_piece: impl FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Result<crate::Stop> {
        let max_tokens = max_tokens.into().unwrap_or(usize::MAX);
        let mut report = Report::new();
        let status = call_with_pieces(&self.session.panics, &mut on_piece, |call, data| {
            // SAFETY: the object is alive, and the arguments are valid during the call.
            unsafe { sys::sotto_chat_reply(self.raw(), max_tokens, call, data, report.out()) }
        });
        report.check(status).map(stop_of)
    }

    /// Returns the messages as bytes, the same on every platform.
    pub fn save(&self) -> Result<Vec<u8>> {
        // SAFETY: the object is alive, and the arguments are valid during the call.
        unsafe {
            let mut size = 0;
            sys::sotto_chat_save(self.raw(), std::ptr::null_mut(), 0, &mut size);
            let mut bytes = vec![0u8; size];
            let data = bytes.as_mut_ptr().cast();
            check(sys::sotto_chat_save(self.raw(), data, bytes.len(), &mut size))?;
            Ok(bytes)
        }
    }

    /// Restores saved messages. The state is validated, so it may come from an untrusted source.
    pub fn restore(&mut self, state: &[u8]) -> Result<()> {
        let mut report = Report::new();
        // SAFETY: the object is alive, and the arguments are valid during the call.
        let status = unsafe {
            sys::sotto_chat_restore(self.raw(), state.as_ptr().cast(), state.len(), report.out())
        };
        report.check(status).map(drop)
    }

    // End of the generated methods.

    /// Generates a reply and returns its text. `None` sets no limit of tokens. `session().info().stop` says why the
    /// reply ended.
    pub fn reply(&mut self, max_tokens: impl Into<Option<usize>>) -> Result<String> {
        let mut text = String::new();
        self.reply_with(max_tokens, |piece| {
            text += piece.text();
            ControlFlow::Continue(())
        })?;
        Ok(text)
    }
}
