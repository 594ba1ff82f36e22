//! The pieces of a stream.

use crate::error::Result;
use crate::memory::slice;
use crate::sys;
use crate::{Model, Session, Stop, Token};
use std::borrow::Cow;
use std::fmt;

/// A text or tokens that a session evaluates.
pub trait Prompt {
    /// Returns the tokens.
    fn tokens(&self, model: &Model) -> Result<Cow<'_, [Token]>>;
}

impl Prompt for str {
    fn tokens(&self, model: &Model) -> Result<Cow<'_, [Token]>> {
        model.tokenize(self).map(Cow::Owned)
    }
}

impl Prompt for String {
    fn tokens(&self, model: &Model) -> Result<Cow<'_, [Token]>> {
        self.as_str().tokens(model)
    }
}

impl Prompt for [Token] {
    fn tokens(&self, _: &Model) -> Result<Cow<'_, [Token]>> {
        Ok(Cow::Borrowed(self))
    }
}

impl Prompt for Vec<Token> {
    fn tokens(&self, _: &Model) -> Result<Cow<'_, [Token]>> {
        Ok(Cow::Borrowed(self))
    }
}

impl<T: Prompt + ?Sized> Prompt for &T {
    fn tokens(&self, model: &Model) -> Result<Cow<'_, [Token]>> {
        (**self).tokens(model)
    }
}

/// A generated token, valid until the session's next call.
#[derive(Clone, Copy)]
pub struct Piece<'s>(pub(crate) &'s sys::sotto_piece);

impl<'s> Piece<'s> {
    /// Returns whole characters, possibly none: the bytes of an incomplete character are withheld.
    pub fn text(&self) -> &'s str {
        // SAFETY: the session keeps the text until its next call.
        let bytes = unsafe { slice(self.0.text, self.0.text_size) };
        std::str::from_utf8(bytes).expect("the library gives whole characters")
    }

    /// The token; `None` for a piece with only text that was withheld.
    pub fn token(&self) -> Option<Token> {
        if self.0.token < 0 {
            None
        } else {
            Some(self.0.token)
        }
    }

    /// Returns the bytes of the token.
    pub fn bytes(&self) -> &'s [u8] {
        // SAFETY: as for the text.
        unsafe { slice(self.0.bytes, self.0.byte_count) }
    }

    /// ln p under the model; NaN unless `log_probabilities` is set.
    pub fn log_probability(&self) -> f32 {
        self.0.log_probability
    }

    /// ln p after the sampler's chain; NaN unless `log_probabilities` is set.
    pub fn sampled_log_probability(&self) -> f32 {
        self.0.sampled_log_probability
    }

    /// The most likely tokens and their ln p, if `alternative_count` is set.
    pub fn alternatives(&self) -> impl Iterator<Item = (Token, f32)> + 's {
        // SAFETY: as for the text.
        let list = unsafe { slice(self.0.alternatives, self.0.alternative_count as usize) };
        list.iter().map(|alternative| (alternative.token, alternative.log_probability))
    }

    /// Time that the token took in nanoseconds.
    pub fn elapsed_ns(&self) -> u64 {
        self.0.elapsed_ns
    }

    /// Entropy of the model's distribution in nats; NaN unless `statistics` is set.
    pub fn entropy(&self) -> f32 {
        self.0.entropy
    }

    /// exp(entropy), the number of equally likely tokens with the same entropy; NaN unless `statistics` is set.
    pub fn effective_vocabulary(&self) -> f32 {
        self.0.effective_vocabulary
    }

    /// Number of tokens left to draw from after the sampler's chain; 0 unless `statistics` is set.
    pub fn kept_count(&self) -> u32 {
        self.0.kept_count
    }

    /// Repetitiveness of the newest tokens, from 0 to 1; NaN unless `statistics` is set.
    pub fn repetitiveness(&self) -> f32 {
        self.0.repetitiveness
    }
}

impl fmt::Debug for Piece<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Piece({:?}, {:?})", self.token(), self.text())
    }
}

/// The result of [`Session::next_piece`].
#[derive(Debug)]
pub enum Step<'s> {
    /// A token.
    Piece(Piece<'s>),
    /// The end, with text that was withheld, possibly none.
    Stop(Stop, &'s str),
}

/// An item of a [`Stream`]: the owned text and token of a piece. Displays as its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// Whole characters, possibly none.
    pub text: String,
    /// The token; `None` for a piece with only text that was withheld.
    pub token: Option<Token>,
    /// ln p under the model; NaN unless `log_probabilities` is set.
    pub log_probability: f32,
}

impl fmt::Display for Chunk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// An iterator over the tokens to come. It ends at a stop, which [`Stream::stop`] returns, or after an error.
///
/// It borrows the session, which cannot be used or dropped in the meantime:
///
/// ```compile_fail
/// # fn example(mut session: sotto::Session) -> sotto::Result<()> {
/// let mut stream = session.stream("It was", 10)?;
/// session.reset();
/// stream.next();
/// # Ok(()) }
/// ```
/// ```compile_fail
/// # fn example(mut session: sotto::Session) -> sotto::Result<()> {
/// let mut stream = session.stream("It was", 10)?;
/// drop(session);
/// stream.next();
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Stream<'s> {
    session: &'s mut Session,
    stop: Option<Stop>,
    failed: bool,
}

impl<'s> Stream<'s> {
    pub(crate) fn new(session: &'s mut Session, stop: Option<Stop>) -> Self {
        Stream { session, stop, failed: false }
    }

    /// Returns why the stream ended, or `None` before that.
    pub fn stop(&self) -> Option<Stop> {
        self.stop
    }
}

impl Iterator for Stream<'_> {
    type Item = Result<Chunk>;

    fn next(&mut self) -> Option<Result<Chunk>> {
        if self.failed || self.stop.is_some() {
            return None;
        }
        match self.session.next_piece() {
            Ok(Step::Piece(piece)) => Some(Ok(Chunk {
                text: piece.text().to_string(),
                token: piece.token(),
                log_probability: piece.log_probability(),
            })),
            Ok(Step::Stop(stop, text)) => {
                self.stop = Some(stop);
                if text.is_empty() {
                    None
                } else {
                    let text = text.to_string();
                    Some(Ok(Chunk { text, token: None, log_probability: f32::NAN }))
                }
            }
            Err(error) => {
                self.failed = true;
                Some(Err(error))
            }
        }
    }
}

impl std::iter::FusedIterator for Stream<'_> {}
