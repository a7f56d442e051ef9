//! Links the Linux binary without PIE: a static PIE relocates itself at every start, which costs as much as our whole work.

#[allow(clippy::disallowed_methods)] // the law about variables is for the program, not for its build
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|v| v.split(',').any(|v| v == value));
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_FEATURE", "crt-static") {
        println!("cargo:rustc-link-arg-bin=aops-hook=-static");
        println!("cargo:rustc-link-arg-bin=aops-hook=-no-pie");
    }
}
