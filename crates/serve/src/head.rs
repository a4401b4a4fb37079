//! Header lines as the thesis prints them: `Rate = 64000`. HTTP wants a colon directly behind the name (RFC
//! 9112, section 5.1), and parsers refuse anything else. Two names are repaired before the parser sees them.

/// The names that are repaired.
const NAMES: [&[u8]; 2] = [b"rate", b"period"];
/// The blanks that may stand before the equals sign.
const MOST_BLANKS: usize = 16;

/// Repairs a stream of request heads: at the start of a line `Rate =` becomes `Rate: `, and `Period =`
/// becomes `Period: `. No other byte changes, and none is added or removed. At most 22 bytes are held back,
/// until it is known what they are.
///
/// It must see heads only. A server that uses it must not read on behind a request with a body.
#[derive(Clone, Debug)]
pub struct Repair {
    place: Place,
    /// What may be the start of such a line.
    held: Vec<u8>,
}

/// Where in a line the next byte is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// All of the line up to here may be the start of a name.
    Name,
    /// Behind the name of this length.
    Blanks(usize),
    /// In a line that is as it is.
    Rest,
}

impl Default for Repair {
    fn default() -> Repair {
        Repair { place: Place::Name, held: Vec::new() }
    }
}

impl Repair {
    /// Passes `input` on to `output`.
    pub fn pass(&mut self, input: &[u8], output: &mut Vec<u8>) {
        for &byte in input {
            self.take(byte, output);
        }
    }

    /// The stream has ended: what is held back is no such line.
    pub fn end(&mut self, output: &mut Vec<u8>) {
        output.append(&mut self.held);
    }

    fn take(&mut self, byte: u8, output: &mut Vec<u8>) {
        let length = self.held.len();
        match self.place {
            Place::Name if NAMES.iter().any(|name| starts(name, &self.held, byte)) => self.held.push(byte),
            Place::Name if is_name(&self.held) && matches!(byte, b' ' | b'\t' | b'=') => {
                self.place = Place::Blanks(length);
                self.take(byte, output);
            }
            Place::Blanks(name) if byte == b'=' => {
                output.extend_from_slice(&self.held[..name]);
                output.push(b':');
                output.resize(output.len() + length - name, b' ');
                self.held.clear();
                self.place = Place::Rest;
            }
            Place::Blanks(name) if matches!(byte, b' ' | b'\t') && length - name < MOST_BLANKS => {
                self.held.push(byte);
            }
            Place::Name | Place::Blanks(_) | Place::Rest => {
                output.append(&mut self.held);
                output.push(byte);
                self.place = if byte == b'\n' { Place::Name } else { Place::Rest };
            }
        }
    }
}

/// True if `held` and `byte` are the start of this name.
fn starts(name: &[u8], held: &[u8], byte: u8) -> bool {
    name.len() > held.len()
        && name[..held.len()].eq_ignore_ascii_case(held)
        && name[held.len()].eq_ignore_ascii_case(&byte)
}

fn is_name(held: &[u8]) -> bool {
    NAMES.iter().any(|name| name.eq_ignore_ascii_case(held))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn repaired(pieces: &[&[u8]]) -> String {
        let (mut repair, mut output) = (Repair::default(), Vec::new());
        for piece in pieces {
            repair.pass(piece, &mut output);
        }
        repair.end(&mut output);
        String::from_utf8_lossy(&output).into_owned()
    }

    /// The request of the thesis, section 3.4.
    const PRINTED: &str = "GET /size100K.txt HTTP/1.1\r\nUser-Agent: ApacheBench/1.1\r\nRate = 64000\r\n\
        Period = 10000\r\nHost: 140.173.170.11\r\nAccept: */*\r\n\r\n";

    #[test]
    fn the_printed_request_becomes_http() {
        let expected = PRINTED.replace("Rate = ", "Rate:  ").replace("Period = ", "Period:  ");
        assert_eq!(repaired(&[PRINTED.as_bytes()]), expected);
        let bytes: Vec<&[u8]> = PRINTED.as_bytes().chunks(1).collect();
        assert_eq!(repaired(&bytes), expected, "however it is cut");
    }

    #[test]
    fn only_those_lines_change() {
        let same = |text: &str| assert_eq!(repaired(&[text.as_bytes()]), text);
        for text in [
            "Rate: 5\r\n",
            "Rated = 5\r\n",
            "X-Rate = 5\r\n",
            " Rate = 5\r\n",
            "Rat = 5\r\n",
            "Period 5 = 6\r\n",
            "a: Rate = 5\r\n",
            "Rate",
            "Per",
            "",
            "\r\n\r\n",
            "Rate                 = 5\r\n",
            "Rate \r\n= 5",
        ] {
            same(text);
        }
        assert_eq!(repaired(&[b"RATE=5\nperiod\t =\n\nrate = 1"]), "RATE:5\nperiod:  \n\nrate:  1");
        assert_eq!(repaired(&[b"Rate = 5 = 6\r\n"]), "Rate:  5 = 6\r\n");
    }

    proptest! {
        /// The naive model repairs whole lines. Cuts do not matter, lengths stay, little is held back.
        #[test]
        fn a_stream_is_repaired_line_by_line(
            lines in prop::collection::vec("(rate|PERIOD|Rat|x)?[ \t=:5]{0,20}[a-z=]{0,3}\r?", 0..6),
            cut in 1usize..9,
        ) {
            let text = lines.join("\n");
            let naive: Vec<String> = lines.iter().map(|line| {
                let name = NAMES.iter().map(|name| name.len()).find(|&length| {
                    line.get(..length).is_some_and(|it| is_name(it.as_bytes()))
                });
                let Some(name) = name else { return line.clone() };
                let blanks = line[name..].bytes().take_while(|it| matches!(it, b' ' | b'\t')).count();
                if blanks > MOST_BLANKS || line.as_bytes().get(name + blanks) != Some(&b'=') {
                    return line.clone();
                }
                format!("{}:{}{}", &line[..name], " ".repeat(blanks), &line[name + blanks + 1..])
            }).collect();
            let (mut repair, mut output, mut passed) = (Repair::default(), Vec::new(), 0);
            for piece in text.as_bytes().chunks(cut) {
                repair.pass(piece, &mut output);
                passed += piece.len();
                prop_assert!(passed - output.len() <= 22);
            }
            repair.end(&mut output);
            prop_assert_eq!(String::from_utf8(output).expect("text"), naive.join("\n"));
        }
    }
}
