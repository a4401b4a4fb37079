//! Finds the calls in an expression without evaluating it. An evaluation may never reach what follows an
//! `and`.

/// All function calls in `expression`, with their arguments. Calls within calls are included.
pub(super) fn calls(expression: &str) -> Vec<&str> {
    let mut found = Vec::new();
    // For each open parenthesis: the start of the function name before it, if there is one.
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut quote = None;
    let mut name = None;
    let mut previous = ' ';
    for (at, c) in expression.char_indices() {
        match (quote, c) {
            (Some(end), _) if c == end && previous != '\\' => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => open.push(name.filter(|&begin| is_function(expression, begin))),
            (None, ')') => found.extend(open.pop().flatten().map(|begin| &expression[begin..=at])),
            _ => {}
        }
        let part_of_name = quote.is_none() && (c.is_alphanumeric() || c == '_');
        name = if part_of_name { name.or(Some(at)) } else { None };
        previous = if previous == '\\' { ' ' } else { c };
    }
    found
}

/// True if the name that begins here is a function, not a filter, a test, a method or an operator.
fn is_function(expression: &str, begin: usize) -> bool {
    let before = expression[..begin].trim_end();
    let last = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let word = expression[begin..].split('(').next().unwrap_or_default();
    let operators = ["and", "or", "not", "in", "if", "else", "is"];
    !before.ends_with(['|', '.'])
        && last != "is"
        && !before.ends_with("is not")
        && !word.starts_with(|c: char| c.is_ascii_digit())
        && !operators.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::calls;

    #[test]
    fn finds_calls_wherever_they_stand() {
        assert_eq!(
            calls("a('x') > 0 or b(c(1), \"(\") and (d(2))"),
            ["a('x')", "c(1)", "b(c(1), \"(\")", "d(2)"]
        );
        assert_eq!(calls("not (1 > 2) and(x(1) if(true) else y())"), ["x(1)", "y()"]);
        assert_eq!(calls("[1, 2]|max(3) is divisibleby(2) and 3 is not divisibleby(4)"), Vec::<&str>::new());
        assert_eq!(calls("f('it\\'s (', 1)"), ["f('it\\'s (', 1)"]);
        assert_eq!(calls(")) (("), Vec::<&str>::new());
    }
}
