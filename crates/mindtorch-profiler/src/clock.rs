//! Time: raw ticks while recording, nanoseconds since the Unix epoch when a trace is built.
//!
//! Recording only ever calls [`Clock::ticks`]. A tick is a cycle of the invariant time-stamp counter where the processor
//! and the kernel vouch for it (two reads cost about 20 ns), else a nanosecond of the monotonic clock. What a tick is
//! worth is found without waiting for long: the clock notes where both time lines stood when it was created ([`Anchor`])
//! and again when a trace is built, and the two points give the rate. Reading both time lines takes some tens of
//! nanoseconds, so a duration is off by no more than that. While a machine is suspended one time line may stand still and
//! the other go on, or begin anew: a rate that is far from the one measured at the beginning is not believed, and both
//! time lines are tied together again.

use crate::spool::SpoolClock;
use std::sync::{
    Arc, Mutex, OnceLock,
    atomic::{AtomicU64, Ordering},
};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Once the rate has been measured over this long it is kept, so that later traces agree to the nanosecond.
const SETTLED: Duration = Duration::from_secs(10);
/// How long the first measurement takes, once a process: enough to know the rate to a part in some thousands.
const FIRST_LOOK: Duration = Duration::from_micros(200);
/// A rate that differs from the first by more than this part was measured across a suspension.
const BELIEVABLE: f64 = 0.01;

/// A source of ticks.
#[derive(Clone, Debug)]
pub(crate) enum Clock {
    /// The processor's invariant time-stamp counter.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only x86-64 has this counter"))]
    Tsc(Arc<Calibration>),
    /// The operating system's monotonic clock: a tick is a nanosecond.
    Monotonic(Arc<Anchor>),
    /// A clock that a test moves: a tick is a nanosecond since the epoch.
    Manual(ManualClock),
}

impl Clock {
    /// The best clock that this machine has.
    pub(crate) fn system() -> Self {
        if tsc_is_reliable() { Self::tsc() } else { Self::monotonic() }
    }

    pub(crate) fn tsc() -> Self {
        Self::Tsc(Arc::new(Calibration::new(read_tsc, Anchor::now)))
    }

    pub(crate) fn monotonic() -> Self {
        Self::Monotonic(Arc::new(Anchor::now(read_monotonic)))
    }

    pub(crate) fn is_tsc(&self) -> bool {
        matches!(self, Self::Tsc(_))
    }

    /// The current time in ticks. Never 0, which records use for "not yet". Whoever records reads the time-stamp counter itself,
    /// if that is the clock, without this in its way.
    #[inline(never)]
    pub(crate) fn ticks(&self) -> u64 {
        match self {
            Self::Tsc(_) => read_tsc(),
            Self::Monotonic(_) => read_monotonic(),
            Self::Manual(clock) => clock.read(),
        }
    }

