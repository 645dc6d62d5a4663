//! Ranks that were made up, so that what is to be found out about them is known.

use super::*;
use mindtorch_profiler::Trace;
use std::fmt::Write;

/// When all begin, by the true clock.
const EPOCH_NS: i64 = 1_790_900_000_000_000_000;
const STEP_NS: i64 = 10_000_000;
const STEPS: u64 = 40;

/// A rank of a run whose steps each have two collectives, the second of which ends the step.
#[derive(Clone, Copy, Default)]
struct Rank {
    rank: u32,
    /// How far its clock is ahead.
    ahead_ns: i64,
    /// How much too fast it runs, in millionths.
    drift_ppm: f64,
    /// How much later than others it comes to the first collective of a step.
    late_ns: i64,
    without_collectives: bool,
    without_steps: bool,
    /// The steps before this one are not in its file.
    first_step: u64,
}

impl Rank {
    /// What its clock shows at a time of the true one, since all began.
    fn clock(&self, at_ns: i64) -> i64 {
        at_ns + self.ahead_ns + (at_ns as f64 * self.drift_ppm / 1e6).round() as i64
    }

    fn trace(&self) -> Trace {
        let mut events = String::new();
        let mut add = |name: &str, category: &str, thread: u32, start: i64, end: i64| {
            let (start, end) = (self.clock(start), self.clock(end));
            let (ts, dur) = (start as f64 / 1e3, (end - start) as f64 / 1e3);
            write!(
                events,
                r#",{{"ph":"X","cat":"{category}","name":"{name}","pid":7,"tid":{thread},"ts":{ts:.3},"dur":{dur:.3}}}"#
            )
            .unwrap();
        };
        for step in self.first_step..STEPS {
            let start = step as i64 * STEP_NS;
            if !self.without_steps {
                add(&format!("ProfilerStep#{step}"), "user_annotation", 7, start, start + STEP_NS);
            }
            add("aten::mm", "cpu_op", 7, start + 1_000, start + 2_000_000 + self.late_ns);
            if !self.without_collectives {
                // Ends are the same up to a microsecond, which is not the same one each time.
                let noise = ((step * 7 + u64::from(self.rank) * 13) % 11) as i64 * 100 - 500;
                let arrival = start + 2_000_000 + self.late_ns;
                add("gloo:all_reduce", "user_annotation", 8, arrival, start + 6_000_000 + noise);
                add("gloo:all_reduce", "user_annotation", 8, start + 7_000_000, start + 9_000_000 + noise);
                add("gloo:send", "user_annotation", 8, start + 9_000_000, start + 9_100_000);
            }
        }
        let json = format!(r#"{{"baseTimeNanoseconds":{EPOCH_NS},"traceEvents":[{}]}}"#, &events[1..]);
        Trace::read(json.as_bytes()).unwrap()
    }

    fn anchors(&self) -> Anchors {
        Anchors::of(&self.trace(), self.rank)
    }
}

fn align(ranks: &[Rank]) -> Vec<Alignment> {
    let mut aligner = Aligner::new();
    ranks.iter().map(|rank| aligner.align(&rank.anchors())).collect()
}

#[test]
fn clocks_are_aligned_by_the_ends_of_collectives() {
    let ahead = [0, 3_000_000, -250_000_000, 86_400_000_000_000];
    let ranks: Vec<Rank> =
        (0..).zip(ahead).map(|(rank, ahead_ns)| Rank { rank, ahead_ns, ..Rank::default() }).collect();
    let found = align(&ranks);
    assert_eq!(found[0].compared_by, ClockSource::Reference);
    for (found, ahead) in found.iter().zip(ahead).skip(1) {
        assert_eq!((found.compared_by, found.shared), (ClockSource::Collectives, 2 * STEPS as usize));
        assert!((found.offset_ns + ahead).abs() <= 1_000, "{found:?}");
        assert!(found.spread_ns <= 1_000 && found.worst_ns <= 2_000, "{found:?}");
        assert_eq!(found.drift_ppm, None);
    }
}

#[test]
fn a_rank_that_comes_late_is_not_taken_for_one_whose_clock_is_late() {
    let late = Rank { rank: 1, late_ns: 3_000_000, ahead_ns: 500_000, ..Rank::default() };
    let found = align(&[Rank::default(), late])[1];
    assert!((found.offset_ns + 500_000).abs() <= 1_000, "{found:?}");
}

#[test]
fn drift_is_told_and_left_as_it_is() {
    let fast = Rank { rank: 1, drift_ppm: 200.0, ..Rank::default() };
    let found = align(&[Rank::default(), fast])[1];
    let drift = found.drift_ppm.unwrap();
    assert!((drift - 200.0).abs() < 10.0, "{drift}");
    // In the middle of the run the clock is right, and at its ends off by half of what it gained.
    let gained = (STEPS as i64 * STEP_NS) as f64 * 200e-6;
    assert!((found.offset_ns as f64 + gained / 2.0).abs() < 5_000.0, "{found:?}");
    assert!(found.worst_ns as f64 > gained * 0.4 && (found.worst_ns as f64) < gained * 0.6, "{found:?}");
}

#[test]
fn without_collectives_steps_are_compared_and_without_steps_nothing() {
    let lone = Rank { without_collectives: true, ..Rank::default() };
    let other = Rank { rank: 1, ahead_ns: 77_000, without_collectives: true, first_step: 5, ..Rank::default() };
    let silent = Rank { rank: 2, ahead_ns: 5_000, without_steps: true, without_collectives: true, ..Rank::default() };
    let found = align(&[lone, other, silent]);
    assert_eq!((found[1].compared_by, found[1].offset_ns, found[1].shared), (ClockSource::Steps, -77_000, 35));
    assert_eq!((found[2].compared_by, found[2].offset_ns, found[2].shared), (ClockSource::WallClock, 0, 0));
}

#[test]
fn collectives_of_files_that_begin_later_are_matched_by_their_step() {
    let later = Rank { rank: 1, first_step: 11, ahead_ns: -4_000_000, ..Rank::default() };
    let found = align(&[Rank::default(), later])[1];
    assert_eq!(found.shared, 2 * 29);
    assert!((found.offset_ns - 4_000_000).abs() <= 1_000, "{found:?}");
}

#[test]
fn a_rank_may_be_connected_to_the_first_by_another() {
    let middle = Rank { rank: 1, ahead_ns: 1_000_000, first_step: 20, ..Rank::default() };
    let mut aligner = Aligner::new();
    let early = |anchors: Anchors| Anchors {
        collectives: anchors.collectives.into_iter().filter(|one| one.step < Some(30)).collect(),
        steps: Vec::new(),
        ..anchors
    };
    let late = |anchors: Anchors| Anchors {
        collectives: anchors.collectives.into_iter().filter(|one| one.step >= Some(30)).collect(),
        steps: Vec::new(),
        ..anchors
    };
    aligner.align(&early(Rank::default().anchors()));
    assert_eq!(aligner.align(&middle.anchors()).shared, 20);
    let last = aligner.align(&late(Rank { rank: 2, ahead_ns: -2_000_000, ..Rank::default() }.anchors()));
    assert_eq!((last.compared_by, last.shared), (ClockSource::Collectives, 20));
    assert!((last.offset_ns - 2_000_000).abs() <= 3_000, "{last:?}");
}

#[test]
fn the_rank_that_others_wait_for_is_named_whatever_the_clocks_say() {
    let late = |rank, late_ns| Rank { rank, late_ns, ahead_ns: i64::from(rank) * 123_456_789, ..Rank::default() };
    let ranks = [late(2, 0), late(0, 0), late(1, 3_000_000), late(3, 500_000)].map(|rank| rank.anchors());
    let found = stragglers(&ranks);
    assert_eq!((found.by, found.steps, found.collectives), (StragglerSource::Collectives, 40, 80));
    let straggler = found.straggler.unwrap();
    assert_eq!((straggler.rank, straggler.last_in, straggler.of), (1, 40, 40));
    // Two waited 3 ms and one 2.5 ms, in the mean.
    assert!(straggler.caused_ns.abs_diff(2_833_333) < 3_000, "{straggler:?}");
    let waited: Vec<(u32, u64)> = found.ranks.iter().map(|row| (row.rank, row.waited_ns / 40)).collect();
    for ((rank, waited), expected) in waited.into_iter().zip([3_000_000u64, 0, 3_000_000, 2_500_000]) {
        assert!(waited.abs_diff(expected) < 3_000, "rank {rank} waited {waited}");
    }
    assert_eq!(found.last_of_steps.len(), 40);
    assert!(found.last_of_steps.iter().all(|last| last.rank == 1));
    let mut other_order = ranks.to_vec();
    other_order.reverse();
    assert_eq!(stragglers(&other_order), found);
}

#[test]
fn nobody_is_named_where_nobody_stands_out() {
    let equal: Vec<Anchors> = (0..4).map(|rank| Rank { rank, ..Rank::default() }.anchors()).collect();
    let found = stragglers(&equal);
    assert_eq!(found.collectives, 80);
    assert_eq!(found.straggler, None);
    assert_eq!(stragglers(&[]).straggler, None);
    assert_eq!(stragglers(&equal[..1]).steps, 0);
}

#[test]
fn without_collectives_the_longest_step_counts() {
    let of = |rank, length: u64| {
        let anchors = Rank { rank, without_collectives: true, ..Rank::default() }.anchors();
        let steps = anchors.steps.iter().map(|step| crate::Step { end_ns: step.start_ns + length, ..*step }).collect();
        Anchors { steps, ..anchors }
    };
    let found = stragglers(&[of(0, 9_000_000), of(1, 9_900_000), of(2, 9_100_000)]);
    assert_eq!((found.by, found.collectives), (StragglerSource::Steps, 0));
    let expected = Straggler { rank: 1, last_in: 40, of: 40, caused_ns: 850_000 };
    assert_eq!(found.straggler, Some(expected));
}

#[test]
fn kernels_are_matched_by_group_and_sequence() {
    let json = r#"{"traceEvents": [
        {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(Args<4096ul>)", "pid": 0, "tid": 7,
         "ts": 10, "dur": 5, "args": {"device": 0, "stream": 7, "Collective name": "allreduce", "Process Group Name": "1", "Seq": 41}},
        {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllGather_RING_LL(Args<4096ul>)", "pid": 0, "tid": 7,
         "ts": 20, "dur": 5, "args": {"device": 0, "stream": 7}},
        {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllGather_RING_LL(Args<4096ul>)", "pid": 0, "tid": 7,
         "ts": 30, "dur": 5, "args": {"device": 0, "stream": 7}},
        {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_SendRecv(Args<4096ul>)", "pid": 0, "tid": 7, "ts": 40, "dur": 5},
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 50, "dur": 5}
    ]}"#;
    let trace = Trace::read(json.as_bytes()).unwrap();
    let found = Anchors::of(&trace, 0).collectives;
    let keys: Vec<_> = found.iter().map(|one| (&*one.key.name, &*one.key.group, one.key.occasion)).collect();
    let gather = "ncclDevKernel_AllGather_RING_LL";
    let expected = [
        ("allreduce", "1", Occasion::Sequence(41)),
        (gather, "", Occasion::OfTrace(0)),
        (gather, "", Occasion::OfTrace(1)),
    ];
    assert_eq!(keys, expected);
}

