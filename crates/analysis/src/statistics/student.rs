//! Student's t distribution, and the degrees of freedom that an estimate of a standard error has.

/// Degrees of freedom that a variance of dependent parts has at least.
const FREEDOM_MIN: f64 = 3.0;

/// The 97.5 % point, from the published table, interpolated in 1/ν between its rows.
pub(crate) fn student_t(freedom: f64) -> f64 {
    const TABLE: [(f64, f64); 14] = [
        (1.0, 12.706),
        (2.0, 4.303),
        (3.0, 3.182),
        (4.0, 2.776),
        (5.0, 2.571),
        (6.0, 2.447),
        (8.0, 2.306),
        (10.0, 2.228),
        (15.0, 2.131),
        (20.0, 2.086),
        (30.0, 2.042),
        (60.0, 2.000),
        (120.0, 1.980),
        (f64::INFINITY, 1.960),
    ];
    TABLE.windows(2).find(|pair| freedom <= pair[1].0).map_or(1.960, |pair| {
        let [(low, t_low), (high, t_high)] = [pair[0], pair[1]];
        let part = (1.0 / low - 1.0 / freedom.max(low)) / (1.0 / low - 1.0 / high);
        t_low + (t_high - t_low) * part
    })
}

/// Degrees of freedom of the sum of two squared standard errors, each given with its own (Welch, "The generalization of Student's problem when several
/// different population variances are involved", 1947). Not finite where both errors are zero.
pub(crate) fn welch_freedom((a_squared, a_freedom): (f64, f64), (b_squared, b_freedom): (f64, f64)) -> f64 {
    (a_squared + b_squared).powi(2) / (a_squared.powi(2) / a_freedom + b_squared.powi(2) / b_freedom)
}

/// Degrees of freedom of a variance that is estimated from so many deviations, by their kurtosis. A variance that rests on few of them is less certain than one
/// that rests on all (Satterthwaite, "An approximate distribution of estimates of variance components", 1946).
pub(crate) fn freedom_by_kurtosis(deviations: &[f64]) -> f64 {
    let (count, most) = (deviations.len() as f64, deviations.len() as f64 - 1.0);
    let power = |exponent| deviations.iter().map(|deviation: &f64| deviation.powi(exponent)).sum::<f64>();
    let squares = power(2);
    if squares <= 0.0 {
        return most;
    }
    let kurtosis = count * power(4) / (squares * squares);
    (2.0 * count / (kurtosis * (count + 1.0) / most - 1.0).max(1e-9) - 2.0).clamp(FREEDOM_MIN.min(most), most)
}

/// The probability that |t| with this many degrees of freedom is at least this: I_x(ν/2, ½) at x = ν/(ν + t²) (Abramowitz and Stegun, *Handbook of Mathematical
/// Functions*, 26.7.1 and 26.5.27).
pub(crate) fn t_two_sided(t: f64, freedom: f64) -> f64 {
    if !t.is_finite() {
        return 0.0;
    }
    let x = freedom / (freedom + t * t);
    incomplete_beta(x, freedom / 2.0, 0.5)
}

/// The regularised incomplete beta function, by its continued fraction (Abramowitz and Stegun, 26.5.8), evaluated by Lentz's method.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    // The fraction converges fast on this side of the mean only.
    if x < (a + 1.0) / (a + b + 2.0) { front * fraction(x, a, b) / a } else { 1.0 - front * fraction(1.0 - x, b, a) / b }
}

fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let (mut c, mut value) = (1.0, d);
    for step in 1..300 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut last = 1.0;
        for term in [even, odd] {
            d = 1.0 / away(1.0 + term * d);
            c = away(1.0 + term / c);
            last = c * d;
            value *= last;
        }
        if (last - 1.0).abs() < 1e-14 {
            break;
        }
    }
    value
}

/// ln Γ for positive numbers (Lanczos, "A precision approximation of the gamma function", 1964).
pub(super) fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 6] = [
        76.180_091_729_471_46,
        -86.505_320_329_416_77,
        24.014_098_240_830_91,
        -1.231_739_572_450_155,
        1.208_650_973_866_179e-3,
        -5.395_239_384_953e-6,
    ];
    let shifted = x + 5.5 - (x + 0.5) * (x + 5.5).ln();
    let series = TERMS.iter().zip(1..).fold(1.000_000_000_190_015, |sum, (term, n)| sum + term / (x + f64::from(n)));
    (2.506_628_274_631_000_5 * series / x).ln() - shifted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_97_5_point_agrees_with_the_table_and_between_its_rows() {
        for (freedom, t) in
            [(1.0, 12.706), (3.0, 3.182), (20.0, 2.086), (7.0, 2.365), (12.0, 2.179), (25.0, 2.060), (40.0, 2.021), (1_000.0, 1.962)]
        {
            assert!((student_t(freedom) - t).abs() < 0.01, "{freedom}: {}", student_t(freedom));
        }
    }

    #[test]
    fn degrees_of_freedom_by_hand() {
        // Two errors of 3 and 4 with 19 degrees each: 19 · 25² / (3⁴ + 4⁴).
        assert!((welch_freedom((9.0, 19.0), (16.0, 19.0)) - 19.0 * 625.0 / 337.0).abs() < 1e-9);
        // One deviation of many carries everything, or all carry alike.
        let one: Vec<f64> = (0..60).map(|n| if n == 7 { 1.0 } else { 0.0 }).collect();
        let alike: Vec<f64> = (0..60).map(|n| if n % 2 == 0 { 1.0 } else { -1.0 }).collect();
        assert_eq!((freedom_by_kurtosis(&one), freedom_by_kurtosis(&alike), freedom_by_kurtosis(&[0.0; 60])), (FREEDOM_MIN, 59.0, 59.0));
    }

    /// Points of published tables of t: two-sided 5 %, 1 % and 0.1 %.
    #[test]
    fn probabilities_agree_with_the_tables() {
        for (t, freedom, p) in [
            (12.706, 1.0, 0.05),
            (2.228, 10.0, 0.05),
            (3.169, 10.0, 0.01),
            (4.587, 10.0, 0.001),
            (2.093, 19.0, 0.05),
            (3.883, 19.0, 0.001),
            (1.960, 1e6, 0.05),
        ] {
            assert!((t_two_sided(t, freedom) / p - 1.0).abs() < 0.002, "{t} with {freedom}: {}", t_two_sided(t, freedom));
        }
        assert_eq!((t_two_sided(0.0, 5.0), t_two_sided(f64::INFINITY, 5.0)), (1.0, 0.0));
    }
}
