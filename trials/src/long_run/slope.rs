//! Whether something grows with time: a straight line with its interval.

/// Growth per unit of `x`, and half of its 95 % interval: least squares (Draper & Smith, *Applied Regression Analysis*, 1998, section 1.4). `None` with
/// fewer than five points, or where all stand at one `x`.
pub(super) fn slope(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = points.len() as f64;
    if points.len() < 5 {
        return None;
    }
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    if spread <= 0.0 {
        return None;
    }
    let slope = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>() / spread;
    let rest: f64 = points.iter().map(|(x, y)| (y - mean_y - slope * (x - mean_x)).powi(2)).sum();
    Some((slope, student_t(n - 2.0) * (rest / (n - 2.0) / spread).sqrt()))
}

/// The 97.5 % point of Student's t (Cornish & Fisher's expansion, as in Abramowitz & Stegun 26.7.5); within 1 % from three degrees on.
pub(crate) fn student_t(freedom: f64) -> f64 {
    let z: f64 = 1.959_964;
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + first / freedom + second / freedom.powi(2) + third / freedom.powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_t_is_that_of_the_tables() {
        for (freedom, t) in [(3.0, 3.182), (5.0, 2.571), (10.0, 2.228), (20.0, 2.086)] {
            assert!((student_t(freedom) / t - 1.0).abs() < 0.012, "{freedom}: {}", student_t(freedom));
        }
    }

    #[test]
    fn a_line_has_its_slope_and_noise_about_a_level_has_none() {
        let line: Vec<(f64, f64)> = (0..20).map(|n| (f64::from(n), 3.0 + 0.5 * f64::from(n))).collect();
        let (grows, half) = slope(&line).unwrap();
        assert!((grows - 0.5).abs() < 1e-9 && half < 1e-9);
        let level: Vec<(f64, f64)> = (0..40).map(|n| (f64::from(n), f64::from(n * 7919 % 101))).collect();
        let (grows, half) = slope(&level).unwrap();
        assert!(grows.abs() < half, "{grows} ± {half}");
        assert_eq!(slope(&line[..4]), None);
    }
}
