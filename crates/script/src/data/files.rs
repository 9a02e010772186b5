//! Files that requests send: read once, stored as bytes.

use std::path::Path;

use bytes::Bytes;

use super::rows::{DataError, read_regular};

/// Content of a file.
#[derive(Debug)]
pub(crate) struct FileBytes {
    bytes: Bytes,
    name: String,
    media_type: &'static str,
}

impl FileBytes {
    pub(crate) fn read(path: &Path) -> Result<Self, DataError> {
        let bytes = read_regular(path).map_err(|error| DataError::Unreadable { path: path.to_owned(), problem: error.to_string() })?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let media_type = media_type(&name);
        Ok(Self { bytes: bytes.into(), name, media_type })
    }

    /// Shared with each request that sends them.
    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// `None` when the content is not UTF-8.
    pub(crate) fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok()
    }

    /// The file's name without its folder.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Guessed from the name.
    pub(crate) fn media_type(&self) -> &'static str {
        self.media_type
    }
}

/// The registered type of the extensions that tests upload.
fn media_type(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
    match ending.as_str() {
        "json" => "application/json",
        "xml" => "application/xml",
        "txt" => "text/plain",
        "csv" => "text/csv",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "js" | "mjs" => "text/javascript",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "gz" => "application/gzip",
        "mp3" => "audio/mpeg",
        "mp4" => "video/mp4",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_and_folders_are_not_read() {
        for path in ["/dev/zero", "/"] {
            let error = FileBytes::read(Path::new(path)).unwrap_err();
            assert!(error.to_string().contains("it is not a regular file"), "{error}");
        }
    }

    #[test]
    fn the_type_follows_from_the_name() {
        for (name, expected) in [
            ("a.JSON", "application/json"),
            ("photo.v2.jpeg", "image/jpeg"),
            ("README", "application/octet-stream"),
            (".json", "application/json"),
        ] {
            assert_eq!(media_type(name), expected, "{name}");
        }
    }
}
