//! Batches that were packed, by their producer or by the topic's settings.

use std::borrow::Cow;
use std::io::Read;

use super::wire::{KafkaReader, UnreadableKafka};

/// What a batch may hold unpacked. Bytes.
const BYTES_MAX: usize = 64 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    Plain,
    Gzip,
    Snappy,
    Zstd,
    /// LZ4, or what is yet to be invented; by its number.
    Other(i16),
}

impl Packing {
    /// As the attributes of a batch say.
    pub(super) fn of(attributes: i16) -> Self {
        match attributes & 7 {
            0 => Self::Plain,
            1 => Self::Gzip,
            2 => Self::Snappy,
            4 => Self::Zstd,
            other => Self::Other(other),
        }
    }
}

/// # Errors
/// Why it cannot be unpacked.
pub(super) fn unpacked(packing: Packing, packed: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    let broken = |what: &str| format!("a batch of records is packed by {what} and broken, or larger than {} MiB", BYTES_MAX >> 20);
    match packing {
        Packing::Plain => Ok(Cow::Borrowed(packed)),
        Packing::Gzip => read_all(flate2::read::MultiGzDecoder::new(packed)).ok_or_else(|| broken("gzip")),
        Packing::Zstd => zstd::Decoder::new(packed).ok().and_then(read_all).ok_or_else(|| broken("zstd")),
        Packing::Snappy => snappy(packed).map(Cow::Owned).map_err(|UnreadableKafka| broken("snappy")),
        Packing::Other(3) => Err("records packed by lz4 are not read".to_owned()),
        Packing::Other(number) => Err(format!("records packed by a way of number {number} are not read")),
    }
}

fn read_all<'a>(from: impl Read) -> Option<Cow<'a, [u8]>> {
    let mut unpacked = Vec::new();
    from.take(BYTES_MAX as u64 + 1).read_to_end(&mut unpacked).ok()?;
    (unpacked.len() <= BYTES_MAX).then_some(Cow::Owned(unpacked))
}

/// In blocks behind their lengths, as the library packs that Kafka uses (xerial's snappy-java, SnappyOutputStream), or in one as others do.
fn snappy(packed: &[u8]) -> Result<Vec<u8>, UnreadableKafka> {
    const MARK: &[u8] = b"\x82SNAPPY\0";
    let mut unpacked = Vec::new();
    let mut add = |block: &[u8]| {
        let length = snap::raw::decompress_len(block).map_err(|_| UnreadableKafka)?;
        let from = unpacked.len();
        if from.saturating_add(length) > BYTES_MAX {
            return Err(UnreadableKafka);
        }
        unpacked.resize(from + length, 0);
        snap::raw::Decoder::new().decompress(block, &mut unpacked[from..]).map_err(|_| UnreadableKafka).map(drop)
    };
    let Some(blocks) = packed.strip_prefix(MARK) else {
        add(packed)?;
        return Ok(unpacked);
    };
    let mut blocks = KafkaReader::new(blocks);
    blocks.take(8)?; // two versions
    while !blocks.rest.is_empty() {
        add(blocks.block()?)?;
    }
    Ok(unpacked)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// What brokers pack themselves is held by the test against a real one.
    #[test]
    fn what_is_packed_is_unpacked_and_what_is_broken_told() {
        let text = b"order order order order";
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(text).unwrap();
        let gzip = gzip.finish().unwrap();
        let zstd = zstd::encode_all(&text[..], 1).unwrap();
        let snappy = snap::raw::Encoder::new().compress_vec(text).unwrap();
        for (packing, packed) in [(Packing::Gzip, &gzip), (Packing::Zstd, &zstd), (Packing::Snappy, &snappy)] {
            assert_eq!(unpacked(packing, packed).unwrap(), &text[..], "{packing:?}");
            assert!(unpacked(packing, &packed[..packed.len() / 2]).unwrap_err().contains("broken"), "{packing:?}");
        }
        assert!(unpacked(Packing::of(3), b"x").unwrap_err().contains("lz4"));
    }

    #[test]
    fn what_would_fill_the_memory_is_refused() {
        let zeros = zstd::encode_all(std::io::repeat(0).take(BYTES_MAX as u64 + 1), 1).unwrap();
        assert!(unpacked(Packing::Zstd, &zeros).unwrap_err().contains("larger than 64 MiB"));
        // Four bytes that announce four gigabytes.
        assert!(unpacked(Packing::Snappy, &[0xff, 0xff, 0xff, 0xff, 0x0f, 0]).is_err());
    }
}
