//! A thread that works on what it is given, and gives it back.

use std::hint::spin_loop;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvError, Sender, TryRecvError, channel};
use std::thread::{Builder, JoinHandle, yield_now};
use std::time::{Duration, Instant};

/// Who waits looks again at once for so long, because to wake a thread takes longer.
const SPINS: Duration = Duration::from_micros(5);
/// Then it lets others run between two looks for so long. After that it sleeps.
const YIELDS: Duration = Duration::from_micros(500);

/// The thread, from the side of who gives it work. It ends when this is dropped.
pub(super) struct Worker<T> {
    /// `None` when the thread is to end.
    there: Option<Sender<Box<T>>>,
    back: Receiver<Box<T>>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Worker<T> {
    /// A thread that does `work`. `None` if the system gives no more threads.
    pub(super) fn new(work: fn(&mut T)) -> Option<Worker<T>> {
        let (there, orders) = channel::<Box<T>>();
        let (done, back) = channel();
        let thread = Builder::new().name("ackclock-senders".to_owned()).spawn(move || {
            while let Ok(mut it) = receive(&orders) {
                work(&mut it);
                if done.send(it).is_err() {
                    return;
                }
            }
        });
        Some(Worker { there: Some(there), back, thread: Some(thread.ok()?) })
    }

    /// Gives it something to work on.
    ///
    /// # Panics
    ///
    /// If the thread has panicked, with its panic.
    pub(super) fn begin(&mut self, it: Box<T>) {
        if self.there.as_ref().is_none_or(|there| there.send(it).is_err()) {
            self.pass_on_panic();
        }
    }

    /// Waits until that is done.
    ///
    /// # Panics
    ///
    /// If the thread has panicked, with its panic.
    pub(super) fn finish(&mut self) -> Box<T> {
        match receive(&self.back) {
            Ok(it) => it,
            Err(_) => self.pass_on_panic(),
        }
    }

    fn pass_on_panic(&mut self) -> ! {
        match self.thread.take().map(JoinHandle::join) {
            Some(Err(panic)) => resume_unwind(panic),
            _ => unreachable!("a thread without a panic goes on"),
        }
    }
}

impl<T> Drop for Worker<T> {
    fn drop(&mut self) {
        self.there = None;
        // Its panic was passed on, or nobody is there to whom it matters.
        self.thread.take().map(JoinHandle::join);
    }
}

/// Waits for a message.
fn receive<T>(from: &Receiver<T>) -> Result<T, RecvError> {
    let mut since = None;
    loop {
        for _ in 0..64 {
            match from.try_recv() {
                Ok(it) => return Ok(it),
                Err(TryRecvError::Disconnected) => return Err(RecvError),
                Err(TryRecvError::Empty) => spin_loop(),
            }
        }
        let waited = since.get_or_insert_with(Instant::now).elapsed();
        if waited > YIELDS {
            return from.recv();
        }
        if waited > SPINS {
            yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread::sleep;

    #[test]
    fn what_is_given_comes_back() {
        let mut worker = Worker::new(|number: &mut u32| *number += 1).expect("a thread");
        let mut number = Box::new(0);
        for pause in [0, 0, 2, 0] {
            worker.begin(number);
            sleep(Duration::from_millis(pause));
            number = worker.finish();
        }
        assert_eq!(*number, 4);
    }

    #[test]
    fn a_panic_reaches_who_waits() {
        let mut worker = Worker::new(|_: &mut u32| panic!("as asked")).expect("a thread");
        worker.begin(Box::new(0));
        let panic = catch_unwind(AssertUnwindSafe(|| worker.finish())).expect_err("it has panicked");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"as asked"));
    }

    #[test]
    fn it_may_be_dropped_while_it_works() {
        let mut worker = Worker::new(|_: &mut u32| sleep(Duration::from_millis(5))).expect("a thread");
        worker.begin(Box::new(0));
        drop(worker);
    }
}
