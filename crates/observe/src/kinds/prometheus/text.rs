//! The text formats of Prometheus (0.0.4) and OpenMetrics (1.0): one sample per line, comments that type them.
//!
//! Lenient: a line that is not a sample is skipped, since one odd line of an exporter must not hide the rest.

use std::collections::HashMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SampleType {
    Counter,
    Histogram,
    Summary,
    Other,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExpositionSample<'a> {
    pub(crate) name: &'a str,
    pub(crate) labels: Vec<(&'a str, String)>,
    pub(crate) value: f64,
    pub(crate) sample_type: SampleType,
    pub(crate) help: &'a str,
}

/// The samples of an exposition, in order.
pub(crate) fn samples(text: &str) -> impl Iterator<Item = ExpositionSample<'_>> {
    let mut types = HashMap::<&str, SampleType>::new();
    let mut helps = HashMap::<&str, &str>::new();
    text.lines().filter_map(move |line| {
        let line = line.trim();
        if let Some(comment) = line.strip_prefix('#') {
            let mut words = comment.trim_start().splitn(3, ' ');
            match (words.next(), words.next(), words.next()) {
                (Some("TYPE"), Some(name), Some(kind)) => {
                    types.insert(name, type_of(kind.trim()));
                }
                (Some("HELP"), Some(name), Some(help)) => {
                    helps.insert(name, help.trim());
                }
                _ => {}
            }
            return None;
        }
        let (name, labels, value) = sample(line)?;
        let stems = ["", "_total", "_created", "_bucket", "_count", "_sum"].into_iter().filter_map(|end| name.strip_suffix(end));
        let stem = stems.into_iter().find(|stem| types.contains_key(stem)).unwrap_or(name);
        let sample_type = types.get(stem).copied().unwrap_or(SampleType::Other);
        Some(ExpositionSample { name, labels, value, sample_type, help: helps.get(stem).copied().unwrap_or_default() })
    })
}

fn type_of(kind: &str) -> SampleType {
    match kind {
        "counter" => SampleType::Counter,
        "histogram" | "gaugehistogram" => SampleType::Histogram,
        "summary" => SampleType::Summary,
        _ => SampleType::Other,
    }
}

type SampleLabels<'a> = Vec<(&'a str, String)>;

/// `name{label="value",…} value [timestamp] [# exemplar]`.
fn sample(line: &str) -> Option<(&str, SampleLabels<'_>, f64)> {
    let name_end = line.find(|c: char| c == '{' || c.is_whitespace())?;
    let (name, rest) = line.split_at(name_end);
    if name.is_empty() {
        return None;
    }
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inside) => parse_labels(inside)?,
        None => (Vec::new(), rest),
    };
    let value = rest.split_whitespace().next()?;
    let value = match value {
        "+Inf" | "Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        number => number.parse().ok()?,
    };
    Some((name, labels, value))
}

/// After the opening brace; returns the labels and what follows the closing one.
fn parse_labels(mut rest: &str) -> Option<(SampleLabels<'_>, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        if let Some(after) = rest.strip_prefix('}') {
            return Some((labels, after));
        }
        let (name, after) = rest.split_once('=')?;
        let mut characters = after.trim_start().strip_prefix('"')?.char_indices();
        let quoted = after.trim_start().strip_prefix('"')?;
        let mut value = String::new();
        loop {
            match characters.next()? {
                (at, '"') => {
                    rest = &quoted[at + 1..];
                    break;
                }
                (_, '\\') => match characters.next()?.1 {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                (_, other) => value.push(other),
            }
        }
        labels.push((name.trim(), value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_labels_timestamps_exemplars_and_escapes() {
        let text = "# TYPE a counter\n# HELP a What a is.\na_total{x=\"1, \\\"two\\\"} \\\\\",y=\"\"} 17 1700000000 # {trace=\"z\"} 0.5\n\
            b 2.5e3\nbroken{x=\"\nc{ } -Inf\n# EOF\n";
        let read: Vec<_> = samples(text).collect();
        assert_eq!(read.len(), 3);
        assert_eq!(read[0].labels, [("x", "1, \"two\"} \\".to_owned()), ("y", String::new())]);
        assert_eq!((read[0].value, read[0].sample_type, read[0].help), (17.0, SampleType::Counter, "What a is."));
        assert_eq!((read[1].name, read[1].value, read[1].sample_type), ("b", 2500.0, SampleType::Other));
        assert_eq!((read[2].name, read[2].value), ("c", f64::NEG_INFINITY));
    }

    proptest! {
        #[test]
        fn never_panics(text in "[ -~\n\"{}\\\\#=]{0,200}") {
            let _ = samples(&text).count();
        }

        #[test]
        fn any_label_value_comes_back(value in "\\PC{0,20}", number in -1e9f64..1e9) {
            let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let line = format!("m{{l=\"{escaped}\"}} {number}");
            let read: Vec<_> = samples(&line).collect();
            prop_assert_eq!(&read[0].labels[0].1, &value);
            prop_assert_eq!(read[0].value, number);
        }
    }
}
