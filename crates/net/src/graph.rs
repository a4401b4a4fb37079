//! Nodes, directed edges between them, and shortest paths.

use ackclock_units::Duration;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fmt;

/// A directed edge.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// The node at which the edge begins.
    pub from: usize,
    /// The node at which the edge ends.
    pub to: usize,
    /// The propagation delay. A shortest path minimises its sum.
    pub delay: Duration,
}

/// A directed graph with named nodes. Edges are numbered in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    names: Vec<String>,
    by_name: HashMap<String, usize>,
    edges: Vec<Edge>,
    leaving: Vec<Vec<usize>>,
}

/// The cost of a path: its delay, then its number of hops.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
struct Cost {
    delay: Duration,
    hops: u32,
}

/// The cost of the cheapest path from each node to one of them.
#[derive(Clone, Debug)]
pub struct Costs {
    to: usize,
    of: Vec<Option<Cost>>,
}

/// No path leads from one node to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoRoute {
    /// The name of the first node.
    pub from: String,
    /// The name of the last node.
    pub to: String,
}

impl fmt::Display for NoRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no route leads from {} to {}", self.from, self.to)
    }
}

impl std::error::Error for NoRoute {}

impl Graph {
    /// The number of the node called `name`. The node is added if it is new.
    pub fn node(&mut self, name: &str) -> usize {
        if let Some(&known) = self.by_name.get(name) {
            return known;
        }
        let number = self.names.len();
        self.names.push(name.to_owned());
        self.by_name.insert(name.to_owned(), number);
        self.leaving.push(Vec::new());
        number
    }

    /// The number of the node called `name`, if there is one.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The names of all nodes, in the order of their numbers.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Adds an edge and returns its number.
    pub fn connect(&mut self, edge: Edge) -> usize {
        self.leaving[edge.from].push(self.edges.len());
        self.edges.push(edge);
        self.edges.len() - 1
    }

    /// All edges, in the order of their numbers.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The edges of the path with the least delay. Among equal delays the path with the fewest hops wins,
    /// then the one with the lowest edge numbers.
    ///
    /// # Errors
    ///
    /// [`NoRoute`] if no path leads from `from` to `to`.
    pub fn route(&self, from: usize, to: usize) -> Result<Vec<usize>, NoRoute> {
        // A path is replaced only by a strictly better one. Ties therefore go to the lower edge numbers.
        let mut best: Vec<Option<(Cost, Option<usize>)>> = vec![None; self.names.len()];
        let mut open = BinaryHeap::from([Reverse((Cost::default(), from))]);
        best[from] = Some((Cost::default(), None));
        while let Some(Reverse((cost, node))) = open.pop() {
            if best[node].is_some_and(|(known, _)| known < cost) {
                continue;
            }
            for &number in &self.leaving[node] {
                let edge = &self.edges[number];
                let next = cost.over(edge);
                if best[edge.to].is_none_or(|(known, _)| next < known) {
                    best[edge.to] = Some((next, Some(number)));
                    open.push(Reverse((next, edge.to)));
                }
            }
        }
        let mut path = Vec::new();
        let mut at = to;
        while at != from {
            let Some((_, Some(number))) = best[at] else {
                return Err(NoRoute { from: self.names[from].clone(), to: self.names[to].clone() });
            };
            path.push(number);
            at = self.edges[number].from;
        }
        path.reverse();
        Ok(path)
    }

    /// The costs of the cheapest paths to a node, for [`Graph::equal_cost_route`].
    pub fn costs_to(&self, to: usize) -> Costs {
        let mut entering = vec![Vec::new(); self.names.len()];
        for edge in &self.edges {
            entering[edge.to].push(edge);
        }
        let mut of: Vec<Option<Cost>> = vec![None; self.names.len()];
        of[to] = Some(Cost::default());
        let mut open = BinaryHeap::from([Reverse((Cost::default(), to))]);
        while let Some(Reverse((cost, node))) = open.pop() {
            if of[node].is_some_and(|known| known < cost) {
                continue;
            }
            for edge in &entering[node] {
                let next = cost.over(edge);
                if of[edge.from].is_none_or(|known| next < known) {
                    of[edge.from] = Some(next);
                    open.push(Reverse((next, edge.from)));
                }
            }
        }
        Costs { to, of }
    }

