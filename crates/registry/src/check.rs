//! What the tests of a registry ask of its entries.

use crate::{Chosen, Domain, Given, Listed, Value};

/// What is wrong with a registry, one sentence each.
pub fn mistakes<S: Listed>() -> Vec<String> {
    let mut found = Vec::new();
    for (at, scheme) in S::all().iter().enumerate() {
        let entry = scheme.entry();
        let name = entry.name;
        if S::all()[..at].iter().any(|other| other.entry().name == name) {
            found.push(format!("two are called {name}"));
        }
        if [name, entry.title, entry.summary].iter().any(|text| text.is_empty()) {
            found.push(format!("{name} lacks a name, a title or a summary"));
        }
        for (at, parameter) in entry.parameters.iter().enumerate() {
            if !parameter.default_is_allowed() {
                found.push(format!("{name}.{}: the default is outside the domain", parameter.name));
            }
            if entry.parameters[..at].iter().any(|other| other.name == parameter.name) {
                found.push(format!("{name} has two parameters called {}", parameter.name));
            }
        }
    }
    found
}

/// All entries with every combination of their switches, their words and a few of their whole numbers (from
/// the least to one above the default). Other parameters have their defaults.
pub fn variants<S: Listed>() -> Vec<Chosen<S>> {
    S::all().iter().copied().flat_map(|scheme| combinations(Chosen::defaults(scheme))).collect()
}

fn combinations<S: Listed>(defaults: Chosen<S>) -> Vec<Chosen<S>> {
    let mut all = vec![defaults.clone()];
    for (parameter, default) in defaults.settings().iter() {
        let choices: Vec<Given<'_>> = match (&parameter.domain, default) {
            (Domain::OnOff, _) => vec![Given::Flag(false), Given::Flag(true)],
            (Domain::Words(words), _) => words.iter().map(|&(word, _)| Given::Word(word)).collect(),
            (Domain::Count(range), Value::Count(default)) => {
                let last = default.saturating_add(1).min(*range.end());
                (*range.start()..=last).map(|count| Given::Number(count as f64)).collect()
            }
            _ => continue,
        };
        let with = |chosen: &Chosen<S>, choice: Given<'_>| {
            let mut chosen = chosen.clone();
            chosen.set(parameter.name, choice).is_ok().then_some(chosen)
        };
        all = all.iter().flat_map(|chosen| choices.iter().filter_map(|&it| with(chosen, it))).collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Entry, Parameter};

    struct Toy(Entry);

    const PLAIN: Entry = Entry {
        name: "plain",
        title: "Plain",
        source: "",
        summary: "Nothing else.",
        equations: &[],
        notes: &[],
        parameters: &[
            Parameter::count("times", 3, "", 1..=9, "how often"),
            Parameter::flag("loud", true, "a switch"),
            Parameter::number("gain", 0.5, "", 0.0..=1.0, "how much"),
        ],
    };

    impl Listed for Toy {
        const KIND: &'static str = "toy";
        fn all() -> &'static [&'static Toy] {
            const { &[&Toy(PLAIN), &Toy(Entry { name: "other", parameters: &[], ..PLAIN })] }
        }
        fn entry(&self) -> &Entry {
            &self.0
        }
    }

    #[test]
    fn every_combination_is_there_once() {
        assert_eq!(mistakes::<Toy>(), Vec::<String>::new());
        let all = variants::<Toy>();
        assert_eq!(all.len(), 4 * 2 + 1); // once to four times, loud or not; and the other
        assert!(all.iter().enumerate().all(|(at, one)| !all[..at].contains(one)));
        assert!(all.contains(&Chosen::defaults(Toy::find("plain").expect("it is there"))));
        assert_eq!(Toy::names(), ["plain", "other"]);
    }
}
