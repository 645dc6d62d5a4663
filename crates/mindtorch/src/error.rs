//! What can go wrong, and the Python exception that a torch user expects for it.

use std::fmt;

/// What kind of mistake it was. The binding raises the exception of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Shapes, dtypes or devices that do not go together, and most other mistakes.
    Runtime,
    /// An index or a dimension that does not exist.
    Index,
    /// An argument of the wrong type.
    Type,
    /// An argument of the right type with a value that makes no sense.
    Value,
    /// Something that is not there for this dtype or device.
    NotImplemented,
    /// The device has no memory left.
    OutOfMemory,
    /// Raised by the program's own code, which the binding called and whose exception it keeps.
    Foreign,
}

/// A mistake, in the words of torch.
pub struct Error(Box<Content>);

struct Content {
    kind: ErrorKind,
    message: String,
    payload: Option<Box<dyn std::any::Any + Send + Sync>>,
}

/// What operations return.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of this kind.
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Content { kind, message: message.into(), payload: None }))
    }

    /// An exception of the program's own, carried through.
    #[cold]
    pub fn foreign(message: String, payload: Box<dyn std::any::Any + Send + Sync>) -> Self {
        Self(Box::new(Content { kind: ErrorKind::Foreign, message, payload: Some(payload) }))
    }

    /// What kind of mistake it was.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What [`Self::foreign`] was given.
    pub fn into_payload(self) -> Option<Box<dyn std::any::Any + Send + Sync>> {
        self.0.payload
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.0.kind, self.0.message)
    }
}

impl std::error::Error for Error {}

/// Returns an error from the function it is in: `bail!(Index, "dimension {dim} is not there")`.
macro_rules! bail {
    ($kind:ident, $($text:tt)*) => {
        return Err($crate::error::Error::new($crate::error::ErrorKind::$kind, format!($($text)*)))
    };
}

/// Returns an error unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $kind:ident, $($text:tt)*) => {
        // Not negated: what is no number is neither more nor less.
        if $condition {
        } else {
            $crate::error::bail!($kind, $($text)*);
        }
    };
}

pub(crate) use {bail, ensure};
