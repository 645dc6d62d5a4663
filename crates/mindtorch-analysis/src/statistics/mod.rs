//! What can be said of samples without knowing how they are distributed.

mod holm;
mod rank_test;
mod shift;

pub(crate) use holm::holm;
pub(crate) use rank_test::rank_test;
pub(crate) use shift::shift;

/// The value in the middle, or between the two that are. 0 of nothing.
pub(crate) fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The value below which a part of the values lies, between the two nearest. 0 of nothing.
pub(crate) fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = part * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

/// How far values lie from `centre`, as the standard deviation that a normal distribution with this median of distances has.
pub(crate) fn spread(values: &[f64], centre: f64) -> f64 {
    let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    1.4826 * median(&distances)
}

/// The part of a standard normal distribution that lies above `z`, to a relative error of 1e-6 or less: the continued fraction
/// of Laplace in the tail, the series about 0 elsewhere.
pub(crate) fn normal_tail(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - normal_tail(-z);
    }
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if z > 3.0 {
        let fraction = (1..60).rev().fold(z, |below, k| z + f64::from(k) / below);
        return density / fraction;
    }
    let (mut term, mut sum) = (z, z);
    for k in 1..60 {
        term *= z * z / f64::from(2 * k + 1);
        sum += term;
    }
    0.5 - density * sum
}

/// The `z` above which this part of a standard normal distribution lies.
pub(crate) fn normal_quantile(tail: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if normal_tail(middle) > tail { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_values() {
        assert_eq!(median(&[]), 0.0);
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0]), 2.5);
        assert_eq!(quantile(&[0.0, 10.0], 0.95), 9.5);
        assert!((spread(&[-1.0, 0.0, 1.0], 0.0) - 1.4826).abs() < 1e-12);
    }

    #[test]
    fn the_normal_distribution_is_that_of_tables() {
        for (z, tail) in
            [(0.0, 0.5), (1.0, 0.158_655_254), (1.959_964, 0.025), (3.5, 2.326_291e-4), (6.0, 9.865_876e-10)]
        {
            assert!((normal_tail(z) / tail - 1.0).abs() < 1e-5, "{z}");
            assert!((normal_quantile(tail) - z).abs() < 1e-5, "{z}");
        }
        assert!((normal_tail(-1.0) - 0.841_344_746).abs() < 1e-8);
    }
}
