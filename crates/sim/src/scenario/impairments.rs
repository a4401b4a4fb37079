//! What goes wrong on a link: `loss`, `reorder`.

use super::document::Value;
use super::reader::{At, Result, Table};
use super::variate::read_variate;
use ackclock_net::{BelowZero, Impairments, Loss, Reorder, Share, Stream, Variate};

/// What goes wrong on a link, as the file describes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ImpairmentsSpec {
    loss: Option<LossSpec>,
    reorder: Option<ReorderSpec>,
}

/// What a link loses besides what does not fit its queue.
#[derive(Clone, Copy, Debug)]
enum LossSpec {
    /// Each packet with this probability.
    Random(f64),
    /// One packet in so many, counted.
    Every(u64),
}

/// Which share of the packets is late, and by how much.
#[derive(Clone, Copy, Debug)]
struct ReorderSpec {
    share: f64,
    delay: Variate,
}

/// The keys of a link that say what goes wrong on it.
pub(crate) fn read_impairments(table: &Table<'_>) -> Result<ImpairmentsSpec> {
    Ok(ImpairmentsSpec {
        loss: table.get("loss").map(|at| read_loss(&at)).transpose()?,
        reorder: table.get("reorder").map(|at| read_reorder(&at)).transpose()?,
    })
}

/// `1e-4`, or `{ every = 10000 }`.
fn read_loss(at: &At<'_>) -> Result<LossSpec> {
    if !matches!(at.node.value, Value::Table(_)) {
        return at.number(0.0, 1.0).map(LossSpec::Random);
    }
    match at.choice()? {
        ("every", Some(inner)) => inner.count(1, 1 << 53).map(LossSpec::Every),
        (word, _) => Err(at.unknown("kind of loss", word, &["every"])),
    }
}

const LATE: &str = "{ normal = [\"25 ms\", \"8 ms\"] }";

/// `{ share = 0.1, delay = { normal = ["25 ms", "8 ms"] } }`.
fn read_reorder(at: &At<'_>) -> Result<ReorderSpec> {
    let table = at.table_like(&format!("{{ share = 0.1, delay = {LATE} }}"))?;
    let share = table.need("share", "0.1")?.number(0.0, 1.0)?;
    let delay_at = table.need("delay", LATE)?;
    let mut delay = read_variate(&delay_at, LATE)?;
    if delay.mean().is_zero() {
        return Err(delay_at
            .error("a mean of zero delays nothing")
            .help("give it a mean above zero, or remove reorder"));
    }
    if let Some(at) = table.get("below_zero") {
        let Variate::Normal { below_zero, .. } = &mut delay else {
            return Err(at
                .error("only a normal variate can be below zero")
                .help(format!("remove this key, or let the delay be {LATE}")));
        };
        *below_zero = match at.text()? {
            "zero" => BelowZero::Zero,
            "redraw" => BelowZero::Redraw,
            word => return Err(at.unknown("way to treat what is below zero", word, &["zero", "redraw"])),
        };
    }
    table.finish()?;
    Ok(ReorderSpec { share, delay })
}

impl ImpairmentsSpec {
    /// What they are on a link, if there are any; `stream` gives each its own random numbers.
    pub(crate) fn build(&self, stream: impl Fn(&str) -> Stream) -> Option<Impairments> {
        let impairments = Impairments {
            loss: self.loss.and_then(|loss| loss.build(stream("loss"))),
            reorder: self.reorder.filter(|reorder| reorder.share > 0.0).map(|reorder| {
                let share = Share::new(reorder.share, stream("reorder"));
                Reorder::new(share, reorder.delay, stream("reorder delay"))
            }),
        };
        let any = impairments.loss.is_some() || impairments.reorder.is_some();
        any.then_some(impairments)
    }

    /// Mean time by which a packet is late, seconds.
    pub(crate) fn lateness(&self) -> f64 {
        self.reorder.map_or(0.0, |reorder| reorder.share * reorder.delay.mean().as_secs_f64())
    }
}

