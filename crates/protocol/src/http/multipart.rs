//! `multipart/form-data` bodies (RFC 7578), escaped as in the HTML standard.

use bytes::Bytes;

/// Builds a multipart body. The caller supplies the boundary, so that a repeated run sends the same bytes.
#[derive(Debug, Clone)]
pub struct Multipart {
    boundary: String,
    body: Vec<u8>,
}

impl Multipart {
    /// `boundary`: up to 70 letters, digits or dashes that do not occur in the parts.
    pub fn new(boundary: impl Into<String>) -> Self {
        Self { boundary: boundary.into(), body: Vec::new() }
    }

    pub fn text(self, name: &str, value: &str) -> Self {
        self.part(name, None, None, value.as_bytes())
    }

    pub fn file(self, name: &str, file_name: &str, content_type: &str, content: &[u8]) -> Self {
        self.part(name, Some(file_name), Some(content_type), content)
    }

    fn part(mut self, name: &str, file_name: Option<&str>, content_type: Option<&str>, content: &[u8]) -> Self {
        let mut head = format!("--{}\r\nContent-Disposition: form-data; name=\"{}\"", self.boundary, escaped(name));
        if let Some(file_name) = file_name {
            head.push_str(&format!("; filename=\"{}\"", escaped(file_name)));
        }
        if let Some(content_type) = content_type {
            let safe: String = content_type.chars().filter(|letter| !matches!(letter, '\r' | '\n')).collect();
            head.push_str(&format!("\r\nContent-Type: {safe}"));
        }
        head.push_str("\r\n\r\n");
        self.body.extend_from_slice(head.as_bytes());
        self.body.extend_from_slice(content);
        self.body.extend_from_slice(b"\r\n");
        self
    }

    /// The `Content-Type` value and the body.
    pub fn finish(mut self) -> (String, Bytes) {
        self.body.extend_from_slice(format!("--{}--\r\n", self.boundary).as_bytes());
        (format!("multipart/form-data; boundary={}", self.boundary), Bytes::from(self.body))
    }
}

fn escaped(name: &str) -> String {
    name.replace('\r', "%0D").replace('\n', "%0A").replace('"', "%22")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_separated_by_boundaries() {
        let (kind, body) = Multipart::new("xx").text("a\"\r\n", "1").file("f", "p.png", "image/png", b"\x89PNG").finish();
        assert_eq!(kind, "multipart/form-data; boundary=xx");
        let expected = b"--xx\r\nContent-Disposition: form-data; name=\"a%22%0D%0A\"\r\n\r\n1\r\n\
            --xx\r\nContent-Disposition: form-data; name=\"f\"; filename=\"p.png\"\r\nContent-Type: image/png\r\n\r\n\x89PNG\r\n--xx--\r\n";
        assert_eq!(body, &expected[..]);
    }
}
