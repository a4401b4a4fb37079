//! Any packets and any operations on a host of our own TCP; the cases and their checks are those of the
//! property tests in `crates/stack/tests`.
#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use attack::{Case, Step};
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/stack/tests/common/attack.rs"]
mod attack;

/// A number that is near the expected one, or any.
fn near(bytes: &mut Unstructured) -> Result<i32> {
    Ok(match bytes.int_in_range(0..=3)? {
        0 => 0,
        1 => bytes.int_in_range(-3000..=3000)?,
        2 => bytes.int_in_range(-3..=3)?,
        _ => bytes.arbitrary()?,
    })
}

fn segment(bytes: &mut Unstructured) -> Result<Step> {
    let (from, seq, ack) = (bytes.int_in_range(0..=3)?, near(bytes)?, near(bytes)?);
    let flags: u16 = bytes.arbitrary()?;
    let (window, payload) = (bytes.arbitrary()?, bytes.int_in_range(0..=3000)?);
    let mut sacks = Vec::new();
    for _ in 0..bytes.int_in_range(0..=4)? {
        sacks.push((bytes.int_in_range(-3000..=60_000)?, bytes.int_in_range(-3000..=60_000)?));
    }
    let mut echoed: Vec<u32> = Vec::new();
    for _ in 0..bytes.int_in_range(0..=3)? {
        echoed.push(if bytes.arbitrary()? { bytes.int_in_range(0..=10_000)? } else { bytes.arbitrary()? });
    }
    let ecn = bytes.arbitrary()?;
    Ok(Step::Segment { from, seq, ack, flags: flags & 0x1df, window, payload, sacks, ecn, echoed })
}

fn step(bytes: &mut Unstructured) -> Result<Step> {
    Ok(match bytes.int_in_range(0..=15)? {
        0 => {
            let length = bytes.int_in_range(0..=120)?;
            Step::Bytes(bytes.bytes(length)?.to_vec())
        }
        1 => Step::Write(bytes.int_in_range(1..=100_000)?),
        2 => Step::Read(bytes.int_in_range(1..=100_000)?),
        3 => Step::Close,
        4 => Step::Abort,
        5 => Step::Release,
        6 => Step::Connect,
        7 => Step::Wait(bytes.int_in_range(1..=5000)?),
        8 => Step::TooBig(bytes.int_in_range(0..=2000)?),
        _ => segment(bytes)?,
    })
}

/// A case that is read from the fuzzer's bytes.
#[derive(Debug)]
struct Read(Case);

impl<'a> Arbitrary<'a> for Read {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Read> {
        let (initial, nagle, selective) = (bytes.arbitrary()?, bytes.arbitrary()?, bytes.arbitrary()?);
        let ecn = bytes.int_in_range(0..=2)?;
        let mut case = Case { initial, nagle, selective, ecn, steps: Vec::new() };
        while !bytes.is_empty() && case.steps.len() < 300 {
            case.steps.push(step(bytes)?);
        }
        Ok(Read(case))
    }
}

fuzz_target!(|read: Read| read.0.run());
