//! Any sequence of operations on a sender and a receiver; the cases and their checks are those of the
//! property tests in `crates/tcp/tests`.
#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use hostile::{Case, Step};
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/tcp/tests/common/hostile.rs"]
mod hostile;

fn settings(bytes: &mut Unstructured) -> Result<Case> {
    Ok(Case {
        recovery: bytes.arbitrary()?,
        scheme: bytes.arbitrary()?,
        switches: bytes.arbitrary()?,
        window: bytes.arbitrary()?,
        initial: bytes.arbitrary()?,
        threshold: bytes.arbitrary()?,
        limit: bytes.arbitrary()?,
        steps: Vec::new(),
    })
}

fn step(bytes: &mut Unstructured) -> Result<Step> {
    Ok(match bytes.int_in_range(0..=12)? {
        0 => Step::Transmit(bytes.arbitrary()?),
        1 => Step::Wait(bytes.arbitrary()?),
        2 => Step::Expire,
        3 => Step::Pace,
        4 => Step::Delay,
        5 => Step::Deliver(bytes.arbitrary()?),
        6 => Step::Mark(bytes.arbitrary()?),
        7 => Step::Lose(bytes.arbitrary()?),
        8 => Step::Acknowledge(bytes.arbitrary()?),
        9 => Step::LoseAck(bytes.arbitrary()?),
        10 => Step::ForgeAck {
            ack: bytes.arbitrary()?,
            window: bytes.arbitrary()?,
            age_ms: bytes.arbitrary()?,
            flags: bytes.arbitrary()?,
            blocks: bytes.arbitrary()?,
        },
        11 => {
            Step::ForgeData { seq: bytes.arbitrary()?, age_ms: bytes.arbitrary()?, flags: bytes.arbitrary()? }
        }
        _ => Step::Stop,
    })
}

/// A case that is read from the fuzzer's bytes.
#[derive(Debug)]
struct Read(Case);

impl<'a> Arbitrary<'a> for Read {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Read> {
        let mut case = settings(bytes)?;
        while !bytes.is_empty() && case.steps.len() < 500 {
            case.steps.push(step(bytes)?);
        }
        Ok(Read(case))
    }
}

fuzz_target!(|read: Read| read.0.run());
