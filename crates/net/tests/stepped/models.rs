//! The RFCs' pseudo-code with plain queues, and a transmitter that is stepped instant by instant.

use super::bench::{Offer, Outcome, US};
use ackclock_net::{Cause, CoDelConfig, DualPi2Config, Ecn, FqCoDelConfig, Limit};
use std::collections::VecDeque;

/// A discipline in the model; packets are numbers of offers.
pub trait Model {
    /// A packet comes at `now`; returns what is dropped.
    fn enqueue(&mut self, now: u64, idle: bool, number: usize, offers: &[Offer]) -> Vec<usize>;
    /// The packet that leaves, and whether it is marked; what is dropped goes into `dropped`.
    fn dequeue(&mut self, now: u64, offers: &[Offer], dropped: &mut Vec<usize>) -> Option<(usize, bool)>;
    fn waiting(&self) -> Vec<usize>;
    /// Why a packet is dropped from the queue when another one comes.
    fn evicts(&self) -> Cause {
        Cause::Overflow
    }
    /// When it looks at its queues by itself.
    fn looks(&self) -> u64 {
        u64::MAX
    }
    fn look(&mut self, _now: u64, _offers: &[Offer]) {}
}

pub fn bytes(waiting: &[usize], offers: &[Offer]) -> u64 {
    waiting.iter().map(|&number| u64::from(offers[number].bytes)).sum()
}

pub fn fits(limit: Limit, waiting: &[usize], more: u64, offers: &[Offer]) -> bool {
    match limit {
        Limit::Packets(limit) => waiting.len() < limit as usize,
        Limit::Bytes(limit) => bytes(waiting, offers) + more <= limit,
    }
}

/// What becomes of each offer.
pub fn run(model: &mut dyn Model, offers: &[Offer]) -> Vec<Outcome> {
    let mut outcomes = vec![None; offers.len()];
    let mut busy_until: Option<u64> = None;
    let mut next = 0;
    loop {
        let comes = offers.get(next).map_or(u64::MAX, |offer| offer.at);
        let frees = busy_until.unwrap_or(u64::MAX);
        let now = comes.min(frees).min(model.looks());
        if comes == u64::MAX && busy_until.is_none() {
            return outcomes.into_iter().map(|outcome| outcome.expect("it was settled")).collect();
        }
        let asks = if now == model.looks() {
            model.look(now, offers);
            continue;
        } else if now == frees {
            busy_until = None;
            true
        } else {
            let idle = busy_until.is_none();
            for dropped in model.enqueue(now, idle, next, offers) {
                let cause = if dropped == next { Cause::Overflow } else { model.evicts() };
                outcomes[dropped] = Some(Outcome::Dropped { at: now, cause });
            }
            next += 1;
            idle
        };
        if asks {
            let mut dropped = Vec::new();
            if let Some((number, marked)) = model.dequeue(now, offers, &mut dropped) {
                outcomes[number] = Some(Outcome::Sent { at: now, marked });
                busy_until = Some(now + u64::from(offers[number].bytes) * US);
            }
            for number in dropped {
                outcomes[number] = Some(Outcome::Dropped { at: now, cause: Cause::Early });
            }
        }
    }
}

/// RFC 8289 section 5, with its flag value 0 and its names.
pub struct CoDel {
    pub config: CoDelConfig,
    pub queue: VecDeque<usize>,
    first_above_time: u64,
    drop_next: u64,
    count: u64,
    lastcount: u64,
    dropping: bool,
}

impl CoDel {
    pub fn new(config: CoDelConfig) -> CoDel {
        CoDel {
            config,
            queue: VecDeque::new(),
            first_above_time: 0,
            drop_next: 0,
            count: 0,
            lastcount: 0,
            dropping: false,
        }
    }

    fn control_law(&self, t: u64, count: u64) -> u64 {
        t + (self.config.interval.as_nanos() as f64 / (count as f64).sqrt()) as u64
    }

    /// `others`: bytes in other queues of the link.
    fn dodequeue(&mut self, now: u64, offers: &[Offer], others: u64) -> (Option<usize>, bool) {
        let Some(number) = self.queue.pop_front() else {
            self.first_above_time = 0;
            return (None, false);
        };
        let sojourn_time = now - offers[number].at;
        let left = bytes(self.queue.make_contiguous(), offers) + others;
        if sojourn_time < self.config.target.as_nanos() || left <= u64::from(self.config.mtu) {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + self.config.interval.as_nanos();
        } else if now >= self.first_above_time {
            return (Some(number), true);
        }
        (Some(number), false)
    }

