//! From words to blocks and tests: recursive descent, one function for each rule of the grammar.
//!
//! ```text
//! script    = block
//! block     = ( "cluster" | "parallel" | "serial" ) "{" { block | test } "}"
//! test      = "test" host [ ":" port ] "{" { statement } "}"
//! statement = name "=" ( host ":" port | call ) ";"
//! call      = name [ "(" [ argument { "," argument } ] ")" ]
//! argument  = name "=" ( number | text | call )
//! ```
//!
//! Source: the three scripts of appendix A.5 of A. Sundaresan's thesis (University of Kansas, 2001), and the
//! pages of the tool that it used (NetSpec) for nested blocks and for functions as values.

use super::error::{Fault, Span};
use super::lexer::{Lexer, Token};
use super::{MAX_DEPTH, MAX_TESTS};
use ackclock_scenario::suggest;

/// How the parts of a block follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// All at once. The tool's word for the outermost block.
    Cluster,
    /// All at once.
    Parallel,
    /// One after the other.
    Serial,
}

/// A block.
#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    /// How its parts follow each other.
    pub kind: Kind,
    /// Its parts, in order.
    pub parts: Vec<Part>,
    /// Where its keyword is.
    pub span: Span,
}

/// A part of a block.
#[derive(Clone, PartialEq, Debug)]
pub enum Part {
    /// A block within the block.
    Block(Block),
    /// A test.
    Test(Test),
}

/// One end of a connection: what one host does.
#[derive(Clone, PartialEq, Debug)]
pub struct Test {
    /// The host whose agent does it.
    pub host: Place,
    /// What is set.
    pub statements: Vec<Statement>,
}

/// A host, and a port if one is named.
#[derive(Clone, PartialEq, Debug)]
pub struct Place {
    /// The name or address; an IPv6 address without its brackets.
    pub host: String,
    /// The port.
    pub port: Option<u16>,
    /// Where it is.
    pub span: Span,
}

/// `name = value;`
#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    /// The name.
    pub name: String,
    /// Where the name is.
    pub span: Span,
    /// The value.
    pub value: Setting,
}

/// The value of a statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Setting {
    /// `host:port`.
    Place(Place),
    /// `name(...)`, or a name alone.
    Call(Call),
}

/// A name with arguments.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// The name.
    pub name: String,
    /// The arguments, in order.
    pub arguments: Vec<Argument>,
    /// Where the name is.
    pub span: Span,
}

/// An argument.
#[derive(Clone, PartialEq, Debug)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// Where the name is.
    pub span: Span,
    /// Its value.
    pub value: Value,
    /// Where the value is.
    pub at: Span,
}

/// The value of an argument.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// A number without a unit.
    Number(f64),
    /// A text in quotes: a quantity with its unit.
    Text(String),
    /// A word, or a function.
    Call(Call),
}

pub(super) struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Token<'a>,
    span: Span,
    tests: usize,
    /// Tests and blocks: no script needs many more blocks than tests.
    parts: usize,
}

const KINDS: [(&str, Kind); 3] =
    [("cluster", Kind::Cluster), ("parallel", Kind::Parallel), ("serial", Kind::Serial)];

impl<'a> Parser<'a> {
    /// Reads a whole script.
    pub(super) fn script(text: &'a str) -> Result<Block, Fault> {
        let (token, span) = (Token::End, Span::default());
        let mut parser = Parser { lexer: Lexer::new(text), token, span, tests: 0, parts: 0 };
        parser.advance()?;
        let Some(kind) = parser.kind() else {
            let help = "a script is one block: cluster { test HOST { ... } test HOST { ... } }";
            return Err(parser.unexpected("cluster, parallel or serial", help));
        };
        let block = parser.block(kind, 1)?;
        if parser.token != Token::End {
            let help = "put all blocks into one, for example serial { cluster { ... } cluster { ... } }";
            return Err(parser.unexpected("the end of the script", help));
        }
        Ok(block)
    }

    fn advance(&mut self) -> Result<(), Fault> {
        (self.token, self.span) = self.lexer.next()?;
        Ok(())
    }

    fn unexpected(&self, wanted: &str, help: &str) -> Fault {
        Fault::new(self.span, format!("{wanted} is wanted here, not {}", self.token), help)
    }

    fn sign(&mut self, sign: char, help: &str) -> Result<(), Fault> {
        if self.token != Token::Sign(sign) {
            return Err(self.unexpected(&format!("\"{sign}\""), help));
        }
        self.advance()
    }

    fn word(&mut self, wanted: &str, help: &str) -> Result<(String, Span), Fault> {
        let Token::Word(word) = self.token else { return Err(self.unexpected(wanted, help)) };
        let found = (word.to_owned(), self.span);
        self.advance()?;
        Ok(found)
    }

    fn kind(&self) -> Option<Kind> {
        KINDS.iter().find(|(word, _)| self.token == Token::Word(word)).map(|&(_, kind)| kind)
    }

