//! The monotone line through points.

use super::robust::median;

/// What the rising line through the points leaves of each `y`: isotonic regression in least absolute deviations, by pooling adjacent violators (Barlow,
/// Bartholomew, Bremner and Brunk, *Statistical Inference under Order Restrictions*, 1972). In the order of the points.
pub(crate) fn isotonic_residuals(x: &[f64], y: &[f64]) -> Vec<f64> {
    let middle = |indices: &[usize]| median(&indices.iter().map(|index| y[*index]).collect::<Vec<f64>>());
    let mut order: Vec<usize> = (0..x.len()).collect();
    order.sort_by(|a, b| x[*a].total_cmp(&x[*b]));
    let mut blocks: Vec<Vec<usize>> = Vec::new();
    for index in order {
        // Points with the same x are one block from the start.
        match blocks.last_mut() {
            Some(block) if x[block[0]] == x[index] => block.push(index),
            _ => blocks.push(vec![index]),
        }
        while let [.., before, last] = &blocks[..]
            && middle(before) > middle(last)
        {
            let merged = blocks.pop().unwrap_or_default();
            if let Some(before) = blocks.last_mut() {
                before.extend(merged);
            }
        }
    }
    let mut left = y.to_vec();
    for block in blocks {
        let fitted = middle(&block);
        block.iter().for_each(|index| left[*index] -= fitted);
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rising_line_leaves_nothing_and_a_falling_one_is_level() {
        assert_eq!(isotonic_residuals(&[3.0, 1.0, 2.0], &[30.0, 10.0, 20.0]), [0.0, 0.0, 0.0]);
        // Three values that fall are pooled at their median.
        assert_eq!(isotonic_residuals(&[1.0, 2.0, 3.0], &[9.0, 5.0, 1.0]), [4.0, 0.0, -4.0]);
        assert_eq!(isotonic_residuals(&[], &[]), [] as [f64; 0]);
    }
}
