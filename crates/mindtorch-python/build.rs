//! Refuses to build for an interpreter without a global interpreter lock (GIL).
//!
//! The module relies on the GIL for exclusive access to its state. `gil_used = true` makes a free-threaded interpreter enable
//! the GIL for the whole process when it imports the module. A failed build is better than a program that loses its
//! parallelism that way.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let python = pyo3_build_config::get().target_abi();
    if python.kind().is_free_threaded() {
        println!(
            "cargo::error=The build was asked for the free-threaded build of CPython {}, which mindtorch_v2 does not support: \
             it needs an interpreter with the GIL. Build with the regular CPython 3.10 or later, for example with \
             `maturin build --interpreter python{0}`, or with PYO3_PYTHON set to its path.",
            python.version()
        );
    }
}
