//! Matchers, which follow text through a grammar.

use crate::error::{check, Report, Result};
use crate::memory::Block;
use crate::params::read_info;
use crate::sys;
use crate::{Grammar, MatcherParams, Token, Vocabulary};
use std::ptr::{self, NonNull};
use std::slice;

/// Follows text through a grammar and computes which tokens may come next. A session owns its
/// matcher, so that nothing else calls it:
///
/// ```compile_fail
/// # fn example(session: &mut sotto::Session, mut matcher: sotto::Matcher) -> sotto::Result<()> {
/// session.set_matcher(matcher)?;
/// matcher.reset(0)?; // moved
/// # Ok(()) }
/// ```
pub struct Matcher {
    raw: NonNull<sys::sotto_matcher>,
    word_count: usize,
    _memory: Block,
    _grammar: Grammar,
    _vocabulary: Option<Vocabulary>,
}

// SAFETY: sotto.h: a matcher belongs to one thread at a time; what it reads is shared.
unsafe impl Send for Matcher {}

impl Matcher {
    /// Creates a matcher with default capacities.
    pub fn new(grammar: &Grammar, vocabulary: &Vocabulary) -> Result<Matcher> {
        Matcher::create(grammar, Some(vocabulary), &MatcherParams::default())
    }

    /// Creates a matcher with parameters. Without a vocabulary, it can follow text but not tokens.
    pub fn create(
        grammar: &Grammar,
        vocabulary: Option<&Vocabulary>,
        params: &MatcherParams,
    ) -> Result<Matcher> {
        let mut report = Report::new();
        let mut size = 0;
        let raw_vocabulary = vocabulary.map_or(std::ptr::null(), Vocabulary::raw);
        // SAFETY: grammar, vocabulary and memory live as long as the matcher.
        unsafe {
            let status = sys::sotto_matcher_memory_size(
                grammar.raw(),
                raw_vocabulary,
                &params.raw,
                &mut size,
                report.out(),
            );
            report.check(status)?;
            let memory = Block::new(size)?;
            let mut raw = std::ptr::null_mut();
            let status = sys::sotto_matcher_init(
                grammar.raw(),
                raw_vocabulary,
                &params.raw,
                memory.pointer(),
                memory.size(),
                &mut raw,
                report.out(),
            );
            report.check(status)?;
            Ok(Matcher {
                raw: NonNull::new(raw).expect("a matcher that was made"),
                word_count: vocabulary.map_or(0, |vocabulary| (vocabulary.token_count() + 63) / 64),
                _memory: memory,
                _grammar: grammar.clone(),
                _vocabulary: vocabulary.cloned(),
            })
        }
    }

    // Methods of sotto_matcher, written by capi/generate from capi/params.

    /// Makes a sequence empty again.
    pub fn reset(&mut self, sequence: u32) -> Result<()> {
        // SAFETY: the object is alive, and the arguments are valid during the call.
        let status = unsafe { sys::sotto_matcher_reset(self.raw(), sequence) };
        check(status).map(drop)
    }

    /// Appends a token to a sequence. The mask must allow the token.
    pub fn accept_token(&mut self, sequence: u32, token: Token) -> Result<()> {
        // SAFETY: the object is alive, and the arguments are valid during the call.
        let status = unsafe { sys::sotto_matcher_accept_token(self.raw(), sequence, token) };
        check(status).map(drop)
    }

    /// Appends text to a sequence. The text may begin and end inside a token.
    pub fn accept_text(&mut self, sequence: u32, text: impl AsRef<[u8]>) -> Result<()> {
        let text = text.as_ref();
        // SAFETY: the object is alive, and the arguments are valid during the call.
        let status = unsafe {
            sys::sotto_matcher_accept_text(self.raw(), sequence, text.as_ptr(), text.len())
        };
        check(status).map(drop)
    }

    /// Rolls back the newest tokens or texts of sequence 0.
    pub fn rewind(&mut self, count: u64) -> Result<()> {
        // SAFETY: the object is alive, and the arguments are valid during the call.
        let status = unsafe { sys::sotto_matcher_rewind(self.raw(), count) };
        check(status).map(drop)
    }

    /// Returns the state of a sequence.
    pub fn info(&self, sequence: u32) -> Result<crate::MatcherInfo> {
        // SAFETY: the object is alive, and the arguments are valid during the call.
        let read = |info| unsafe { sys::sotto_matcher_get_info(self.raw(), sequence, info) };
        read_info!(sotto_matcher_info, read).map(crate::MatcherInfo::from)
    }

    /// Makes the sequence `target` a copy of `source`.
    pub fn fork(&mut self, source: u32, target: u32) -> Result<()> {
        // SAFETY: the object is alive, and the arguments are valid during the call.
        let status = unsafe { sys::sotto_matcher_fork(self.raw(), source, target) };
        check(status).map(drop)
    }

    // End of the generated methods.

    /// Returns the tokens that may come next: bit `t % 64` of word `t / 64` stands for token t.
    pub fn mask(&mut self, sequence: u32) -> Result<Vec<u64>> {
        let mut words = vec![0; self.word_count];
        // SAFETY: pointer and size come from the same vector.
        check(unsafe {
            sys::sotto_matcher_mask(self.raw(), sequence, words.as_mut_ptr(), words.len())
        })?;
        Ok(words)
    }

    /// Like [`Matcher::mask`], without a copy.
    pub fn borrow_mask(&mut self, sequence: u32) -> Result<&[u64]> {
        let mut words = ptr::null();
        // SAFETY: the words are the matcher's own, and stay as they are while it is borrowed.
        unsafe {
            check(sys::sotto_matcher_borrow_mask(self.raw(), sequence, &mut words))?;
            Ok(slice::from_raw_parts(words, self.word_count))
        }
    }

    /// Returns whether the sequence followed by `text` can be completed, and whether it is complete.
    pub fn test(&mut self, sequence: u32, text: impl AsRef<[u8]>) -> Result<(bool, bool)> {
        let text = text.as_ref();
        let (mut begins, mut matches) = (0, 0);
        // SAFETY: pointer and size come from the same slice.
        check(unsafe {
            sys::sotto_matcher_test(
                self.raw(),
                sequence,
                text.as_ptr(),
                text.len(),
                &mut begins,
                &mut matches,
            )
        })?;
        Ok((begins != 0, matches != 0))
    }

    /// Returns the text that must come next, at most `capacity` bytes of it.
    pub fn forced_text(&mut self, sequence: u32, capacity: usize) -> Result<Vec<u8>> {
        let mut text = vec![0; capacity];
        let mut size = 0;
        // SAFETY: pointer and size come from the same vector.
        check(unsafe {
            let data = text.as_mut_ptr();
            sys::sotto_matcher_forced_text(self.raw(), sequence, data, capacity, &mut size)
        })?;
        text.truncate(size);
        Ok(text)
    }

    pub(crate) fn raw(&self) -> *mut sys::sotto_matcher {
        self.raw.as_ptr()
    }
}
