//! Processes that are killed, run out of room, or fork. Each has a process of its own: the test runs itself again.

#![expect(unsafe_code, reason = "the standard library has no fork")]

use super::super::BlockState;
use super::*;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

const SPOOL_DIRECTORY: &str = "MINDTORCH_TEST_SPOOL";

/// The directory that the scenario of this process is to spool to, if it is one.
fn scenario() -> Option<PathBuf> {
    std::env::var_os(SPOOL_DIRECTORY).map(PathBuf::from)
}

/// This program, set up to run one test as a scenario, by a shell that does `first`.
fn program(test: &str, first: &str, directory: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{first}; exec \"$0\" \"$@\"")]).arg(std::env::current_exe().unwrap());
    command.args([&format!("spool::tests::process::{test}"), "--exact", "--nocapture", "--test-threads", "1"]);
    command.env(SPOOL_DIRECTORY, directory).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

const BLOCKS: u64 = 20;
const IN_BLOCK: u64 = 64;

/// Records blocks, of which the last is not full, and stays.
fn record_some(directory: &Path) -> (Spool, Vec<MappedBlock>) {
    let spool = Spool::create(directory).unwrap();
    spool.log_all([thread(1, "main"), edge(1, &[])]);
    let mut blocks = Vec::new();
    for number in 0..BLOCKS {
        spool.log(Entry::Name { id: number as u32, text: "a name".into() });
        let block = spool.block(1, number * IN_BLOCK, IN_BLOCK as usize).unwrap();
        let is_last = number + 1 == BLOCKS;
        for at in 0..if is_last { 10 } else { IN_BLOCK } {
            store(&block, at as usize, &record(RecordKind::Op, number));
        }
        if !is_last {
            block.seal(IN_BLOCK as usize, IN_BLOCK as u32);
        }
        blocks.push(block);
    }
    (spool, blocks)
}

fn assert_all_there(directory: &Path) {
    let [session] = &sessions(directory).unwrap()[..] else { panic!("there is one session") };
    let read = read_soundly(session).unwrap();
    assert_ne!(read.begin.unwrap().pid, std::process::id());
    assert_eq!(read.damage.to_string(), "the recording was not stopped");
    assert_eq!((read.names.len() as u64, read.threads.len()), (BLOCKS, 1));
    let blocks = &read.threads[0].blocks;
    let slots: u64 = blocks.iter().map(|block| block.slots.len() as u64).sum();
    assert_eq!((blocks.len() as u64, slots), (BLOCKS, (BLOCKS - 1) * IN_BLOCK + 10));
    let (last, sealed) = blocks.split_last().unwrap();
    assert!(last.state == BlockState::Open && sealed.iter().all(|block| block.state == BlockState::Sealed));
}

#[test]
fn a_process_that_is_killed_leaves_all_that_it_recorded() {
    if let Some(directory) = scenario() {
        let _spool = record_some(&directory);
        std::io::stdout().write_all(b"\nrecorded\n").unwrap();
        // Until the other end is closed, which is not before this process is over.
        let _ = std::io::stdin().read(&mut [0]);
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut child =
        program("a_process_that_is_killed_leaves_all_that_it_recorded", ":", directory.path()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "recorded"));
    assert_all_there(directory.path());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_all_there(directory.path());
}

#[test]
fn a_process_that_aborts_leaves_all_that_it_recorded() {
    if let Some(directory) = scenario() {
        let _spool = record_some(&directory);
        std::process::abort();
    }
    let directory = tempfile::tempdir().unwrap();
    let test = "a_process_that_aborts_leaves_all_that_it_recorded";
    let outcome = program(test, "ulimit -c 0", directory.path()).output().unwrap();
    assert!(!outcome.status.success());
    assert_all_there(directory.path());
}

#[test]
fn where_there_is_no_room_blocks_are_refused_and_entries_counted() {
    if let Some(directory) = scenario() {
        let spool = Spool::create(&directory).unwrap();
        spool.log(thread(1, "main"));
        let blocks: Vec<_> = (0..17).map_while(|base| spool.block(1, base, 1).ok()).collect();
        assert_eq!(blocks.len(), 16);
        for block in &blocks {
            store(block, 0, &record(RecordKind::Op, 1));
        }
        let error = spool.block(1, 16, 1).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EFBIG));
        let text = "x".repeat(300_000);
        for id in 0..10 {
            spool.log(Entry::Name { id, text: text.as_str().into() });
        }
        let trouble = spool.trouble().unwrap();
        assert_eq!((trouble.entries, trouble.first), (4, error.to_string()));
        // A short one fits, and says that others did not.
        spool.log(Entry::Lost { events: 1 });
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let test = "where_there_is_no_room_blocks_are_refused_and_entries_counted";
    // Two megabytes, in units of 512 bytes.
    let outcome = program(test, "ulimit -f 4096", directory.path()).output().unwrap();
    assert!(outcome.status.success(), "{outcome:?}");
    let read = read_soundly(&sessions(directory.path()).unwrap()[0]).unwrap();
    assert_eq!((read.names.len(), read.threads[0].blocks.len(), read.lost_events), (6, 16, 1));
    assert_eq!(
        read.damage.to_string(),
        "the recording was not stopped; entries of the log that could not be written: 4"
    );
}

#[test]
fn where_there_is_no_room_for_a_spool_nothing_is_left_of_it() {
    if let Some(directory) = scenario() {
        let error = Spool::create(&directory).unwrap_err().to_string();
        let too_large = std::io::Error::from_raw_os_error(libc::EFBIG);
        assert_eq!(error, format!("cannot create a spool in {}: {too_large}", directory.display()));
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let test = "where_there_is_no_room_for_a_spool_nothing_is_left_of_it";
    let outcome = program(test, "ulimit -f 500", directory.path()).output().unwrap();
    assert!(outcome.status.success(), "{outcome:?}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn what_a_forked_child_stores_is_not_in_its_parents_spool() {
    if let Some(directory) = scenario() {
        let (spool, blocks) = record_some(&directory);
        let mut held = spool.hold();
        // SAFETY: this process has no other thread that does anything, and the child leaves by `_exit`.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let left = held.leave_to_parent().is_ok();
            drop(held);
            let last = blocks.last().unwrap();
            store(last, 10, &record(RecordKind::Op, 1));
            last.slots()[0][1].store(5, Ordering::Relaxed);
            last.seal(11, 11);
            spool.log(Entry::Lost { events: 1 });
            let is_refused = spool.block(1, 0, 1).is_err() && spool.remove().is_ok();
            // SAFETY: the call has no preconditions, and runs no destructors, which are the parent's.
            unsafe { libc::_exit(i32::from(!left || !is_refused)) };
        }
        let mut status = 1;
        // SAFETY: the place for the status is good, and `pid` is a child of this process.
        assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
        assert_eq!(status, 0);
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let test = "what_a_forked_child_stores_is_not_in_its_parents_spool";
    let outcome = program(test, ":", directory.path()).output().unwrap();
    assert!(outcome.status.success(), "{outcome:?}");
    assert_all_there(directory.path());
    let read = read_soundly(&sessions(directory.path()).unwrap()[0]).unwrap();
    assert_eq!((read.lost_events, read.threads[0].blocks.last().unwrap().slots[0][1]), (0, 0));
}
