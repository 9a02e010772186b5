//! The standard normal distribution, and the χ² distribution by it.

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

/// The 99 % point of the χ² distribution (Wilson and Hilferty, "The distribution of chi-square", 1931).
pub(crate) fn chi_squared_99(freedom: usize) -> f64 {
    const Z_99_ONE_SIDED: f64 = 2.326;
    let (degrees, ninth) = (freedom as f64, 2.0 / (9.0 * freedom.max(1) as f64));
    degrees * (1.0 - ninth + Z_99_ONE_SIDED * ninth.sqrt()).powi(3)
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

    #[test]
    fn chi_squared_agrees_with_published_points() {
        for (freedom, point) in [(2, 9.210), (3, 11.345), (4, 13.277), (10, 23.209)] {
            assert!((chi_squared_99(freedom) / point - 1.0).abs() < 0.01, "{freedom}: {}", chi_squared_99(freedom));
        }
    }
}
