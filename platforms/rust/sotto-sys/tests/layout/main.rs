//! Compares the declarations with the recorded layout of the C headers and their constants.

#[macro_use]
mod generated;

use sotto_sys::*;
use std::collections::BTreeSet;
use std::mem::{size_of, MaybeUninit};
use std::path::{Path, PathBuf};

fn project_file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(path)
}

fn size_of_target<T>(_: *const T) -> usize {
    size_of::<T>()
}

/// Lines as tests/abi/layout_lp64.txt and layout_ilp32.txt have them: the struct, then each of its fields.
macro_rules! lines {
    ($lines:ident; $($name:ident { $($field:ident)* })*) => {$(
        $lines.insert(format!("{} - 0 {}", stringify!($name), size_of::<$name>()));
        $({
            let object = MaybeUninit::<$name>::uninit();
            let base = object.as_ptr();
            let field = unsafe { std::ptr::addr_of!((*base).$field) };
            let offset = field as usize - base as usize;
            $lines.insert(format!("{} {} {} {}", stringify!($name), stringify!($field), offset, size_of_target(field)));
        })*
    )*};
}

#[test]
#[cfg(not(target_arch = "x86"))] // where 64-bit integers may lie on 4 bytes
fn structs_lie_as_in_c() {
    let mut lines = BTreeSet::new();
    each_field! { lines; lines }
    let layout =
        if cfg!(target_pointer_width = "64") { "layout_lp64.txt" } else { "layout_ilp32.txt" };
    let kept = std::fs::read_to_string(project_file("tests/abi").join(layout)).unwrap();
    let kept: BTreeSet<String> = kept.lines().map(str::to_string).collect();
    let differing: Vec<&String> = lines.symmetric_difference(&kept).collect();
    assert!(differing.is_empty(), "{differing:#?}");
}

#[test]
fn every_constant_has_its_value() {
    let headers = std::fs::read_dir(project_file("capi/include")).unwrap();
    let header: String =
        headers.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
    let sources = include_str!("../../src/generated.rs");
    let mut count = 0;
    for line in header.lines() {
        let words: Vec<&str> = line.split(|c: char| c.is_whitespace() || c == ',').collect();
        for three in words.windows(3) {
            if three[0].starts_with("SOTTO_") && three[1] == "=" && three[2].parse::<i32>().is_ok()
            {
                let value = format!("32 = {};", three[2]);
                let is_declared = sources.lines().any(|line| {
                    line.starts_with(&format!("pub const {}:", three[0])) && line.ends_with(&value)
                });
                assert!(is_declared, "{} = {}", three[0], three[2]);
                count += 1;
            }
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn the_library_is_of_this_interface() {
    assert_eq!(unsafe { sotto_version() } >> 16, SOTTO_VERSION >> 16);
}
