//! Finds libsotto, in this order: the directory SOTTO_LIB_DIR; the source tree SOTTO_SOURCE_DIR, or the one
//! around this crate, which CMake builds; an installed library that pkg-config finds. SOTTO_STATIC=1 links libsotto.a from
//! SOTTO_LIB_DIR or pkg-config.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    for name in ["SOTTO_LIB_DIR", "SOTTO_SOURCE_DIR", "SOTTO_STATIC", "DOCS_RS", "CMAKE"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("DOCS_RS").is_some() {
        return;
    }
    let kind = if env::var("SOTTO_STATIC").map_or(false, |value| value != "0") {
        "static"
    } else {
        "dylib"
    };
    if let Some(directory) = env::var_os("SOTTO_LIB_DIR") {
        link(Path::new(&directory), kind);
    } else if let Some(source) = source_tree() {
        link(&build(&source), "static");
    } else if !link_installed(kind) {
        panic!("libsotto was not found: set SOTTO_LIB_DIR to its directory, or SOTTO_SOURCE_DIR to Sotto's sources");
    }
}

fn link(directory: &Path, kind: &str) {
    println!("cargo:rustc-link-search=native={}", directory.display());
    println!("cargo:rustc-link-lib={kind}=sotto");
    println!("cargo:lib_dir={}", directory.display());
    if kind == "static" {
        system_libraries();
    }
}

fn system_libraries() {
    if env::var("CARGO_CFG_TARGET_FAMILY").as_deref() == Ok("unix")
        && env::var("CARGO_CFG_TARGET_VENDOR").as_deref() != Ok("apple")
    {
        println!("cargo:rustc-link-lib=m");
        println!("cargo:rustc-link-lib=pthread");
    }
}

fn source_tree() -> Option<PathBuf> {
    if let Some(directory) = env::var_os("SOTTO_SOURCE_DIR") {
        return Some(PathBuf::from(directory));
    }
    let crate_dir = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR")?);
    let root = crate_dir.ancestors().nth(3)?;
    root.join("capi/include/sotto.h").is_file().then(|| root.to_path_buf())
}

/// Builds libsotto.a. A cross build takes CMAKE_TOOLCHAIN_FILE, CC and CXX from the environment, as CMake does.
fn build(source: &Path) -> PathBuf {
    let directory =
        PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("build");
    let cmake = env::var_os("CMAKE").unwrap_or_else(|| "cmake".into());
    for part in ["CMakeLists.txt", "capi", "runtime", "kernels", "platforms/cmake"] {
        println!("cargo:rerun-if-changed={}", source.join(part).display());
    }
    let mut configure = Command::new(&cmake);
    configure.arg("-S").arg(source).arg("-B").arg(&directory);
    configure.args([
        "-DCMAKE_BUILD_TYPE=Release",
        "-DSOTTO_BUILD_TESTS=OFF",
        "-DSOTTO_BUILD_TOOLS=OFF",
    ]);
    run(&mut configure);
    let jobs = env::var("NUM_JOBS").unwrap_or_else(|_| "1".into());
    run(Command::new(&cmake).arg("--build").arg(&directory).args([
        "--target",
        "sotto_static",
        "--parallel",
        &jobs,
    ]));
    directory.join("lib")
}

fn run(command: &mut Command) {
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{command:?} ended with {status}"),
        Err(error) => panic!("{command:?}: {error}"),
    }
}

fn link_installed(kind: &str) -> bool {
    let query = |option: &str| {
        let output = Command::new("pkg-config").args([option, "sotto"]).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
    };
    match query("--variable=libdir") {
        Some(directory) => {
            link(Path::new(&directory), kind);
            true
        }
        None => false,
    }
}
