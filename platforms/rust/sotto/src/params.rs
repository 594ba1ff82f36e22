//! The parameters of models, sessions, stops and samplers. Every setter sets the field of the C struct of the
//! same name, where its meaning and range are told; what is out of range is refused where the parameters are used.

use crate::log::LogFunction;
use crate::memory::pointer_of;
use crate::sys;
use crate::Token;
use std::sync::Arc;

/// An enumeration of the C interface.
macro_rules! c_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$item_doc:meta])* $item:ident = $value:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(i32)]
        #[allow(missing_docs)]
        pub enum $name { $($(#[$item_doc])* $item = $crate::sys::$value,)* }
    };
}
pub(crate) use c_enum;

/// Setters of fields of `self.raw`.
macro_rules! setters {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)*) => {$(
        $(#[$doc])*
        #[doc = concat!("Sets `", stringify!($field), "`.")]
        #[must_use]
        pub fn $field(mut self, $field: $type) -> Self {
            self.raw.$field = $field as _;
            self
        }
    )*};
}
pub(crate) use setters;

/// Setters of lists that the struct owns.
macro_rules! list_setters {
    ($($field:ident: $type:ty,)*) => {$(
        #[doc = concat!("Sets `", stringify!($field), "`.")]
        #[must_use]
        pub fn $field(mut self, $field: impl Into<Vec<$type>>) -> Self {
            self.$field = $field.into();
            self
        }
    )*};
}
pub(crate) use list_setters;

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

c_enum! {
    /// Instruction sets. All give the same bits.
    Isa {
        Auto = SOTTO_ISA_AUTO,
        Reference = SOTTO_ISA_REFERENCE,
        Avx2 = SOTTO_ISA_AVX2,
        Avx512 = SOTTO_ISA_AVX512,
        Avx512Vnni = SOTTO_ISA_AVX512VNNI,
        Neon = SOTTO_ISA_NEON,
        NeonDotprod = SOTTO_ISA_NEON_DOTPROD,
        NeonI8mm = SOTTO_ISA_NEON_I8MM,
        Avx512Amx = SOTTO_ISA_AVX512AMX,
    }
}
c_enum! {
    /// What happens when the ring of keys and values is full.
    Overflow {
        Stop = SOTTO_OVERFLOW_STOP,
        Ring = SOTTO_OVERFLOW_RING,
        Shift = SOTTO_OVERFLOW_SHIFT,
    }
}
c_enum! {
    /// Ready-made orders of the sampler's stages.
    Order {
        Default = SOTTO_ORDER_DEFAULT,
        Hf = SOTTO_ORDER_HF,
        OpenAi = SOTTO_ORDER_OPENAI,
    }
}
c_enum! {
    /// How one of the tokens that are left is picked.
    Selection {
        Multinomial = SOTTO_SELECT_MULTINOMIAL,
        Greedy = SOTTO_SELECT_GREEDY,
        Gumbel = SOTTO_SELECT_GUMBEL,
        Mirostat = SOTTO_SELECT_MIROSTAT,
        MirostatV2 = SOTTO_SELECT_MIROSTAT_V2,
        AdaptiveP = SOTTO_SELECT_ADAPTIVE_P,
    }
}
c_enum! {
    /// Layers against layers.
    Dola {
        Off = SOTTO_DOLA_OFF,
        Low = SOTTO_DOLA_LOW,
        High = SOTTO_DOLA_HIGH,
    }
}

/// Parameters of a model.
#[derive(Clone)]
pub struct ModelParams {
    pub(crate) raw: sys::sotto_model_params,
    pub(crate) log: Option<LogFunction>,
}

// SAFETY: `raw` holds no pointers: there is no setter for them.
unsafe impl Send for ModelParams {}
unsafe impl Sync for ModelParams {}

impl Default for ModelParams {
    fn default() -> Self {
        ModelParams { raw: with_defaults!(sotto_model_params, sotto_model_params_init), log: None }
    }
}

impl ModelParams {
    setters! { isa: Isa, verify_checksums: bool, copy_weights: bool, }

    /// Hears what the library has to say.
    #[must_use]
    pub fn log(mut self, log: impl Fn(i32, &str) + Send + Sync + 'static) -> Self {
        self.log = Some(Arc::new(log));
        self
    }
}

/// Parameters of a session.
#[derive(Clone)]
pub struct SessionParams {
    pub(crate) raw: sys::sotto_session_params,
}

// SAFETY: `raw` holds no pointers: there is no setter for the executor.
unsafe impl Send for SessionParams {}
unsafe impl Sync for SessionParams {}

impl Default for SessionParams {
    fn default() -> Self {
        SessionParams { raw: with_defaults!(sotto_session_params, sotto_session_params_init) }
    }
}

impl SessionParams {
    setters! {
        context_tokens: u32, batch_tokens: u32, thread_count: u32, overflow: Overflow, sink_tokens: u32,
        sequence_count: u32, sequence_tokens: u32, list_bytes: u32, draft_tokens: u32,
        /// Bits: `sys::SOTTO_FEATURE_GUIDE` and its like.
        features: u32,
    }
}

/// When a session stops, and what its text never holds.
#[derive(Clone)]
pub struct StopParams {
    pub(crate) raw: sys::sotto_stop_params,
    stop_tokens: Vec<Token>,
    stop_strings: Vec<String>,
    banned_strings: Vec<String>,
}

// SAFETY: `raw` holds no pointers.
unsafe impl Send for StopParams {}
unsafe impl Sync for StopParams {}

impl Default for StopParams {
    fn default() -> Self {
        StopParams {
            raw: with_defaults!(sotto_stop_params, sotto_stop_params_init),
            stop_tokens: Vec::new(),
            stop_strings: Vec::new(),
            banned_strings: Vec::new(),
        }
    }
}

impl StopParams {
    setters! {
        include_stop_text: bool, max_tokens: u64, max_time_ns: u64, repetition_limit: f32, repetition_window: u32,
    }
    list_setters! { stop_tokens: Token, stop_strings: String, banned_strings: String, }

    /// Calls `use_raw` with the struct as the library wants it.
    pub(crate) fn lower<T>(&self, use_raw: impl FnOnce(&sys::sotto_stop_params) -> T) -> T {
        let stops = texts(&self.stop_strings);
        let banned = texts(&self.banned_strings);
        let mut raw = self.raw;
        raw.stop_tokens = pointer_of(&self.stop_tokens);
        raw.stop_token_count = self.stop_tokens.len();
        raw.stop_strings = pointer_of(&stops);
        raw.stop_string_count = stops.len();
        raw.banned_strings = pointer_of(&banned);
        raw.banned_string_count = banned.len();
        use_raw(&raw)
    }
}

/// The texts of `list`, as long as that lives and stays as it is.
pub(crate) fn texts(list: &[String]) -> Vec<sys::sotto_text> {
    list.iter().map(|text| sys::sotto_text { text: text.as_ptr(), size: text.len() }).collect()
}

/// The same for lists of tokens.
pub(crate) fn token_lists(lists: &[Vec<Token>]) -> Vec<sys::sotto_token_list> {
    lists
        .iter()
        .map(|list| sys::sotto_token_list { tokens: list.as_ptr(), count: list.len() })
        .collect()
}
