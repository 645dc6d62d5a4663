//! The commands, as their users see them: what is in `cmd/` and in the documentation is run, in a directory with the files
//! of `data/`. `TRYCMD=overwrite` writes what came out instead.

use std::fs;
use std::path::Path;

#[test]
fn commands() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scratch = tempfile::tempdir().unwrap();
    for file in fs::read_dir(package.join("tests/data")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), scratch.path().join(file.file_name())).unwrap();
    }
    std::env::set_current_dir(&scratch).unwrap();
    trycmd::TestCases::new()
        .env("COLUMNS", "100")
        .case(package.join("tests/cmd/*.trycmd"))
        .case(package.join("../../docs/mtprof.md"))
        .run();
}
