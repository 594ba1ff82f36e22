//! Errors.

use crate::sys;
use crate::{Status, Stop};
use std::fmt;
use std::path::Path;

/// The result of a call that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure: its status, a message, and the offset in the input if one is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    status: Status,
    offset: Option<u64>,
    message: String,
}

impl Error {
    pub(crate) fn new(status: i32, message: impl Into<String>) -> Self {
        Error { status: Status::of(status), offset: None, message: message.into() }
    }

    /// Begins the message with the name of a file.
    pub(crate) fn of_file(mut self, path: &Path) -> Self {
        self.message = format!("{}: {}", path.display(), self.message);
        self
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Error::new(sys::SOTTO_INVALID_ARGUMENT, message)
    }

    /// Returns what is wrong, which a program may match on.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Returns the offset of the first invalid byte of the input (file, text or grammar).
    pub fn offset(&self) -> Option<u64> {
        self.offset
    }

    /// Returns a human-readable message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the stop that left the outputs of a call unwritten.
    pub fn stop(&self) -> Option<Stop> {
        match self.status {
            Status::Stop(stop) => Some(stop),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Returns the library's text for a status.
pub(crate) fn status_text(status: i32) -> String {
    // SAFETY: the function returns static, terminated text for any value.
    let text = unsafe { std::ffi::CStr::from_ptr(sys::sotto_status_text(status).cast()) };
    text.to_string_lossy().into_owned()
}

/// Receives the details of a failure from the library.
pub(crate) struct Report(sys::sotto_error);

impl Report {
    pub(crate) fn new() -> Self {
        let size = std::mem::size_of::<sys::sotto_error>() as u32;
        Report(sys::sotto_error {
            struct_size: size,
            status: 0,
            offset: u64::MAX,
            message: [0; 240],
        })
    }

    pub(crate) fn out(&mut self) -> *mut sys::sotto_error {
        &mut self.0
    }

    pub(crate) fn offset(&self) -> Option<u64> {
        if self.0.offset == u64::MAX { None } else { Some(self.0.offset) }
    }

    /// Returns the error for a status that the call has just returned.
    pub(crate) fn check(&self, status: i32) -> Result<i32> {
        if status >= 0 {
            return Ok(status);
        }
        if self.0.status != status {
            return check(status);
        }
        let end = self.0.message.iter().position(|&byte| byte == 0).unwrap_or(self.0.message.len());
        let message = String::from_utf8_lossy(&self.0.message[..end]).into_owned();
        Err(Error { status: Status::of(status), offset: self.offset(), message })
    }
}

/// Returns the error for a status of a call that reports no details.
pub(crate) fn check(status: i32) -> Result<i32> {
    if status >= 0 {
        Ok(status)
    } else {
        Err(Error::new(status, status_text(status)))
    }
}

/// Like [`check`], but a stop is an error as well; [`Error::stop`] returns it.
pub(crate) fn check_whole(status: i32) -> Result<()> {
    match check(status)? {
        0 => Ok(()),
        stop => Err(Error::new(stop, status_text(stop))),
    }
}
