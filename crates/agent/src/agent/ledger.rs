//! What each controller has: tests at once, their time stamps, and tests today.

use super::Agent;
use super::slot::locked;
use crate::policy::{Grant, Wish};
use crate::protocol::Refusal;
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

/// The greatest number of time stamps that the tests of a controller keep at once. One has 16 bytes, and a
/// list that grows may have twice the room that it needs: 128 MiB.
const MAX_STAMPS: u64 = 1 << 22;

/// The accounts of all controllers.
#[derive(Default)]
pub(super) struct Ledger(Mutex<HashMap<Vec<String>, Account>>);

#[derive(Default)]
struct Account {
    /// Tests at once.
    sockets: usize,
    /// Time stamps that these keep.
    stamps: u64,
    /// The day since 1970, UTC.
    day: u64,
    today: u64,
}

/// The day since 1970 and the minute of that day, UTC.
pub(crate) fn calendar() -> (u64, u32) {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    (seconds / 86_400, (seconds % 86_400 / 60) as u32)
}

impl Ledger {
    /// Asks the policy, and books the test if it may be.
    pub(super) fn decide(&self, agent: &Agent, wish: &Wish<'_>) -> Result<Grant, Refusal> {
        let (day, minute) = calendar();
        let mut accounts = locked(&self.0);
        let account = accounts.entry(wish.who.to_vec()).or_default();
        if account.day != day {
            (account.day, account.today) = (day, 0);
        }
        let (sockets, tests_today) = (account.sockets, account.today);
        let grant = agent.policy.decide(&Wish { sockets, tests_today, minute, ..wish.clone() })?;
        let stamps = account.stamps + u64::from(wish.spec.stamps);
        if stamps > MAX_STAMPS {
            return Err(Refusal::new(
                "too_many_stamps",
                format!("all tests of a controller keep at most {MAX_STAMPS} time stamps at once"),
                "ask for fewer `stamps`, or let the tests go one after the other (serial)",
            ));
        }
        (account.sockets, account.today, account.stamps) = (sockets + 1, tests_today + 1, stamps);
        Ok(grant)
    }

    /// So many tests of this controller are over, which kept so many time stamps.
    pub(super) fn give_back(&self, who: &[String], tests: usize, stamps: u64) {
        if let Some(account) = locked(&self.0).get_mut(who) {
            account.sockets = account.sockets.saturating_sub(tests);
            account.stamps = account.stamps.saturating_sub(stamps);
        }
    }
}
