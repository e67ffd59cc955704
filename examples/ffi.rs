// SPDX-License-Identifier: Apache-2.0
//
// A program in Rust that profiles itself, over FFI and without a crate: its heap is jemalloc's because the C library's
// malloc is, which Rust's own allocator calls.
//
//   rustc ffi.rs -l dylib=jescope -l dylib=jemalloc
//   MALLOC_CONF=prof:true,prof_active:false,lg_prof_sample:0 ./ffi FILE
use std::ffi::CStr;
use std::fs::File;
use std::os::raw::{c_char, c_int, c_void};
use std::os::unix::io::AsRawFd;

/// JescopeError of jescope.h.
#[repr(C)]
struct JescopeError {
    code: c_int,
    error: c_int,
    message: [c_char; 512],
}

type Write = extern "C" fn(opaque: *mut c_void, text: *const c_char, size: usize);

extern "C" {
    fn mallctl();
}

/// Linkers drop a library of which a program uses nothing by name.
#[used]
static JEMALLOC: unsafe extern "C" fn() = mallctl;

extern "C" {
    fn jescope_start(options: *const c_void, error: *mut JescopeError) -> c_int;
    fn jescope_stop(error: *mut JescopeError) -> c_int;
    fn jescope_enable(duration_ms: u64, error: *mut JescopeError) -> c_int;
    fn jescope_disable(error: *mut JescopeError) -> c_int;
    fn jescope_dump(descriptor: c_int, error: *mut JescopeError) -> c_int;
    fn jescope_stats_write(
        letters: *const c_char,
        write: Write,
        opaque: *mut c_void,
        error: *mut JescopeError,
    ) -> c_int;
}

/// Calls a function of libjescope; its sentence is the error.
fn call(function: impl FnOnce(*mut JescopeError) -> c_int) -> Result<(), String> {
    let mut error = JescopeError { code: 0, error: 0, message: [0; 512] };
    match function(&mut error) {
        0 => Ok(()),
        _ => Err(unsafe { CStr::from_ptr(error.message.as_ptr()) }.to_string_lossy().into_owned()),
    }
}

extern "C" fn append(opaque: *mut c_void, text: *const c_char, size: usize) {
    let all = unsafe { &mut *(opaque as *mut Vec<u8>) };
    all.extend_from_slice(unsafe { std::slice::from_raw_parts(text as *const u8, size) });
}

fn statistics() -> Result<String, String> {
    let mut all: Vec<u8> = Vec::new();
    let letters = b"J\0".as_ptr() as *const c_char;
    let opaque = &mut all as *mut Vec<u8> as *mut c_void;
    call(|error| unsafe { jescope_stats_write(letters, append, opaque, error) })?;
    String::from_utf8(all).map_err(|error| error.to_string())
}

#[inline(never)]
fn fill() -> Vec<Vec<u8>> {
    (0..1000).map(|size| vec![0; size]).collect()
}

fn profile(path: &str) -> Result<(), String> {
    call(|error| unsafe { jescope_start(std::ptr::null(), error) })?;
    call(|error| unsafe { jescope_enable(60_000, error) })?;
    let held = fill();
    let file = File::create(path).map_err(|error| error.to_string())?;
    call(|error| unsafe { jescope_dump(file.as_raw_fd(), error) })?;
    call(|error| unsafe { jescope_disable(error) })?;
    println!("{} blocks held, {} bytes of statistics", held.len(), statistics()?.len());
    call(|error| unsafe { jescope_stop(error) })
}

fn main() {
    let path = std::env::args().nth(1).unwrap_or_else(|| "rust.heap".to_string());
    if let Err(sentence) = profile(&path) {
        eprintln!("ffi: {}", sentence);
        std::process::exit(1);
    }
}
