//! The query of a request: names and values (RFC 3986, sections 2.1 and 3.4).

use super::answer::{Refusal, bad};
use ackclock_units::QuantityError;
use std::str::FromStr;

/// Names and values, in order.
#[derive(Debug, PartialEq)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads a query. Names beside `known` are refused.
    ///
    /// # Errors
    ///
    /// A refusal with the reason.
    pub(super) fn read(text: Option<&str>, known: &[&str]) -> Result<Query, Refusal> {
        let mut pairs = Vec::new();
        for pair in text.unwrap_or("").split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Some(name), Some(value)) = (decoded(name), decoded(value)) else {
                return Err(bad("the query is not encoded as it should be".to_owned()));
            };
            if !known.contains(&name.as_str()) {
                return Err(bad(format!("this knows {} only", known.join(", "))));
            }
            pairs.push((name, value));
        }
        Ok(Query(pairs))
    }

    /// All values of a name.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    /// The only value of a name.
    pub(super) fn one<'a>(&'a self, name: &'a str) -> Result<Option<&'a str>, Refusal> {
        let mut values = self.all(name);
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(bad(format!("{name} is there twice"))),
            (value, None) => Ok(value),
        }
    }

    /// The only value of a name, as a number with its unit.
    pub(super) fn quantity<Q: FromStr<Err = QuantityError>>(
        &self,
        name: &str,
        unsaid: Q,
    ) -> Result<Q, Refusal> {
        match self.one(name)? {
            None => Ok(unsaid),
            Some(text) => text.parse().map_err(|error| bad(format!("{name}: {error}"))),
        }
    }
}

/// Undoes percent-encoding; a plus is a blank, as in forms.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        bytes.push(match first {
            b'%' => {
                let digits = behind.get(..2).filter(|it| it.iter().all(u8::is_ascii_hexdigit))?;
                rest = &behind[2..];
                u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?
            }
            b'+' => b' ',
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asking::encoded;
    use ackclock_units::Bytes;
    use proptest::prelude::*;

    #[test]
    fn names_and_values() {
        let query = Query::read(
            Some("host=a%20b&control=cubic&control=reno&size=422+kB"),
            &["host", "control", "size"],
        );
        let query = query.expect("it is right");
        assert_eq!(query.one("host"), Ok(Some("a b")));
        assert_eq!(query.all("control").collect::<Vec<_>>(), ["cubic", "reno"]);
        assert_eq!(query.quantity("size", Bytes(1)), Ok(Bytes(422_000)));
        assert_eq!(query.quantity("none", Bytes(1)), Ok(Bytes(1)));
        assert!(query.one("control").is_err());
        assert!(Query::read(Some("hots=a"), &["host"]).is_err());
        assert!(Query::read(Some("host=%zz"), &["host"]).is_err());
        assert!(Query::read(Some("host=%ff"), &["host"]).is_err(), "no text");
        assert!(query.quantity::<Bytes>("host", Bytes(1)).is_err());
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(text in "\\PC{0,40}") {
            prop_assert_eq!(decoded(&encoded(&text)), Some(text));
        }
    }
}
