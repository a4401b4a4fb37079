//! What each controller has: tests at once, and tests today.

use super::Agent;
use super::slot::locked;
use crate::policy::{Grant, Wish};
use crate::protocol::Refusal;
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

/// The accounts of all controllers.
#[derive(Default)]
pub(super) struct Ledger(Mutex<HashMap<Vec<String>, Account>>);

#[derive(Default)]
struct Account {
    /// Tests at once.
    sockets: usize,
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
        (account.sockets, account.today) = (sockets + 1, tests_today + 1);
        Ok(grant)
    }

    /// So many tests of this controller are over.
    pub(super) fn give_back(&self, who: &[String], tests: usize) {
        if let Some(account) = locked(&self.0).get_mut(who) {
            account.sockets = account.sockets.saturating_sub(tests);
        }
    }
}
