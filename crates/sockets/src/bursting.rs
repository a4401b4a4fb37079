//! Bursts that are written to a socket by a timer. The schedule, and what a failed cycle is, are those of the
//! simulator ([`ackclock_scenario::writing`]).

use ackclock_scenario::writing::{Bursts, Timetable};
use ackclock_units::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, clock_gettime, timerfd_create,
    timerfd_settime,
};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

/// The longest time until a waiting thread notices that nobody wants more.
const PATIENCE: Duration = Duration::from_millis(50);

/// An alarm clock: a timerfd on the monotonic clock. Its times are counted from an instant that its maker
/// chooses. Deadlines are absolute, so late wake-ups do not add up.
#[derive(Debug)]
pub struct Alarm {
    timer: OwnedFd,
    began: Instant,
    /// The same instant on the kernel's monotonic clock, ns.
    base: u64,
}

impl Alarm {
    /// An alarm clock that shows zero at `began`.
    ///
    /// # Errors
    ///
    /// If the kernel gives no timer, as when there are too many open files.
    pub fn since(began: Instant) -> io::Result<Alarm> {
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        let now = clock_gettime(ClockId::Monotonic);
        let now = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        let base = now.saturating_sub(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
        Ok(Alarm { timer, began, base })
    }

    /// The time now.
    pub fn now(&self) -> Time {
        Time::from_nanos(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Sets the alarm. From `at` on the timer is readable, until it is set again. A time in the past is now.
    ///
    /// # Errors
    ///
    /// If the kernel refuses it.
    pub fn set(&self, at: Time) -> io::Result<()> {
        let ns = self.base.saturating_add(at.as_nanos()).max(1);
        let it_value = Timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once)?;
        Ok(())
    }

    /// Sleeps until `at`, or as long as the application `goes_on`, which is asked every 50 ms. True if `at`
    /// is reached.
    ///
    /// # Errors
    ///
    /// If the kernel refuses it.
    pub fn sleep_until(&self, at: Time, goes_on: impl Fn() -> bool) -> io::Result<bool> {
        self.set(at)?;
        let patience = Timespec { tv_sec: 0, tv_nsec: PATIENCE.as_nanos() as _ };
        while goes_on() {
            match poll(&mut [PollFd::new(&self.timer, PollFlags::IN)], Some(&patience)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(true),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

impl AsRawFd for Alarm {
    fn as_raw_fd(&self) -> RawFd {
        self.timer.as_raw_fd()
    }
}

/// What was written.
#[derive(Clone, Debug)]
pub struct Written {
    /// The schedule as it went, on the clock of the alarm.
    pub timetable: Timetable,
    /// The bytes that the socket accepted.
    pub bytes: u64,
    /// When the last byte was accepted, or when nobody wanted more.
    pub until: Time,
}

impl Written {
    /// True if all bursts were written.
    pub fn all(&self) -> bool {
        self.timetable.next().is_none()
    }
}

/// Writes bursts of `chunk`, over and over, until all are written or the application no longer `goes_on`. The
/// first one begins at once. A socket should have a timeout for writing (SO_SNDTIMEO): `goes_on` is asked
/// after each.
///
/// # Errors
///
/// Those of the socket, but for timeouts.
///
/// # Panics
///
/// If `chunk` is empty.
pub fn write_bursts(
    socket: &mut impl Write,
    chunk: &[u8],
    bursts: Bursts,
    alarm: &Alarm,
    goes_on: impl Fn() -> bool,
) -> io::Result<Written> {
    write_in_bursts(socket, chunk, bursts.bytes(), bursts, alarm, goes_on)
}

/// As [`write_bursts`], but `bytes` bytes and no more: the last burst may be a smaller one.
///
/// # Errors
///
/// Those of the socket, but for timeouts.
///
/// # Panics
///
/// If `chunk` is empty.
pub fn write_in_bursts(
    socket: &mut impl Write,
    chunk: &[u8],
    bytes: u64,
    bursts: Bursts,
    alarm: &Alarm,
    goes_on: impl Fn() -> bool,
) -> io::Result<Written> {
    assert!(!chunk.is_empty(), "there is nothing to write");
    let mut written =
        Written { timetable: Timetable::new(bursts, alarm.now()), bytes: 0, until: alarm.now() };
    while let Some(due) = written.timetable.next() {
        let rest = bytes.saturating_sub(written.bytes);
        let mut left = if alarm.sleep_until(due, &goes_on)? { bursts.size.min(rest) } else { break };
        while left > 0 && goes_on() {
            match socket.write(&chunk[..(chunk.len() as u64).min(left) as usize]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => (left, written.bytes) = (left - bytes as u64, written.bytes + bytes as u64),
                Err(error) if is_timeout(&error) => {}
                Err(error) => return Err(error),
            }
        }
        if left > 0 {
            break;
        }
        written.timetable.finished(alarm.now());
    }
    written.until = alarm.now();
    Ok(written)
}

/// True if an error only means that a socket was not ready in time.
pub fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_units::Duration;
    use std::cell::Cell;

    const BURSTS: Bursts = Bursts { size: 1000, every: Duration::from_millis(4), count: 5, queued: false };

    /// Accepts as much at once as it says, and is slow from some byte on.
    struct Slow {
        at_once: usize,
        slow_from: usize,
        taken: Vec<u8>,
    }

    impl Write for Slow {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            if self.taken.len() >= self.slow_from {
                std::thread::sleep(std::time::Duration::from_millis(10));
                self.slow_from = usize::MAX;
                return Err(ErrorKind::WouldBlock.into());
            }
            let now = data.len().min(self.at_once);
            self.taken.extend(&data[..now]);
            Ok(now)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn alarm() -> Alarm {
        Alarm::since(Instant::now()).expect("a timer")
    }

    #[test]
    fn bursts_begin_with_their_periods_and_none_is_left_out() {
        let mut socket = Slow { at_once: 300, slow_from: usize::MAX, taken: Vec::new() };
        let alarm = alarm();
        let written = write_bursts(&mut socket, b"0123456", BURSTS, &alarm, || true).expect("written");
        assert!(written.all() && written.bytes == 5000 && socket.taken.len() == 5000);
        let tally = written.timetable.tally(written.until, written.bytes, 0, None);
        assert_eq!(tally.ends.len(), 5);
        for (number, end) in tally.ends.iter().enumerate() {
            assert!(end.as_nanos() >= 4_000_000 * number as u64, "burst {number} ended after {end}");
        }
    }

    #[test]
    fn the_last_burst_is_what_remains() {
        let mut socket = Slow { at_once: 300, slow_from: usize::MAX, taken: Vec::new() };
        let bursts = BURSTS.covering(2300);
        let written =
            write_in_bursts(&mut socket, &[7; 50], 2300, bursts, &alarm(), || true).expect("written");
        assert!(written.all() && written.bytes == 2300 && socket.taken.len() == 2300);
        assert_eq!(written.timetable.tally(written.until, 2300, 0, None).ends.len(), 3);
    }

    #[test]
    fn a_socket_that_is_not_ready_fails_cycles_and_loses_nothing() {
        let mut socket = Slow { at_once: 1000, slow_from: 2000, taken: Vec::new() };
        let alarm = alarm();
        let written = write_bursts(&mut socket, &[7; 1000], BURSTS, &alarm, || true).expect("written");
        let tally = written.timetable.tally(written.until, written.bytes, 0, None);
        // The third burst takes 10 ms: two periods begin meanwhile.
        assert!(tally.failed_cycles >= 2, "{tally:?}");
        assert_eq!((written.bytes, socket.taken.len()), (5000, 5000));
    }

    #[test]
    fn nobody_writes_for_an_application_that_has_stopped() {
        let mut socket = Slow { at_once: 1000, slow_from: usize::MAX, taken: Vec::new() };
        let asked = Cell::new(0);
        let goes_on = || {
            asked.set(asked.get() + 1);
            asked.get() < 5
        };
        let written = write_bursts(&mut socket, &[7; 1000], BURSTS, &alarm(), goes_on).expect("written");
        assert!(!written.all() && written.bytes < 5000, "{written:?}");
    }

    #[test]
    fn an_alarm_in_the_past_rings_at_once() {
        let alarm = Alarm::since(Instant::now() - std::time::Duration::from_secs(3)).expect("a timer");
        assert!(alarm.now() >= Time::from_nanos(3_000_000_000));
        assert!(alarm.sleep_until(Time::ZERO, || true).expect("a timer"));
        let soon = alarm.now() + Duration::from_millis(5);
        assert!(alarm.sleep_until(soon, || true).expect("a timer") && alarm.now() >= soon);
    }
}
