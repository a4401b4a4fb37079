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
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Cost {
    delay: Duration,
    hops: u32,
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
                let next = Cost { delay: cost.delay + edge.delay, hops: cost.hops + 1 };
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
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
