//! The form of a scenario: what can be chosen and moved without writing TOML.
//!
//! A field is made from the document, so that it shows what the text says, however it says it. What the form
//! has no field for stays in the text.

use ackclock_net::disciplines;
use ackclock_registry::Entry;
use ackclock_scenario::{Document, Node, Value};
use ackclock_view::catalogue::{Kind, Named, catalogue};
use serde::Serialize;
use serde_json::{Value as Json, json};

/// The largest number of groups of flows, and of links, with fields of their own.
const MOST: usize = 12;

/// A part of the form.
#[derive(Serialize)]
pub(crate) struct Section {
    title: String,
    fields: Vec<Field>,
}

/// A field of the form.
#[derive(Serialize)]
struct Field {
    /// The keys that lead to its value.
    path: Vec<String>,
    /// The same, dotted, as messages name it.
    key: String,
    label: &'static str,
    /// What the text says; null: nothing.
    value: Json,
    #[serde(flatten)]
    kind: Input,
    /// True if the sweep sets it.
    swept: bool,
}

/// How a value is given.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Input {
    /// A number with its unit: a slider from `least` to `most`, on a logarithmic scale.
    Quantity { units: &'static [&'static str], least: &'static str, most: &'static str, unsaid: &'static str },
    /// A number on a logarithmic scale, or zero.
    Share { least: f64, most: f64 },
    /// A whole number.
    Count { least: u32, most: u32 },
    /// One name of several; `optional`: or none.
    Choice { names: Vec<Name>, optional: bool },
    /// Several names.
    Choices { names: Vec<Name> },
}

/// Something that can be chosen.
#[derive(Clone, Serialize)]
struct Name {
    name: &'static str,
    title: &'static str,
    about: &'static str,
    /// The value to write.
    value: Json,
}

const RATE: Input = Input::Quantity {
    units: &["kbit/s", "Mbit/s", "Gbit/s"],
    least: "100 kbit/s",
    most: "10 Gbit/s",
    unsaid: "100 Mbit/s",
};
const DELAY: Input =
    Input::Quantity { units: &["us", "ms", "s"], least: "100 us", most: "1 s", unsaid: "10 ms" };
const RTT: Input =
    Input::Quantity { units: &["us", "ms", "s"], least: "100 us", most: "2 s", unsaid: "40 ms" };
const DURATION: Input =
    Input::Quantity { units: &["ms", "s", "min"], least: "1 s", most: "600 s", unsaid: "60 s" };
const ROOM: Input = Input::Quantity {
    units: &["packets", "bdp", "kB", "MB"],
    least: "1 packets",
    most: "20000 packets",
    unsaid: "1 bdp",
};

/// What can be chosen, once for all requests: it never changes.
pub(crate) struct Names {
    controls: Vec<Name>,
    recoveries: Vec<Name>,
    detections: Vec<Name>,
    slow_starts: Vec<Name>,
    queues: Vec<Name>,
}

impl Names {
    pub(crate) fn new() -> Names {
        let all = catalogue();
        let of = |kind: Kind| {
            let those = all.iter().filter(|named| named.kind == kind);
            those.map(|named: &Named| name(&named.entry, json!(named.entry.name))).collect()
        };
        let queues = disciplines().iter().map(|it| {
            // The example is a value as TOML.
            let document = Document::parse("", &format!("queue = {}", it.example));
            let value = document.ok().and_then(|mut it| it.take("queue"));
            name(&it.entry, value.map_or(json!(it.entry.name), |node| node.value.to_json()))
        });
        Names {
            controls: of(Kind::Controls),
            recoveries: of(Kind::Recoveries),
            detections: of(Kind::Detections),
            slow_starts: of(Kind::SlowStarts),
            queues: queues.collect(),
        }
    }

    /// The form of a document.
    pub(crate) fn form(&self, document: &Document) -> Vec<Section> {
        let mut form = Form { root: &document.root, swept: swept(document), sections: Vec::new() };
        form.variants(self);
        form.paths(self);
        form.flows(self);
        form.run();
        form.sections.retain(|section| !section.fields.is_empty());
        form.sections
    }
}

fn name(entry: &Entry, value: Json) -> Name {
    Name { name: entry.name, title: entry.title, about: entry.summary, value }
}

/// The keys that a sweep sets.
fn swept(document: &Document) -> Vec<String> {
    let Some(sweep) = inner(&document.root, "sweep") else { return Vec::new() };
    entries(sweep).map(|(key, _)| key.to_owned()).collect()
}

fn inner<'a>(node: &'a Node, key: &str) -> Option<&'a Node> {
    match &node.value {
        Value::Table(entries) => entries.iter().find(|(known, _)| known == key).map(|(_, node)| node),
        Value::List(items) => items.get(key.parse::<usize>().ok()?),
        _ => None,
    }
}

fn entries(node: &Node) -> impl Iterator<Item = (&str, &Node)> {
    let entries = match &node.value {
        Value::Table(entries) => &entries[..],
        _ => &[],
    };
    entries.iter().map(|(key, node)| (key.as_str(), node))
}

struct Form<'a> {
    root: &'a Node,
    swept: Vec<String>,
    sections: Vec<Section>,
}

