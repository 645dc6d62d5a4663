//! Time: raw ticks while recording, nanoseconds since the Unix epoch when a trace is built.
//!
//! Recording only ever calls [`Clock::ticks`]. A tick is a cycle of the invariant time-stamp counter where the processor
//! and the kernel vouch for it (two reads cost about 20 ns), else a nanosecond of the monotonic clock. What a tick is
//! worth is found without ever waiting: the clock notes where both time lines stood when it was created ([`Anchor`]) and
//! again when a trace is built, and the two points give the rate. Reading both time lines takes some tens of
//! nanoseconds, so a time is off by no more than that, however short or long the recording was.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Once the rate has been measured over this long it is kept, so that later traces agree to the nanosecond.
const SETTLED: Duration = Duration::from_secs(10);

/// A source of ticks.
#[derive(Clone, Debug)]
pub(crate) enum Clock {
    /// The processor's invariant time-stamp counter.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only x86-64 has this counter"))]
    Tsc(Arc<Calibration>),
    /// The operating system's monotonic clock: a tick is a nanosecond.
    Monotonic(Arc<Calibration>),
    /// A clock that a test moves: a tick is a nanosecond since the epoch.
    Manual(ManualClock),
}

impl Clock {
    /// The best clock that this machine has.
    pub(crate) fn system() -> Self {
        if tsc_is_reliable() { Self::tsc() } else { Self::monotonic() }
    }

    pub(crate) fn tsc() -> Self {
        Self::Tsc(Arc::new(Calibration::new(read_tsc)))
    }

    pub(crate) fn monotonic() -> Self {
        Self::Monotonic(Arc::new(Calibration::new(read_monotonic)))
    }

    /// The current time in ticks. Never 0, which records use for "not yet".
    #[inline]
    pub(crate) fn ticks(&self) -> u64 {
        if let Self::Tsc(_) = self { read_tsc() } else { self.slower_ticks() }
    }

    /// Apart, so that the recording path does not carry it along.
    #[inline(never)]
    fn slower_ticks(&self) -> u64 {
        match self {
            Self::Tsc(_) => read_tsc(),
            Self::Monotonic(_) => read_monotonic(),
            Self::Manual(clock) => clock.now_ns(),
        }
    }

    /// How to turn this clock's ticks into nanoseconds since the epoch, by what is known now.
    pub(crate) fn scale(&self) -> TickScale {
        match self {
            Self::Tsc(calibration) => calibration.scale(),
            Self::Monotonic(calibration) => calibration.origin.scale_with(1.0),
            Self::Manual(_) => TickScale { origin_ticks: 0, origin_epoch_ns: 0, multiplier: 1 << TickScale::SHIFT },
        }
    }

    #[cfg(test)]
    fn name(&self) -> &'static str {
        match self {
            Self::Tsc(_) => "tsc",
            Self::Monotonic(_) => "monotonic",
            Self::Manual(_) => "manual",
        }
    }
}

/// A clock that moves only when told to, so that tests are exact. Clones move together.
///
/// ```
/// use mindtorch_profiler::{ManualClock, Recorder, Session};
/// let clock = ManualClock::starting_at(1_000);
/// let recorder = Recorder::with_manual_clock(&clock);
/// let session = Session::builder().on(&recorder).start();
/// clock.advance(500);
/// assert_eq!(session.stop().duration_ns(), 500);
/// ```
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// A clock that stands at `now_ns` nanoseconds since the epoch (at least 1).
    pub fn starting_at(now_ns: u64) -> Self {
        Self(Arc::new(AtomicU64::new(now_ns.max(1))))
    }

    /// Moves the clock forward.
    pub fn advance(&self, by_ns: u64) {
        self.0.fetch_add(by_ns, Ordering::SeqCst);
    }

    /// Puts the clock to another time (at least 1), also an earlier one, as a broken clock might.
    pub fn set(&self, now_ns: u64) {
        self.0.store(now_ns.max(1), Ordering::SeqCst);
    }

    /// Where the clock stands.
    pub fn now_ns(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// A linear map from ticks to nanoseconds since the epoch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TickScale {
    origin_ticks: u64,
    origin_epoch_ns: u64,
    /// Nanoseconds a tick, as a fixed-point number with [`Self::SHIFT`] fractional bits.
    multiplier: u64,
}

