//! With the feature `twin`, compiles the C step functions natively; with the feature `load`, the eBPF
//! programs.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is no scheme: the socket options for the programs of a control group.
const OTHERS: &[&str] = &["src/bpf/cgroup/options.bpf.c"];
/// For tests: one that every kernel's verifier refuses, and one that chooses schemes for a cgroup.
const FOR_TESTS: &[&str] = &["tests/refused.bpf.c", "tests/sockops.bpf.c"];

fn main() {
    println!("cargo:rerun-if-changed=src/bpf");
    println!("cargo:rerun-if-changed=src/twin.c");
    #[cfg(feature = "twin")]
    cc::Build::new()
        .file("src/twin.c")
        .std("c11")
        .warnings(true)
        .extra_warnings(true)
        .compile("ackclock_twin");
    if env::var_os("CARGO_FEATURE_LOAD").is_some() {
        programs();
    }
}

fn programs() {
    println!("cargo:rerun-if-env-changed=ACKCLOCK_BTF");
    FOR_TESTS.iter().for_each(|source| println!("cargo:rerun-if-changed={source}"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let libbpf = env::var_os("DEP_BPF_INCLUDE").expect("libbpf-sys exports its headers");
    vmlinux(&out.join("vmlinux.h"));
    for source in schemes().into_iter().chain([OTHERS, FOR_TESTS].concat().iter().map(PathBuf::from)) {
        let object = out.join(source.with_extension("o").file_name().expect("a file's name"));
        let mut clang = Command::new("clang");
        clang.args(["-target", "bpf", "-g", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]);
        clang.arg(format!("-D__TARGET_ARCH_{}", arch())).arg("-I").arg(&out).arg("-I").arg(&libbpf);
        clang.args(["-I", "src/bpf", "-c"]).arg(&source).arg("-o").arg(&object);
        run(clang, "clang");
        // BTF stays. DWARF is removed: it is ten times as large, and nothing reads it.
        let mut strip = Command::new("llvm-strip");
        strip.arg("-g").arg(&object);
        run(strip, "llvm");
    }
}

/// The programs: every `src/bpf/NAME.bpf.c`.
fn schemes() -> Vec<PathBuf> {
    let files = std::fs::read_dir("src/bpf").expect("src/bpf is there");
    let paths = files.map(|file| file.expect("a readable entry").path());
    paths.filter(|path| path.to_string_lossy().ends_with(".bpf.c")).collect()
}

/// The kernel's types, from the BTF of the kernel of the build machine. CO-RE adapts the member offsets to
/// the kernel that loads the object.
fn vmlinux(header: &Path) {
    let btf = env::var("ACKCLOCK_BTF").unwrap_or_else(|_| "/sys/kernel/btf/vmlinux".to_owned());
    assert!(
        Path::new(&btf).exists(),
        "{btf} is not there: the feature `load` needs a kernel with BTF (CONFIG_DEBUG_INFO_BTF), or ACKCLOCK_BTF \
         naming a file with one",
    );
    let mut bpftool = Command::new(tool("bpftool"));
    bpftool.args(["btf", "dump", "file", &btf, "format", "c"]);
    std::fs::write(header, run(bpftool, "bpftool")).expect("OUT_DIR can be written");
}

/// Finds a tool by its name, or in /usr/sbin, which is not on every user's path.
fn tool(name: &str) -> PathBuf {
    let there = Path::new("/usr/sbin").join(name);
    if there.exists() { there } else { PathBuf::from(name) }
}

fn arch() -> String {
    match env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets the architecture").as_str() {
        "x86_64" => "x86".to_owned(),
        "aarch64" => "arm64".to_owned(),
        other => other.to_owned(),
    }
}

/// Runs `command`, which Debian's `package` contains. Returns its standard output.
fn run(mut command: Command, package: &str) -> Vec<u8> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().unwrap_or_else(|error| {
        panic!("{program} cannot be run ({error}): install it (Debian: apt-get install {package})")
    });
    assert!(output.status.success(), "{program} failed:\n{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
