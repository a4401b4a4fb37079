//! A process namespace for a program. No process that the program starts outlives it.
//!
//! The first process of the namespace is a fork of the emulator. It starts the program, and passes requests
//! to end to it. It waits for orphans, and ends when the program has ended. The kernel then kills every
//! process that is left in the namespace. If the emulator ends first, for whatever reason, the kernel kills
//! the first process.

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::io;
use std::mem::zeroed;

/// Lets the next process that the calling thread starts be the first of a new namespace.
///
/// # Errors
///
/// If the kernel refuses.
#[allow(unsafe_code, reason = "unshare is unsafe for file descriptors, which are not unshared here")]
pub(crate) fn separate() -> io::Result<()> {
    // SAFETY: only CLONE_FILES can take descriptors away from other threads.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWPID) }?)
}

/// Call this between fork and exec of a program, in a namespace of its own. It returns in the process that
/// will become the program. It only makes system calls, and allocates nothing.
///
/// # Errors
///
/// If the kernel refuses a call without which processes could outlive the program.
#[allow(unsafe_code, reason = "rustix has no wrappers for fork and signal masks")]
pub(crate) fn lead() -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    own_proc();
    // SAFETY: a signal set may be all zeroes, the calls fill it, and the kernel reads and writes no more than
    // its size. Between the forks there is one thread, and neither process uses memory that another thread
    // could have been changing when the first fork was made.
    unsafe {
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = (zeroed(), zeroed());
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, &mut before);
        match libc::fork() {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                libc::sigprocmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
                Ok(())
            }
            program => {
                // This process must keep none of the emulator's files open. In particular the emulator waits
                // for the end of a pipe when it starts the program.
                libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0);
                attend(program, &all)
            }
        }
    }
}

/// Mounts `/proc` of the namespace, so that the program sees its processes by their numbers there. If a
/// container's rules forbid it, the program sees the processes of the machine.
#[allow(unsafe_code, reason = "unshare is unsafe for file descriptors, which are not unshared here")]
fn own_proc() {
    // SAFETY: only CLONE_FILES can take descriptors away from other threads.
    if unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.is_err() {
        return;
    }
    // Mounts in this namespace must not appear outside.
    let apart = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    if mount_change(c"/", apart).is_ok() {
        let _ = mount(c"proc", c"/proc", c"proc", MountFlags::NOSUID | MountFlags::NODEV, None);
    }
}

/// The work of the first process of a namespace.
///
/// # Safety
///
/// The calling process must have one thread only and be the parent of `program`; `signals` must be blocked.
#[allow(unsafe_code, reason = "rustix has no wrappers for these calls that allocate nothing")]
unsafe fn attend(program: libc::pid_t, signals: &libc::sigset_t) -> ! {
    loop {
        let mut status = 0;
        // SAFETY: the kernel writes an int.
        let ended = unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) };
        if ended == program {
            let code = if libc::WIFEXITED(status) {
                libc::WEXITSTATUS(status)
            } else {
                128 + libc::WTERMSIG(status)
            };
            // SAFETY: ends the process without running anything of the emulator's.
            unsafe { libc::_exit(code) };
        }
        if ended > 0 {
            continue;
        }
        // SAFETY: the set is initialised. Details about the signal are not requested (null).
        let signal = unsafe { libc::sigwaitinfo(signals, std::ptr::null_mut()) };
        if signal == libc::SIGTERM {
            // SAFETY: the loop above collects processes that have ended. So the number still belongs to the
            // program.
            unsafe { libc::kill(program, signal) };
        }
    }
}
