//! Any sequence of operations on both endpoints of any rate-based transport; the cases and their checks are
//! those of the property tests in `crates/rate/tests`.
#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use hostile::{Case, ForgedAck, ForgedData, Number, Step};
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/rate/tests/common/hostile.rs"]
mod hostile;

fn number(bytes: &mut Unstructured) -> Result<Number> {
    Ok(Number { kind: bytes.arbitrary()?, value: bytes.arbitrary()? })
}

fn step(bytes: &mut Unstructured) -> Result<Step> {
    Ok(match bytes.int_in_range(0..=10)? {
        0 => Step::Transmit(bytes.arbitrary()?),
        1 => Step::Wait(bytes.arbitrary()?),
        2 => Step::Expire,
        3 => Step::Delay,
        4 => Step::Deliver(bytes.arbitrary()?),
        5 => Step::Double(bytes.arbitrary()?),
        6 => Step::Lose(bytes.arbitrary()?),
        7 => Step::Acknowledge(bytes.arbitrary()?),
        8 => Step::LoseAck(bytes.arbitrary()?),
        9 => Step::ForgeData(ForgedData {
            number: number(bytes)?,
            datum: number(bytes)?,
            bytes: bytes.arbitrary()?,
            sent: number(bytes)?,
            srtt: number(bytes)?,
            flags: bytes.arbitrary()?,
        }),
        _ => Step::ForgeAck(ForgedAck {
            echo: number(bytes)?,
            cumulative: number(bytes)?,
            sack: bytes.arbitrary()?,
            echoed: if bytes.arbitrary()? { Some(number(bytes)?) } else { None },
            held: number(bytes)?,
            report: bytes.arbitrary()?,
            values: bytes.arbitrary()?,
            arrival: (number(bytes)?, number(bytes)?),
        }),
    })
}

/// A case that is read from the fuzzer's bytes.
#[derive(Debug)]
struct Read(Case);

impl<'a> Arbitrary<'a> for Read {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Read> {
        let (transport, total, switches) =
            (bytes.arbitrary()?, bytes.arbitrary()?, bytes.int_in_range(0..=20)?);
        let switches = (0..switches).map(|_| bytes.arbitrary()).collect::<Result<_>>()?;
        let mut case = Case { transport, switches, total, steps: Vec::new() };
        while !bytes.is_empty() && case.steps.len() < 500 {
            case.steps.push(step(bytes)?);
        }
        Ok(Read(case))
    }
}

fuzz_target!(|read: Read| read.0.run());
