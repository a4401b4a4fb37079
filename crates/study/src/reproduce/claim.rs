//! A claim of an experiment file: what it asserts, and which claim of the source it represents.

use ackclock_scenario::Node;
use ackclock_scenario::reader::{At, Result};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

/// A claim.
#[derive(Clone)]
pub struct Claim {
    /// The claim in words.
    pub text: String,
    /// What the claim asserts.
    pub asserted: Asserted,
    /// Whose claim it is.
    pub origin: Origin,
    /// What keeps it apart from claims that were tested.
    pub apart: Option<Apart>,
    /// Where the source itself says otherwise.
    pub contradicted: Option<Contradiction>,
    /// Names and their values. The claim must hold for every combination.
    pub each: Vec<(String, Vec<Json>)>,
    /// What the publication says, if that is not a number in `published`.
    pub published: Option<String>,
    /// What was tried, if the claim does not hold.
    pub tried: Option<String>,
    /// The origin of a threshold: "paper", or "ours" with a reason.
    pub tolerance_from: Option<String>,
    pub(crate) node: Node,
    pub(crate) path: String,
}

/// What a claim asserts.
#[derive(Clone, Debug)]
pub enum Asserted {
    /// An expression that must hold.
    That(String),
    /// It cannot be tested here, for this reason.
    Untestable(String),
}

/// Whose claim it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// It represents these claims of the source, or a part of each.
    Source(Vec<Observation>),
    /// Our own, beside these claims of the source, if any.
    Ours(Vec<Observation>),
    /// The file does not say it.
    Unlinked,
}

/// A claim of the source: the `number`th of one of its experiments, from 1.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Observation {
    /// The id of the source's experiment; `None`: that of the file.
    pub experiment: Option<String>,
    /// The number of the claim.
    pub number: usize,
}

/// Why a claim that is evaluated counts apart: its truth is no evidence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Apart {
    /// Something was fitted so that it holds: what, and to what.
    Calibrated(String),
    /// It is true by construction: why.
    Identity(String),
}

/// What the source itself says against a claim of its own: another number, an equation, a definition.
#[derive(Clone)]
pub struct Contradiction {
    /// Where, and what it says.
    pub by: String,
    /// An expression that shows it: if it does not hold, nothing is contradicted.
    pub that: String,
    pub(crate) node: Node,
    pub(crate) path: String,
}

impl Observation {
    /// Parses `O3`, or `ctcp-fig-2 O3`.
    fn parse(text: &str) -> Option<Observation> {
        let (experiment, number) = match text.rsplit_once(' ') {
            Some((experiment, number)) => (Some(experiment.to_owned()), number),
            None => (None, text),
        };
        let number = number.strip_prefix('O')?.parse().ok().filter(|&number| number > 0)?;
        Some(Observation { experiment, number })
    }
}

impl std::fmt::Display for Observation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.experiment {
            Some(experiment) => write!(f, "{experiment} O{}", self.number),
            None => write!(f, "O{}", self.number),
        }
    }
}

impl Origin {
    /// The claims of the source that are meant, whether represented or not.
    pub fn observations(&self) -> &[Observation] {
        match self {
            Origin::Source(of) | Origin::Ours(of) => of,
            Origin::Unlinked => &[],
        }
    }
}

impl Claim {
    pub(super) fn to_json(&self) -> Json {
        let (that, untestable) = match &self.asserted {
            Asserted::That(that) => (Some(that), None),
            Asserted::Untestable(why) => (None, Some(why)),
        };
        let each: Map<_, _> = self.each.iter().map(|(name, values)| (name.clone(), json!(values))).collect();
        let (calibrated, identity) = match &self.apart {
            Some(Apart::Calibrated(what)) => (Some(what), None),
            Some(Apart::Identity(why)) => (None, Some(why)),
            None => (None, None),
        };
        let of: Vec<_> = self.origin.observations().iter().map(ToString::to_string).collect();
        json!({
            "text": self.text, "for": each, "that": that, "untestable": untestable, "of": of,
            "ours": matches!(self.origin, Origin::Ours(_)), "calibrated": calibrated, "identity": identity,
            "contradicted": self.contradicted.as_ref().map(|it| json!({"by": it.by, "that": it.that})),
            "published": self.published, "tried": self.tried, "tolerance_from": self.tolerance_from,
        })
    }
}

