//! How an expression is composed of comparisons: its text, divided at `if`, `or`, `and`, `not` and the
//! comparison, in the order in which the language binds them. What is inside brackets or quotes stays whole.

/// The composition of an expression.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Structure<'a> {
    /// `then if condition else otherwise`.
    Choice { condition: &'a str, then: &'a str, otherwise: &'a str },
    /// At least one holds.
    Or(Vec<&'a str>),
    /// All hold.
    And(Vec<&'a str>),
    /// It does not hold.
    Not(&'a str),
    /// Two values, compared.
    Compared(&'a str, Comparison, &'a str),
    /// A call and its arguments, none of which is named.
    Call(&'a str, Vec<&'a str>),
    /// Anything else.
    Other,
}

/// How two values are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Comparison {
    /// The left one is less, or not more.
    Below { or_equal: bool },
    /// The left one is more, or not less.
    Above { or_equal: bool },
    /// They are the same, or differ.
    Equal { negated: bool },
}

impl Comparison {
    fn of(operator: &str) -> Option<Comparison> {
        Some(match operator {
            "<" => Comparison::Below { or_equal: false },
            "<=" => Comparison::Below { or_equal: true },
            ">" => Comparison::Above { or_equal: false },
            ">=" => Comparison::Above { or_equal: true },
            "==" => Comparison::Equal { negated: false },
            "!=" => Comparison::Equal { negated: true },
            _ => return None,
        })
    }
}

/// A word or an operator of an expression, outside of brackets and quotes: where it begins and ends.
struct Mark<'a> {
    text: &'a str,
    from: usize,
    to: usize,
}

/// The composition of this expression.
pub(super) fn structure(expression: &str) -> Structure<'_> {
    let text = bare(expression);
    let Some(marks) = marks(text) else { return Structure::Other };
    let first = |word: &str| marks.iter().find(|mark| mark.text == word);
    if let Some(condition) = first("if") {
        let otherwise = marks.iter().find(|mark| mark.text == "else" && mark.from > condition.from);
        let Some(otherwise) = otherwise else { return Structure::Other };
        return Structure::Choice {
            condition: text[condition.to..otherwise.from].trim(),
            then: text[..condition.from].trim(),
            otherwise: text[otherwise.to..].trim(),
        };
    }
    for (word, made) in [("or", Structure::Or as fn(Vec<_>) -> _), ("and", Structure::And)] {
        if first(word).is_some() {
            return made(divided(text, marks.iter().filter(|mark| mark.text == word)));
        }
    }
    if let Some(not) = first("not").filter(|mark| mark.from == 0) {
        return Structure::Not(text[not.to..].trim());
    }
    compared(text, &marks).or_else(|| called(text, &marks)).unwrap_or(Structure::Other)
}

/// The expression without spaces and brackets around the whole of it.
fn bare(text: &str) -> &str {
    let text = text.trim();
    let inside = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    match inside {
        Some(inside) if marks(inside).is_some_and(|marks| marks.iter().all(|mark| mark.text != ",")) => {
            bare(inside)
        }
        _ => text,
    }
}

/// The words and operators outside of brackets and quotes. `None` if brackets do not match.
fn marks(text: &str) -> Option<Vec<Mark<'_>>> {
    let (mut marks, mut depth, mut quote, mut escaped) = (Vec::new(), 0_u32, None, false);
    let mut letters = text.char_indices().peekable();
    while let Some((from, letter)) = letters.next() {
        if let Some(end) = quote {
            quote = (escaped || letter != end).then_some(end);
            escaped = !escaped && letter == '\\';
            continue;
        }
        match letter {
            '\'' | '"' => quote = Some(letter),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.checked_sub(1)?,
            _ if depth > 0 || letter.is_whitespace() => {}
            _ => {
                let alike = kind(letter);
                let mut to = from + letter.len_utf8();
                while alike != Kind::Single
                    && let Some((at, next)) = letters.next_if(|&(_, next)| kind(next) == alike)
                {
                    to = at + next.len_utf8();
                }
                marks.push(Mark { text: &text[from..to], from, to });
            }
        }
    }
    (depth == 0 && quote.is_none()).then_some(marks)
}

