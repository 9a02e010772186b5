//! `multipart/form-data` bodies (RFC 7578), escaped as in the HTML standard.

use bytes::Bytes;

use super::body::SharedBody;

/// Shorter content is copied, so that a body has few pieces.
const SHARED_BYTES_MIN: usize = 16 * 1024;

/// Builds a multipart body. The caller supplies the boundary, so that a repeated run sends the same bytes.
#[derive(Debug, Clone)]
pub struct Multipart {
    boundary: String,
    pieces: Vec<Bytes>,
    /// What follows the pieces.
    end: Vec<u8>,
}

impl Multipart {
    /// `boundary`: up to 70 letters, digits or dashes that do not occur in the parts.
    pub fn new(boundary: impl Into<String>) -> Self {
        Self { boundary: boundary.into(), pieces: Vec::new(), end: Vec::new() }
    }

    /// A field with its value.
    pub fn text(self, name: &str, value: &str) -> Self {
        self.part(name, None, None, &Bytes::copy_from_slice(value.as_bytes()))
    }

    /// A part with its content, which large content shares.
    pub fn part(mut self, name: &str, file_name: Option<&str>, content_type: Option<&str>, content: &Bytes) -> Self {
        let mut head = format!("--{}\r\nContent-Disposition: form-data; name=\"{}\"", self.boundary, escaped(name));
        if let Some(file_name) = file_name {
            head.push_str(&format!("; filename=\"{}\"", escaped(file_name)));
        }
        if let Some(content_type) = content_type {
            let safe: String = content_type.chars().filter(|letter| !matches!(letter, '\r' | '\n')).collect();
            head.push_str(&format!("\r\nContent-Type: {safe}"));
        }
        head.push_str("\r\n\r\n");
        self.end.extend_from_slice(head.as_bytes());
        if content.len() < SHARED_BYTES_MIN {
            self.end.extend_from_slice(content);
        } else {
            self.pieces.extend([Bytes::from(std::mem::take(&mut self.end)), content.clone()]);
        }
        self.end.extend_from_slice(b"\r\n");
        self
    }

    /// The `Content-Type` value and the body.
    pub fn finish(mut self) -> (String, SharedBody) {
        self.end.extend_from_slice(format!("--{}--\r\n", self.boundary).as_bytes());
        self.pieces.push(Bytes::from(self.end));
        (format!("multipart/form-data; boundary={}", self.boundary), SharedBody::of_pieces(self.pieces))
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
        let (kind, body) =
            Multipart::new("xx").text("a\"\r\n", "1").part("f", Some("p.png"), Some("image/png"), &Bytes::from_static(b"\x89PNG")).finish();
        assert_eq!(kind, "multipart/form-data; boundary=xx");
        let expected = b"--xx\r\nContent-Disposition: form-data; name=\"a%22%0D%0A\"\r\n\r\n1\r\n\
            --xx\r\nContent-Disposition: form-data; name=\"f\"; filename=\"p.png\"\r\nContent-Type: image/png\r\n\r\n\x89PNG\r\n--xx--\r\n";
        assert_eq!(body.to_vec(), &expected[..]);
    }

    #[test]
    fn large_content_is_shared() {
        let content = Bytes::from(vec![b'x'; SHARED_BYTES_MIN]);
        let (_, body) = Multipart::new("xx").text("a", "1").part("f", None, None, &content).text("b", "2").finish();
        assert_eq!(body.pieces()[1].as_ptr(), content.as_ptr());
        assert_eq!((body.pieces().len(), body.len()), (3, body.to_vec().len()));
    }
}
