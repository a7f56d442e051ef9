//! A release lays the functions of an event side by side (`src/hot.ld`): the kernel brings 64 KB of a program at
//! a time. Switches for tests (`AOPS_TEST_*`: a fixed clock, a fault on demand) are in debug builds only.

#[path = "build/linker.rs"]
mod linker;

/// What the C compiler that links says of GNU's linker.
#[allow(clippy::disallowed_methods)] // no hook starts it
fn told_by_compiler() -> String {
    let compiler = std::env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let output = std::process::Command::new(compiler).arg("-print-prog-name=ld.bfd").output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

#[allow(clippy::disallowed_methods)] // the law about variables is for the program, not for its build
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(test_switches)");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|v| v.split(',').any(|v| v == value));
    if is("PROFILE", "debug") {
        println!("cargo:rustc-cfg=test_switches");
    }
    if is("CARGO_CFG_TARGET_OS", "linux") && is("PROFILE", "release") {
        let here = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo:rerun-if-changed=src/hot.ld");
        println!("cargo:rustc-link-arg-bin=aops-hook=-Wl,-T,{here}/src/hot.ld");
        // The linker that Rust brings compares every line of the list with every function: 51 s. GNU's takes
        // 8, where it is.
        println!("cargo:rerun-if-changed=build/linker.rs");
        let path = std::env::var_os("PATH");
        if is("CARGO_CFG_TARGET_ENV", "gnu") && linker::has_gnu_linker(&told_by_compiler(), path.as_deref()) {
            println!("cargo:rustc-link-arg-bin=aops-hook=-fuse-ld=bfd");
        }
    }
}
