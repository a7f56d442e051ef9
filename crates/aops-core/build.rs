//! Switches for tests (`AOPS_TEST_*`: a fixed clock, a fault on demand) are in debug builds only.

#[allow(clippy::disallowed_methods)] // the law about variables is for the program, not for its build
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(test_switches)");
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        println!("cargo:rustc-cfg=test_switches");
    }
}