impl TickScale {
    const SHIFT: u32 = 40;

    /// Nanoseconds since the epoch. Monotonic in `ticks`, also for ticks before the origin.
    #[inline]
    pub(crate) fn epoch_ns(&self, ticks: u64) -> u64 {
        let since_origin = ticks.wrapping_sub(self.origin_ticks).cast_signed();
        let ns = (i128::from(since_origin) * i128::from(self.multiplier)) >> Self::SHIFT;
        self.origin_epoch_ns.saturating_add_signed(ns as i64)
    }

    /// Nanoseconds from one point to a later one; 0 if it is not later.
    #[inline]
    pub(crate) fn ns_between(&self, from: u64, to: u64) -> u64 {
        ((u128::from(to.saturating_sub(from)) * u128::from(self.multiplier)) >> Self::SHIFT) as u64
    }
}

/// One instant on three time lines.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    ticks: u64,
    instant: Instant,
    epoch_ns: u64,
}

impl Anchor {
    /// Reads the tick counter between two reads of the system's clock; of a few tries the tightest is the best.
    fn now(read: fn() -> u64) -> Self {
        let mut best: Option<(Duration, Self)> = None;
        for _ in 0..8 {
            let before = Instant::now();
            let ticks = read();
            let width = before.elapsed();
            if best.as_ref().is_none_or(|(narrowest, _)| width < *narrowest) {
                let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let since = before.elapsed();
                let epoch_ns = (epoch.as_nanos() as u64).saturating_sub((since - width / 2).as_nanos() as u64);
                best = Some((width, Self { ticks, instant: before + width / 2, epoch_ns }));
            }
        }
        best.expect("the loop ran").1
    }

    fn scale_with(&self, ns_per_tick: f64) -> TickScale {
        TickScale {
            origin_ticks: self.ticks,
            origin_epoch_ns: self.epoch_ns,
            multiplier: (ns_per_tick * (1u64 << TickScale::SHIFT) as f64).round() as u64,
        }
    }
}

/// What is known of a tick counter's rate.
#[derive(Debug)]
pub(crate) struct Calibration {
    read: fn() -> u64,
    origin: Anchor,
    settled: OnceLock<f64>,
}

impl Calibration {
    fn new(read: fn() -> u64) -> Self {
        Self { read, origin: Anchor::now(read), settled: OnceLock::new() }
    }

    fn scale(&self) -> TickScale {
        if let Some(&rate) = self.settled.get() {
            return self.origin.scale_with(rate);
        }
        let now = Anchor::now(self.read);
        let elapsed = now.instant.saturating_duration_since(self.origin.instant);
        let ticks = now.ticks.saturating_sub(self.origin.ticks).max(1);
        let rate = elapsed.as_nanos() as f64 / ticks as f64;
        let rate = if elapsed >= SETTLED { *self.settled.get_or_init(|| rate) } else { rate };
        self.origin.scale_with(rate)
    }
}

/// Nanoseconds of the monotonic clock since the first call in this process, plus one.
fn read_monotonic() -> u64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed().as_nanos() as u64 + 1
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[expect(unsafe_code, reason = "the time-stamp counter is read by an intrinsic")]
pub(crate) fn read_tsc() -> u64 {
    // SAFETY: RDTSC exists on every x86-64 processor and has no effect on memory.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn read_tsc() -> u64 {
    read_monotonic()
}

