//! Exporting to files: they appear whole or not at all, wherever the path leads.
#![cfg(unix)]

use flate2::read::GzDecoder;
use mindtorch_profiler::{Error, ManualClock, Name, Recorder, Session, SpanArgs, SpanKind, StackMetric, Trace};
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn trace() -> Trace {
    let clock = ManualClock::starting_at(1_790_900_000_000_000_000);
    let recorder = Recorder::with_manual_clock(&clock);
    let session = Session::builder().on(&recorder).start();
    let mut thread = recorder.thread(1, None);
    for _ in 0..2_000 {
        let span = thread.begin(&SpanArgs::new(SpanKind::Annotation, Name::new("work"))).unwrap();
        clock.advance(1_000);
        thread.end(span);
    }
    session.stop()
}

/// The bytes that a file with this name should have.
fn expected(name: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    trace().write_chrome_trace(&mut bytes, name.to_str().unwrap()).unwrap();
    serde_json::from_slice::<serde_json::Value>(&bytes).unwrap();
    bytes
}

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    (folder, path)
}

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn source(error: &Error) -> io::ErrorKind {
    let source = std::error::Error::source(error).unwrap();
    let source = source.downcast_ref::<io::Error>().unwrap();
    assert!(source.raw_os_error().is_some(), "the system's code is kept: {source}");
    source.kind()
}

#[test]
fn a_new_file_is_whole_and_has_the_permissions_of_any_new_file() {
    let (_guard, folder) = folder();
    let (path, folded) = (folder.join("trace.json"), folder.join("stacks.txt"));
    trace().export_chrome_trace(&path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), expected(&path));
    assert_eq!(names_in(&folder), ["trace.json"]);
    trace().export_stacks(&folded, StackMetric::SelfCpuTime).unwrap();
    // The umask is the process's, and cannot be set while other tests run.
    let other = folder.join("other");
    File::create(&other).unwrap();
    assert_eq!((mode(&path), mode(&folded)), (mode(&other), mode(&other)));
}

#[test]
fn an_existing_file_keeps_its_permissions() {
    let (_guard, folder) = folder();
    let path = folder.join("trace.json");
    for bits in [0o644, 0o640, 0o444, 0o755] {
        fs::write(&path, "x".repeat(10_000_000)).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(bits)).unwrap();
        trace().export_chrome_trace(&path).unwrap();
        assert_eq!(mode(&path), bits);
        assert_eq!(fs::read(&path).unwrap(), expected(&path));
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn compressed_files_hold_the_same_bytes() {
    let (_guard, folder) = folder();
    for name in ["trace.json.gz", "TRACE.GZ"] {
        let path = folder.join(name);
        trace().export_chrome_trace(&path).unwrap();
        let mut bytes = Vec::new();
        GzDecoder::new(File::open(&path).unwrap()).read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, expected(&path));
        assert!(fs::metadata(&path).unwrap().len() < bytes.len() as u64 / 5);
    }
}

#[test]
fn stacks_are_files_like_traces() {
    let (_guard, folder) = folder();
    let path = folder.join("stacks.txt");
    trace().export_stacks(&path, StackMetric::SelfCpuTime).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "work 2000\n");
    trace().export_stacks(folder.join("stacks.txt.gz"), StackMetric::SelfCpuTime).unwrap();
    let mut text = String::new();
    GzDecoder::new(File::open(folder.join("stacks.txt.gz")).unwrap()).read_to_string(&mut text).unwrap();
    assert_eq!(text, "work 2000\n");
}

#[test]
fn a_link_stays_a_link_and_its_target_is_replaced() {
    let (_guard, folder) = folder();
    fs::create_dir(folder.join("deep")).unwrap();
    let target = folder.join("deep/target.json");
    fs::write(&target, "old").unwrap();
    fs::set_permissions(&target, Permissions::from_mode(0o640)).unwrap();
    symlink("target.json", folder.join("deep/relative.json")).unwrap();
    let link = folder.join("link.json");
    symlink(folder.join("deep/relative.json"), &link).unwrap();
    trace().export_chrome_trace(&link).unwrap();
    assert_eq!(fs::read(&target).unwrap(), expected(&link));
    assert_eq!(mode(&target), 0o640);
    assert_eq!(fs::read_link(&link).unwrap(), folder.join("deep/relative.json"));
    assert_eq!(names_in(&folder.join("deep")), ["relative.json", "target.json"]);
}

