//! `--fleet-share`: which part of the load the agents with a label generate.

use loadstone_fleet::LabelShare;

use super::parse_label;
use crate::exit::UsageError;

/// A share as written, in thousandths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WrittenShare {
    share: LabelShare,
    is_whole: bool,
}

pub(super) fn parse_share(text: &str) -> Result<WrittenShare, String> {
    let wrong = || "write LABEL=VALUE:SHARE, such as region=eu:0.7, with up to three digits behind the point".to_owned();
    let (label, number) = text.rsplit_once(':').ok_or_else(wrong)?;
    let (label, value) = parse_label(label).map_err(|_| wrong())?;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{part:0<3}");
    let weight =
        digits.parse().ok().filter(|weight| *weight > 0 && part.len() <= 3 && number.starts_with(|first: char| first.is_ascii_digit()));
    let weight = weight.ok_or_else(wrong)?;
    Ok(WrittenShare { share: LabelShare { label, value, weight }, is_whole: weight % 1_000 == 0 })
}

/// Either parts of one, or proportions in whole numbers.
///
/// # Errors
/// [`UsageError`]: they do not add up to one.
pub(super) fn shares(written: &[WrittenShare]) -> Result<Vec<LabelShare>, UsageError> {
    let shares: Vec<LabelShare> = written.iter().map(|written| written.share.clone()).collect();
    let sum: u64 = shares.iter().map(|share| u64::from(share.weight)).sum();
    if sum != 1_000 && written.iter().any(|written| !written.is_whole) {
        let sum = sum as f64 / 1_000.0;
        return Err(UsageError(format!(
            "--fleet-share: the shares add up to {sum}: let them add up to 1, or write whole numbers (7 and 3)"
        )));
    }
    Ok(shares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_parts_of_one_or_whole_numbers() {
        let parsed = |texts: &[&str]| texts.iter().map(|text| parse_share(text)).collect::<Result<Vec<_>, _>>();
        let weights =
            |texts: &[&str]| shares(&parsed(texts).unwrap()).map(|shares| shares.iter().map(|share| share.weight).collect::<Vec<_>>());
        assert_eq!(weights(&["region=eu:0.7", "region=us:0.3"]).unwrap(), [700, 300]);
        assert_eq!(weights(&["region=eu:2", "region=us:1"]).unwrap(), [2_000, 1_000]);
        assert_eq!(weights(&["region=eu:0.125", "region=us:0.875"]).unwrap(), [125, 875]);
        assert!(weights(&["region=eu:0.7", "region=us:0.2"]).unwrap_err().to_string().contains("add up to 0.9"));
        for wrong in
            ["region=eu", "region:0.5", "region=eu:", "region=eu:0", "region=eu:-1", "region=eu:+1", "region=eu:0.1234", "region=eu:x"]
        {
            assert!(parsed(&[wrong]).is_err(), "{wrong}");
        }
    }
}