/// What letters stand together in.
#[derive(PartialEq, Eq)]
enum Kind {
    /// A name, with its attributes, or a number.
    Word,
    Operator,
    Single,
}

fn kind(letter: char) -> Kind {
    match letter {
        '<' | '>' | '=' | '!' => Kind::Operator,
        letter if letter.is_alphanumeric() || letter == '_' || letter == '.' => Kind::Word,
        _ => Kind::Single,
    }
}

/// The parts between these marks.
fn divided<'a, 'm>(text: &'a str, marks: impl Iterator<Item = &'m Mark<'a>>) -> Vec<&'a str>
where
    'a: 'm,
{
    let (mut parts, mut begin) = (Vec::new(), 0);
    for mark in marks {
        parts.push(text[begin..mark.from].trim());
        begin = mark.to;
    }
    parts.push(text[begin..].trim());
    parts
}

/// The only comparison of an expression. Several in a row, and `in`, are none.
fn compared<'a>(text: &'a str, marks: &[Mark<'a>]) -> Option<Structure<'a>> {
    let mut all = marks.iter().filter(|mark| kind(mark.text.chars().next().unwrap_or(' ')) == Kind::Operator);
    let (mark, None) = (all.next()?, all.next()) else { return None };
    if marks.iter().any(|mark| ["in", "not", "is"].contains(&mark.text)) {
        return None;
    }
    let comparison = Comparison::of(mark.text)?;
    Some(Structure::Compared(text[..mark.from].trim(), comparison, text[mark.to..].trim()))
}

/// The whole as one call.
fn called<'a>(text: &'a str, marks: &[Mark<'a>]) -> Option<Structure<'a>> {
    let [name] = marks else { return None };
    let given = text[name.to..].trim().strip_prefix('(')?.strip_suffix(')')?;
    let inside = self::marks(given)?;
    let named = inside.iter().any(|mark| mark.text == "=");
    let plain = name.from == 0 && name.text.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    if named || !plain {
        return None;
    }
    let arguments = divided(given, inside.iter().filter(|mark| mark.text == ","));
    Some(Structure::Call(name.text, arguments.into_iter().filter(|argument| !argument.is_empty()).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_bind_as_in_the_language() {
        let below = |or_equal| Comparison::Below { or_equal };
        for (text, expected) in [
            ("a < b", Structure::Compared("a", below(false), "b")),
            ("(a + b) / c <= (d)", Structure::Compared("(a + b) / c", below(true), "(d)")),
            ("((a < b))", Structure::Compared("a", below(false), "b")),
            ("a < b and c < d or not e", Structure::Or(vec!["a < b and c < d", "not e"])),
            ("(a or b) and f('x or y')", Structure::And(vec!["(a or b)", "f('x or y')"])),
            ("not a < b", Structure::Not("a < b")),
            ("near(a, [b, 'c, d'], f(1, 2))", Structure::Call("near", vec!["a", "[b, 'c, d']", "f(1, 2)"])),
            ("f()", Structure::Call("f", vec![])),
            (
                "a < 1 if b > 2 else c if d else e",
                Structure::Choice { condition: "b > 2", then: "a < 1", otherwise: "c if d else e" },
            ),
            ("a|max > 3", Structure::Compared("a|max", Comparison::Above { or_equal: false }, "3")),
            (
                "published.or == 1",
                Structure::Compared("published.or", Comparison::Equal { negated: false }, "1"),
            ),
        ] {
            assert_eq!(structure(text), expected, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_divided_stays_whole() {
        let whole = [
            "a",
            "a in b",
            "a not in b",
            "a < b < c",
            "f(x)(y)",
            "f(x=1)",
            "(a, b)",
            "a is defined",
            "f(x)|max",
        ];
        for text in whole.into_iter().chain(["(a", "a)", "'a < b'", "", "a if b", "x.f(1)"]) {
            assert_eq!(structure(text), Structure::Other, "{text}");
        }
    }
}
