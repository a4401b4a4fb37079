//! Nothing is allocated per packet once a connection runs.

use super::{FULL, MTU, at};
use crate::control::controller;
use crate::driver::Driver;
use ackclock_cc::{S2N_QUIC, schemes};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, and a count for each thread.
struct Counting;

#[allow(unsafe_code, reason = "an allocator cannot be written without it")]
// Invariant: every call goes to the system's allocator as it came, which keeps the contract of `GlobalAlloc`.
// The count is a plain number of the thread, needs no destructor, and allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn nothing_is_allocated_per_acknowledgement() {
    let before = COUNT.get();
    drop(std::hint::black_box(Box::new(before)));
    assert_eq!(COUNT.get(), before + 1, "allocations are counted");
    for scheme in schemes() {
        let control = controller(scheme.name).expect("it is in the registry").uncontrolled();
        if control.check(&S2N_QUIC).is_err() {
            continue;
        }
        let mut driver = Driver::new(&control, MTU, at(0));
        let mut turn = |ms: u64| {
            let packet = driver.on_sent(at(ms), FULL);
            driver.on_acked(at(ms), FULL, Some(&packet));
            driver.on_ack_end(at(ms + 20), None, Some(ms), true, false);
            if ms.is_multiple_of(500) {
                driver.on_packet_lost(at(ms + 20), ms, FULL, &packet);
                driver.on_loss(at(ms + 20), at(ms), FULL, false);
            }
        };
        (1..1000).for_each(&mut turn);
        let before = COUNT.get();
        (1000..20_000).for_each(&mut turn);
        assert_eq!(COUNT.get() - before, 0, "{}", scheme.name);
    }
}
