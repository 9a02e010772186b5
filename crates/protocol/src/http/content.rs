//! Content codings: decodes gzip, deflate, br and zstd with a limit on the output.

use std::io::{self, Read};

use bytes::Bytes;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use crate::failure::Failure;
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
    Failure::protocol("the body does not match its Content-Encoding")
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const TEXT: &[u8] = b"to be or not to be, to be or not to be, to be or not to be";

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
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
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(bytes).unwrap();
            return encoder.finish().unwrap();
        }
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
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
    fn bombs_and_garbage_fail() {
        let bomb = gzip(&vec![0; 10_000_000]);
        assert_eq!(decode(Bytes::from(bomb), "gzip", 1000), Err(too_large()));
        for codings in ["gzip", "deflate", "br", "zstd"] {
            assert!(decode(Bytes::from_static(b"\xff\xff\xff\xffgarbage"), codings, 1000).is_err(), "{codings}");
        }
        assert!(decode(Bytes::from(gzip(TEXT)[..20].to_vec()), "gzip", 1000).is_err());
    }
}
