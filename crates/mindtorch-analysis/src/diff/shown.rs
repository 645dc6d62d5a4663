//! What people are shown of a comparison: sentences, and of each row the change that it is about.

use super::{Change, Diff, DiffRow, Side, Speed, Verdict};
use crate::budget::{Nanoseconds, Part};
use crate::recording::KeyKind;
use serde::Serialize;

/// What a comparison comes to, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Headline {
    /// What became of the step, and how many keys changed; or why changes cannot be told from noise.
    pub verdict: String,
    /// How long steps took.
    pub step: Option<String>,
    /// What the machine's speed did.
    pub machine: Option<String>,
    /// What the device's speed did.
    pub device: Option<String>,
    /// How times and changes are to be read, where they do not seem to agree.
    pub note: Option<String>,
    /// How much was recorded of A and of B.
    pub sides: [String; 2],
}

/// What a row says. Parts are of the time in A; `share` is one of the step's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DiffLine {
    /// Nanoseconds in a step of A; of all of A, if there are no steps.
    pub a_ns: f64,
    /// Nanoseconds in a step of B.
    pub b_ns: f64,
    /// How much longer it takes. Where it was not tested, by how much totals differ.
    pub change: Option<f64>,
    /// Between what the change lies, if it was tested.
    pub interval: Option<[f64; 2]>,
    /// The chance of such a change if nothing had changed, if it was tested.
    pub p_value: Option<f64>,
    /// What the change has to exceed, if it was tested.
    pub noise: Option<f64>,
    /// What it makes of the step, if there are steps.
    pub share: Option<f64>,
    /// Whether the time is a device's.
    pub is_of_device: bool,
    /// How often it is called in a step of A and of B, if that changed.
    pub calls: Option<[f64; 2]>,
}

impl Diff {
    /// What the comparison comes to, in words.
    pub fn headline(&self) -> Headline {
        let verdict = match &self.untestable {
            Some(why) => format!("Changes cannot be told from noise: {why}"),
            None => format!("{}: {}, of {} compared", self.step_words(), self.found_words(), self.rows.len()),
        };
        let [machine_is_out, device_is_out] =
            [self.speed, self.device_speed].map(|speed| speed.is_some_and(|speed| speed.is_taken_out));
        let step = self.step.map(|step| {
            let (a, b) = (Nanoseconds(step.a_ns), Nanoseconds(step.b_ns));
            let (change, noise) = (Part(step.relative), Part(step.noise));
            let at = if machine_is_out { " at equal speed of the machine" } else { "" };
            format!("{a} -> {b} as measured, {change:+}{at} (noise {noise})")
        });
        let took = |speed: Speed| format!("took {} in B, as {} keys show", speed.words(), speed.keys);
        let taken_out = match (machine_is_out, device_is_out) {
            (true, true) => Some("the machine and the device"),
            (true, false) => Some("the machine"),
            (false, true) => Some("the device"),
            (false, false) => None,
        };
        let note = taken_out.map(|what| format!("Times are as measured, change and effect at equal speed of {what}."));
        let (machine, device) = (self.speed.map(took), self.device_speed.map(took));
        Headline { verdict, step, machine, device, note, sides: [0, 1].map(|side| self.side_words(side)) }
    }

    fn step_words(&self) -> &'static str {
        match self.step.map(|step| step.verdict) {
            Some(Verdict::Slower) => "Slower",
            Some(Verdict::Faster) => "Faster",
            _ => "The step is unchanged",
        }
    }

    fn found_words(&self) -> String {
        let counts: Vec<String> = [Verdict::Slower, Verdict::Faster, Verdict::Added, Verdict::Removed]
            .into_iter()
            .map(|verdict| (self.rows_with(verdict).count(), verdict))
            .filter(|(count, _)| *count > 0)
            .map(|(count, verdict)| format!("{count} {}", verdict.word()))
            .collect();
        if counts.is_empty() { "no change".to_owned() } else { counts.join(", ") }
    }

    fn side_words(&self, side: usize) -> String {
        let (recordings, steps) = (self.recordings[side], self.steps[side]);
        format!("{recordings} recording{} with {steps} steps", if recordings == 1 { "" } else { "s" })
    }

    /// What one of its rows says.
    pub fn line(&self, row: &DiffRow) -> DiffLine {
        let told = row.told();
        let (a_ns, b_ns) = told.map_or_else(|| self.means(row), |change| (change.a_ns, change.b_ns));
        let of_totals = || (a_ns > 0.0 && b_ns > 0.0).then(|| b_ns / a_ns - 1.0);
        let step_ns = self.step.map_or(0.0, |step| step.a_ns);
        DiffLine {
            a_ns,
            b_ns,
            change: told.map_or_else(of_totals, |change| Some(change.relative)),
            interval: told.map(|change| change.interval),
            p_value: told.map(|change| change.p_value),
            noise: told.map(|change| change.noise),
            share: (step_ns > 0.0).then(|| row.effect_ns / step_ns),
            is_of_device: row.key.kind == KeyKind::Device || (told.is_some() && told == row.device.as_ref()),
            calls: row.calls(),
        }
    }

    /// What a step has of it on average, or the trace if there are no steps.
    fn means(&self, row: &DiffRow) -> (f64, f64) {
        let of = |side: Option<Side>, steps: usize| {
            let own = side.map_or(0, |side| side.totals.self_cpu_ns.max(side.totals.self_device_ns));
            own as f64 / steps.max(1) as f64
        };
        (of(row.a, self.steps[0]), of(row.b, self.steps[1]))
    }
}