impl LossSpec {
    fn build(self, stream: Stream) -> Option<Loss> {
        match self {
            LossSpec::Random(0.0) => None,
            LossSpec::Random(share) => Some(Loss::new(share, stream)),
            LossSpec::Every(period) => Some(Loss::every(period)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::results::PointResult;
    use crate::run::run_point;
    use crate::scenario::Sweep;
    use std::sync::atomic::AtomicBool;

    fn scenario(keys: &str) -> Result<Sweep, String> {
        let text = format!(
            "duration = \"20 s\"\n[topology.dumbbell]\n\
             bottleneck = {{ rate = \"10 Mbit/s\", delay = \"5 ms\", {keys} }}\n\
             [[flows]]\ncontrol = \"reno\"\n"
        );
        Sweep::read("link.toml", &text, &[]).map_err(|error| {
            let help = miette::Diagnostic::help(&error).map(|help| help.to_string());
            format!("{error}: {}", help.unwrap_or_default())
        })
    }

    fn run(keys: &str) -> PointResult {
        let sweep = scenario(keys).expect("a scenario");
        run_point(&sweep.points[0], false, &AtomicBool::new(false)).expect("a run")
    }

    /// The scenario is refused, at its line and key, and with these words.
    fn refused(keys: &str, words: &[&str]) {
        let error = scenario(keys).err().unwrap_or_else(|| panic!("{keys} is taken"));
        for word in ["link.toml:3", "topology.dumbbell.bottleneck."].iter().chain(words) {
            assert!(error.contains(word), "{keys}: {error} does not say {word}");
        }
    }

    #[test]
    fn one_packet_in_so_many_is_lost() {
        let result = run("loss = { every = 100 }");
        let link = &result.links[0];
        assert_eq!(link.random_losses, link.arrivals / 100);
        assert_eq!(result.links[1].random_losses, 0, "acknowledgements are spared");
    }

    #[test]
    fn other_losses_are_mistakes() {
        refused("loss = 1.5", &["loss", "from 0 to 1"]);
        refused("loss = { every = 0 }", &["every"]);
        refused("loss = { evry = 10 }", &["did you mean \"every\"?"]);
    }

    #[test]
    fn the_share_that_was_asked_for_is_late() {
        let result = run("reorder = { share = 0.1, delay = { normal = [\"25 ms\", \"8 ms\"] } }");
        let link = &result.links[0];
        let share = link.late as f64 / link.arrivals as f64;
        assert!((share - 0.1).abs() < 0.02, "{share}");
        assert_eq!(link.drops, 0);
        assert_eq!(result.links[1].late, 0, "acknowledgements keep their order");
        assert!(result.flows[0].retransmits > 0, "duplicate acknowledgements are taken for losses");
    }

    #[test]
    fn impossible_reordering_is_explained() {
        refused("reorder = 0.1", &["a table is wanted", "share = 0.1"]);
        refused("reorder = { share = 1.5, delay = \"25 ms\" }", &["reorder.share", "from 0 to 1"]);
        refused("reorder = { share = 0.1 }", &["\"delay\" is missing", "normal"]);
        refused("reorder = { share = 0.1, delay = 25 }", &["reorder.delay", "no unit", "ms"]);
        refused("reorder = { share = 0.1, delay = \"normal\" }", &["no mean", "[\"25 ms\", \"8 ms\"]"]);
        refused(
            "reorder = { share = 0.1, delay = { normal = [\"8 ms\"] } }",
            &["a mean and a standard deviation"],
        );
        refused("reorder = { share = 0.1, delay = { nromal = [\"8 ms\"] } }", &["did you mean \"normal\"?"]);
        refused(
            "reorder = { share = 0.1, delay = { uniform = [\"8 ms\", \"1 ms\"] } }",
            &["shorter time first"],
        );
        refused("reorder = { share = 0.1, delay = \"0 ms\" }", &["delays nothing"]);
        refused("reorder = { share = 0.1, delay = { pareto = { shape = 1.5 } } }", &["needs a mean"]);
        refused(
            "reorder = { share = 0.1, delay = { pareto = { mean = \"1 ms\", shape = 1 } } }",
            &["shape 1 has no mean", "above 1"],
        );
        refused(
            "reorder = { share = 0.1, delay = \"5 ms\", below_zero = \"zero\" }",
            &["only a normal variate"],
        );
    }
}
