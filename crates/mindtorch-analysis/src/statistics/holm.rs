//! Many questions at once.

/// Holm's correction: what each p-value is worth when this many were looked at, so that the chance of even one false alarm
/// among all is at most what is compared with. In the order of `p_values`.
pub(crate) fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_unstable_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut so_far: f64 = 0.0;
    for (place, &at) in order.iter().enumerate() {
        so_far = so_far.max(p_values[at] * (p_values.len() - place) as f64).min(1.0);
        adjusted[at] = so_far;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::holm;

    #[test]
    fn the_smallest_counts_most() {
        assert!(holm(&[]).is_empty());
        let adjusted = holm(&[0.01, 0.04, 0.03]);
        for (value, wanted) in adjusted.iter().zip([0.03, 0.06, 0.06]) {
            assert!((value - wanted).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }
}