    /// The edges of one of the paths with the least delay and, among these, the fewest hops. Where several
    /// edges begin such a path, `choose` gets their number and names one of them, from 0 (equal-cost
    /// multipath, RFC 2992).
    ///
    /// # Errors
    ///
    /// [`NoRoute`] if no path leads from `from` to the node of the `costs`.
    pub fn equal_cost_route(
        &self,
        from: usize,
        costs: &Costs,
        mut choose: impl FnMut(usize) -> usize,
    ) -> Result<Vec<usize>, NoRoute> {
        let (mut path, mut at) = (Vec::new(), from);
        while at != costs.to {
            let cheapest = |&edge: &usize| {
                let edge = &self.edges[edge];
                costs.of[at].is_some() && costs.of[edge.to].map(|rest| rest.over(edge)) == costs.of[at]
            };
            let edges: Vec<usize> = self.leaving[at].iter().copied().filter(cheapest).collect();
            let chosen = if edges.len() > 1 { choose(edges.len()) } else { 0 };
            let Some(&edge) = edges.get(chosen) else {
                let name = |node: usize| self.names[node].clone();
                return Err(NoRoute { from: name(from), to: name(costs.to) });
            };
            path.push(edge);
            at = self.edges[edge].to;
        }
        Ok(path)
    }
}

impl Cost {
    /// The cost with `edge` in addition.
    fn over(self, edge: &Edge) -> Cost {
        Cost { delay: self.delay + edge.delay, hops: self.hops + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn graph(edges: &[(&str, &str, u64)]) -> Graph {
        let mut graph = Graph::default();
        for &(from, to, ms) in edges {
            let (from, to) = (graph.node(from), graph.node(to));
            graph.connect(Edge { from, to, delay: Duration::from_millis(ms) });
        }
        graph
    }

    fn route(graph: &Graph, from: &str, to: &str) -> Option<Vec<usize>> {
        graph.route(graph.find(from)?, graph.find(to)?).ok()
    }

    #[test]
    fn the_quicker_way_wins_over_the_shorter() {
        let graph = graph(&[("a", "c", 30), ("a", "b", 10), ("b", "c", 10)]);
        assert_eq!(route(&graph, "a", "c"), Some(vec![1, 2]));
    }

    #[test]
    fn fewer_hops_win_among_equals() {
        let graph = graph(&[("a", "b", 10), ("b", "c", 10), ("a", "c", 20)]);
        assert_eq!(route(&graph, "a", "c"), Some(vec![2]));
    }

    #[test]
    fn no_way_back_is_no_route() {
        let graph = graph(&[("a", "b", 1)]);
        assert_eq!(route(&graph, "b", "a"), None);
        assert_eq!(route(&graph, "a", "a"), Some(vec![]));
    }

    #[test]
    fn equal_paths_are_chosen_between_and_others_are_not() {
        let mut edges = vec![("a", "l", 1), ("k", "b", 1), ("l", "far", 2), ("far", "k", 2)];
        for spine in ["s1", "s2", "s3"] {
            edges.extend([("l", spine, 1), (spine, "k", 1)]);
        }
        let graph = graph(&edges);
        let node = |name| graph.find(name).expect("it is there");
        let costs = graph.costs_to(node("b"));
        let over: Vec<_> = (0..3)
            .map(|spine| {
                let choose = |count| {
                    assert_eq!(count, 3);
                    spine
                };
                graph.equal_cost_route(node("a"), &costs, choose).expect("a way")
            })
            .collect();
        assert_eq!(over, [[0, 4, 5, 1], [0, 6, 7, 1], [0, 8, 9, 1]]);
        let back = graph.equal_cost_route(node("b"), &graph.costs_to(node("a")), |_| 0);
        assert_eq!(back, Err(NoRoute { from: "b".to_owned(), to: "a".to_owned() }));
    }

    proptest! {
        #[test]
        fn every_choice_leads_there_at_the_cost_of_the_best_route(
            edges in prop::collection::vec((0_usize..8, 0_usize..8, 0_u64..4), 1..40),
            choices in prop::collection::vec(any::<usize>(), 8),
        ) {
            let mut graph = Graph::default();
            (0..8).for_each(|node| { graph.node(&node.to_string()); });
            for (from, to, ms) in edges {
                graph.connect(Edge { from, to, delay: Duration::from_millis(ms) });
            }
            let cost = |path: &[usize]| {
                path.iter().fold(Cost::default(), |cost, &edge| cost.over(&graph.edges()[edge]))
            };
            let costs = graph.costs_to(7);
            let mut next = choices.into_iter();
            let chosen = graph.equal_cost_route(0, &costs, |count| next.next().expect("8 nodes") % count);
            let best = graph.route(0, 7);
            prop_assert_eq!(chosen.as_deref().map(cost), best.as_deref().map(cost));
            if let Ok(path) = chosen {
                let mut at = 0;
                for edge in path {
                    prop_assert_eq!(graph.edges()[edge].from, at);
                    at = graph.edges()[edge].to;
                }
                prop_assert_eq!(at, 7);
            }
        }
    }
}
