//! The standard normal distribution.

/// 95 % of normal values lie within this many standard deviations of the mean.
pub(crate) const Z_95: f64 = 1.96;

/// 95 % of normal values lie below this many standard deviations above the mean.
pub(crate) const Z_95_ONE_SIDED: f64 = 1.645;

/// The probability of a value at least this far from zero, on either side (Abramowitz and Stegun, *Handbook of Mathematical Functions*, 26.2.17).
pub(super) fn two_sided(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let series = t * (0.319_381_530 + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    2.0 * (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_published_points() {
        for (z, p) in [(1.959_964, 0.05), (2.575_829, 0.01), (3.290_527, 0.001)] {
            assert!((two_sided(z) - p).abs() < 1e-6, "{z}");
        }
    }
}
