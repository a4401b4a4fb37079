//! The timers of a connection.

use super::{Connection, Context, Phase, Why};
use ackclock_units::Time;

impl Connection {
    /// When to call [`Connection::on_timeout`], and then to ask for departures.
    pub(crate) fn deadline(&self, now: Time) -> Option<Time> {
        if self.is_over() {
            return None;
        }
        let opening = matches!(self.phase, Phase::SynSent | Phase::SynReceived).then_some(self.opening.due);
        let moving = (self.phase == Phase::Synchronised)
            .then(|| [self.outbound.deadline(now), self.inbound.deadline(), self.probe_due()]);
        let all = [opening, self.expires].into_iter().chain(moving.into_iter().flatten());
        all.flatten().min()
    }

    /// When an idle connection is probed next.
    fn probe_due(&self) -> Option<Time> {
        let keep_alive = self.options.keep_alive.filter(|_| !self.outbound.is_outstanding())?;
        let waited = keep_alive.interval.saturating_mul(u64::from(self.probes));
        Some(self.heard.max(self.busy_since) + keep_alive.idle + waited)
    }

    /// Does what is due.
    pub(crate) fn on_timeout(&mut self, context: &mut Context<'_>) {
        let now = context.now;
        let due = |at: Option<Time>| at.is_some_and(|at| at <= now);
        if due(self.expires) {
            return self.end(Why::Closed);
        }
        match self.phase {
            Phase::SynSent | Phase::SynReceived => {
                if self.opening.due <= now {
                    self.repeat_syn(context);
                }
            }
            Phase::Synchronised => {
                if self.outbound.on_timeout(now) && self.is_given_up(now) {
                    return self.end(Why::TimedOut);
                }
                if due(self.inbound.deadline()) {
                    self.send_ack(context);
                }
                if due(self.probe_due()) {
                    self.keep_alive(context);
                }
            }
            Phase::TimeWait | Phase::Ended(_) => {}
        }
    }

    /// R2 of RFC 9293 section 3.8.3. A peer that answers probes of its closed window is alive.
    fn is_given_up(&self, now: Time) -> bool {
        now.since(self.heard.max(self.busy_since)) >= self.options.give_up
    }

    /// RFC 9293 section 3.8.4: a segment that is outside the peer's window, so that it answers.
    fn keep_alive(&mut self, context: &mut Context<'_>) {
        let Some(keep_alive) = self.options.keep_alive else { return };
        if self.probes >= keep_alive.probes {
            self.send_reset(context);
            return self.end(Why::TimedOut);
        }
        self.probes += 1;
        let before = self.ours.wire(self.outbound.sent()).wrapping_sub(1);
        self.send_ack_from(context, before);
    }

    /// A router has said that a packet of ours with the sequence number `seq` was too big: it forwards `mtu`
    /// bytes at most. RFC 5927 section 7: only if that was sent and is not acknowledged.
    pub(crate) fn too_big(&mut self, now: Time, seq: u32, mtu: u32) {
        /// Linux (ip_rt_min_pmtu); RFC 8200 section 5.
        const LEAST: [u32; 2] = [552, 1280];
        let una = self.outbound.acked();
        let outstanding = self.outbound.sent().saturating_sub(una) as i64;
        if self.phase != Phase::Synchronised || !(0..outstanding).contains(&self.ours.distance(seq, una)) {
            return;
        }
        let least = LEAST[usize::from(self.local.is_ipv6())];
        let payload = self.payload(mtu.max(least));
        self.outbound.shrink(now, payload.into());
    }
}