impl DiffRow {
    /// The change that it is about: that of the host's time or of the device's.
    pub fn told(&self) -> Option<&Change> {
        [self.cpu.as_ref(), self.device.as_ref()]
            .into_iter()
            .flatten()
            .find(|change| change.change_ns == self.effect_ns)
    }

    /// How often it is called in a step, if that changed.
    fn calls(&self) -> Option<[f64; 2]> {
        let calls = [self.a?, self.b?].map(|side| side.per_step.count);
        (calls[0] != calls[1]).then_some(calls)
    }
}

impl Verdict {
    /// As people say it, and as JSON has it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Unchanged => "unchanged",
            Self::Untested => "untested",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{By, DiffOptions, Key, KeySamples, PerStep, Recording, Totals};

    fn samples(name: &str, kind: KeyKind, cpu_ns: f64, device_ns: f64, calls: f64) -> KeySamples {
        let blocks = |ns: f64| (0..24).map(|block| ns * (1.0 + f64::from(block % 3) * 1e-3)).collect();
        KeySamples {
            key: Key { name: name.to_owned(), kind, ..Key::default() },
            totals: Totals {
                count: 24,
                self_cpu_ns: 24 * cpu_ns as u64,
                self_device_ns: 24 * device_ns as u64,
                ..Totals::default()
            },
            per_step: PerStep { count: calls, ..PerStep::default() },
            cpu_ns: blocks(cpu_ns),
            device_ns: if device_ns > 0.0 { blocks(device_ns) } else { Vec::new() },
        }
    }

    fn recording(steps: usize, keys: Vec<KeySamples>) -> Recording {
        Recording { by: By::Op, steps, step_ns: vec![1e6; 24], keys, ..Recording::default() }
    }

    fn diff(steps: usize) -> Diff {
        let a = vec![
            samples("aten::mm", KeyKind::Op, 1e5, 2e5, 1.0),
            samples("gemm", KeyKind::Device, 0.0, 2e5, 1.0),
            samples("old", KeyKind::Op, 5e4, 0.0, 1.0),
        ];
        let b = vec![samples("aten::mm", KeyKind::Op, 1e5, 3e5, 2.0), samples("gemm", KeyKind::Device, 0.0, 3e5, 1.0)];
        Diff::of(&[recording(steps, a)], &[recording(24, b)], &DiffOptions::default())
    }

    fn line(diff: &Diff, name: &str) -> (Verdict, DiffLine) {
        let row = diff.rows.iter().find(|row| row.key.name == name).unwrap();
        (row.verdict, diff.line(row))
    }

    #[test]
    fn a_line_is_about_the_change_that_matters() {
        let diff = diff(24);
        assert_eq!(diff.headline().verdict, "The step is unchanged: 2 slower, 1 removed, of 3 compared");
        let (verdict, product) = line(&diff, "aten::mm");
        assert_eq!((verdict, product.is_of_device, product.calls), (Verdict::Slower, true, Some([1.0, 2.0])));
        let interval = product.interval.unwrap();
        assert!(
            (product.change.unwrap() - 0.5).abs() < 1e-2 && interval[0] > 0.49 && interval[1] < 0.51,
            "{product:?}"
        );
        assert!((product.share.unwrap() - 0.1).abs() < 1e-2, "{product:?}");
        assert!(line(&diff, "gemm").1.is_of_device);
        let (verdict, removed) = line(&diff, "old");
        assert_eq!((verdict, removed.change, removed.interval), (Verdict::Removed, None, None));
        assert_eq!((removed.a_ns, removed.b_ns, removed.calls), (5e4, 0.0, None));
    }

    #[test]
    fn without_a_test_lines_have_totals() {
        let diff = diff(7);
        let headline = diff.headline();
        assert!(headline.verdict.starts_with("Changes cannot be told from noise: A has 7 whole steps"), "{headline:?}");
        assert_eq!((headline.step, headline.machine), (None, None));
        assert_eq!(headline.sides, ["1 recording with 7 steps", "1 recording with 24 steps"]);
        let (verdict, product) = line(&diff, "aten::mm");
        assert_eq!((verdict, product.interval, product.p_value, product.noise), (Verdict::Untested, None, None, None));
        assert_eq!(product.change, Some(product.b_ns / product.a_ns - 1.0));
    }
}
