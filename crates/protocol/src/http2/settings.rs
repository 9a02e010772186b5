//! SETTINGS frames (RFC 9113, section 6.5).

use super::frame::{PAYLOAD_BYTES_DEFAULT, SETTINGS, write_header, write_window_update};
use super::reason::Reason;

/// Windows in bytes that let a body flow at the speed of a fast network.
pub(super) const STREAM_WINDOW_BYTES: u32 = 1 << 20;
pub(super) const CONNECTION_WINDOW_BYTES: u32 = 4 << 20;
/// Both windows before any frame (section 6.9.2).
pub(super) const WINDOW_BYTES_DEFAULT: u32 = 65_535;
/// Longest header list in bytes, counted as in section 6.5.2.
pub(super) const HEADERS_BYTES_MAX: u32 = 256 * 1024;

const HEADER_TABLE_SIZE: u16 = 1;
const ENABLE_PUSH: u16 = 2;
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;
const MAX_FRAME_SIZE: u16 = 5;
const MAX_HEADER_LIST_SIZE: u16 = 6;

/// Settings that the server has set, the last of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ReceivedSettings {
    pub(super) table_bytes: Option<usize>,
    pub(super) streams_max: Option<usize>,
    pub(super) window_bytes: Option<i64>,
    pub(super) payload_bytes_max: Option<usize>,
}

/// The client's SETTINGS, and its window for the connection.
pub(super) fn write_own(into: &mut Vec<u8>) {
    let own = [(ENABLE_PUSH, 0), (INITIAL_WINDOW_SIZE, STREAM_WINDOW_BYTES), (MAX_HEADER_LIST_SIZE, HEADERS_BYTES_MAX)];
    write_header(into, own.len() * 6, SETTINGS, 0, 0);
    for (name, value) in own {
        into.extend_from_slice(&name.to_be_bytes());
        into.extend_from_slice(&value.to_be_bytes());
    }
    write_window_update(into, 0, CONNECTION_WINDOW_BYTES - WINDOW_BYTES_DEFAULT);
}

/// # Errors
/// How the settings violate the protocol.
pub(super) fn read(payload: &[u8]) -> Result<ReceivedSettings, Reason> {
    let mut received = ReceivedSettings::default();
    let (settings, []) = payload.as_chunks::<6>() else { return Err(Reason::FRAME_SIZE_ERROR) };
    for [a, b, value @ ..] in settings {
        let value = u32::from_be_bytes(*value);
        let bytes = value as usize;
        match u16::from_be_bytes([*a, *b]) {
            HEADER_TABLE_SIZE => received.table_bytes = Some(bytes),
            ENABLE_PUSH if value != 0 => return Err(Reason::PROTOCOL_ERROR),
            MAX_CONCURRENT_STREAMS => received.streams_max = Some(bytes),
            INITIAL_WINDOW_SIZE if value > super::frame::MASK_31 => return Err(Reason::FLOW_CONTROL_ERROR),
            INITIAL_WINDOW_SIZE => received.window_bytes = Some(i64::from(value)),
            MAX_FRAME_SIZE if !(PAYLOAD_BYTES_DEFAULT..1 << 24).contains(&bytes) => return Err(Reason::PROTOCOL_ERROR),
            MAX_FRAME_SIZE => received.payload_bytes_max = Some(bytes),
            _ => {}
        }
    }
    Ok(received)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_checked() {
        let one = |name: u8, value: u32| [&[0, name][..], &value.to_be_bytes()].concat();
        let all = [one(1, 0), one(3, 7), one(4, 9), one(5, 16_384), one(99, 1), one(3, 8)].concat();
        let expected =
            ReceivedSettings { table_bytes: Some(0), streams_max: Some(8), window_bytes: Some(9), payload_bytes_max: Some(16_384) };
        assert_eq!(read(&all), Ok(expected));
        for (bad, reason) in [
            (one(2, 1), Reason::PROTOCOL_ERROR),
            (one(4, 1 << 31), Reason::FLOW_CONTROL_ERROR),
            (one(5, 16_383), Reason::PROTOCOL_ERROR),
            (one(5, 1 << 24), Reason::PROTOCOL_ERROR),
            (vec![0; 5], Reason::FRAME_SIZE_ERROR),
        ] {
            assert_eq!(read(&bad), Err(reason), "{bad:?}");
        }
    }
}
