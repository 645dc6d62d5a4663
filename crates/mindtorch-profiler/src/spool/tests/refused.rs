//! What is not made, and what is not read.

use super::super::layout::{SpoolFile, VERSION};
use super::super::{SpoolFault, checksum};
use super::*;
use crate::error::Error;
use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};

fn fault(session: &Path) -> (PathBuf, u64, SpoolFault) {
    match read(session) {
        Err(Error::Spool(error)) => (error.path().to_owned(), error.offset(), error.fault()),
        other => panic!("it should be refused: {other:?}"),
    }
}

fn change(path: &Path, offset: u64, bytes: &[u8]) {
    OpenOptions::new().write(true).open(path).unwrap().write_all_at(bytes, offset).unwrap();
}

#[test]
fn only_the_owner_can_read_a_spool() {
    let scene = Scene::new();
    let mode = |path: &Path| fs::symlink_metadata(path).unwrap().mode() & 0o7777;
    assert_eq!([scene.spool.path(), &scene.log(), &scene.records()].map(mode), [0o700, 0o600, 0o600]);
    let name = scene.spool.path().file_name().unwrap().to_str().unwrap();
    let prefix = format!("mindtorch-{}-", std::process::id());
    assert!(name.strip_prefix(&prefix).is_some_and(|random| random.len() == 12), "{name}");
    assert_eq!(fs::read_dir(scene.spool.path()).unwrap().count(), 2);
}

#[test]
fn a_directory_that_cannot_be_used_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |path: &Path| {
        let error = Spool::create(path).unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot create a spool in {}: ", path.display())), "{error}");
        error
    };
    let missing = refused(&directory.path().join("no/such"));
    assert!(missing.contains("No such file or directory"), "{missing}");
    let file = directory.path().join("file");
    fs::write(&file, "precious").unwrap();
    let no_directory = refused(&file);
    assert!(no_directory.contains("Not a directory") && !no_directory.contains("mindtorch-"), "{no_directory}");
    assert_eq!(fs::read(&file).unwrap(), b"precious");
    let locked = directory.path().join("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, Permissions::from_mode(0o500)).unwrap();
    // The superuser may do anything.
    if fs::write(locked.join("probe"), "").is_err() {
        assert!(refused(&locked).contains("Permission denied"));
    }
}

#[test]
fn other_layouts_are_refused_by_name() {
    for file in [SpoolFile::Log, SpoolFile::Records] {
        for version in [0, VERSION + 1, u32::MAX] {
            let scene = Scene::killed();
            let path = scene.spool.path().join(file.name());
            change(&path, 8, &version.to_ne_bytes());
            assert_eq!(
                fault(scene.spool.path()),
                (path.clone(), 8, SpoolFault::Version { found: version, known: VERSION })
            );
            let message = read(scene.spool.path()).unwrap_err().to_string();
            let expected = format!("its layout has version {version}, and this profiler reads version {VERSION}");
            assert_eq!(message, format!("cannot read {}: at byte 8, {expected}", path.display()));
        }
        let scene = Scene::killed();
        let path = scene.spool.path().join(file.name());
        let mut header = file.header();
        header[8..12].reverse();
        header[12..].reverse();
        change(&path, 0, &header);
        assert_eq!(fault(scene.spool.path()), (path.clone(), 12, SpoolFault::ByteOrder));
        change(&path, 0, b"PK");
        assert_eq!(fault(scene.spool.path()), (path, 0, SpoolFault::NotASpool));
    }
}

#[test]
fn entries_that_are_whole_and_make_no_sense_are_refused_by_name() {
    let cases: [(&[u8], SpoolFault); 4] = [
        (&[99, 1, 2, 3], SpoolFault::UnknownEntry(99)),
        (&[0], SpoolFault::UnknownEntry(0)),
        (&[2, 1], SpoolFault::MalformedEntry(2)),
        (&[11, 0, 0, 0, 0, 0, 0, 0, 0, 0], SpoolFault::MalformedEntry(11)),
    ];
    for (payload, expected) in cases {
        let scene = Scene::killed();
        let end = fs::metadata(scene.log()).unwrap().len();
        let length = (payload.len() as u32).to_ne_bytes();
        let mut log = OpenOptions::new().append(true).open(scene.log()).unwrap();
        let sum = checksum::of_entry(length, payload).to_ne_bytes();
        log.write_all(&[&length, &sum, payload].concat()).unwrap();
        assert_eq!(fault(scene.spool.path()), (scene.log(), end, expected));
    }
}

#[test]
fn links_pipes_and_directories_are_not_read() {
    for name in ["log", "records"] {
        let refused = |replace: fn(&Path)| {
            let scene = Scene::killed();
            let path = scene.spool.path().join(name);
            let elsewhere = scene.directory.path().join("elsewhere");
            fs::rename(&path, &elsewhere).unwrap();
            replace(&path);
            let error = read(scene.spool.path()).unwrap_err().to_string();
            assert!(error.starts_with(&format!("cannot read {}: ", path.display())), "{error}");
            error
        };
        assert!(refused(|path| symlink("../elsewhere", path).unwrap()).ends_with("it is a symbolic link"));
        assert!(refused(|path| fs::create_dir(path).unwrap()).ends_with("it is not a regular file"));
        assert!(refused(|_| ()).contains("No such file or directory"));
        let pipe = |path: &Path| {
            assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
        };
        assert!(refused(pipe).ends_with("it is not a regular file"));
    }
}

#[test]
fn a_directory_that_is_not_there_cannot_be_listed() {
    let error = sessions(Path::new("/nowhere/at/all")).unwrap_err().to_string();
    assert!(error.starts_with("cannot list /nowhere/at/all: "), "{error}");
}
