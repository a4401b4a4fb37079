//! Whose a path is. Paths of TCP flows come first, then those of agents, then those of streams.

use ackclock_scenario::plan::Plan;

/// The owner of a path, with its number in the plan.
pub(super) enum Owner {
    /// A TCP flow.
    Flow(u32),
    /// A rate-based flow.
    Agent(u32),
    /// An unresponsive stream.
    Stream(u32),
}

/// The owners of all paths.
pub(super) struct Owners {
    flows: usize,
    /// The number in the plan of each TCP flow, and then of each agent.
    numbers: Box<[u32]>,
}

impl Owners {
    /// The owners of all paths of a plan.
    pub(super) fn of(plan: &Plan) -> Owners {
        let is_tcp = |&flow: &usize| plan.flows[flow].control.window().is_some();
        let (tcp, rate): (Vec<usize>, Vec<usize>) = (0..plan.flows.len()).partition(is_tcp);
        let numbers = tcp.iter().chain(&rate).map(|&number| number as u32);
        Owners { flows: tcp.len(), numbers: numbers.collect() }
    }

    /// The TCP flows, by their numbers in the plan.
    pub(super) fn tcp(&self) -> &[u32] {
        &self.numbers[..self.flows]
    }

    /// The agents, by their numbers in the plan.
    pub(super) fn rate(&self) -> &[u32] {
        &self.numbers[self.flows..]
    }

    /// The paths of all segments, in the order of their owners, and those of all acknowledgements.
    pub(super) fn paths<'a>(&self, plan: &'a Plan) -> (Vec<&'a [usize]>, Vec<&'a [usize]>) {
        let of_flows = || self.numbers.iter().map(|&flow| &plan.flows[flow as usize]);
        let streams = plan.streams.iter().map(|stream| &*stream.route);
        let data = of_flows().map(|flow| &*flow.forward).chain(streams);
        (data.collect(), of_flows().map(|flow| &*flow.reverse).collect())
    }

    /// The owner of a path.
    #[inline]
    pub(super) fn owner(&self, path: usize) -> Owner {
        match self.numbers.get(path) {
            Some(&number) if path < self.flows => Owner::Flow(number),
            Some(&number) => Owner::Agent(number),
            None => Owner::Stream((path - self.numbers.len()) as u32),
        }
    }

    /// The path of an agent, which is counted from 0.
    pub(super) fn agent(&self, agent: usize) -> usize {
        self.flows + agent
    }

    /// The agent that owns a path.
    pub(super) fn as_agent(&self, path: usize) -> Option<usize> {
        if path < self.numbers.len() { path.checked_sub(self.flows) } else { None }
    }

    /// The stream that owns a path.
    pub(super) fn as_stream(&self, path: usize) -> Option<usize> {
        path.checked_sub(self.numbers.len())
    }

    /// The path of a stream.
    pub(super) fn stream(&self, stream: usize) -> usize {
        self.numbers.len() + stream
    }

    /// The numbers in the plan, in the order of paths.
    pub(super) fn numbers(&self) -> &[u32] {
        &self.numbers
    }
}
