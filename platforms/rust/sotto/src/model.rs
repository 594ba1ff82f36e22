//! Models and their tokens.

use crate::error::{check, Error, Report, Result};
use crate::log::{call_log, LogFunction};
use crate::memory::{pointer_of, slice, Block};
use crate::params::read_info;
use crate::sys;
use crate::{Isa, ModelInfo, ModelParams, ModelTextKind, Session, SessionParams, Token};
use std::fs::File;
use std::io::Read;
use std::os::raw::c_void;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

/// A model. A clone is another handle to the same model; sessions and vocabularies hold handles, so a
/// model lives as long as they do.
///
/// Any number of threads may use one model:
///
/// ```
/// fn shared<T: Send + Sync + Clone>() {}
/// shared::<sotto::Model>();
/// ```
#[derive(Clone)]
pub struct Model(Arc<Inner>);

struct Inner {
    raw: NonNull<sys::sotto_model>,
    _memory: Block,
    _file: Option<Block>,
    _log: Option<Box<LogFunction>>,
}

// SAFETY: sotto.h: any number of threads may read one model.
unsafe impl Send for Inner {}
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: sessions and vocabularies hold an Arc of this, so they are gone.
        unsafe { sys::sotto_model_deinit(self.raw.as_ptr()) }
    }
}

impl Model {
    /// Reads the file at `path` into memory.
    pub fn open(path: impl AsRef<Path>) -> Result<Model> {
        Model::open_with(path, &ModelParams::default())
    }

    /// Like [`Model::open`], with parameters.
    pub fn open_with(path: impl AsRef<Path>, params: &ModelParams) -> Result<Model> {
        let invalid = |error: std::io::Error| Error::invalid(error.to_string());
        let read = || {
            let mut file = File::open(&path).map_err(invalid)?;
            let about = file.metadata().map_err(invalid)?;
            if about.is_dir() {
                return Err(Error::invalid("is a directory, not a file"));
            }
            let mut block = Block::new(usize::try_from(about.len()).unwrap_or(usize::MAX))?;
            file.read_exact(block.bytes_mut()).map_err(invalid)?;
            Model::create(block.bytes().as_ptr(), block.size(), Some(block), params)
        };
        read().map_err(|error: Error| error.of_file(path.as_ref()))
    }

    /// Copies the bytes of a model file.
    pub fn from_bytes(bytes: &[u8], params: &ModelParams) -> Result<Model> {
        let block = Block::of(bytes)?;
        Model::create(block.bytes().as_ptr(), block.size(), Some(block), params)
    }

    /// Uses the bytes of a model file in place, such as constants of the program, or leaked memory. Bytes that are not
    /// aligned to 64 are copied.
    pub fn from_static(bytes: &'static [u8], params: &ModelParams) -> Result<Model> {
        // SAFETY: the bytes are never freed.
        unsafe { Model::from_mapped(bytes.as_ptr(), bytes.len(), params) }
    }

    /// Uses the bytes of a model file in place, for example a mapped file. Bytes that are not aligned to 64 are copied.
    ///
    /// # Safety
    /// The bytes must stay readable and unchanged as long as the model, its clones and the objects that
    /// use them live.
    pub unsafe fn from_mapped(data: *const u8, size: usize, params: &ModelParams) -> Result<Model> {
        if data as usize % sys::SOTTO_MEMORY_ALIGNMENT != 0 {
            return Model::from_bytes(std::slice::from_raw_parts(data, size), params);
        }
        Model::create(data, size, None, params)
    }

    fn create(
        data: *const u8,
        size: usize,
        file: Option<Block>,
        params: &ModelParams,
    ) -> Result<Model> {
        let mut raw_params = params.raw;
        let log = params.log.clone().map(Box::new);
        if let Some(log) = &log {
            raw_params.log = Some(call_log);
            raw_params.log_user_data = log.as_ref() as *const LogFunction as *mut c_void;
        }
        let mut report = Report::new();
        let mut memory_size = 0;
        // SAFETY: `data` has `size` bytes, which the caller keeps or `file` owns; a null pointer is
        // rejected. All out-pointers refer to locals.
        unsafe {
            let status = sys::sotto_model_memory_size(
                data.cast(),
                size,
                &raw_params,
                &mut memory_size,
                report.out(),
            );
            report.check(status)?;
            let memory = Block::new(memory_size)?;
            let mut raw = std::ptr::null_mut();
            let status = sys::sotto_model_init(
                data.cast(),
                size,
                &raw_params,
                memory.pointer(),
                memory.size(),
                &mut raw,
                report.out(),
            );
            report.check(status)?;
            let raw = NonNull::new(raw).expect("a model that was made");
            Ok(Model(Arc::new(Inner { raw, _memory: memory, _file: file, _log: log })))
        }
    }

