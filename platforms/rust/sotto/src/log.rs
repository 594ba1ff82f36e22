//! Log messages of the library.

use std::os::raw::c_void;
use std::sync::Arc;

/// A log callback. It receives a level, 1 (error) to 3 (information), and a message.
pub type LogFunction = Arc<dyn Fn(i32, &str) + Send + Sync>;

/// Calls a [`LogFunction`] and drops its panic, which must not unwind C frames.
pub(crate) unsafe extern "C" fn call_log(function: *mut c_void, level: i32, message: *const u8) {
    let function = &*(function as *const LogFunction);
    let message = std::ffi::CStr::from_ptr(message.cast()).to_string_lossy();
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| function(level, &message)));
}