#[test]
fn a_dangling_link_gets_the_file_that_it_names() {
    let (_guard, folder) = folder();
    let link = folder.join("link.json");
    symlink("made.json", &link).unwrap();
    trace().export_chrome_trace(&link).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(folder.join("made.json")).unwrap(), expected(&link));
    symlink("no/such/folder/file.json", folder.join("nowhere.json")).unwrap();
    let error = trace().export_chrome_trace(folder.join("nowhere.json")).unwrap_err();
    assert_eq!(source(&error), io::ErrorKind::NotFound);
}

#[test]
fn links_in_a_circle_are_an_error() {
    let (_guard, folder) = folder();
    symlink("b", folder.join("a")).unwrap();
    symlink("a", folder.join("b")).unwrap();
    let error = trace().export_chrome_trace(folder.join("a")).unwrap_err();
    assert!(error.to_string().contains(folder.join("a").to_str().unwrap()), "{error}");
    assert_eq!(names_in(&folder), ["a", "b"]);
}

#[test]
fn paths_that_cannot_be_written_are_named() {
    let (_guard, folder) = folder();
    fs::write(folder.join("file"), "").unwrap();
    let cases = [
        (folder.join("no/such/dir/t.json"), io::ErrorKind::NotFound),
        (folder.clone(), io::ErrorKind::IsADirectory),
        (folder.join("file/t.json"), io::ErrorKind::NotADirectory),
    ];
    let trace = trace();
    for (path, kind) in cases {
        for error in [
            trace.export_chrome_trace(&path).unwrap_err(),
            trace.export_stacks(&path, StackMetric::SelfCpuTime).unwrap_err(),
        ] {
            assert_eq!(source(&error), kind);
            assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
        }
    }
    assert!(trace.export_chrome_trace("").is_err());
    assert!(trace.export_chrome_trace(folder.join("file/")).is_err());
    assert_eq!(names_in(&folder), ["file"]);
    trace.export_chrome_trace(folder.join("t.json")).unwrap();
}

#[test]
fn a_folder_that_may_not_be_written_is_an_error() {
    let (_guard, folder) = folder();
    let path = folder.join("trace.json");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o555)).unwrap();
    // Root may write anywhere.
    if File::create(folder.join("probe")).is_err() {
        let error = trace().export_chrome_trace(&path).unwrap_err();
        assert_eq!(source(&error), io::ErrorKind::PermissionDenied);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    }
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let (_guard, folder) = folder();
    for link in ["full.json", "full.json.gz"] {
        symlink("/dev/full", folder.join(link)).unwrap();
    }
    for path in [PathBuf::from("/dev/full"), folder.join("full.json"), folder.join("full.json.gz")] {
        let error = trace().export_chrome_trace(&path).unwrap_err();
        assert_eq!(source(&error), io::ErrorKind::StorageFull, "{path:?}");
    }
    assert_eq!(names_in(&folder), ["full.json", "full.json.gz"]);
}

#[test]
fn devices_are_written_to_and_stay() {
    trace().export_chrome_trace("/dev/null").unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn a_pipe_gets_the_trace_and_stays_a_pipe() {
    let (_guard, folder) = folder();
    let pipe = folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let read = std::thread::scope(|scope| {
        let reader = scope.spawn(|| fs::read(&pipe).unwrap());
        trace().export_chrome_trace(&pipe).unwrap();
        reader.join().unwrap()
    });
    assert_eq!(read, expected(&pipe));
    assert_eq!(names_in(&folder), ["pipe"]);
    assert!(!fs::metadata(&pipe).unwrap().is_file());
}

#[cfg(target_os = "linux")]
#[test]
fn an_open_file_is_appended_to_by_its_descriptor() {
    use std::os::fd::AsRawFd;
    let (_guard, folder) = folder();
    let file = File::create(folder.join("redirected")).unwrap();
    fs::write(folder.join("redirected"), "printed before\n").unwrap();
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    trace().export_chrome_trace(&path).unwrap();
    let text = fs::read(folder.join("redirected")).unwrap();
    assert_eq!(text.strip_prefix(b"printed before\n").unwrap(), expected(&path));
}

#[test]
fn a_writer_gets_compressed_text_if_asked() {
    let trace = trace();
    let mut plain = Vec::new();
    trace.chrome_trace().name("x").write(&mut plain).unwrap();
    let mut compressed = Vec::new();
    trace.chrome_trace().name("x").gzip(true).write(&mut compressed).unwrap();
    let mut text = Vec::new();
    GzDecoder::new(&compressed[..]).read_to_end(&mut text).unwrap();
    assert!(text == plain && compressed.len() < plain.len() / 5);
}
