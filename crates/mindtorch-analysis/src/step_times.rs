//! How long steps took, as a distribution.

use crate::steps::Step;
use serde::Serialize;

/// With fewer steps than this nothing can be said to be far from the others.
const ENOUGH: usize = 5;
/// An outlier is farther from the middle half than this many times that half's width, as in a box plot.
const FAR: f64 = 1.5;

/// The times of steps. Quartiles between two steps are interpolated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepTimes {
    /// How many steps there are.
    pub count: usize,
    /// The shortest.
    pub least_ns: u64,
    /// A quarter took no longer.
    pub lower_quartile_ns: f64,
    /// Half took no longer.
    pub median_ns: f64,
    /// Three quarters took no longer.
    pub upper_quartile_ns: f64,
    /// The longest.
    pub most_ns: u64,
    /// Those whose time lies more than one and a half times the distance between the quartiles outside of them, in the order
    /// of time. Of fewer than five steps, none does.
    pub outliers: Vec<Step>,
}

impl StepTimes {
    /// The times of these steps; none if there are none.
    pub fn of(steps: &[Step]) -> Option<Self> {
        let mut times: Vec<u64> = steps.iter().map(Step::duration_ns).collect();
        times.sort_unstable();
        let (&least_ns, &most_ns) = (times.first()?, times.last()?);
        let (lower, upper) = (quantile(&times, 0.25), quantile(&times, 0.75));
        let margin = FAR * (upper - lower);
        let is_far = |step: &&Step| {
            let time = step.duration_ns() as f64;
            steps.len() >= ENOUGH && (time < lower - margin || time > upper + margin)
        };
        Some(Self {
            count: steps.len(),
            least_ns,
            lower_quartile_ns: lower,
            median_ns: quantile(&times, 0.5),
            upper_quartile_ns: upper,
            most_ns,
            outliers: steps.iter().filter(is_far).copied().collect(),
        })
    }
}

/// The value below which this share of the sorted values lies; between two, it is in proportion.
fn quantile(sorted: &[u64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[place.floor() as usize] as f64, sorted[place.ceil() as usize] as f64);
    below + (above - below) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(times: &[u64]) -> Vec<Step> {
        let step = |(number, &time): (usize, &u64)| Step { number: number as u64, start_ns: 0, end_ns: time };
        times.iter().enumerate().map(step).collect()
    }

    #[test]
    fn quartiles_are_interpolated() {
        let times = StepTimes::of(&steps(&[40, 10, 30, 20])).unwrap();
        assert_eq!((times.count, times.least_ns, times.most_ns), (4, 10, 40));
        assert_eq!([times.lower_quartile_ns, times.median_ns, times.upper_quartile_ns], [17.5, 25.0, 32.5]);
        assert_eq!(StepTimes::of(&[]), None);
    }

    #[test]
    fn outliers_are_far_from_the_middle_half() {
        let times = StepTimes::of(&steps(&[100, 101, 99, 100, 102, 150, 60])).unwrap();
        assert_eq!(times.outliers.iter().map(Step::duration_ns).collect::<Vec<_>>(), [150, 60]);
        // Four values have quartiles, but one of them makes a quarter.
        assert_eq!(StepTimes::of(&steps(&[100, 100, 100, 900])).unwrap().outliers, []);
    }
}
