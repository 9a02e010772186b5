//! The words of the generators: percentiles from what each prints.

use serde_json::Value;

use super::ours::OwnReport;

/// What one generator reported.
#[derive(Debug, Default, PartialEq)]
pub(super) struct PeerReport {
    /// Quantiles and seconds.
    pub(super) quantiles: Vec<(f64, f64)>,
    /// It questions its own measurement.
    pub(super) questions: bool,
}

impl PeerReport {
    fn of(quantiles: Vec<(f64, f64)>) -> Self {
        Self { quantiles, questions: false }
    }

    pub(super) fn at(&self, quantile: f64) -> Option<f64> {
        self.quantiles.iter().find(|(known, _)| (known - quantile).abs() < 1e-9).map(|(_, seconds)| *seconds)
    }
}

pub(super) fn loadstone(text: &str) -> PeerReport {
    let Some(report) = object(text).and_then(|summary| OwnReport::read(&summary).ok()) else { return PeerReport::default() };
    let at = |quantile| Some((quantile, report.at(quantile)?.value));
    let quantiles = [0.5, 0.9, 0.99, 0.999].into_iter().filter_map(at).collect();
    PeerReport { quantiles, questions: report.grade != "valid" }
}

/// wrk and wrk2: `     99%    1.23ms`, ` 99.900%    1.23ms`
pub(super) fn wrk(text: &str) -> PeerReport {
    let line = |line: &str| {
        let (percent, time) = line.trim().split_once('%')?;
        Some((percent.parse::<f64>().ok()? / 100.0, duration_s(time.trim())?))
    };
    PeerReport::of(text.lines().filter_map(line).collect())
}

/// `  99% in 0.0123 secs`
pub(super) fn hey(text: &str) -> PeerReport {
    let line = |line: &str| {
        let (percent, rest) = line.trim().split_once("% in ")?;
        Some((percent.trim_end_matches('%').parse::<f64>().ok()? / 100.0, rest.strip_suffix(" secs")?.parse().ok()?))
    };
    PeerReport::of(text.lines().filter_map(line).collect())
}

