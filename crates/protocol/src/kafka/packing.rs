//! Compression of batches, by Loadstone, another producer or the topic's settings.

use std::borrow::Cow;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use loadstone_wire_formats::kafka::{KafkaReader, MalformedKafka};
use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};

/// Limit on the uncompressed size of a batch. Bytes.
const BYTES_MAX: usize = 64 << 20;
/// The zstd level of Kafka's own producer.
const ZSTD_LEVEL: i32 = 3;

/// The compression of a batch's records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KafkaPacking {
    #[default]
    Plain,
    Gzip,
    Snappy,
    Lz4,
    Zstd,
}

impl KafkaPacking {
    /// From the attributes of a batch.
    ///
    /// # Errors
    /// The number of an unknown codec.
    pub(super) fn of(attributes: i16) -> Result<Self, i16> {
        match attributes & 7 {
            0 => Ok(Self::Plain),
            1 => Ok(Self::Gzip),
            2 => Ok(Self::Snappy),
            3 => Ok(Self::Lz4),
            4 => Ok(Self::Zstd),
            other => Err(other),
        }
    }

    /// The number in the attributes of a batch.
    pub(super) fn number(self) -> i16 {
        match self {
            Self::Plain => 0,
            Self::Gzip => 1,
            Self::Snappy => 2,
            Self::Lz4 => 3,
            Self::Zstd => 4,
        }
    }
}

/// # Errors
/// Only without memory: writing to a `Vec` always succeeds.
pub(super) fn packed(packing: KafkaPacking, plain: &[u8]) -> std::io::Result<Cow<'_, [u8]>> {
    Ok(Cow::Owned(match packing {
        KafkaPacking::Plain => return Ok(Cow::Borrowed(plain)),
        KafkaPacking::Gzip => {
            let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
            gzip.write_all(plain)?;
            gzip.finish()?
        }
        // In one block, like librdkafka. Brokers distinguish it from snappy-java's blocks by the missing magic bytes.
        KafkaPacking::Snappy => snap::raw::Encoder::new().compress_vec(plain)?,
        KafkaPacking::Lz4 => {
            // Brokers do not read dependent blocks (KafkaLZ4BlockInputStream: "Dependent block stream is unsupported").
            let frame = FrameInfo::new().block_mode(BlockMode::Independent).block_size(BlockSize::Max64KB);
            let mut lz4 = FrameEncoder::with_frame_info(frame, Vec::new());
            lz4.write_all(plain)?;
            lz4.finish()?
        }
        KafkaPacking::Zstd => zstd::encode_all(plain, ZSTD_LEVEL)?,
    }))
}

/// # Errors
/// Why the batch cannot be decompressed.
pub(super) fn unpacked(packing: KafkaPacking, packed: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    let broken = |what: &str| format!("a batch of records compressed with {what} is corrupt, or larger than {} MiB", BYTES_MAX >> 20);
    match packing {
        KafkaPacking::Plain => Ok(Cow::Borrowed(packed)),
        KafkaPacking::Gzip => read_all(flate2::read::MultiGzDecoder::new(packed)).ok_or_else(|| broken("gzip")),
        KafkaPacking::Zstd => zstd::Decoder::new(packed).ok().and_then(read_all).ok_or_else(|| broken("zstd")),
        KafkaPacking::Snappy => snappy(packed).map(Cow::Owned).map_err(|MalformedKafka| broken("snappy")),
        KafkaPacking::Lz4 => read_all(FrameDecoder::new(packed)).ok_or_else(|| broken("lz4")),
    }
}

fn read_all<'a>(from: impl Read) -> Option<Cow<'a, [u8]>> {
    let mut unpacked = Vec::new();
    from.take(BYTES_MAX as u64 + 1).read_to_end(&mut unpacked).ok()?;
    (unpacked.len() <= BYTES_MAX).then_some(Cow::Owned(unpacked))
}

/// In blocks with their lengths, as written by the library that Kafka uses (xerial's snappy-java, SnappyOutputStream), or in one block.
fn snappy(packed: &[u8]) -> Result<Vec<u8>, MalformedKafka> {
    const MARK: &[u8] = b"\x82SNAPPY\0";
    let mut unpacked = Vec::new();
    let mut add = |block: &[u8]| {
        let length = snap::raw::decompress_len(block).map_err(|_| MalformedKafka)?;
        let from = unpacked.len();
        if from.saturating_add(length) > BYTES_MAX {
            return Err(MalformedKafka);
        }
        unpacked.resize(from + length, 0);
        snap::raw::Decoder::new().decompress(block, &mut unpacked[from..]).map_err(|_| MalformedKafka).map(drop)
    };
    let Some(blocks) = packed.strip_prefix(MARK) else {
        add(packed)?;
        return Ok(unpacked);
    };
    let mut blocks = KafkaReader::new(blocks);
    blocks.take(8)?; // two version numbers
    while !blocks.rest.is_empty() {
        add(blocks.block()?)?;
    }
    Ok(unpacked)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tests against a real broker check that brokers read this compression, and that theirs is read here.
    #[test]
    fn compression_round_trips_and_corrupt_data_is_reported() {
        let text = b"order order order order";
        for packing in [KafkaPacking::Plain, KafkaPacking::Gzip, KafkaPacking::Snappy, KafkaPacking::Lz4, KafkaPacking::Zstd] {
            let packed = packed(packing, text).unwrap();
            assert_eq!(KafkaPacking::of(packing.number()), Ok(packing));
            assert_eq!(unpacked(packing, &packed).unwrap(), &text[..], "{packing:?}");
            if packing != KafkaPacking::Plain {
                assert!(unpacked(packing, &packed[..packed.len() / 2]).unwrap_err().contains("corrupt"), "{packing:?}");
            }
        }
        assert_eq!(KafkaPacking::of(5), Err(5));
    }

    /// Other producers link their blocks and add a checksum: `lz4 -B4 -BD -9` of 20,000 times `order `.
    #[test]
    fn a_frame_of_lz4s_own_tool_is_read() {
        let frame = [
            &[4, 34, 77, 24, 68, 64, 94, 16, 1, 0, 0, 111, 111, 114, 100, 101, 114, 32, 6, 0][..],
            &[255; 256],
            &[226, 80, 32, 111, 114, 100, 101, 223, 0, 0, 0, 15, 6, 0][..],
            &[255; 213],
            &[125, 80, 114, 100, 101, 114, 32, 0, 0, 0, 0, 174, 203, 49, 96],
        ]
        .concat();
        assert_eq!(unpacked(KafkaPacking::Lz4, &frame).unwrap(), "order ".repeat(20_000).as_bytes());
    }

    #[test]
    fn compression_bombs_are_refused() {
        let zeros = zstd::encode_all(std::io::repeat(0).take(BYTES_MAX as u64 + 1), 1).unwrap();
        assert!(unpacked(KafkaPacking::Zstd, &zeros).unwrap_err().contains("larger than 64 MiB"));
        let mut lz4 = FrameEncoder::new(Vec::new());
        std::io::copy(&mut std::io::repeat(0).take(BYTES_MAX as u64 + 1), &mut lz4).unwrap();
        assert!(unpacked(KafkaPacking::Lz4, &lz4.finish().unwrap()).unwrap_err().contains("larger than 64 MiB"));
        // Four bytes that declare four gigabytes.
        assert!(unpacked(KafkaPacking::Snappy, &[0xff, 0xff, 0xff, 0xff, 0x0f, 0]).is_err());
    }
}
