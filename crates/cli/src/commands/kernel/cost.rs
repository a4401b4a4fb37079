//! What an eBPF controller costs: transfers over loopback with each, against the kernel's reno in the same
//! run.

use crate::args::KernelCost;
use crate::failure::Failure;
use crate::view::table::plain_table;
use ackclock_cc::Settings;
use ackclock_kernel::load::{self, LoadError, OfRun, Request};
use ackclock_kernel::{Program, Reach, programs};
use miette::{IntoDiagnostic, WrapErr};
use rustix::net::sockopt::set_tcp_congestion;
use serde_json::json;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// What everything is compared with.
const REFERENCE: &str = "reno";
/// Bytes of one write or read.
const CHUNK: usize = 256 << 10;

/// A scheme that is loaded for the comparison.
struct Loaded {
    scheme: &'static str,
    program: OfRun,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        if let Err(error) = load::unload(self.program.name()) {
            tell!("{} stays in the kernel: {error}", self.program.name());
        }
    }
}

impl Loaded {
    fn new(program: &Program) -> Result<Loaded, Failure> {
        let scheme = program.scheme();
        let request = Request {
            name: None,
            settings: Settings::defaults(scheme),
            allow: match program.reach {
                Reach::Everyone => Vec::new(),
                Reach::Allowed => vec!["127.0.0.0/8".parse().map_err(LoadError::from)?],
            },
            initial_window: None,
            everyone: false,
            confined: false,
        };
        Ok(Loaded { scheme: scheme.name, program: load::load_for_run(&request)? })
    }
}

pub(super) fn run(command: &KernelCost) -> Result<(), Failure> {
    let loaded = programs().iter().map(|program| Loaded::new(program)).collect::<Result<Vec<_>, _>>()?;
    let span = Duration::from_secs_f64(command.seconds);
    let mut rounds = vec![Vec::new(); loaded.len()];
    let mut reference = Vec::new();
    for _ in 0..command.rounds {
        // Before and after: whatever else the machine does changes with time.
        let before = throughput(REFERENCE, span)?;
        let measured: Vec<f64> =
            loaded.iter().map(|it| throughput(it.program.name(), span)).collect::<Result<_, _>>()?;
        let around = (before + throughput(REFERENCE, span)?) / 2.0;
        reference.push(around);
        rounds.iter_mut().zip(measured).for_each(|(rounds, bps)| rounds.push(bps / around));
    }
    let ratios: Vec<(&str, f64)> =
        loaded.iter().map(|it| it.scheme).zip(rounds.into_iter().map(median)).collect();
    if command.json {
        let schemes = ratios.iter().map(|(scheme, ratio)| json!({"scheme": scheme, "ratio": ratio}));
        say!("{}", json!({"reno_bps": median(reference), "schemes": schemes.collect::<Vec<_>>()}));
    } else {
        let rows = ratios.iter().map(|(scheme, ratio)| vec![(*scheme).to_owned(), format!("{ratio:.3}")]);
        say!("{}", plain_table(&["scheme", "throughput against reno's"], rows));
        say!("reno: {:.1} Gbit/s over loopback", median(reference) * 1e-9);
    }
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        0 => (values[middle - 1] + values[middle]) / 2.0,
        _ => values[middle],
    }
}

/// Bits per second that one connection carries over loopback.
fn throughput(control: &str, span: Duration) -> Result<f64, Failure> {
    transfer(control, span)
        .into_diagnostic()
        .wrap_err("the transfer over loopback failed")
        .map_err(Failure::from)
}

fn transfer(control: &str, span: Duration) -> std::io::Result<f64> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut sender = TcpStream::connect(listener.local_addr()?)?;
    set_tcp_congestion(&sender, control)?;
    let (mut receiver, _) = listener.accept()?;
    let reading = thread::spawn(move || {
        let (mut bytes, mut buffer) = (0_u64, vec![0; CHUNK]);
        while let Ok(read @ 1..) = receiver.read(&mut buffer) {
            bytes += read as u64;
        }
        bytes
    });
    let (chunk, begun) = (vec![0; CHUNK], Instant::now());
    while begun.elapsed() < span {
        sender.write_all(&chunk)?;
    }
    drop(sender);
    let bytes = reading.join().map_err(|_| std::io::Error::other("the receiver panicked"))?;
    Ok(bytes as f64 * 8.0 / begun.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_median_of_few() {
        assert_eq!(super::median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(super::median(vec![4.0, 1.0]), 2.5);
    }
}
