//! What a server says when it does not do what it was asked.

use super::wire::fields;

/// Why a statement, or a connection, was refused (PostgreSQL, "Error and Notice Message Fields").
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SqlRefusal {
    /// SQLSTATE, such as `23505`.
    pub code: String,
    /// The message, its detail and its hint, behind the code.
    pub text: String,
    /// The connection ends with it.
    pub(super) is_final: bool,
}

impl SqlRefusal {
    pub(super) fn read(body: &[u8]) -> Self {
        let (mut refusal, mut message, mut more) = (Self::default(), String::new(), String::new());
        for (kind, value) in fields(body) {
            let value = String::from_utf8_lossy(value);
            match kind {
                b'V' => refusal.is_final = matches!(&*value, "FATAL" | "PANIC"),
                b'C' => refusal.code = value.into_owned(),
                b'M' => message = value.into_owned(),
                b'D' => more = format!("{more} DETAIL: {value}"),
                b'H' => more = format!("{more} HINT: {value}"),
                _ => {}
            }
        }
        refusal.text = format!("{}: {message}{more}", refusal.code);
        refusal
    }
}
