//! What changed between the two traces of a page, as `mtprof diff` says it.

use mindtorch_analysis::{By, Diff, DiffLine, DiffOptions, Headline, KeyKind, Verdict};
use mindtorch_profiler::Trace;
use serde::Serialize;

/// The comparison of two traces.
#[derive(Debug, Serialize)]
pub(crate) struct Difference {
    headline: Headline,
    /// Whether changes can be told from noise.
    is_tested: bool,
    /// Those first that matter most to the step.
    rows: Vec<DifferenceRow>,
}

/// What became of one key.
#[derive(Debug, Serialize)]
struct DifferenceRow {
    name: String,
    kind: KeyKind,
    verdict: Verdict,
    /// How much longer a step takes by it.
    effect_ns: f64,
    #[serde(flatten)]
    line: DiffLine,
}

impl Difference {
    pub(crate) fn between(before: &Trace, after: &Trace) -> Self {
        let diff = Diff::between(before, after, By::Op, &DiffOptions::default());
        let row = |row: &mindtorch_analysis::DiffRow| DifferenceRow {
            name: row.key.to_string(),
            kind: row.key.kind,
            verdict: row.verdict,
            effect_ns: row.effect_ns,
            line: diff.line(row),
        };
        Self {
            headline: diff.headline(),
            is_tested: diff.untestable.is_none(),
            rows: diff.rows.iter().map(row).collect(),
        }
    }
}
