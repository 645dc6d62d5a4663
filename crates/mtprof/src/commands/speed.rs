//! How fast the machine was, in words.

use mindtorch_analysis::Speed;

/// What it took in B, beside A: `14.8 % less time for everything`.
pub(super) fn time_for_everything(speed: &Speed) -> String {
    let percent = speed.change * 100.0;
    let than_in_a = if percent < 0.0 { "less" } else { "more" };
    format!("{:.1} % {than_in_a} time for everything", percent.abs())
}