    /// Creates a session with default parameters. [`Session::new`] takes others.
    pub fn session(&self) -> Result<Session> {
        Session::new(self, &SessionParams::default())
    }

    /// Returns the dimensions of the model.
    pub fn info(&self) -> ModelInfo {
        let read = |info| unsafe { sys::sotto_model_get_info(self.raw(), info) };
        read_info!(sotto_model_info, read).expect("a model of the library").into()
    }

    /// Encodes a text, which must be UTF-8.
    pub fn tokenize(&self, text: impl AsRef<[u8]>) -> Result<Vec<Token>> {
        self.tokenize_flags(text.as_ref(), 0)
    }

    /// Like [`Model::tokenize`]; text such as `<|endoftext|>` becomes its special token.
    pub fn tokenize_special(&self, text: impl AsRef<[u8]>) -> Result<Vec<Token>> {
        self.tokenize_flags(text.as_ref(), sys::SOTTO_TOKENIZE_SPECIAL)
    }

    fn tokenize_flags(&self, text: &[u8], flags: u32) -> Result<Vec<Token>> {
        let mut tokens = vec![0; text.len() + 1];
        loop {
            let mut report = Report::new();
            let mut count = 0;
            // SAFETY: pointers and sizes come from live slices.
            let status = unsafe {
                sys::sotto_tokenize(
                    self.raw(),
                    text.as_ptr(),
                    text.len(),
                    flags,
                    tokens.as_mut_ptr(),
                    tokens.len(),
                    &mut count,
                    report.out(),
                )
            };
            if status == sys::SOTTO_BUFFER_TOO_SMALL && count > tokens.len() {
                tokens.resize(count, 0);
                continue;
            }
            report.check(status)?;
            tokens.truncate(count);
            return Ok(tokens);
        }
    }

    /// Returns the bytes of tokens.
    pub fn detokenize(&self, tokens: &[Token]) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut size = 0;
        loop {
            // SAFETY: pointers and sizes come from live slices.
            let status = unsafe {
                sys::sotto_detokenize(
                    self.raw(),
                    pointer_of(tokens),
                    tokens.len(),
                    bytes.as_mut_ptr(),
                    bytes.len(),
                    &mut size,
                )
            };
            if status == sys::SOTTO_BUFFER_TOO_SMALL && size > bytes.len() {
                bytes.resize(size, 0);
                continue;
            }
            check(status)?;
            bytes.truncate(size);
            return Ok(bytes);
        }
    }

    /// Returns the `SOTTO_TOKEN_` flags of one token.
    pub fn token_flags(&self, token: Token) -> Result<u32> {
        let mut flags = 0;
        // SAFETY: the out-pointer refers to a local.
        check(unsafe { sys::sotto_token_flags(self.raw(), token, &mut flags) })?;
        Ok(flags)
    }

    /// Returns a text about the model, or an empty text.
    pub fn text(&self, kind: ModelTextKind) -> Result<&[u8]> {
        let mut bytes = std::ptr::null();
        let mut size = 0;
        // SAFETY: the bytes are the file's and live as long as the model.
        unsafe {
            check(sys::sotto_model_text(self.raw(), kind as i32, &mut bytes, &mut size))?;
            Ok(slice(bytes, size))
        }
    }

    /// Returns the bytes of one token; they may begin or end inside a character.
    pub fn token_bytes(&self, token: Token) -> Result<&[u8]> {
        let mut bytes = std::ptr::null();
        let mut size = 0;
        // SAFETY: the bytes are the model's and live as long as it.
        unsafe {
            check(sys::sotto_token_bytes(self.raw(), token, &mut bytes, &mut size))?;
            Ok(slice(bytes, size))
        }
    }

    pub(crate) fn raw(&self) -> *const sys::sotto_model {
        self.0.raw.as_ptr()
    }
}

impl std::fmt::Display for Isa {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // SAFETY: static, terminated text for any value.
        let name = unsafe { std::ffi::CStr::from_ptr(sys::sotto_isa_text(*self as i32).cast()) };
        formatter.write_str(&name.to_string_lossy())
    }
}
