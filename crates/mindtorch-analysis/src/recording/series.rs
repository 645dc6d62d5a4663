//! A quantity of a key, step by step.

use crate::statistics::median;

/// The steps in which there was any, and how much.
#[derive(Clone, Debug, Default)]
pub(super) struct Series(Vec<(u32, u64)>);

impl Series {
    pub(super) fn add(&mut self, step: u32, amount: u64) {
        if amount == 0 {
            return;
        }
        match self.0.last_mut() {
            Some((last, sum)) if *last == step => *sum += amount,
            _ => self.0.push((step, amount)),
        }
    }

    pub(super) fn extend(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all is in one step.
    pub(super) fn is_in_one_step(&self) -> bool {
        self.0.first().is_some_and(|(first, _)| self.0.iter().all(|(step, _)| step == first))
    }

    /// The amount of every step.
    pub(super) fn dense(&self, steps: usize) -> Vec<f64> {
        let mut amounts = vec![0.0; steps];
        for &(step, amount) in &self.0 {
            amounts[step as usize] += amount as f64;
        }
        amounts
    }
}

/// The medians of consecutive parts, `count` of them or as many as there are values.
pub(super) fn block_medians(values: &[f64], count: usize) -> Vec<f64> {
    let count = count.min(values.len());
    let bound = |block: usize| block * values.len() / count;
    (0..count).map(|block| median(&values[bound(block)..bound(block + 1)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_a_step_are_added_up() {
        let mut series = Series::default();
        for (step, amount) in [(0, 3), (0, 4), (2, 0), (2, 5), (0, 1)] {
            series.add(step, amount);
        }
        assert_eq!(series.dense(3), [8.0, 0.0, 5.0]);
        assert!(!series.is_in_one_step());
    }

    #[test]
    fn blocks_are_consecutive_and_of_like_length() {
        let values: Vec<f64> = (0..10).map(f64::from).collect();
        assert_eq!(block_medians(&values, 3), [1.0, 4.0, 7.5]);
        assert_eq!(block_medians(&values[..2], 5), [0.0, 1.0]);
        assert!(block_medians(&[], 5).is_empty());
    }
}
