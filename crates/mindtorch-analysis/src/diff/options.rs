//! What is worth saying.

/// What a change has to be for it to be reported.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiffOptions {
    /// The part of a key's own time by which it has to change.
    pub min_change: f64,
    /// The part of the step's time by which it has to change the step.
    pub min_share: f64,
    /// One less the chance of reporting anything where nothing changed, as far as the test can tell.
    pub confidence: f64,
    /// The steps that each side needs, for any change to be told from noise.
    pub min_steps: usize,
    /// Whether times are compared at equal speed of the machine, as far as that shows in what all keys have in common.
    pub at_equal_speed: bool,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self { min_change: 0.02, min_share: 0.002, confidence: 0.95, min_steps: 8, at_equal_speed: true }
    }
}