#[test]
fn a_profile_has_what_the_rank_did() {
    let rank = Rank { rank: 3, late_ns: 1_000_000, ..Rank::default() };
    let trace = rank.trace();
    let profile = RankProfile::of(&trace, 3, &crate::steps(&trace));
    assert_eq!((profile.rank, profile.pid, profile.steps), (3, 7, 40));
    assert_eq!(profile.median_step_ns, Some(STEP_NS as f64));
    assert_eq!((profile.busy_ns, profile.idle_ns), (40 * 2_999_000, 40 * 7_001_000));
    assert_eq!(profile.top.unwrap().name, "aten::mm");
    assert_eq!(profile.memory_peaks, []);
}

#[test]
fn the_work_of_devices_counts_once_where_it_overlaps() {
    let json = r#"{"traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": 0, "dur": 100},
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10, "dur": 20},
        {"ph": "X", "cat": "gpu_memcpy", "name": "copy", "pid": 0, "tid": 8, "ts": 20, "dur": 20},
        {"ph": "X", "cat": "gpu_user_annotation", "name": "scope", "pid": 0, "tid": 7, "ts": 0, "dur": 90},
        {"ph": "i", "s": "t", "name": "[memory]", "pid": 9, "tid": 9, "ts": 5,
         "args": {"Total Allocated": 300, "Bytes": 300, "Device Id": 0, "Device Type": 1, "Addr": 1}},
        {"ph": "i", "s": "t", "name": "[memory]", "pid": 9, "tid": 9, "ts": 6,
         "args": {"Total Allocated": 0, "Bytes": -300, "Device Id": 0, "Device Type": 1, "Addr": 1}}
    ]}"#;
    let profile = RankProfile::of(&Trace::read(json.as_bytes()).unwrap(), 0, &[]);
    assert_eq!((profile.busy_ns, profile.idle_ns), (30_000, 0));
    let peak = DevicePeak { device: "cuda:0".to_owned(), bytes: 300 };
    assert_eq!(profile.memory_peak(), Some(&peak));
}

#[test]
fn a_spread_names_the_ranks_at_its_ends() {
    let found = Spread::of([(4, 10), (1, 30), (2, 20), (3, 30), (5, 10)]).unwrap();
    assert_eq!((found.lowest, found.median, found.highest.rank), (Extreme { rank: 4, value: 10 }, 20, 1));
    assert_eq!(Spread::of([]), None);
}
