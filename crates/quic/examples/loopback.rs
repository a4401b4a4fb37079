//! A controller of ackclock and quinn's own CUBIC on loopback, alternately, so that both meet the same
//! machine.
//!
//! `loopback [CONTROLLER [MEGABYTES [ROUNDS]]]`: cubic, 500 MB and 9 rounds if it is not said.

#[path = "quinn.rs"]
#[allow(dead_code, reason = "its command line is not used")]
mod program;

use std::net::SocketAddr;
use std::time::Duration;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// The value in the middle.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> Outcome<()> {
    rustls::crypto::ring::default_provider().install_default().map_err(|_| "a provider is there already")?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let control = arguments.first().map_or("cubic", String::as_str);
    let bytes = arguments.get(1).map_or(Ok(500), |text| text.parse::<u64>())? * 1_000_000;
    let rounds = arguments.get(2).map_or(Ok(9), |text| text.parse::<usize>())?;
    let certificate = std::env::temp_dir().join(format!("loopback-{}.pem", std::process::id()));
    let at: SocketAddr = std::net::UdpSocket::bind("127.0.0.1:0")?.local_addr()?;
    let served = certificate.clone();
    std::thread::spawn(move || runtime()?.block_on(program::serve(at, &served)));
    while !certificate.exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(100)); // the server binds once the certificate is written
    let once = |control: &str| runtime()?.block_on(program::send(at, &certificate, control, bytes));
    let mut ratios = Vec::new();
    for round in 0..rounds {
        let order = if round % 2 == 0 { [control, "own-cubic"] } else { ["own-cubic", control] };
        let rates = [once(order[0])?, once(order[1])?];
        ratios.push(if round % 2 == 0 { rates[0] / rates[1] } else { rates[1] / rates[0] });
    }
    std::fs::remove_file(&certificate)?;
    println!("{control}: {:.3} of quinn's own CUBIC, the median of {rounds} rounds", median(ratios));
    Ok(())
}
