//! Many ranks: processes that work together, each with a trace of its own.
//!
//! Only what a rank shares with others is kept of its trace ([`Anchors`]): its steps and its collectives. So one trace at a
//! time need be in memory, and questions about all ranks are asked of what was kept.

mod alignment;
mod anchors;
mod collectives;
mod profile;
mod spread;
mod stragglers;
#[cfg(test)]
mod tests;

pub use alignment::{Aligner, Alignment, ClockSource};
pub use anchors::Anchors;
pub use collectives::{Collective, CollectiveKey, Occasion};
pub use profile::{DevicePeak, RankProfile, TopOperator};
pub use spread::{Extreme, Spread};
pub use stragglers::{LastOfStep, RankWaits, Straggler, StragglerSource, Stragglers, stragglers};
