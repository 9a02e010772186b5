//! The observer's name of a stub, which differs from the stub's own name.

const PREFIX: &str = "stub:";

/// The name of the observer that reads the signals of this stub.
pub fn of_stub(name: &str) -> String {
    format!("{PREFIX}{name}")
}

/// The stub's own name, which sentences use. Another observer's name is unchanged.
pub fn stub_of(observer: &str) -> &str {
    observer.strip_prefix(PREFIX).unwrap_or(observer)
}
