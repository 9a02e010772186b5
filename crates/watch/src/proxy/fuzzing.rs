//! Arbitrary bytes of a client and a target through one connection of the proxy. Read [`proxied`].

use loadstone_metrics::clock::Monotonic;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex, split};
use tokio::sync::mpsc;

use super::exchange::ProxiedExchange;
use super::forward::{self, Inlet};
use super::framing::{FramedMethod, HEAD_BYTES_MAX, MessageFraming, MessageKind};
use super::record::ProxyRecord;

/// Bytes between the proxy and either side, so that each has to wait for the other.
const PIPE_BYTES: usize = 1 << 10;
/// The shortest request: `A / HTTP/1.0`, and two line breaks.
const REQUEST_BYTES_MIN: usize = 14;

/// The first four bytes are lengths of pieces, then come those of the client, two zero bytes, and those of the target.
///
/// # Panics
/// A byte is changed, lost or added, a record is larger than what was sent, or a message ends at another place if it arrives in other pieces.
pub fn proxied(input: &[u8]) {
    let (cuts, bytes) = input.split_at(input.len().min(4));
    let cuts: Vec<usize> = cuts.iter().map(|cut| usize::from(*cut) + 1).collect();
    let separator = bytes.windows(2).position(|pair| pair == [0, 0]);
    let (client, target) = separator.map_or((bytes, &[][..]), |at| (&bytes[..at], &bytes[at + 2..]));
    for method in [FramedMethod::Other, FramedMethod::Head, FramedMethod::Connect] {
        ends_in_the_same_places(target, MessageKind::Response(method), &cuts);
    }
    ends_in_the_same_places(client, MessageKind::Request, &cuts);
    passes_unchanged(client, target, &cuts);
}

/// The complete messages, by their lengths, up to the first bytes that are no HTTP/1.1.
fn messages(bytes: &[u8], kind: MessageKind, mut cuts: impl Iterator<Item = usize>) -> Vec<usize> {
    let (mut framing, mut found, mut length, mut from, mut upto) = (MessageFraming::default(), Vec::new(), 0, 0, 0);
    while upto < bytes.len() {
        upto = cuts.next().map_or(bytes.len(), |cut| bytes.len().min(upto + cut));
        loop {
            match framing.next(&bytes[from..upto], kind) {
                Ok(Some(part)) => {
                    assert!(part.bytes > 0 && part.bytes <= upto - from, "{part:?}");
                    from += part.bytes;
                    length += part.bytes;
                    if part.ends {
                        found.push(std::mem::take(&mut length));
                    }
                }
                Ok(None) => break,
                Err(_) => return found,
            }
        }
        assert!(upto - from <= HEAD_BYTES_MAX, "{} bytes wait", upto - from);
    }
    found
}

fn ends_in_the_same_places(bytes: &[u8], kind: MessageKind, cuts: &[usize]) {
    assert_eq!(messages(bytes, kind, std::iter::empty()), messages(bytes, kind, cuts.iter().copied().cycle()), "{kind:?}");
}

/// Writes these bytes in pieces, ends, and returns what arrives.
async fn side(stream: DuplexStream, bytes: &[u8], cuts: &[usize]) -> Vec<u8> {
    let (mut from, mut to) = split(stream);
    let write = async {
        let (mut rest, mut cuts) = (bytes, cuts.iter().copied().cycle());
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(cuts.next().unwrap_or(usize::MAX).min(rest.len()));
            to.write_all(piece).await.expect("the proxy reads");
            rest = after;
        }
        to.shutdown().await.expect("the proxy reads");
    };
    let mut received = Vec::new();
    let (read, ()) = tokio::join!(from.read_to_end(&mut received), write);
    read.expect("the proxy ends as planned");
    received
}

fn passes_unchanged(client: &[u8], target: &[u8], cuts: &[usize]) {
    let zero = Monotonic::start();
    let ((client_end, of_client), (target_end, of_target)) = (duplex(PIPE_BYTES), duplex(PIPE_BYTES));
    let (sender, mut records) = mpsc::channel(16);
    let proxy = async {
        let exchange = ProxiedExchange::new(sender, zero, None);
        let ((client_in, mut client_out), (target_in, mut target_out)) = (split(of_client), split(of_target));
        let (mut from_client, mut from_target) = (Inlet::new(client_in, None, zero), Inlet::new(target_in, None, zero));
        let ended = tokio::try_join!(
            forward::requests(&mut from_client, &mut target_out, &exchange, None),
            forward::responses(&mut from_target, &mut client_out, &exchange)
        );
        ended.expect("both sides end as planned");
    };
    let count = async {
        let (mut requests, mut bytes_sent, mut bytes_received) = (0, 0, 0);
        while let Some(record) = records.recv().await {
            if let ProxyRecord::Request(request) = record {
                requests += 1;
                bytes_sent += request.bytes_sent as usize;
                bytes_received += request.bytes_received as usize;
            }
        }
        (requests, bytes_sent, bytes_received)
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let (at_client, at_target, (requests, bytes_sent, bytes_received), ()) =
        runtime.block_on(async { tokio::join!(side(client_end, client, cuts), side(target_end, target, cuts), count, proxy) });
    assert!(at_target == client && at_client == target, "a byte was changed");
    assert!(requests * REQUEST_BYTES_MIN <= client.len() && bytes_sent <= client.len() && bytes_received <= target.len());
}
