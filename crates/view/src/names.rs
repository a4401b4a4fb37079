//! Names and values for people and file systems.

use ackclock_scenario::results::PointResult;
use ackclock_units::Time;

/// A size for people: `10 kB`.
pub fn bytes(count: u64) -> String {
    let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB")];
    match units.into_iter().find(|&(worth, _)| count >= worth) {
        Some((worth, unit)) => format!("{} {unit}", count as f64 / worth as f64),
        None => format!("{count} B"),
    }
}

/// An instant in seconds, exact to the last digit that is shown.
pub fn seconds(at: Time) -> f64 {
    at.as_nanos() as f64 / 1e9
}

/// A value of an axis as it was written, without quotes.
pub fn plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Number(number) => match number.as_f64() {
            Some(small) if small != 0.0 && small.abs() < 1e-3 => format!("{small:e}"),
            Some(number) => number.to_string(),
            None => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// The last part of an axis's name, which identifies it.
pub fn short(axis: &str) -> String {
    match axis.rsplit('.').next() {
        Some(last) if last.parse::<usize>().is_err() => last.to_owned(),
        _ => axis.to_owned(),
    }
}

/// True if there are points that differ only in their seed.
pub fn seeded(results: &[PointResult]) -> bool {
    results.windows(2).any(|pair| pair[0].parameters == pair[1].parameters)
}

/// A name that every file system accepts.
pub fn slug(name: &str) -> String {
    let mut slug = String::new();
    for letter in name.chars().take(60) {
        if letter.is_ascii_alphanumeric() || letter == '.' {
            slug.push(letter.to_ascii_lowercase());
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_matches(['-', '.']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn folders_have_plain_names() {
        assert_eq!(slug("rate 1 Gbit/s, control pert(layered)"), "rate-1-gbit-s-control-pert-layered");
        assert_eq!(slug("../.."), "");
        assert_eq!(slug("loss 0.001"), "loss-0.001");
    }
}
