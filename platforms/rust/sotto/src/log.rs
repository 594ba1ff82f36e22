//! Messages of the library to a function of the caller.

use std::os::raw::c_void;
use std::sync::Arc;

/// What a log callback gets: a level, 1 (error) to 3 (information), and a message.
pub type LogFunction = Arc<dyn Fn(i32, &str) + Send + Sync>;

/// Hands a message to a [`LogFunction`]; a panic there is dropped, as it may not cross the library.
pub(crate) unsafe extern "C" fn call_log(function: *mut c_void, level: i32, message: *const u8) {
    let function = &*(function as *const LogFunction);
    let message = std::ffi::CStr::from_ptr(message.cast()).to_string_lossy();
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| function(level, &message)));
}