    pub fn next(
        &mut self,
        now: u64,
        offers: &[Offer],
        others: u64,
        dropped: &mut Vec<usize>,
    ) -> Option<(usize, bool)> {
        let markable = |number: Option<usize>, config: &CoDelConfig| {
            config.mark && number.is_some_and(|number| offers[number].ecn != Ecn::NotEct)
        };
        let (mut packet, mut ok_to_drop) = self.dodequeue(now, offers, others);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.count += 1;
                if markable(packet, &self.config) {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                    return packet.map(|number| (number, true));
                }
                dropped.extend(packet);
                (packet, ok_to_drop) = self.dodequeue(now, offers, others);
                if !ok_to_drop {
                    self.dropping = false;
                } else {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                }
            }
        } else if ok_to_drop {
            let marked = markable(packet, &self.config);
            if !marked {
                dropped.extend(packet);
                packet = self.dodequeue(now, offers, others).0;
            }
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            if delta > 1
                && now as i128 - (self.drop_next as i128) < 16 * i128::from(self.config.interval.as_nanos())
            {
                self.count = delta;
            }
            self.drop_next = self.control_law(now, self.count);
            self.lastcount = self.count;
            return packet.map(|number| (number, marked));
        }
        packet.map(|number| (number, false))
    }
}

/// CoDel alone, with a limit.
pub struct One(pub CoDel, pub Limit);

impl Model for One {
    fn enqueue(&mut self, _now: u64, idle: bool, number: usize, offers: &[Offer]) -> Vec<usize> {
        if !idle && !fits(self.1, &self.waiting(), u64::from(offers[number].bytes), offers) {
            return vec![number];
        }
        self.0.queue.push_back(number);
        Vec::new()
    }

    fn dequeue(&mut self, now: u64, offers: &[Offer], dropped: &mut Vec<usize>) -> Option<(usize, bool)> {
        self.0.next(now, offers, 0, dropped)
    }

    fn waiting(&self) -> Vec<usize> {
        self.0.queue.iter().copied().collect()
    }
}

/// RFC 8290 section 4; `queue_of` says which queue a flow has.
pub struct Fq {
    config: FqCoDelConfig,
    queue_of: Vec<usize>,
    queues: Vec<(CoDel, i64)>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
}

impl Fq {
    pub fn new(config: FqCoDelConfig, queue_of: Vec<usize>) -> Fq {
        let queues = (0..config.queues).map(|_| (CoDel::new(config.codel.clone()), 0)).collect();
        Fq { config, queue_of, queues, new: VecDeque::new(), old: VecDeque::new() }
    }
}

impl Model for Fq {
    fn enqueue(&mut self, _now: u64, idle: bool, number: usize, offers: &[Offer]) -> Vec<usize> {
        let queue = self.queue_of[offers[number].flow as usize];
        self.queues[queue].0.queue.push_back(number);
        if !self.new.contains(&queue) && !self.old.contains(&queue) {
            self.queues[queue].1 = i64::from(self.config.quantum);
            self.new.push_back(queue);
        }
        let mut dropped = Vec::new();
        let over = |waiting: &[usize]| match self.config.limit {
            Limit::Packets(limit) => waiting.len() > limit as usize,
            Limit::Bytes(limit) => bytes(waiting, offers) > limit,
        };
        let mut waiting = self.waiting();
        while !idle && over(&waiting) {
            let size = |(codel, _): &(CoDel, i64)| {
                codel.queue.iter().map(|&n| u64::from(offers[n].bytes)).sum::<u64>()
            };
            let fattest = (0..self.queues.len()).max_by_key(|&queue| size(&self.queues[queue])).expect("one");
            let queue = &mut self.queues[fattest].0.queue;
            for _ in 0..(queue.len() / 2).clamp(1, 64) {
                dropped.extend(queue.pop_front());
            }
            waiting.retain(|number| !dropped.contains(number));
        }
        dropped
    }

    fn dequeue(&mut self, now: u64, offers: &[Offer], dropped: &mut Vec<usize>) -> Option<(usize, bool)> {
        loop {
            let is_new = !self.new.is_empty();
            let queue = *if is_new { &self.new } else { &self.old }.front()?;
            if self.queues[queue].1 <= 0 {
                self.queues[queue].1 += i64::from(self.config.quantum);
                if is_new {
                    self.new.pop_front()
                } else {
                    self.old.pop_front()
                };
                self.old.push_back(queue);
                continue;
            }
            let own = bytes(self.queues[queue].0.queue.make_contiguous(), offers);
            let others = bytes(&self.waiting(), offers) - own;
            if let Some((number, marked)) = self.queues[queue].0.next(now, offers, others, dropped) {
                self.queues[queue].1 -= i64::from(offers[number].bytes);
                return Some((number, marked));
            }
            if is_new {
                self.new.pop_front();
                self.old.push_back(queue);
            } else {
                self.old.pop_front();
            }
        }
    }

