//! The command with standard streams that are closed or full.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const CLOSED: &str = "mtprof: cannot write the answer: standard output is closed; redirect it to a file, or to /dev/null to \
                      discard the answer\n";
const FULL: &str = "mtprof: cannot write the answer: No space left on device (os error 28)\n";

fn trace() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/train.json"))
}

/// Runs `mtprof` with arguments and redirections of the shell; `$TRACE` is a trace and `$OUT` a file to write.
fn mtprof(arguments: &str, out: &PathBuf) -> Output {
    Command::new("sh")
        .args(["-c", &format!("exec \"$MTPROF\" {arguments}")])
        .env("MTPROF", env!("CARGO_BIN_EXE_mtprof"))
        .env("TRACE", trace())
        .env("OUT", out)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn status_and_errors(arguments: &str) -> (i32, String) {
    let done = mtprof(arguments, &PathBuf::new());
    (done.status.code().unwrap(), String::from_utf8(done.stderr).unwrap())
}

#[test]
fn a_closed_standard_output_is_an_error() {
    let help = ["--help", "summary --help", "--version", "man"];
    for command in ["summary $TRACE", "summary --json $TRACE", "convert $TRACE - --to chrome"].into_iter().chain(help) {
        assert_eq!(status_and_errors(&format!("{command} >&-")), (2, CLOSED.to_owned()), "{command}");
        assert_eq!(status_and_errors(&format!("{command} >&- 2>&-")), (2, String::new()), "{command}");
    }
}

#[test]
fn a_full_standard_output_is_an_error() {
    for command in ["summary $TRACE", "summary --json $TRACE", "--help", "--version", "completions bash"] {
        assert_eq!(status_and_errors(&format!("{command} >/dev/full")), (2, FULL.to_owned()), "{command}");
    }
}

#[test]
fn a_standard_output_that_is_open_for_reading_is_an_error() {
    let (status, errors) = status_and_errors("summary $TRACE 1</dev/null");
    assert_eq!((status, &errors[..]), (2, "mtprof: cannot write the answer: Bad file descriptor (os error 9)\n"));
}

#[test]
fn an_answer_may_be_discarded() {
    assert_eq!(status_and_errors("summary $TRACE >/dev/null"), (0, String::new()));
    assert_eq!(status_and_errors("summary $TRACE <>/dev/null 1>&0"), (0, String::new()));
}

#[test]
fn a_reader_that_goes_is_no_error() {
    for command in ["summary", "--help"] {
        let mut mtprof = Command::new(env!("CARGO_BIN_EXE_mtprof"));
        mtprof.arg(command).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if command == "summary" {
            mtprof.arg(trace());
        }
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let done = mtprof.stdout(writer).output().unwrap();
        assert_eq!((done.status.code(), &done.stderr[..]), (Some(0), &b""[..]), "{command}");
    }
}

#[test]
fn files_do_not_get_what_is_meant_for_a_closed_stream() {
    let scratch = tempfile::tempdir().unwrap();
    let [usual, out] = ["usual.folded", "out.folded"].map(|name| scratch.path().join(name));
    assert!(mtprof("convert $TRACE $OUT", &usual).status.success());
    for closed in [">&-", ">&- 2>&-", "2>&-", "<&- >&- 2>&-"] {
        let status = mtprof(&format!("convert $TRACE $OUT {closed}"), &out).status.code();
        assert_eq!(status, Some(if closed == "2>&-" { 0 } else { 2 }), "{closed}");
        assert_eq!(fs::read(&out).unwrap(), fs::read(&usual).unwrap(), "{closed}");
        fs::remove_file(&out).unwrap();
    }
}
