//! Hodges and Lehmann's estimate: by how much one sample lies above another.

use super::normal_quantile;

/// By how much, and between what that may lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shift {
    pub(crate) estimate: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// The median of all differences between a value of `b` and one of `a`; with this confidence, it lies between the differences
/// that the rank test would just not tell from none. None if a sample is empty.
pub(crate) fn shift(a: &[f64], b: &[f64], confidence: f64) -> Option<Shift> {
    let mut differences: Vec<f64> = b.iter().flat_map(|b| a.iter().map(move |a| b - a)).collect();
    if differences.is_empty() {
        return None;
    }
    differences.sort_unstable_by(f64::total_cmp);
    let pairs = differences.len() as f64;
    let deviation = (pairs * (a.len() + b.len() + 1) as f64 / 12.0).sqrt();
    let outside = pairs / 2.0 - normal_quantile((1.0 - confidence) / 2.0) * deviation;
    let outside = (outside.max(0.0) as usize).min((differences.len() - 1) / 2);
    let last = differences.len() - 1;
    let estimate = f64::midpoint(differences[last / 2], differences[last.div_ceil(2)]);
    Some(Shift { estimate, low: differences[outside], high: differences[last - outside] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shift_is_found_between_its_bounds() {
        let a: Vec<f64> = (0..10).map(f64::from).collect();
        let b: Vec<f64> = a.iter().map(|value| value + 3.0).collect();
        let found = shift(&a, &b, 0.95).unwrap();
        assert_eq!(found.estimate, 3.0);
        assert!(found.low < 3.0 && found.high > 3.0 && found.low >= -1.0 && found.high <= 7.0, "{found:?}");
        assert!(shift(&a, &b, 0.5).unwrap().low > found.low);
        assert_eq!(shift(&[], &b, 0.95), None);
        assert_eq!(shift(&[1.0], &[4.0], 0.95), Some(Shift { estimate: 3.0, low: 3.0, high: 3.0 }));
    }

    #[test]
    fn one_value_far_off_moves_it_little() {
        let a: Vec<f64> = (0..20).map(f64::from).collect();
        let mut b = a.clone();
        b[0] = 1e9;
        assert!(shift(&a, &b, 0.95).unwrap().estimate <= 1.0);
    }
}