impl Form<'_> {
    fn field(&self, path: &[&str], label: &'static str, kind: Input) -> Field {
        let value = path.iter().try_fold(self.root, |node, key| inner(node, key));
        let key = path.join(".");
        Field {
            value: value.map_or(Json::Null, |node| node.value.to_json()),
            swept: self.swept.contains(&key),
            path: path.iter().map(|&part| part.to_owned()).collect(),
            key,
            label,
            kind,
        }
    }

    /// A choice of one name: what the text says is a name, or a table with the name as its key.
    fn choice(&self, path: &[&str], label: &'static str, names: &[Name], optional: bool) -> Field {
        let mut field = self.field(path, label, Input::Choice { names: names.to_vec(), optional });
        if let Json::Object(table) = &field.value {
            field.value = table.keys().next().map_or(Json::Null, |name| json!(name));
        }
        field
    }

    /// The axis of the sweep that compares controllers.
    fn variants(&mut self, names: &Names) {
        let axes = self.swept.iter().filter(|key| key.starts_with("flows.") && key.ends_with(".control"));
        let fields: Vec<Field> = axes
            .map(|key| {
                let kind = Input::Choices { names: names.controls.clone() };
                let mut field = self.field(&["sweep", key], "Controllers", kind);
                field.key = format!("sweep.\"{key}\"");
                field
            })
            .collect();
        self.sections.push(Section { title: "Compare".to_owned(), fields });
    }

    fn paths(&mut self, names: &Names) {
        let Some(topology) = inner(self.root, "topology") else { return };
        for (kind, table) in entries(topology) {
            let place = ["topology", kind];
            match kind {
                "dumbbell" => self.link(names, &[&place[..], &["bottleneck"]].concat(), "Bottleneck"),
                "parking_lot" => self.link(names, &[&place[..], &["link"]].concat(), "Every hop"),
                "leaf_spine" => {
                    self.link(names, &[&place[..], &["edge"]].concat(), "Between host and leaf");
                    self.link(names, &[&place[..], &["fabric"]].concat(), "Between leaf and spine");
                }
                "graph" => {
                    let Some(Value::List(links)) = inner(table, "links").map(|node| &node.value) else {
                        continue;
                    };
                    for (number, link) in links.iter().enumerate().take(MOST) {
                        let text = |key| inner(link, key).map_or(String::new(), |node| node.value.plain());
                        let title = format!("Link from {} to {}", text("from"), text("to"));
                        let number = number.to_string();
                        self.link(names, &[&place[..], &["links", &number]].concat(), &title);
                    }
                }
                _ => {}
            }
        }
    }

    fn link(&mut self, names: &Names, place: &[&str], title: &str) {
        let at = |keys: &[&'static str]| [place, keys].concat();
        let mut fields = vec![
            self.field(&at(&["rate"]), "Rate", RATE),
            self.field(&at(&["delay"]), "Delay", DELAY),
            self.choice(&at(&["queue"]), "Queue", &names.queues, true),
        ];
        let queue = at(&["queue"]).iter().try_fold(self.root, |node, key| inner(node, key));
        if let Some(Node { value: Value::Table(entries), .. }) = queue
            && let [(name, inside)] = &entries[..]
        {
            let limit = match &inside.value {
                Value::Text(_) => vec![&**name],
                _ => vec![&**name, "limit"],
            };
            let path: Vec<&str> = at(&["queue"]).into_iter().chain(limit).collect();
            fields.push(self.field(&path, "Room", ROOM));
        }
        fields.push(self.field(&at(&["loss"]), "Random loss", Input::Share { least: 1e-7, most: 0.3 }));
        // What is no text or number, as a schedule of rates, is for the text.
        fields.retain(|field| !matches!(field.value, Json::Object(_) | Json::Array(_)));
        self.sections.push(Section { title: title.to_owned(), fields });
    }

    fn flows(&mut self, names: &Names) {
        let Some(Value::List(groups)) = inner(self.root, "flows").map(|node| &node.value) else { return };
        for (number, group) in groups.iter().enumerate().take(MOST) {
            let digits = number.to_string();
            let at = |key: &'static str| ["flows", &*digits, key].map(str::to_owned);
            let field = |key, label, kind| self.field(&at(key).each_ref().map(String::as_str), label, kind);
            let choice = |key, label, names: &[Name], optional| {
                self.choice(&at(key).each_ref().map(String::as_str), label, names, optional)
            };
            let mut fields = vec![
                choice("control", "Controller", &names.controls, false),
                choice("recovery", "Recovery", &names.recoveries, true),
                choice("detection", "Detection", &names.detections, true),
                choice("slow_start", "Slow start", &names.slow_starts, true),
                field("count", "Flows", Input::Count { least: 1, most: 100 }),
                field("rtt", "Round-trip time", RTT),
            ];
            // Without its own round-trip time a flow has that of its path.
            fields
                .retain(|field| !(field.label == "Round-trip time" && field.value.is_null() && !field.swept));
            fields.retain(|field| !matches!(field.value, Json::Object(_) | Json::Array(_)));
            let label = inner(group, "label").map(|node| node.value.plain());
            let title = match (label, groups.len()) {
                (Some(label), _) => format!("Flows: {label}"),
                (None, 1) => "Flows".to_owned(),
                (None, _) => format!("Flows {}", number + 1),
            };
            self.sections.push(Section { title, fields });
        }
    }

    fn run(&mut self) {
        let mut seeds = self.field(&["seeds"], "Seeds", Input::Count { least: 1, most: 20 });
        if let Json::Array(list) = &seeds.value {
            seeds.value = json!(list.len());
        }
        let fields = vec![self.field(&["duration"], "Duration", DURATION), seeds];
        self.sections.push(Section { title: "Run".to_owned(), fields });
    }
}
