//! Content codings: decodes gzip, deflate, br and zstd with a limit on the output, and encodes the bodies of requests.

use std::io::{self, Read, Write};

use bytes::Bytes;
use flate2::Compression;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};

use super::body::SharedBody;
use crate::failure::{Failure, FailureDetail};
use crate::http1::too_large;

/// The default `Accept-Encoding`.
pub(crate) const ACCEPTED: &str = "gzip, deflate, br, zstd";

/// Limit on stacked codings. More is an attack or a mistake.
const CONTENT_CODINGS_MAX: usize = 4;

/// Decodes the codings of a `Content-Encoding` value, last applied first. Unknown codings remain.
pub(crate) fn decode(body: Bytes, codings: &str, bytes_max: u64) -> Result<Bytes, Failure> {
    let names: Vec<&str> = codings.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if names.len() > CONTENT_CODINGS_MAX {
        return Err(Failure::protocol("the body has more than four content codings"));
    }
    let mut body = body;
    for name in names.iter().rev() {
        // A response to HEAD, a 304, or an empty body has the header and nothing to decode.
        if body.is_empty() {
            break;
        }
        let decoded = match name.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => read_all(MultiGzDecoder::new(&*body), bytes_max),
            // Some servers send raw deflate although RFC 9110 requires zlib. The first byte distinguishes them (RFC 1950, section 2.2).
            "deflate" if body[0] & 0x0f == 8 => read_all(ZlibDecoder::new(&*body), bytes_max),
            "deflate" => read_all(DeflateDecoder::new(&*body), bytes_max),
            "br" => read_all(brotli::Decompressor::new(&*body, 4096), bytes_max),
            "zstd" => read_all(zstd::Decoder::with_buffer(&*body).map_err(|_| malformed())?, bytes_max),
            "identity" => continue,
            _ => break,
        };
        body = decoded?;
    }
    Ok(body)
}

/// A coding of a request's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    Gzip,
    /// In the zlib format (RFC 9110, section 8.4.1.2).
    Deflate,
    Brotli,
    Zstd,
}

/// Level of brotli, whose own default of 11 takes seconds per megabyte. Web servers compress responses with similar levels.
const BROTLI_LEVEL: u32 = 5;
/// Brotli's window as a power of two: 4 MiB, its default.
const BROTLI_WINDOW_BITS: u32 = 22;

impl Coding {
    /// All, by their names in `Content-Encoding`.
    pub const NAMES: [(&str, Self); 4] = [("gzip", Self::Gzip), ("deflate", Self::Deflate), ("br", Self::Brotli), ("zstd", Self::Zstd)];

    /// Compresses a body, with the default level of each format, and level 5 for brotli.
    ///
    /// # Errors
    /// Only what zstd reports.
    pub fn encode(self, body: &SharedBody) -> io::Result<SharedBody> {
        let mut encoded = Vec::new();
        match self {
            Self::Gzip => copy(body, GzEncoder::new(&mut encoded, Compression::default()), |encoder| encoder.finish().map(drop))?,
            Self::Deflate => copy(body, ZlibEncoder::new(&mut encoded, Compression::default()), |encoder| encoder.finish().map(drop))?,
            Self::Brotli => {
                let encoder = brotli::CompressorWriter::new(&mut encoded, 4096, BROTLI_LEVEL, BROTLI_WINDOW_BITS);
                // It ends the stream when it is dropped.
                copy(body, encoder, |encoder| {
                    drop(encoder);
                    Ok(())
                })?;
            }
            Self::Zstd => {
                let encoder = zstd::Encoder::new(&mut encoded, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                copy(body, encoder, |encoder| encoder.finish().map(drop))?;
            }
        }
        Ok(encoded.into())
    }
}

fn copy<W: Write>(body: &SharedBody, mut encoder: W, finish: impl FnOnce(W) -> io::Result<()>) -> io::Result<()> {
    body.pieces().iter().try_for_each(|piece| encoder.write_all(piece))?;
    finish(encoder)
}

fn read_all(decoder: impl Read, bytes_max: u64) -> Result<Bytes, Failure> {
    let mut plain = Vec::new();
    let read: io::Result<usize> = decoder.take(bytes_max.saturating_add(1)).read_to_end(&mut plain);
    read.map_err(|_| malformed())?;
    if plain.len() as u64 > bytes_max {
        return Err(too_large());
    }
    Ok(Bytes::from(plain))
}

fn malformed() -> Failure {
    Failure::protocol("the body does not match its Content-Encoding").with(FailureDetail::ContentCoding)
}

/// Whether a header line only states that Loadstone must not add `Accept-Encoding`: its value is empty. It is not sent.
pub(super) fn declines_codings(name: &str, value: &str) -> bool {
    value.is_empty() && name.eq_ignore_ascii_case("accept-encoding")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"to be or not to be, to be or not to be, to be or not to be";

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn brotli(bytes: &[u8]) -> Vec<u8> {
        let mut encoded = Vec::new();
        brotli::CompressorWriter::new(&mut encoded, 4096, 5, 20).write_all(bytes).unwrap();
        encoded
    }

    fn flate(bytes: &[u8], zlib: bool) -> Vec<u8> {
        if zlib {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(bytes).unwrap();
            return encoder.finish().unwrap();
        }
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn each_coding_is_decoded() {
        for (codings, body) in [
            ("gzip", gzip(TEXT)),
            ("X-GZIP", gzip(TEXT)),
            ("deflate", flate(TEXT, true)),
            ("deflate", flate(TEXT, false)),
            ("br", brotli(TEXT)),
            ("zstd", zstd::encode_all(TEXT, 3).unwrap()),
            ("identity", TEXT.to_vec()),
            ("gzip, br", brotli(&gzip(TEXT))),
            ("unknown", TEXT.to_vec()),
        ] {
            assert_eq!(decode(Bytes::from(body), codings, 1000).unwrap(), TEXT, "{codings}");
        }
        assert!(decode(Bytes::new(), "gzip", 10).unwrap().is_empty());
    }

    #[test]
    fn an_encoded_body_is_decoded_by_its_name() {
        let body = SharedBody::of_pieces(TEXT.chunks(7).map(Bytes::from_static).collect());
        for (name, coding) in Coding::NAMES {
            let encoded = coding.encode(&body).unwrap();
            assert!(encoded.len() < TEXT.len(), "{name}");
            assert_eq!(decode(Bytes::from(encoded.to_vec()), name, 1000).unwrap(), TEXT, "{name}");
            let empty = coding.encode(&SharedBody::default()).unwrap();
            assert!(decode(Bytes::from(empty.to_vec()), name, 1000).unwrap().is_empty(), "{name}");
        }
        // The zlib format begins with its method (RFC 1950, section 2.2), raw deflate does not.
        assert_eq!(Coding::Deflate.encode(&body).unwrap().to_vec()[0] & 0x0f, 8);
    }

    #[test]
    fn bombs_and_garbage_fail() {
        let bomb = gzip(&vec![0; 10_000_000]);
        assert_eq!(decode(Bytes::from(bomb), "gzip", 1000), Err(too_large()));
        for codings in ["gzip", "deflate", "br", "zstd"] {
            assert!(decode(Bytes::from_static(b"\xff\xff\xff\xffgarbage"), codings, 1000).is_err(), "{codings}");
        }
        assert!(decode(Bytes::from(gzip(TEXT)[..20].to_vec()), "gzip", 1000).is_err());
    }
}