    fn block(&mut self, kind: Kind, depth: usize) -> Result<Block, Fault> {
        if depth > MAX_DEPTH {
            let message = format!("blocks are more than {MAX_DEPTH} deep");
            return Err(Fault::new(self.span, message, "cluster in cluster is the same as one cluster"));
        }
        let mut block = Block { kind, parts: Vec::new(), span: self.span };
        self.advance()?;
        self.sign('{', "the parts of a block stand in braces: cluster { ... }")?;
        while self.token != Token::Sign('}') {
            let part = match self.kind() {
                Some(kind) => Part::Block(self.block(kind, depth + 1)?),
                None if self.token == Token::Word("test") => Part::Test(self.test()?),
                None => {
                    let help = match self.token {
                        Token::Word(word) => suggest(word, &["test", "cluster", "parallel", "serial"]),
                        Token::End => "close the block with }".to_owned(),
                        _ => "a block holds tests (test HOST { ... }) and blocks".to_owned(),
                    };
                    return Err(self.unexpected("a test or a block", &help));
                }
            };
            self.parts += 1;
            if self.tests > MAX_TESTS || self.parts > 2 * MAX_TESTS {
                let message = format!("there are more than {MAX_TESTS} tests");
                return Err(Fault::new(block.span, message, "write several scripts"));
            }
            block.parts.push(part);
        }
        self.advance()?;
        Ok(block)
    }

    fn test(&mut self) -> Result<Test, Fault> {
        self.tests += 1;
        self.advance()?;
        let host = self.place("test HOST or test HOST:PORT, where its agent listens")?;
        self.sign('{', "what the test does stands in braces: test HOST { type = ...; protocol = ...; }")?;
        let mut statements = Vec::new();
        while self.token != Token::Sign('}') {
            statements.push(self.statement()?);
        }
        self.advance()?;
        Ok(Test { host, statements })
    }

    fn place(&mut self, help: &str) -> Result<Place, Fault> {
        let (word, span) = self.word("the name or address of a host", help)?;
        self.place_from(word, span, help)
    }

    /// The host `word`, and its port if one follows.
    fn place_from(&mut self, word: String, span: Span, help: &str) -> Result<Place, Fault> {
        let host = word.trim_start_matches('[').trim_end_matches(']').to_owned();
        let mut place = Place { host, port: None, span };
        if self.token == Token::Sign(':') {
            self.advance()?;
            let (port, at) = self.word("a port", help)?;
            let help = "a port is a whole number from 1 to 65535";
            let port = port.parse().ok().filter(|&port: &u16| port > 0);
            place.port = Some(port.ok_or_else(|| Fault::new(at, "this is no port", help))?);
            place.span.end = at.end;
        }
        Ok(place)
    }

    fn statement(&mut self) -> Result<Statement, Fault> {
        let help = "a test has the statements type, protocol, own and peer, each with a ; at its end";
        let (name, span) = self.word("a statement", help)?;
        self.sign('=', "a statement is NAME = VALUE;")?;
        let (word, at) = self.word("a value", "for example type = full (duration=10);")?;
        let value = if matches!(name.as_str(), "own" | "peer") {
            Setting::Place(self.place_from(word, at, "write HOST:PORT")?)
        } else {
            Setting::Call(self.call_from(word, at, 1)?)
        };
        self.sign(';', "a statement ends with ;")?;
        Ok(Statement { name, span, value })
    }

    /// The call of `name`: its arguments, if any follow.
    fn call_from(&mut self, name: String, span: Span, depth: usize) -> Result<Call, Fault> {
        let mut call = Call { name, arguments: Vec::new(), span };
        if self.token != Token::Sign('(') {
            return Ok(call);
        }
        if depth > MAX_DEPTH {
            let message = format!("functions are more than {MAX_DEPTH} deep");
            return Err(Fault::new(self.span, message, "no function takes another one"));
        }
        self.advance()?;
        while self.token != Token::Sign(')') {
            call.arguments.push(self.argument(depth)?);
            if self.token != Token::Sign(')') {
                self.sign(',', "arguments are separated by commas, and end with )")?;
            }
        }
        self.advance()?;
        Ok(call)
    }

    fn argument(&mut self, depth: usize) -> Result<Argument, Fault> {
        let (name, span) = self.word("an argument", "an argument is NAME=VALUE")?;
        self.sign('=', "an argument is NAME=VALUE")?;
        let at = self.span;
        let value = match self.token {
            Token::Text(text) => {
                self.advance()?;
                Value::Text(text.to_owned())
            }
            _ => {
                let help = "a number, a quantity in double quotes, or a function";
                let (word, at) = self.word("a value", help)?;
                match word.parse::<f64>() {
                    Ok(number) if number.is_finite() => Value::Number(number),
                    _ if word.starts_with(|first: char| first.is_ascii_digit() || first == '-') => {
                        let help = "a quantity with a unit stands in double quotes, for example \"10 ms\"";
                        return Err(Fault::new(at, "this is no number", help));
                    }
                    _ => Value::Call(self.call_from(word, at, depth + 1)?),
                }
            }
        };
        Ok(Argument { name, span, value, at })
    }
}