    /// How to turn this clock's ticks into nanoseconds since the epoch, by what is known now.
    pub(crate) fn scale(&self) -> TickScale {
        match self {
            Self::Tsc(calibration) => calibration.scale(),
            Self::Monotonic(origin) => origin.scale_with(1.0),
            Self::Manual(_) => TickScale::identity(),
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
pub struct ManualClock {
    now_ns: Arc<AtomicU64>,
    /// Nanoseconds that the clock moves after each reading by a recorder.
    step_ns: u64,
}

impl ManualClock {
    /// A clock that stands at `now_ns` nanoseconds since the epoch (at least 1).
    pub fn starting_at(now_ns: u64) -> Self {
        Self { now_ns: Arc::new(AtomicU64::new(now_ns.max(1))), step_ns: 0 }
    }

    /// The same clock, which also moves forward by `step_ns` after each reading by a recorder. Recording then takes a time
    /// that is known: `step_ns` for each reading of the clock.
    ///
    /// ```
    /// use mindtorch_profiler::{ManualClock, Recorder, Session};
    /// let clock = ManualClock::starting_at(1_000).with_step(100);
    /// let recorder = Recorder::with_manual_clock(&clock);
    /// let session = Session::builder().on(&recorder).start();
    /// assert_eq!(session.stop().duration_ns(), 100);
    /// ```
    #[must_use]
    pub fn with_step(self, step_ns: u64) -> Self {
        Self { step_ns, ..self }
    }

    /// Moves the clock forward.
    pub fn advance(&self, by_ns: u64) {
        self.now_ns.fetch_add(by_ns, Ordering::SeqCst);
    }

    /// Puts the clock to another time (at least 1), also an earlier one, as a broken clock might.
    pub fn set(&self, now_ns: u64) {
        self.now_ns.store(now_ns.max(1), Ordering::SeqCst);
    }

    /// Where the clock stands. Does not move it.
    pub fn now_ns(&self) -> u64 {
        self.now_ns.load(Ordering::SeqCst)
    }

    /// The time that a recorder reads.
    fn read(&self) -> u64 {
        self.now_ns.fetch_add(self.step_ns, Ordering::SeqCst)
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
    /// Ticks that are nanoseconds.
    pub(crate) fn identity() -> Self {
        Self { origin_ticks: 0, origin_epoch_ns: 0, multiplier: 1 << Self::SHIFT }
    }

    /// As files have it.
    pub(crate) fn spooled(&self) -> SpoolClock {
        let Self { origin_ticks, origin_epoch_ns, multiplier } = *self;
        SpoolClock { origin_ticks, origin_epoch_ns, multiplier }
    }

    pub(crate) fn of_spool(clock: &SpoolClock) -> Self {
        let SpoolClock { origin_ticks, origin_epoch_ns, multiplier } = *clock;
        Self { origin_ticks, origin_epoch_ns, multiplier }
    }

    const SHIFT: u32 = 40;

    /// Nanoseconds since the epoch. Monotonic in `ticks`, also for ticks before the origin.
    #[inline]
    pub(crate) fn epoch_ns(&self, ticks: u64) -> u64 {
        let since_origin = ticks.wrapping_sub(self.origin_ticks).cast_signed();
        let ns = (i128::from(since_origin) * i128::from(self.multiplier)) >> Self::SHIFT;
        self.origin_epoch_ns.saturating_add_signed(ns as i64)
    }

    /// The inverse of [`Self::epoch_ns`], to the nanosecond. Never 0.
    pub(crate) fn ticks(&self, epoch_ns: u64) -> u64 {
        let since_origin = i128::from(epoch_ns) - i128::from(self.origin_epoch_ns);
        let ticks = (since_origin << Self::SHIFT) / i128::from(self.multiplier.max(1));
        u64::try_from(i128::from(self.origin_ticks) + ticks).unwrap_or(0).max(1)
    }

    /// The latest point that is no more than so many nanoseconds after this one.
    pub(crate) fn ticks_after(&self, from: u64, ns: u64) -> u64 {
        let ticks = (u128::from(ns) << Self::SHIFT) / u128::from(self.multiplier.max(1));
        from.saturating_add(u64::try_from(ticks).unwrap_or(u64::MAX))
    }

    /// The fewest ticks that are a nanosecond, or more.
    pub(crate) fn nanosecond(&self) -> u64 {
        (1u64 << Self::SHIFT).div_ceil(self.multiplier.max(1))
    }

    /// Nanoseconds from one point to a later one; 0 if it is not later.
    #[inline]
    pub(crate) fn ns_between(&self, from: u64, to: u64) -> u64 {
        ((u128::from(to.saturating_sub(from)) * u128::from(self.multiplier)) >> Self::SHIFT) as u64
    }
}

/// One instant on three time lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Anchor {
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
    look: fn(fn() -> u64) -> Anchor,
    /// Nanoseconds a tick, measured when the clock was created.
    first_rate: f64,
    state: Mutex<CalibrationState>,
}

#[derive(Clone, Copy, Debug)]
struct CalibrationState {
    origin: Anchor,
    settled: Option<f64>,
}

impl Calibration {
    /// `look` reads the counter and the system's clock together.
    fn new(read: fn() -> u64, look: fn(fn() -> u64) -> Anchor) -> Self {
        let origin = look(read);
        let mut now = look(read);
        while now.instant - origin.instant < FIRST_LOOK {
            now = look(read);
        }
        let first_rate = rate(&origin, &now).unwrap_or(1.0);
        Self { read, look, first_rate, state: Mutex::new(CalibrationState { origin, settled: None }) }
    }

    fn scale(&self) -> TickScale {
        let now = (self.look)(self.read);
        // In a forked child a thread that no longer exists may hold the lock. What is known without it will do.
        let Ok(mut state) = self.state.try_lock() else { return now.scale_with(self.first_rate) };
        let measured = rate(&state.origin, &now);
        let elapsed = now.instant.saturating_duration_since(state.origin.instant);
        let known = state.settled.unwrap_or(self.first_rate);
        match measured.filter(|measured| (measured / known - 1.0).abs() < BELIEVABLE) {
            // Over a moment, the first measurement is the better one.
            Some(_) if elapsed < FIRST_LOOK => {}
            Some(measured) if state.settled.is_none() => {
                if elapsed >= SETTLED {
                    state.settled = Some(measured);
                }
                return state.origin.scale_with(measured);
            }
            Some(_) => {}
            None => state.origin = now,
        }
        state.origin.scale_with(known)
    }
}

/// Nanoseconds a tick between two anchors, if the counter went forward.
fn rate(from: &Anchor, to: &Anchor) -> Option<f64> {
    let ticks = to.ticks.checked_sub(from.ticks).filter(|&ticks| ticks > 0)?;
    let elapsed = to.instant.saturating_duration_since(from.instant);
    Some(elapsed.as_nanos() as f64 / ticks as f64)
}

/// Nanoseconds of the monotonic clock since the first call in this process, plus one.
fn read_monotonic() -> u64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed().as_nanos() as u64 + 1
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
#[expect(unsafe_code, reason = "the time-stamp counter is read by an intrinsic")]
pub(crate) fn read_tsc() -> u64 {
    // SAFETY: RDTSC exists on every x86-64 processor and has no effect on memory.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
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

#[cfg(all(target_arch = "x86_64", not(miri)))]
fn tsc_is_invariant() -> bool {
    use core::arch::x86_64::__cpuid;
    const ADVANCED_POWER: u32 = 0x8000_0007;
    __cpuid(0x8000_0000).eax >= ADVANCED_POWER && __cpuid(ADVANCED_POWER).edx & (1 << 8) != 0
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn tsc_is_invariant() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_agrees_with_the_systems() {
        let clock = Clock::monotonic();
        let outer = Instant::now();
        let first = clock.ticks();
        let inner = Instant::now();
        while inner.elapsed() < Duration::from_micros(1) {
            std::hint::spin_loop();
        }
        let at_least = inner.elapsed().as_nanos() as u64;
        let last = clock.ticks();
        let at_most = outer.elapsed().as_nanos() as u64;
        let scale = clock.scale();
        let measured = scale.epoch_ns(last) - scale.epoch_ns(first);
        // The intervals are nested and the clock is the same, so this holds at any speed.
        assert!((at_least..=at_most).contains(&measured), "{at_least} <= {measured} <= {at_most}");
    }

    #[test]
    fn every_clock_of_the_system_tells_the_time_since_the_epoch() {
        const HOUR: u64 = 3600 * 1_000_000_000;
        for clock in [Clock::monotonic(), Clock::system()] {
            let told = clock.scale().epoch_ns(clock.ticks());
            let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
            // A wrong origin or unit is off by years.
            assert!(told.abs_diff(epoch) < HOUR, "{} says {told}, the system {epoch}", clock.name());
        }
    }

    #[test]
    fn the_tsc_is_used_where_it_is_reliable() {
        assert_eq!(Clock::system().name(), if tsc_is_reliable() { "tsc" } else { "monotonic" });
    }

    #[test]
    fn a_manual_clock_moves_by_its_step_after_each_reading() {
        let manual = ManualClock::starting_at(1_000).with_step(7);
        let clock = Clock::Manual(manual.clone());
        assert_eq!([clock.ticks(), clock.ticks()], [1_000, 1_007]);
        manual.advance(100);
        assert_eq!((clock.ticks(), manual.now_ns(), manual.now_ns()), (1_114, 1_121, 1_121));
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
    fn nanoseconds_and_ticks_are_inverse() {
        let scale = TickScale { origin_ticks: 1_000_000, origin_epoch_ns: 50_000, multiplier: (1 << 40) / 3 };
        for epoch_ns in [50_000, 50_001, 123_456_789, 49_000] {
            assert!(scale.epoch_ns(scale.ticks(epoch_ns)).abs_diff(epoch_ns) <= 1);
        }
        assert_eq!(scale.ticks(0).max(1), scale.ticks(0));
    }

    thread_local! {
        /// Where the two time lines of a pretended machine stand: ticks, and the system's nanoseconds.
        static MACHINE: std::cell::Cell<(u64, u64)> = const { std::cell::Cell::new((0, 0)) };
    }

    fn pretended_anchor(read: fn() -> u64) -> Anchor {
        static START: OnceLock<Instant> = OnceLock::new();
        let (ticks, ns) = MACHINE.get();
        // Looking takes time: 3 ticks a nanosecond.
        MACHINE.set((ticks + 3_000, ns + 1_000));
        let instant = *START.get_or_init(Instant::now) + Duration::from_nanos(ns);
        Anchor { ticks: read(), instant, epoch_ns: 1_000_000_000 + ns }
    }

    /// What a millisecond of work takes by a clock of that machine, after `happens` has happened to the time lines.
    fn millisecond_after(happens: impl FnOnce(u64, u64) -> (u64, u64)) -> u64 {
        MACHINE.set((1_000_000_000, 0));
        let calibration = Calibration::new(|| MACHINE.get().0, pretended_anchor);
        let advance = |ns: u64| MACHINE.set((MACHINE.get().0 + 3 * ns, MACHINE.get().1 + ns));
        advance(12_000_000_000);
        let (ticks, ns) = MACHINE.get();
        MACHINE.set(happens(ticks, ns));
        let from = MACHINE.get().0;
        advance(1_000_000);
        calibration.scale();
        calibration.scale().ns_between(from, from + 3_000_000)
    }

    #[test]
    fn a_suspended_machine_does_not_bend_time() {
        let hours = 8 * 3600 * 1_000_000_000u64;
        let goes_on = millisecond_after(|ticks, ns| (ticks + 3 * hours, ns));
        let starts_anew = millisecond_after(|_, ns| (5, ns + hours));
        let nothing = millisecond_after(|ticks, ns| (ticks, ns));
        for (case, took) in [("goes on", goes_on), ("starts anew", starts_anew), ("nothing", nothing)] {
            assert!(took.abs_diff(1_000_000) < 20, "{case}: {took} ns");
        }
    }

    #[test]
    fn ticks_are_never_zero() {
        assert_ne!(Clock::Manual(ManualClock::starting_at(0)).ticks(), 0);
        assert_ne!(Clock::monotonic().ticks(), 0);
    }
}
