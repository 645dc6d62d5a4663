//! Recordings that never were, with noise of a known kind.

use mindtorch_profiler::Trace;
use std::fmt::Write;

/// The operator that may be slower.
pub(crate) const SLOWED: &str = "aten::op4";
const STEPS: usize = 60;
/// In microseconds.
const TIMES: [f64; 12] = [400.0, 250.0, 180.0, 150.0, 130.0, 100.0, 80.0, 60.0, 50.0, 40.0, 30.0, 20.0];

/// What makes times differ. Each is a part of the time, or of the steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noise {
    /// Every call: a normal distribution's deviation, of the logarithm.
    pub(crate) jitter: f64,
    /// The part of calls that take twice as long, or many times.
    pub(crate) outliers: f64,
    /// By how much everything is slower while a neighbour is there, who comes and goes; to each operator it matters more or less.
    pub(crate) speeds: f64,
    /// By how much everything is slower at the end than at the beginning, to each operator more or less, up to this.
    pub(crate) drift: f64,
    /// By how much an operator differs between processes.
    pub(crate) process: f64,
}

impl Noise {
    pub(crate) const NONE: Self = Self { jitter: 0.0, outliers: 0.0, speeds: 0.0, drift: 0.0, process: 0.0 };
}

/// Numbers that look random, the same for one seed: splitmix64.
pub(crate) struct Generator(u64);

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0xA076_1D64_78BD_642F))
    }

    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (2.0 * std::f64::consts::PI * self.uniform()).cos()
    }

    /// A process that runs steps of twelve operators, one of which takes `factor` times as long as it should.
    pub(crate) fn trace(&mut self, noise: &Noise, factor: f64) -> Trace {
        let of_process: Vec<f64> = TIMES.iter().map(|_| (noise.process * self.normal()).exp()).collect();
        let drifts: Vec<f64> = TIMES.iter().map(|_| noise.drift * self.uniform()).collect();
        let mut has_neighbour = self.uniform() < 0.5;
        let (mut events, mut at) = (String::new(), 0.0);
        for step in 0..STEPS {
            if self.uniform() < 0.1 {
                has_neighbour = !has_neighbour;
            }
            let start = at;
            at += 5.0;
            for (operator, &time) in TIMES.iter().enumerate() {
                let name = format!("aten::op{operator}");
                let sensitivity = 0.7 + 0.05 * operator as f64;
                let slowness = if has_neighbour { 1.0 + noise.speeds * sensitivity } else { 1.0 };
                let drift = 1.0 + drifts[operator] * step as f64 / STEPS as f64;
                let slowed = if name == SLOWED { factor } else { 1.0 };
                let mut taken =
                    time * of_process[operator] * slowness * drift * slowed * (noise.jitter * self.normal()).exp();
                if self.uniform() < noise.outliers {
                    taken *= 1.0 + 1.0 / (0.01 + self.uniform());
                }
                event(&mut events, "cpu_op", &name, at, taken);
                at += taken + 2.0;
            }
            event(&mut events, "user_annotation", &format!("ProfilerStep#{step}"), start, at - start);
            at += 1.0;
        }
        let json = format!(r#"{{"traceEvents": [{}]}}"#, events.trim_end_matches(','));
        Trace::read(json.as_bytes()).unwrap()
    }
}

fn event(events: &mut String, category: &str, name: &str, at: f64, duration: f64) {
    let _ = write!(
        events,
        r#"{{"ph":"X","cat":"{category}","name":"{name}","pid":1,"tid":1,"ts":{at:.3},"dur":{duration:.3}}},"#
    );
}
