//! Tells the program which compiler made it, and how: the counts are of that.

use std::env::var;
use std::process::Command;

fn main() {
    let of_cargo = |name| var(name).unwrap_or_else(|_| panic!("Cargo sets {name}"));
    let version = Command::new(of_cargo("RUSTC")).arg("--version").output().expect("the compiler runs").stdout;
    let version = String::from_utf8(version).expect("the compiler has a name");
    let flags = of_cargo("CARGO_ENCODED_RUSTFLAGS").replace('\u{1f}', " ");
    let compiler =
        format!("{} for {}, opt-level {} {flags}", version.trim(), of_cargo("TARGET"), of_cargo("OPT_LEVEL"));
    println!("cargo::rustc-env=COMPILER={}", compiler.trim());
    println!("cargo::rerun-if-changed=build.rs");
}
