//! Student's t: how often chance alone is as far out.

/// The probability that |t| with so many degrees of freedom is at least this: I_x(ν/2, ½) at x = ν/(ν + t²) (Abramowitz and Stegun, 26.7.1 and 26.5.27).
pub(crate) fn two_sided(t: f64, freedom: f64) -> f64 {
    if !t.is_finite() {
        return 0.0;
    }
    let x = freedom / (freedom + t * t);
    incomplete_beta(x, freedom / 2.0, 0.5)
}

/// The regularised incomplete beta function, by its continued fraction (Abramowitz and Stegun, 26.5.8), evaluated as Lentz does.
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
fn ln_gamma(x: f64) -> f64 {
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
    use super::two_sided;

    /// Points of published tables of t: two-sided 5 %, 1 % and 0.1 %.
    #[test]
    fn it_meets_the_tables() {
        for (t, freedom, p) in [
            (12.706, 1.0, 0.05),
            (2.228, 10.0, 0.05),
            (3.169, 10.0, 0.01),
            (4.587, 10.0, 0.001),
            (2.093, 19.0, 0.05),
            (3.883, 19.0, 0.001),
            (1.960, 1e6, 0.05),
        ] {
            assert!((two_sided(t, freedom) / p - 1.0).abs() < 0.002, "{t} with {freedom}: {}", two_sided(t, freedom));
        }
        assert_eq!((two_sided(0.0, 5.0), two_sided(f64::INFINITY, 5.0)), (1.0, 0.0));
    }
}
