//! What tools print at their end. The files are outputs of the real tools: vegeta 12, hey 0.1.4, wrk 4.1, autocannon 8, Artillery 2.0.10, JMeter 5.4.3 and
//! Gatling 3.14.9. Lines of other versions are from their documentation and sources.

use loadstone_watch::printed_percentiles;

const MS: u64 = 1_000_000;

/// Some of the percentiles, in the order of the quantiles.
fn stated(output: &str, tool: &str, some: &[(f64, u64)]) {
    let (found, percentiles) = printed_percentiles(output).unwrap_or_else(|| panic!("no summary of {tool}"));
    assert_eq!(found, tool);
    for (quantile, ns) in some {
        let near = percentiles.iter().find(|(other, _)| (quantile - other).abs() < 1e-9);
        assert_eq!(near.map(|(_, ns)| ns), Some(ns), "{tool} {quantile}: {percentiles:?}");
    }
    assert!(percentiles.is_sorted_by(|a, b| a.0 <= b.0), "{percentiles:?}");
}

#[test]
fn vegeta_reports_are_read_as_text_and_json() {
    let text = [(0.5, 9_997_000), (0.9, 23_965_000), (0.95, 27_008_000), (0.99, 31_823_000), (1.0, 34_642_000)];
    stated(include_str!("../summaries/vegeta.txt"), "vegeta", &text);
    let json = [(0.5, 9_997_152), (0.99, 31_822_975), (1.0, 34_641_648)];
    stated(include_str!("../summaries/vegeta.json"), "vegeta", &json);
    stated("Latencies     [mean, 50, 95, 99, max]  1.5s, 1m2.5s, 15.041µs, 2m0s, 3m\n", "vegeta", &[(0.5, 62_500 * MS), (0.95, 15_041)]);
}

#[test]
fn hey_oha_and_wrk_distributions_are_read() {
    stated(include_str!("../summaries/hey.txt"), "hey", &[(0.1, 3_200_000), (0.99, 29_300_000), (1.0, 29_400_000)]);
    stated(include_str!("../summaries/wrk.txt"), "wrk", &[(0.5, 10_180_000), (0.99, 29_440_000), (1.0, 33_890_000)]);
    let wrk2 = "  Thread Stats   Avg      Stdev     99%   +/- Stdev\n    Latency     1.27ms  500.00us   3.01ms   70.00%\n\
                \x20 Latency Distribution (HdrHistogram - Recorded Latency)\n 50.000%    1.20ms\n 99.000%    3.01ms\n 99.990%    4.79ms\n100.000%    4.80ms\n";
    stated(wrk2, "wrk", &[(0.5, 1_200_000), (0.99, 3_010_000), (0.9999, 4_790_000), (1.0, 4_800_000)]);
}

#[test]
fn gatling_and_jmeter_consoles_are_read() {
    let gatling = [(0.5, 5 * MS), (0.75, 18 * MS), (0.95, 43 * MS), (0.99, 185 * MS), (1.0, 200 * MS)];
    stated(include_str!("../summaries/gatling.txt"), "Gatling", &gatling);
    let earlier = "---- Global Information --------------------------------------------------------\n\
                   > request count                                      14285 (OK=14285  KO=0     )\n\
                   > max response time                                   1,200 (OK=1,200  KO=-     )\n\
                   > max response time (ms)                              1,200 (OK=1,200  KO=-     )\n\
                   > response time 95th percentile (ms)                     27 (OK=27     KO=-     )\n";
    stated(earlier, "Gatling", &[(0.95, 27 * MS), (1.0, 1_200 * MS)]);
    stated(include_str!("../summaries/jmeter.txt"), "JMeter", &[(1.0, 115 * MS)]);
}

#[test]
fn autocannon_and_artillery_reports_are_read() {
    let text = [(0.025, 2 * MS), (0.5, 10 * MS), (0.975, 34 * MS), (0.99, 48 * MS), (1.0, 69 * MS)];
    stated(include_str!("../summaries/autocannon.txt"), "autocannon", &text);
    stated(
        include_str!("../summaries/autocannon.json"),
        "autocannon",
        &[(0.5, 10 * MS), (0.975, 29 * MS), (0.999, 36 * MS), (1.0, 36 * MS)],
    );
    let artillery = [(0.5, 16 * MS), (0.95, 43_400_000), (0.99, 68_700_000), (1.0, 69 * MS)];
    stated(include_str!("../summaries/artillery.txt"), "Artillery", &artillery);
}

/// Colours and later output do not hide a summary; other text is none.
#[test]
fn only_summaries_are_taken_for_summaries() {
    let colored = include_str!("../summaries/hey.txt").replace("Latency", "\u{1b}[1;32mLatency\u{1b}[0m");
    stated(&format!("{colored}\nThresholds passed\n"), "hey", &[(0.99, 29_300_000)]);
    for text in [
        "",
        "{",
        "{\"latencies\":[1]}",
        "summary = Max: x",
        "Latencies [50",
        "Thread Stats\n Latency x",
        "Latency distribution:\n 99% in NaN secs",
    ] {
        assert_eq!(printed_percentiles(text), None, "{text}");
    }
}

/// Each cut of the real outputs, and changed bytes.
#[test]
fn damaged_outputs_do_not_crash_the_readers() {
    let outputs = [
        include_str!("../summaries/vegeta.txt"),
        include_str!("../summaries/vegeta.json"),
        include_str!("../summaries/hey.txt"),
        include_str!("../summaries/wrk.txt"),
        include_str!("../summaries/gatling.txt"),
        include_str!("../summaries/autocannon.txt"),
        include_str!("../summaries/artillery.txt"),
    ];
    for output in outputs {
        let mut read = 0;
        for cut in (0..output.len()).step_by(7) {
            read += usize::from(printed_percentiles(&String::from_utf8_lossy(&output.as_bytes()[cut..])).is_some());
            let mut changed = output.as_bytes().to_vec();
            changed[cut] = b"\0{}[%9-\n"[cut % 8];
            let found = printed_percentiles(&String::from_utf8_lossy(&changed));
            assert!(found.is_none_or(|(_, percentiles)| percentiles.iter().all(|(quantile, _)| (0.0..=1.0).contains(quantile))));
        }
        assert!(read > 0);
    }
}
