//! Frames that are split, joined and damaged at every position.

use proptest::prelude::*;

use super::*;

/// A server's frame: unmasked.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        length @ 0..126 => bytes.push(length as u8),
        length @ 126..65536 => {
            bytes.push(126);
            bytes.extend((length as u16).to_be_bytes());
        }
        length => {
            bytes.push(127);
            bytes.extend((length as u64).to_be_bytes());
        }
    }
    bytes.extend(payload);
    bytes
}

fn read(wire: &[u8], piece: usize, deflate: bool) -> Result<Vec<ServerItem>, Violation> {
    let mut reader = MessageReader::new(100_000, deflate);
    let mut windows = Deflate::default();
    let mut items = Vec::new();
    for part in wire.chunks(piece.max(1)) {
        let mut rest = part;
        while !rest.is_empty() {
            let (used, item) = reader.feed(rest, unpacking(&mut windows))?;
            rest = &rest[used..];
            items.extend(item);
        }
    }
    Ok(items)
}

#[test]
fn every_split_reads_the_same() {
    let wire = [
        frame(0x81, b"whole"),
        frame(0x01, b"frag"),
        frame(0x89, b"in between"),
        frame(0x00, b""),
        frame(0x80, b"mented"),
        frame(0x82, &[7; 300]),
        frame(0x8a, b"back"),
        frame(0x81, b""),
        frame(0x88, b"\x03\xe8bye"),
    ]
    .concat();
    let expected = vec![
        ServerItem::Text("whole".to_owned()),
        ServerItem::Ping(b"in between".to_vec()),
        ServerItem::Text("fragmented".to_owned()),
        ServerItem::Binary(vec![7; 300]),
        ServerItem::Pong(b"back".to_vec()),
        ServerItem::Text(String::new()),
        ServerItem::Close(Some(1000), "bye".to_owned()),
    ];
    for piece in 1..=wire.len() {
        assert_eq!(read(&wire, piece, false).as_ref(), Ok(&expected), "pieces of {piece}");
    }
}

#[test]
fn violations_carry_their_code() {
    let code = |wire: &[u8]| read(wire, 1000, false).unwrap_err().code;
    for wire in [
        vec![0x81, 0x85, 0, 0, 0, 0],
        frame(0xc1, b"compressed, not agreed"),
        frame(0xa1, b""),
        frame(0x83, b""),
        frame(0x8b, b""),
        frame(0x80, b"continues nothing"),
        [frame(0x01, b"a"), frame(0x81, b"b")].concat(),
        frame(0x09, b"fragmented ping"),
        frame(0x89, &[0; 126]),
        frame(0x88, b"\x03"),
        frame(0x88, b"\x03\xed"),
        frame(0x88, b"\x00\x00"),
        frame(0x88, b"\x03\xe8\xff"),
    ] {
        assert_eq!(code(&wire), 1002, "{wire:?}");
    }
    assert_eq!(code(&frame(0x81, b"\xff\xfe")), 1007);
    assert_eq!(code(&frame(0x82, &vec![0; 100_001])[..20]), 1009);
    assert_eq!(code(&[frame(0x02, &vec![0; 60_000]), frame(0x80, &vec![0; 60_000])].concat()), 1009);
    assert_eq!(code(&[0x82, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), 1009);
}

#[test]
fn compressed_messages_are_decompressed() {
    // RFC 7692, section 7.2.3.2: one message in two frames.
    let wire = [frame(0x41, &[0xf2, 0x48, 0xcd]), frame(0x80, &[0xc9, 0xc9, 0x07, 0x00])].concat();
    assert_eq!(read(&wire, 1, true), Ok(vec![ServerItem::Text("Hello".to_owned())]));
    assert_eq!(read(&frame(0xc1, &[0xff; 9]), 100, true).unwrap_err().code, 1002);
    let bomb = Deflate::default().pack(&vec![0; 200_000]).unwrap();
    assert_eq!(read(&frame(0xc2, &bomb), 100, true).unwrap_err().code, 1009);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(wire in proptest::collection::vec(any::<u8>(), 0..600), piece in 1..600usize, deflate in any::<bool>()) {
        let cut = read(&wire, piece, deflate);
        let whole = read(&wire, 600, deflate);
        prop_assert_eq!(cut, whole);
    }
}
