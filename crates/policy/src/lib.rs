//! The file of a learned policy: a feed-forward network as JSON. Scenarios and QUIC stacks read the same
//! files.

use ackclock_cc::policy::{Activation, FEATURES, Layer, MOST_WEIGHTS, Network};
use serde::Deserialize;

/// The largest file, bytes: the largest network, with all digits of every weight.
pub const MAX_FILE: u64 = 32 * MOST_WEIGHTS as u64;
/// What to do about a file that is refused.
pub const HELP: &str = "the page \"Learning\" of the book says what a policy's file has";
/// What the file says that it is, and the version that is read here.
const FORMAT: (&str, u32) = ("ackclock policy", 1);

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    format: String,
    version: u32,
    #[serde(default)]
    #[allow(dead_code, reason = "it is for people")]
    description: Option<String>,
    features: Vec<String>,
    history: usize,
    interval: f64,
    scale: f64,
    layers: Vec<WrittenLayer>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenLayer {
    weights: Vec<Vec<f64>>,
    biases: Vec<f64>,
    activation: String,
}

/// The network that a file's text describes.
///
/// # Errors
///
/// The place in the text and the problem, to be put behind the file's name and a colon: `4:17: unknown
/// field`.
pub fn parse(text: &str) -> Result<Network, String> {
    let written: Written = serde_json::from_str(text).map_err(|error| {
        // The library ends its message with the place.
        let message = error.to_string();
        let problem = message.rsplit_once(" at line ").map_or(message.as_str(), |(problem, _)| problem);
        format!("{}:{}: {problem}", error.line(), error.column())
    })?;
    network(written).map_err(|(place, problem)| format!(" {place}: {problem}"))
}

/// The network that is written there; or the place and what is wrong with it.
fn network(written: Written) -> Result<Network, (String, String)> {
    let wrong = |place: &str, problem: String| Err((place.to_owned(), problem));
    if written.format != FORMAT.0 {
        return wrong("format", format!("it is not \"{}\"", FORMAT.0));
    }
    if written.version != FORMAT.1 {
        return wrong("version", format!("{} is not known here; {} is", written.version, FORMAT.1));
    }
    if written.features != FEATURES {
        return wrong("features", format!("they must be {FEATURES:?}, in this order"));
    }
    let mut layers = Vec::new();
    for (number, WrittenLayer { weights, biases, activation }) in written.layers.into_iter().enumerate() {
        let Some(&(_, activation)) = Activation::ALL.iter().find(|(name, _)| *name == activation) else {
            let names: Vec<_> = Activation::ALL.iter().map(|(name, _)| *name).collect();
            return wrong(
                &format!("layers.{number}.activation"),
                format!("it must be one of {}", names.join(", ")),
            );
        };
        layers.push(Layer { weights, biases, activation });
    }
    Network::new(layers, written.history, written.interval, written.scale)
        .map_err(|error| (error.place, error.problem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_cc::Blueprint;

    const RIGHT: &str = r#"{
        "format": "ackclock policy", "version": 1, "description": "for a test",
        "features": ["latency inflation", "latency ratio", "send ratio"],
        "history": 1, "interval": 0.5, "scale": 0.025,
        "layers": [
            {"weights": [[1, 2, 3], [4, 5, 6]], "biases": [0, 0.5], "activation": "tanh"},
            {"weights": [[1, -1]], "biases": [0], "activation": "identity"}
        ]
    }"#;

    #[test]
    fn a_policy_is_read() {
        let network = parse(RIGHT).expect("a policy");
        assert_ne!(
            network.checksum(),
            parse(&RIGHT.replace("0.5, \"scale", "0.6, \"scale")).expect("one").checksum()
        );
        assert_eq!(network.checksum(), parse(&RIGHT.replace("for a test", "other")).expect("one").checksum());
    }

    #[test]
    fn a_mistake_has_its_place_and_a_name() {
        for (right, wrong, says) in [
            ("\"history\": 1,", "\"history\": 1", "4:22: expected"),
            ("\"history\": 1,", "", "missing field `history`"),
            ("\"history\"", "\"hystory\"", "4:17: unknown field `hystory`, expected one of"),
            ("ackclock policy", "onnx", " format: it is not \"ackclock policy\""),
            ("\"version\": 1", "\"version\": 2", " version: 2 is not known here; 1 is"),
            ("send ratio", "loss", " features: they must be"),
            ("tanh", "gelu", " layers.0.activation: it must be one of tanh, relu, identity"),
            ("[4, 5, 6]", "[4, 5]", " layers.0.weights.1: there are 2 weights, and 3 inputs"),
            ("[0, 0.5]", "[0, 1e300]", " layers.0.biases.1: "),
            ("[0, 0.5]", "[0, 1e999]", ": number out of range"),
            ("0.025", "2.0", " scale: 2 is not from"),
            (RIGHT, "[]", "1:2: "),
            (RIGHT, "", "1:0: "),
        ] {
            assert_eq!(RIGHT.matches(right).count(), 1, "{right}");
            let error = parse(&RIGHT.replace(right, wrong)).expect_err(wrong);
            assert!(error.contains(says), "{wrong}: {error}");
        }
    }
}
