//! Links libsotto: the library in the directory SOTTO_LIB_DIR if that is set; with the feature `system`, the installed
//! library, which pkg-config finds; and with the feature `vendored`, one compiled from the sources in the crate's
//! package, or in a checkout by CMake from the tree. SOTTO_STATIC=1 links libsotto.a from SOTTO_LIB_DIR or pkg-config.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if variable("DOCS_RS").is_some() {
        return;
    }
    let kind = if variable("SOTTO_STATIC").map_or(false, |value| value != "0") {
        "static"
    } else {
        "dylib"
    };
    let crate_dir = PathBuf::from(required("CARGO_MANIFEST_DIR"));
    if let Some(directory) = variable("SOTTO_LIB_DIR") {
        link(Path::new(&directory), kind);
    } else if cfg!(feature = "system") {
        link_installed(kind);
    } else if !cfg!(feature = "vendored") {
        panic!("enable a feature of sotto-sys, `vendored` or `system`, or set SOTTO_LIB_DIR to the library's directory");
    } else if crate_dir.join(SOURCES).is_dir() {
        link(&compile(&crate_dir.join(SOURCES)), "static");
    } else {
        link(&build(&source_tree(&crate_dir)), "static");
    }
}

/// The directory of sotto.h and sotto.cpp, which only the package of the crate contains.
const SOURCES: &str = "amalgamation";

/// Returns a variable of the environment. The script runs again when it changes.
fn variable(name: &str) -> Option<String> {
    println!("cargo:rerun-if-env-changed={name}");
    env::var(name).ok()
}

fn required(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
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

fn source_tree(crate_dir: &Path) -> PathBuf {
    let root =
        crate_dir.ancestors().nth(3).filter(|root| root.join("capi/include/sotto.h").is_file());
    root.unwrap_or_else(|| panic!("{} contains no sources of Sotto", crate_dir.display()))
        .to_path_buf()
}

/// Returns the words of CXX or AR. As in the cc crate, a name with the target in it comes first.
fn tool(name: &str, default: &str) -> Vec<String> {
    let target = required("TARGET");
    let specific = variable(&format!("{name}_{}", target.replace('-', "_")));
    let words = specific.or_else(|| variable(name)).unwrap_or_else(|| {
        if target != required("HOST") && name == "CXX" {
            panic!("CXX_{} must name a C++ compiler for {target}", target.replace('-', "_"));
        }
        default.to_string()
    });
    words.split_whitespace().map(String::from).collect()
}

/// Compiles the two files into libsotto.a, which without exceptions needs no C++ library.
fn compile(sources: &Path) -> PathBuf {
    println!("cargo:rerun-if-changed={}", sources.display());
    let directory = PathBuf::from(required("OUT_DIR"));
    let object = directory.join("sotto.o");
    let compiler = tool("CXX", "c++");
    let flags = variable("CXXFLAGS").unwrap_or_default();
    run(Command::new(&compiler[0])
        .args(&compiler[1..])
        .args(["-std=c++20", "-O2", "-fPIC", "-fno-exceptions"])
        .args(flags.split_whitespace())
        .args(["-c", "sotto.cpp", "-o"])
        .arg(&object)
        .current_dir(sources));
    let archiver = tool("AR", "ar");
    let library = directory.join("libsotto.a");
    let _ = std::fs::remove_file(&library); // ar would add to it
    run(Command::new(&archiver[0]).args(&archiver[1..]).arg("crs").arg(&library).arg(&object));
    directory
}

/// Builds libsotto.a. A cross build takes CMAKE_TOOLCHAIN_FILE, CC and CXX from the environment, as CMake does.
fn build(source: &Path) -> PathBuf {
    let directory = PathBuf::from(required("OUT_DIR")).join("build");
    let cmake = variable("CMAKE").unwrap_or_else(|| "cmake".into());
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

fn link_installed(kind: &str) {
    let mut command = Command::new(variable("PKG_CONFIG").unwrap_or_else(|| "pkg-config".into()));
    command.args(["--variable=libdir", "sotto"]);
    match command.output() {
        Ok(output) if output.status.success() => {
            link(Path::new(String::from_utf8_lossy(&output.stdout).trim()), kind)
        }
        Ok(output) => panic!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => panic!("{command:?}: {error}"),
    }
}
