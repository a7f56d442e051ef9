//! Links the Linux binary without PIE: a static PIE relocates itself at every start, which costs as much as our whole work.
//! A release lays the functions of an event side by side (`src/hot.ld`): the kernel brings 64 KB of a program at a time.
//! And switches for tests (`AOPS_TEST_*`: a fixed clock, a fault on demand) are in debug builds only.

#[allow(clippy::disallowed_methods)] // the law about variables is for the program, not for its build
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(test_switches)");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|v| v.split(',').any(|v| v == value));
    if is("PROFILE", "debug") {
        println!("cargo:rustc-cfg=test_switches");
    }
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_FEATURE", "crt-static") {
        println!("cargo:rustc-link-arg-bin=aops-hook=-static");
        println!("cargo:rustc-link-arg-bin=aops-hook=-no-pie");
    }
    if is("CARGO_CFG_TARGET_OS", "linux") && is("PROFILE", "release") {
        let here = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo:rerun-if-changed=src/hot.ld");
        println!("cargo:rustc-link-arg-bin=aops-hook=-Wl,-T,{here}/src/hot.ld");
        // The linker that Rust brings compares every line of the list with every function: 51 s. GNU's takes 8.
        if is("CARGO_CFG_TARGET_ENV", "gnu") {
            println!("cargo:rustc-link-arg-bin=aops-hook=-fuse-ld=bfd");
        }
    }
}
