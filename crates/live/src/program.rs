//! The user's programs in the hosts: a command with a companion, or a shell.

use crate::error::LiveError;
use crate::host::Host;
use crate::processes;
use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How soon the end of a program, or of the run, is noticed.
const STEP: Duration = Duration::from_millis(10);
/// The time that a program has to end after a request.
pub(crate) const GRACE: Duration = Duration::from_secs(2);
/// The same when the run was interrupted, and everything is to end at once.
pub(crate) const SHORT: Duration = Duration::from_millis(400);

/// A program to run in a host.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// True if its output goes to standard error, because standard output is for results.
    pub quiet: bool,
}

impl Program {
    /// The program with the addresses of the hosts in place of `{sender}` and `{receiver}`.
    pub(crate) fn addressed(&self, sender: &Host, receiver: &Host) -> Program {
        let put = |word: &String| {
            word.replace("{sender}", &sender.address.to_string())
                .replace("{receiver}", &receiver.address.to_string())
        };
        Program { words: self.words.iter().map(put).collect(), quiet: self.quiet }
    }

    /// Runs the program in `host` until it ends, or until `stop` says that it must, and how long it may take
    /// to do so. Whatever processes it started end with it. The calling thread must end afterwards: it stays
    /// in the host.
    pub(crate) fn run(
        &self,
        host: &Host,
        stop: &dyn Fn() -> Option<Duration>,
    ) -> Result<ExitStatus, LiveError> {
        let name = self.words.first().cloned().unwrap_or_default();
        host.enter().map_err(LiveError::kernel(format!("the host {} cannot be entered", host.name)))?;
        processes::separate().map_err(LiveError::kernel("a process namespace cannot be made"))?;
        let mut child =
            self.start().map_err(|reason| LiveError::Program { program: name.clone(), reason })?;
        let waiting = LiveError::kernel(format!("{name} cannot be waited for"));
        let grace = loop {
            match (child.try_wait(), stop()) {
                (Ok(Some(status)), _) => return Ok(status),
                (Ok(None), Some(grace)) => break grace,
                (Ok(None), None) => thread::sleep(STEP),
                (Err(error), _) => return Err(waiting(error)),
            }
        };
        end(&mut child, grace).map_err(waiting)
    }

    #[allow(unsafe_code, reason = "what runs between fork and exec is for its author to check")]
    fn start(&self) -> io::Result<Child> {
        let mut words = self.words.iter();
        let mut command = Command::new(words.next().map_or("", String::as_str));
        command.args(words);
        if self.quiet {
            command.stdout(Stdio::from(io::stderr()));
        }
        // SAFETY: `lead` only makes system calls, as its documentation says.
        unsafe {
            command.pre_exec(processes::lead);
        }
        command.spawn()
    }
}

/// Asks a program to end, and kills it if it does not within `grace`.
fn end(child: &mut Child, grace: Duration) -> io::Result<ExitStatus> {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::TERM); // it may have ended in between
    }
    let patience = Instant::now() + grace;
    while Instant::now() < patience {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        thread::sleep(STEP);
    }
    child.kill()?;
    child.wait()
}

/// The exit status of a program, as a shell reports it.
pub(crate) fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}