pub(super) fn read_claim(at: &At<'_>) -> Result<Claim> {
    let table = at.table()?;
    let optional = |key| table.get(key).map(|at| at.text().map(str::to_owned)).transpose();
    let text = table.need("text", "\"What is claimed.\"")?.text()?.to_owned();
    let (asserted, node, path) = match (table.get("that"), table.get("untestable")) {
        (Some(at), None) => (Asserted::That(at.text()?.to_owned()), at.node.clone(), at.path),
        (None, Some(at)) => (Asserted::Untestable(at.text()?.to_owned()), at.node.clone(), at.path),
        _ => {
            return Err(at
                .error("a claim says either what must hold or why that cannot be tested")
                .help("give it that = \"an expression\", or untestable = \"why\""));
        }
    };
    let of = table.get("of").map(|at| read_observations(&at)).transpose()?;
    let ours = table.get("ours").map(|at| at.flag()).transpose()?.unwrap_or(false);
    let apart = match (optional("calibrated")?, optional("identity")?) {
        (None, None) => None,
        (Some(what), None) => Some(Apart::Calibrated(what)),
        (None, Some(why)) => Some(Apart::Identity(why)),
        _ => {
            return Err(at
                .error("a claim is either calibrated or an identity")
                .help("an identity needs no calibration: remove one of the two"));
        }
    };
    if apart.is_some() && matches!(asserted, Asserted::Untestable(_)) {
        return Err(at
            .error("a claim that cannot be tested is neither calibrated nor an identity")
            .help("say only why it cannot be tested"));
    }
    let claim = Claim {
        text,
        asserted,
        origin: match (of, ours) {
            (of, true) => Origin::Ours(of.unwrap_or_default()),
            (Some(of), false) => Origin::Source(of),
            (None, false) => Origin::Unlinked,
        },
        apart,
        contradicted: table.get("contradicted").map(|at| read_contradiction(&at)).transpose()?,
        each: match table.get("for") {
            Some(at) => {
                at.table()?.entries().map(|(name, at)| read_values(name, &at)).collect::<Result<_>>()?
            }
            None => Vec::new(),
        },
        published: optional("published")?,
        tried: optional("tried")?,
        tolerance_from: table.get("tolerance_from").map(|at| read_tolerance(&at)).transpose()?,
        node,
        path,
    };
    table.finish()?;
    if let (Some(at), Asserted::Untestable(_)) = (table.get("contradicted"), &claim.asserted) {
        return Err(at
            .error("what cannot be tested does not fail")
            .help("a contradiction explains a claim that fails: say only why it cannot be tested"));
    }
    Ok(claim)
}

fn read_contradiction(at: &At<'_>) -> Result<Contradiction> {
    let table = at.table()?;
    let by = table.need("by", "\"Table I has a factor of 8.\"")?.text()?.to_owned();
    let shown = table.need("that", "\"8 < 100\"")?;
    let that = shown.text()?.to_owned();
    table.finish()?;
    Ok(Contradiction { by, that, node: shown.node.clone(), path: shown.path })
}

/// One observation, or a list of them.
fn read_observations(at: &At<'_>) -> Result<Vec<Observation>> {
    let one = |at: &At<'_>| {
        Observation::parse(at.text()?).ok_or_else(|| {
            at.error("this is no claim of the source")
                .help("\"O3\" is the third of this experiment, \"ctcp-fig-2 O3\" that of another")
        })
    };
    match &at.node.value {
        ackclock_scenario::Value::List(_) => {
            let all: Vec<_> = at.list()?.iter().map(one).collect::<Result<_>>()?;
            if all.is_empty() { Err(at.error("there must be at least one")) } else { Ok(all) }
        }
        _ => Ok(vec![one(at)?]),
    }
}

fn read_values(name: &str, at: &At<'_>) -> Result<(String, Vec<Json>)> {
    let items = at.list()?;
    if items.is_empty() {
        return Err(at
            .error("there must be at least one value")
            .help("for example x = [\"highspeed\", \"bic\"]"));
    }
    Ok((name.to_owned(), items.iter().map(|item| item.node.value.to_json()).collect()))
}

fn read_tolerance(at: &At<'_>) -> Result<String> {
    let text = at.text()?;
    let whose = text.split([':', ' ', ',', ';']).next().unwrap_or("");
    if !["paper", "ours"].contains(&whose) {
        return Err(at
            .error("a threshold is the paper's or ours")
            .help("write \"paper\" or \"ours: why this number\""));
    }
    Ok(text.to_owned())
}