/// Whether the counter runs at one rate on all cores: the processor says that it is invariant, and the kernel, which
/// checks that the cores agree, has not fallen back to a clock that it only uses when they do not.
fn tsc_is_reliable() -> bool {
    const DISTRUST: [&str; 4] = ["hpet", "acpi_pm", "jiffies", "refined-jiffies"];
    let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    tsc_is_invariant() && source.is_ok_and(|name| !DISTRUST.contains(&name.trim()))
}

#[cfg(target_arch = "x86_64")]
fn tsc_is_invariant() -> bool {
    use core::arch::x86_64::__cpuid;
    const ADVANCED_POWER: u32 = 0x8000_0007;
    __cpuid(0x8000_0000).eax >= ADVANCED_POWER && __cpuid(ADVANCED_POWER).edx & (1 << 8) != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn tsc_is_invariant() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spins until the system's clock has moved by `length`, and returns what the clock under test says passed.
    fn measure(clock: &Clock, length: Duration) -> (u64, u64, u64) {
        let outer = Instant::now();
        let first = clock.ticks();
        let inner = Instant::now();
        while inner.elapsed() < length {
            std::hint::spin_loop();
        }
        let at_least = inner.elapsed();
        let last = clock.ticks();
        let at_most = outer.elapsed();
        let scale = clock.scale();
        let measured = scale.epoch_ns(last) - scale.epoch_ns(first);
        (at_least.as_nanos() as u64, measured, at_most.as_nanos() as u64)
    }

    fn agrees_with_the_system(clock: &Clock) {
        let (at_least, measured, at_most) = measure(clock, Duration::from_millis(20));
        // A thousandth of slack: the rate is measured over a window hardly longer than this one.
        assert!(measured + at_least / 1000 >= at_least, "{} says {measured} ns, at least {at_least}", clock.name());
        assert!(measured <= at_most + at_most / 1000, "{} says {measured} ns, at most {at_most}", clock.name());
        let scale = clock.scale();
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        assert!(scale.epoch_ns(clock.ticks()).abs_diff(epoch) < 1_000_000_000);
    }

    #[test]
    fn the_monotonic_clock_agrees_with_the_system() {
        agrees_with_the_system(&Clock::monotonic());
    }

    #[test]
    fn the_tsc_agrees_with_the_system_where_it_is_reliable() {
        if tsc_is_reliable() {
            agrees_with_the_system(&Clock::tsc());
        } else {
            assert_eq!(Clock::system().name(), "monotonic");
        }
    }

    #[test]
    fn a_scale_is_monotonic_and_exact_around_its_origin() {
        let scale = TickScale { origin_ticks: 1000, origin_epoch_ns: 50_000, multiplier: (1 << TickScale::SHIFT) / 2 };
        assert_eq!(scale.epoch_ns(1000), 50_000);
        assert_eq!(scale.epoch_ns(1010), 50_005);
        assert_eq!(scale.epoch_ns(990), 49_995);
        assert!((0..5000).map(|ticks| scale.epoch_ns(ticks)).is_sorted());
    }

    #[test]
    fn long_times_do_not_overflow() {
        let clock = ManualClock::starting_at(u64::MAX / 4);
        let scale = Clock::Manual(clock.clone()).scale();
        assert_eq!(scale.epoch_ns(clock.now_ns()), u64::MAX / 4);
        let tsc = Anchor { ticks: 1, instant: Instant::now(), epoch_ns: 1_800_000_000_000_000_000 }.scale_with(0.33);
        let ten_years_of_ticks = 3_000_000_000u64 * 86_400 * 3650;
        let ten_years_ns = (ten_years_of_ticks as f64 * 0.33) as u64;
        let error = (tsc.epoch_ns(1 + ten_years_of_ticks) - 1_800_000_000_000_000_000).abs_diff(ten_years_ns);
        assert!(error < 1_000_000, "{error}");
    }

    #[test]
    fn ticks_are_never_zero() {
        assert_ne!(Clock::Manual(ManualClock::starting_at(0)).ticks(), 0);
        assert_ne!(Clock::monotonic().ticks(), 0);
    }
}
