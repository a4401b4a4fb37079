//! An end with a message where memory ends.
//!
//! What a run needs is not always known beforehand: a queue without a limit grows as long as more comes than
//! goes. So the process gets a limit of its own, the memory that is available when it begins, and an
//! allocation beyond that limit, or beyond the user's (`ulimit -v`), ends the program with status 2.
//! Otherwise it would abort, or the system would kill it, and perhaps another process first.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::OnceLock;

/// The columns of `/proc/self/statm` (proc(5)), pages.
#[derive(Clone, Copy)]
enum Column {
    /// The address space.
    Size = 0,
    /// Data and stack: what the process may write to and shares with nobody.
    Data = 5,
}

/// What this process has of it, bytes. `None` where the system does not tell.
fn taken(column: Column) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(column as usize)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// The user's own limit of data (`ulimit -d`), from before this process had one of its own.
fn of_the_user() -> Option<u64> {
    static LIMIT: OnceLock<Option<u64>> = OnceLock::new();
    *LIMIT.get_or_init(|| getrlimit(Resource::Data).current)
}

/// What the user's own limits (`ulimit -v`, `ulimit -d`) leave, bytes, where there are any.
pub(super) fn left() -> Option<u64> {
    let limits = [(getrlimit(Resource::As).current, Column::Size), (of_the_user(), Column::Data)];
    let left = |(limit, column): (Option<u64>, _)| Some(limit?.saturating_sub(taken(column)?));
    limits.into_iter().filter_map(left).min()
}

/// From now on this process gets so many bytes more, and no others. Where the system knows no such limit,
/// nothing changes. The user's limit is one of those by which `available` was found.
pub(super) fn set(available: u64) {
    let Some(taken) = taken(Column::Data) else { return };
    of_the_user();
    let current = Some(taken.saturating_add(available));
    let maximum = getrlimit(Resource::Data).maximum;
    // A limit that the system refuses is as good as none: the estimate before the run still holds.
    let _ = setrlimit(Resource::Data, Rlimit { current, maximum });
}

/// Blocks of this size are given back to the system when they are freed, bytes.
#[cfg(target_env = "gnu")]
const LARGE: libc::c_int = 1 << 20;

/// Sees to it that large blocks are given back. Once a block of up to 32 MB was freed, glibc would keep all
/// others of that size as room for smaller ones, and little of that is used again: a run of ten thousand
/// flows would take 20 MB more. Call it before there is a second thread.
pub(super) fn return_large_blocks() {
    // SAFETY: `mallopt` takes any values, and may be called while there is one thread.
    #[cfg(target_env = "gnu")]
    #[allow(unsafe_code, reason = "nothing else tells the allocator so")]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}

/// Gives what was freed back to the system. glibc keeps free pages between those that are used, and 12 GB of
/// them were missing for whatever came after the largest experiments. They stay in the address space, so a
/// limit that is set later allows as much more.
pub(super) fn return_free() {
    // SAFETY: `malloc_trim` takes any padding, and threads may allocate meanwhile.
    #[cfg(target_env = "gnu")]
    #[allow(unsafe_code, reason = "nothing else tells the allocator so")]
    unsafe {
        libc::malloc_trim(0);
    }
}

#[global_allocator]
static ALLOCATOR: Ending = Ending;

/// The system's allocator. Where it has no more memory, the program ends.
struct Ending;

fn given(memory: *mut u8) -> *mut u8 {
    if memory.is_null() { end() } else { memory }
}

/// Any thread may come here, whatever it holds: in the middle of a message, with the lock of standard error,
/// or of a list of things to do at the end. So nothing here allocates, locks, or runs what is to be run at an
/// orderly end.
#[cold]
fn end() -> ! {
    let words = b"the run needs more memory than is available\n  \
        help: give every queue a limit, lengthen the probes' interval, simulate fewer flows or a shorter time, or run\n        \
        fewer points at once (--threads 1); with --out, points that are finished are kept, and the same command goes\n        \
        on with the others\n";
    let _ = rustix::io::write(rustix::stdio::stderr(), words);
    // SAFETY: `_exit` takes any status, touches no memory of this process, and does not return.
    #[allow(unsafe_code, reason = "the standard library and rustix end a process in an orderly way only")]
    unsafe {
        libc::_exit(2)
    }
}

// SAFETY: every call goes to `System` with its arguments as they came, and what `System` returns comes back
// as it is, or not at all. So the contract of `GlobalAlloc` holds because it holds for `System`.
#[allow(unsafe_code, reason = "the stable language tells of a failed allocation nowhere but in an allocator")]
unsafe impl GlobalAlloc for Ending {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        given(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        given(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        given(unsafe { System.realloc(memory, layout, size) })
    }
}
