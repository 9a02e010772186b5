//! The records that a perf event writes, as perf_event_open(2) lays them out for `PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN`.

use perf_event_open_sys::bindings::{
    PERF_CONTEXT_MAX, PERF_CONTEXT_USER, PERF_RECORD_LOST, PERF_RECORD_MISC_CPUMODE_MASK, PERF_RECORD_MISC_KERNEL, PERF_RECORD_SAMPLE,
};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Record {
    Sample(ThreadSample),
    /// The number of samples that were lost.
    Lost(u64),
}

/// The stack of a thread that used CPU time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ThreadSample {
    pub(super) pid: u32,
    /// Whether it was in kernel mode.
    pub(super) in_kernel: bool,
    /// Innermost first. All but the first are return addresses.
    pub(super) addresses: Vec<u64>,
}

/// Kind, flags and size.
const HEADER: usize = 8;

/// Passes on every complete record of a known kind. A truncated record or a wrong size ends the reading.
pub(super) fn each(bytes: &[u8], mut take: impl FnMut(Record)) {
    let mut rest = bytes;
    while let (Some(kind), Some(flags), Some(size)) = (number32(rest, 0), number16(rest, 4), number16(rest, 6)) {
        let size = usize::from(size);
        let Some((record, after)) = rest.split_at_checked(size).filter(|_| size >= HEADER) else { return };
        if let Some(record) = read(kind, u32::from(flags), &record[HEADER..]) {
            take(record);
        }
        rest = after;
    }
}

fn read(kind: u32, flags: u32, body: &[u8]) -> Option<Record> {
    match kind {
        // The event's number, then how many.
        PERF_RECORD_LOST => Some(Record::Lost(number64(body, 8)?)),
        PERF_RECORD_SAMPLE => {
            let pid = number32(body, 0)?;
            let count = usize::try_from(number64(body, 8)?).ok()?;
            let chain = body.get(16..)?.chunks_exact(8).take(count).filter_map(|word| number64(word, 0));
            let in_kernel = flags & PERF_RECORD_MISC_CPUMODE_MASK == PERF_RECORD_MISC_KERNEL;
            Some(Record::Sample(ThreadSample { pid, in_kernel, addresses: own_addresses(chain) }))
        }
        _ => None,
    }
}

/// Without kernel addresses: markers among the addresses separate kernel and user addresses.
fn own_addresses(chain: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut is_users = false;
    let mut addresses = Vec::new();
    for entry in chain {
        if entry >= PERF_CONTEXT_MAX {
            is_users = entry == PERF_CONTEXT_USER;
        } else if is_users {
            addresses.push(entry);
        }
    }
    addresses
}

fn number16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

fn number32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

fn number64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: u64 = u64::MAX - 127;

    fn record(kind: u32, flags: u16, body: &[u8]) -> Vec<u8> {
        let size = (HEADER + body.len()) as u16;
        [&kind.to_ne_bytes()[..], &flags.to_ne_bytes(), &size.to_ne_bytes(), body].concat()
    }

    fn sample(pid: u32, flags: u16, chain: &[u64]) -> Vec<u8> {
        let mut body = [pid.to_ne_bytes(), pid.to_ne_bytes()].concat();
        body.extend((chain.len() as u64).to_ne_bytes());
        chain.iter().for_each(|entry| body.extend(entry.to_ne_bytes()));
        record(PERF_RECORD_SAMPLE, flags, &body)
    }

    fn all(bytes: &[u8]) -> Vec<Record> {
        let mut found = Vec::new();
        each(bytes, |record| found.push(record));
        found
    }

    #[test]
    fn samples_and_losses_in_their_order() {
        let lost = record(PERF_RECORD_LOST, 0, &[7_u64.to_ne_bytes(), 3_u64.to_ne_bytes()].concat());
        let unknown = record(99, 0, &[0; 16]);
        let bytes =
            [sample(5, 2, &[PERF_CONTEXT_USER, 10, 20]), unknown, lost, sample(6, 1, &[KERNEL, 99, PERF_CONTEXT_USER, 30])].concat();
        let user = ThreadSample { pid: 5, in_kernel: false, addresses: vec![10, 20] };
        let kernel = ThreadSample { pid: 6, in_kernel: true, addresses: vec![30] };
        assert_eq!(all(&bytes), [Record::Sample(user), Record::Lost(3), Record::Sample(kernel)]);
    }

    #[test]
    fn what_is_cut_off_ends_the_reading() {
        let whole = sample(5, 2, &[PERF_CONTEXT_USER, 10]);
        let bytes = [whole.clone(), sample(5, 2, &[PERF_CONTEXT_USER, 11])].concat();
        for length in whole.len()..bytes.len() {
            assert_eq!(all(&bytes[..length]).len(), 1, "{length}");
        }
        assert_eq!(all(&record(PERF_RECORD_SAMPLE, 0, &[])), []);
        // A size that would make no progress.
        assert_eq!(all(&[9, 0, 0, 0, 0, 0, 0, 0, 1, 2]), []);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_do_no_harm(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..400), size in 0_u16..64) {
            all(&bytes);
            // The same behind headers that are plausible.
            let header = [&PERF_RECORD_SAMPLE.to_ne_bytes()[..], &2_u16.to_ne_bytes(), &size.to_ne_bytes()].concat();
            proptest::prop_assert!(all(&[header, bytes].concat()).len() <= 60);
        }
    }
}