    fn waiting(&self) -> Vec<usize> {
        self.queues.iter().flat_map(|(codel, _)| codel.queue.iter().copied()).collect()
    }
}

/// RFC 9332 figures 3, 5, 7 and 8, with their names.
pub struct Dual {
    config: DualPi2Config,
    lq: VecDeque<usize>,
    cq: VecDeque<usize>,
    lq_count: f64,
    cq_count: f64,
    p: f64,
    prevq: f64,
    update_at: u64,
    credit: f64,
}

impl Dual {
    pub fn new(config: DualPi2Config) -> Dual {
        let credit = (1.0 - config.share) * f64::from(config.mtu);
        Dual {
            update_at: config.period.as_nanos(),
            config,
            lq: VecDeque::new(),
            cq: VecDeque::new(),
            lq_count: 0.0,
            cq_count: 0.0,
            p: 0.0,
            prevq: 0.0,
            credit,
        }
    }

    fn laqm(&self, qdelay: f64) -> f64 {
        let (min, range) = (self.config.threshold.as_secs_f64(), self.config.range.as_secs_f64());
        if qdelay >= (self.config.threshold + self.config.range).as_secs_f64() {
            1.0
        } else if qdelay > min {
            (qdelay - min) / range
        } else {
            0.0
        }
    }
}

fn recur(count: &mut f64, likelihood: f64) -> bool {
    *count += likelihood.min(1.0);
    if *count > 1.0 {
        *count -= 1.0;
        return true;
    }
    false
}

impl Model for Dual {
    fn enqueue(&mut self, _now: u64, idle: bool, number: usize, offers: &[Offer]) -> Vec<usize> {
        if !idle && !fits(self.config.limit, &self.waiting(), u64::from(self.config.mtu), offers) {
            return vec![number];
        }
        match offers[number].ecn {
            Ecn::Ect1 | Ecn::Ce => self.lq.push_back(number),
            Ecn::NotEct | Ecn::Ect0 => self.cq.push_back(number),
        }
        Vec::new()
    }

    fn dequeue(&mut self, now: u64, offers: &[Offer], dropped: &mut Vec<usize>) -> Option<(usize, bool)> {
        let (p_cl, p_c) = (self.p * self.config.coupling, self.p * self.p);
        let p_cmax = (1.0 / (self.config.coupling * self.config.coupling)).min(1.0);
        while self.lq.len() + self.cq.len() > 0 {
            let mut low = self.cq.is_empty();
            if let (Some(&l), Some(&c)) = (self.lq.front(), self.cq.front()) {
                low = self.credit > 0.0;
                let (l, c) = (f64::from(offers[l].bytes), f64::from(offers[c].bytes));
                self.credit += if low { -self.config.share * l } else { (1.0 - self.config.share) * c };
            }
            if low {
                let number = self.lq.pop_front().expect("it is not empty");
                if p_cl < 1.0 {
                    let qdelay = (now - offers[number].at) as f64 / 1e9;
                    let behind = self.lq.len() > self.config.floor as usize;
                    let native = if behind { self.laqm(qdelay) } else { 0.0 };
                    return Some((number, recur(&mut self.lq_count, native.max(p_cl))));
                }
                if recur(&mut self.lq_count, p_c) {
                    dropped.push(number);
                    continue;
                }
                return Some((number, recur(&mut self.lq_count, p_cl)));
            }
            let number = self.cq.pop_front().expect("it is not empty");
            let marked = recur(&mut self.cq_count, p_c);
            if marked && (offers[number].ecn == Ecn::NotEct || p_c >= p_cmax) {
                dropped.push(number);
                continue;
            }
            return Some((number, marked));
        }
        self.credit = (1.0 - self.config.share) * f64::from(self.config.mtu);
        None
    }

    fn waiting(&self) -> Vec<usize> {
        self.lq.iter().chain(&self.cq).copied().collect()
    }

    fn looks(&self) -> u64 {
        self.update_at
    }

    fn look(&mut self, now: u64, offers: &[Offer]) {
        let time =
            |queue: &VecDeque<usize>| queue.front().map_or(0.0, |&n| (now - offers[n].at) as f64 / 1e9);
        let curq = time(&self.cq).max(time(&self.lq));
        let DualPi2Config { alpha, beta, target, .. } = self.config;
        self.p += alpha * (curq - target.as_secs_f64()) + beta * (curq - self.prevq);
        self.p = self.p.clamp(0.0, 1.0);
        self.prevq = curq;
        self.update_at += self.config.period.as_nanos();
    }
}