pub(super) fn oha(text: &str) -> PeerReport {
    let Some(summary) = object(text) else { return PeerReport::default() };
    let at = |(name, quantile): (&str, f64)| Some((quantile, summary["latencyPercentiles"][name].as_f64()?));
    PeerReport::of([("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)].into_iter().filter_map(at).collect())
}

/// Arrivals that found no free VU are k6's own mark of a load that was not generated.
pub(super) fn k6(text: &str) -> PeerReport {
    let Some(summary) = object(text) else { return PeerReport::default() };
    let at = |(name, quantile): (&str, f64)| Some((quantile, summary["metrics"]["http_req_duration"][name].as_f64()? / 1e3));
    let quantiles = [("p(50)", 0.5), ("p(90)", 0.9), ("p(99)", 0.99), ("p(99.9)", 0.999)].into_iter().filter_map(at).collect();
    PeerReport { quantiles, questions: summary["metrics"]["dropped_iterations"]["count"].as_f64().is_some_and(|count| count > 0.0) }
}

/// `vegeta report -type=json`, in nanoseconds. It has no p99.9.
pub(super) fn vegeta(text: &str) -> PeerReport {
    let Some(summary) = object(text) else { return PeerReport::default() };
    let at = |(name, quantile): (&str, f64)| Some((quantile, summary["latencies"][name].as_f64()? / 1e9));
    PeerReport::of([("50th", 0.5), ("90th", 0.9), ("99th", 0.99)].into_iter().filter_map(at).collect())
}

/// The log of h2load: start in µs, status, duration in µs. Its summary has no percentiles.
pub(super) fn h2load(text: &str) -> PeerReport {
    let line = |line: &str| line.split('\t').nth(2)?.trim().parse::<f64>().ok();
    let mut times_us: Vec<f64> = text.lines().filter_map(line).collect();
    times_us.sort_by(f64::total_cmp);
    let at = |quantile: f64| {
        let rank = (quantile * times_us.len() as f64).ceil() as usize;
        Some((quantile, times_us.get(rank.checked_sub(1)?)? / 1e6))
    };
    PeerReport::of([0.5, 0.9, 0.99, 0.999].into_iter().filter_map(at).collect())
}

/// Gatling's table: `> response time 99th percentile (ms)   |   1,234 |   1,234 |   - `. It has no p90.
pub(super) fn gatling(text: &str) -> PeerReport {
    let line = |line: &str| {
        let (before, after) = line.trim_start_matches(['>', ' ']).split_once("th percentile")?;
        let percent: f64 = before.split_whitespace().last()?.parse().ok()?;
        let number = after.split_whitespace().map(|word| word.replace(',', "")).find_map(|word| word.parse::<f64>().ok())?;
        Some((percent / 100.0, number / 1e3))
    };
    PeerReport::of(text.lines().filter_map(line).collect())
}

/// The first JSON object that begins a line.
fn object(text: &str) -> Option<Value> {
    let begin = if text.starts_with('{') { 0 } else { text.find("\n{")? + 1 };
    serde_json::Deserializer::from_str(&text[begin..]).into_iter().next()?.ok()
}

/// wrk's `812.00us`, `1.23ms`, `1.01s`, `1.00m`.
fn duration_s(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        _ => return None,
    };
    Some(digits.parse::<f64>().ok()? * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_generators_words_are_read() {
        let quantiles = |report: PeerReport| report.quantiles;
        assert_eq!(quantiles(wrk("  Latency Distribution\n     50%  812.00us\n     99%    1.01s \n")), [(0.5, 812e-6), (0.99, 1.01)]);
        let wrk2 = wrk("    Latency    10.20ms    1.00ms  70.00%\n 50.000%   10.02ms\n 99.900%    1.00m \n");
        assert_eq!((wrk2.quantiles.len(), wrk2.at(0.5), wrk2.at(0.999)), (2, Some(0.010_02), Some(60.0)));
        assert_eq!(quantiles(hey("Latency distribution:\n  10% in 0.0002 secs\n  99%% in 0.0123 secs\n")), [(0.1, 0.0002), (0.99, 0.0123)]);
        assert_eq!(quantiles(oha(r#"{"latencyPercentiles": {"p50": 0.5, "p99.9": 2.5}}"#)), [(0.5, 0.5), (0.999, 2.5)]);
        assert_eq!(quantiles(vegeta(r#"{"latencies":{"total":1,"50th":10000000,"95th":2,"99th":500000000}}"#)), [(0.5, 0.01), (0.99, 0.5)]);
        assert_eq!(quantiles(h2load("1\t200\t1000\n2\t200\t3000\n")), [(0.5, 0.001), (0.9, 0.003), (0.99, 0.003), (0.999, 0.003)]);
        assert_eq!(
            quantiles(gatling(
                "> response time 50th percentile (ms)   |      10 |      10 |   -\n> response time 99th percentile (ms) | 1,234 | 1,234 | -\n"
            )),
            [(0.5, 0.01), (0.99, 1.234)]
        );
    }

    #[test]
    fn words_of_doubt_are_read() {
        let k6 = |dropped: &str| k6(&format!("words\n{{\"metrics\": {{\"http_req_duration\": {{\"p(99)\": 12.5}}{dropped}}}}}\n"));
        assert_eq!(k6(""), PeerReport { quantiles: vec![(0.99, 0.0125)], questions: false });
        assert!(k6(", \"dropped_iterations\": {\"count\": 3}").questions);
        let own = |grade: &str| {
            let response = serde_json::json!({ "count": 1, "percentiles": [{ "quantile": 0.5, "value": 0.25 }] });
            loadstone(&serde_json::json!({ "response": response, "verdict": { "validity": { "grade": grade } } }).to_string())
        };
        assert_eq!(own("valid"), PeerReport { quantiles: vec![(0.5, 0.25)], questions: false });
        assert!(own("suspect").questions);
    }
}
