//! Mann and Whitney's test: whether values of one sample tend to be larger than those of another.

use super::normal_tail;

/// Up to this many values in all, every way to divide them is counted; from there on the normal distribution is near enough.
const EXACT: usize = 24;

/// The chance that samples from one and the same distribution differ at least as much as these, in either direction.
///
/// Exact for small samples, ties included. In larger ones, by the normal distribution with the correction for ties, which in the
/// far tail gives more than the exact chance: it errs on the side of no alarm.
pub(crate) fn rank_test(a: &[f64], b: &[f64]) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 1.0;
    }
    let (ranks, ties) = doubled_ranks(a, b);
    let sum: usize = ranks[..a.len()].iter().sum();
    // The doubled sum of ranks that is as likely to be exceeded as not.
    let middle = a.len() * (ranks.len() + 1);
    let distance = sum.abs_diff(middle);
    if ranks.len() <= EXACT {
        exact(&ranks, a.len(), middle, distance)
    } else {
        normal(a.len(), b.len(), ties, distance)
    }
}

/// Twice the rank of each value, of `a` and then of `b`, those that are equal sharing theirs; and the sum of t³ - t over groups
/// of t equal values.
fn doubled_ranks(a: &[f64], b: &[f64]) -> (Vec<usize>, f64) {
    let values: Vec<f64> = a.iter().chain(b).copied().collect();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&x, &y| values[x].total_cmp(&values[y]));
    let mut ranks = vec![0; values.len()];
    let mut ties = 0.0;
    let mut from = 0;
    for group in order.chunk_by(|&x, &y| values[x] == values[y]) {
        let to = from + group.len();
        for &at in group {
            ranks[at] = from + to + 1;
        }
        let size = group.len() as f64;
        ties += size * size * size - size;
        from = to;
    }
    (ranks, ties)
}

/// Counts the ways to choose `size` of the ranks by their sum.
fn exact(ranks: &[usize], size: usize, middle: usize, distance: usize) -> f64 {
    let largest: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0; largest + 1]; size + 1];
    ways[0][0] = 1.0;
    for &rank in ranks {
        for chosen in (0..size).rev() {
            let (fewer, more) = ways.split_at_mut(chosen + 1);
            for (sum, count) in fewer[chosen].iter().enumerate().filter(|(_, count)| **count > 0.0) {
                more[0][sum + rank] += count;
            }
        }
    }
    let all: f64 = ways[size].iter().sum();
    let as_far = ways[size].iter().enumerate().filter(|(sum, _)| sum.abs_diff(middle) >= distance);
    (as_far.map(|(_, count)| count).sum::<f64>() / all).min(1.0)
}

fn normal(a: usize, b: usize, ties: f64, distance: usize) -> f64 {
    let (a, b) = (a as f64, b as f64);
    let all = a + b;
    let variance = a * b / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    // Sums of ranks are whole, so each stands for half a rank on both sides.
    let z = (distance as f64 / 2.0 - 0.5).max(0.0) / variance.sqrt();
    (2.0 * normal_tail(z)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn small_samples_are_counted() {
        // Of the 20 ways to divide six values, two are as far apart as this.
        assert!(close(rank_test(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 0.1));
        assert!(close(rank_test(&[1.0, 3.0, 5.0], &[2.0, 4.0, 6.0]), 0.7));
        let low: Vec<f64> = (0..8).map(f64::from).collect();
        let high: Vec<f64> = (8..16).map(f64::from).collect();
        assert!(close(rank_test(&low, &high), 2.0 / 12_870.0));
        assert!(close(rank_test(&high, &low), 2.0 / 12_870.0));
    }

    #[test]
    fn equal_values_share_their_ranks() {
        assert!(close(rank_test(&[1.0; 5], &[1.0; 5]), 1.0));
        assert!(close(rank_test(&[1.0; 50], &[1.0; 50]), 1.0));
        // 1 1 | 1 2 : ranks 2 2 | 2 4. Three of six ways have a sum of 4, three one of 6: all are as far as this one.
        assert!(close(rank_test(&[1.0, 1.0], &[1.0, 2.0]), 1.0));
        assert_eq!(rank_test(&[], &[1.0]), 1.0);
    }

    #[test]
    fn large_samples_agree_with_counting() {
        let a: Vec<f64> = (0..12).map(|i| f64::from(i * 7 % 12)).collect();
        let b: Vec<f64> = (0..12).map(|i| f64::from(i * 5 % 12) + 2.5).collect();
        let (ranks, ties) = doubled_ranks(&a, &b);
        let (middle, sum) = (a.len() * (ranks.len() + 1), ranks[..a.len()].iter().sum::<usize>());
        let counted = exact(&ranks, a.len(), middle, sum.abs_diff(middle));
        let approximate = normal(a.len(), b.len(), ties, sum.abs_diff(middle));
        assert!((counted - approximate).abs() < 0.01, "{counted} {approximate}");
    }
}
