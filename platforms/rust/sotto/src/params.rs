//! Building blocks of the generated parameters: setters of plain fields, and conversion of lists to C.

use crate::memory::pointer_of;
use crate::sys;
use crate::Token;
use std::any::Any;

/// Setters of fields of `self.raw`.
macro_rules! setters {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $field(mut self, $field: $type) -> Self {
            self.raw.$field = $field as _;
            self
        }
    )*};
}
pub(crate) use setters;

/// A C struct with its defaults.
macro_rules! with_defaults {
    ($type:ident, $init:ident) => {{
        // SAFETY: the function fills the whole struct, which may be all zeros before.
        unsafe {
            let mut raw: $crate::sys::$type = std::mem::zeroed();
            $crate::sys::$init(&mut raw, std::mem::size_of::<$crate::sys::$type>());
            raw
        }
    }};
}
pub(crate) use with_defaults;

/// A C struct of information that `read` fills.
macro_rules! read_info {
    ($type:ident, $read:expr) => {{
        // SAFETY: the struct is plain numbers.
        unsafe {
            let mut info: $crate::sys::$type = std::mem::zeroed();
            info.struct_size = std::mem::size_of_val(&info) as u32;
            let read: &dyn Fn(*mut $crate::sys::$type) -> i32 = &$read;
            $crate::error::check(read(&mut info)).map(|_| info)
        }
    }};
}
pub(crate) use read_info;

/// Keeps converted lists alive while a C struct points to them.
#[derive(Default)]
pub(crate) struct Lists(Vec<Box<dyn Any>>);

impl Lists {
    /// The address of `list`, whose elements do not move, and its length.
    pub(crate) fn keep<T: 'static>(&mut self, list: Vec<T>) -> (*const T, usize) {
        let kept = (pointer_of(&list), list.len());
        self.0.push(Box::new(list));
        kept
    }
}

pub(crate) fn texts(list: &[String]) -> Vec<sys::sotto_text> {
    list.iter().map(|text| sys::sotto_text { text: text.as_ptr(), size: text.len() }).collect()
}

pub(crate) fn token_lists(lists: &[Vec<Token>]) -> Vec<sys::sotto_token_list> {
    lists
        .iter()
        .map(|list| sys::sotto_token_list { tokens: list.as_ptr(), count: list.len() })
        .collect()
}

pub(crate) fn token_biases(list: &[(Token, f32)]) -> Vec<sys::sotto_token_bias> {
    list.iter().map(|&(token, bias)| sys::sotto_token_bias { token, bias }).collect()
}

pub(crate) fn sequence_biases(list: &[(Vec<Token>, f32)]) -> Vec<sys::sotto_sequence_bias> {
    list.iter()
        .map(|(tokens, bias)| sys::sotto_sequence_bias {
            tokens: tokens.as_ptr(),
            count: tokens.len(),
            bias: *bias,
            reserved: 0,
        })
        .collect()
}
