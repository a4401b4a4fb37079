//! Numbers of the page, measured: `make served`. They want a machine that has nothing else to do.

use crate::Place;
use crate::common::{Checked, Named, ensure, listing, shell, stderr, stdout};
use assert_cmd::cargo::cargo_bin;
use libtest_mimic::Failed;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

pub(crate) const LONG: &[Named] = &[
    ("served_over_the_path_of_the_thesis", thesis),
    ("served_over_loopback", loopback),
    ("served_among_ten_thousand_idle_connections", idle),
    ("served_among_eight_thousand_half_heads", half_heads),
];

/// The kernel's controller that does nothing, towards the hosts of emulations, until this is dropped.
struct Uncontrolled;

impl Uncontrolled {
    fn load() -> Result<Uncontrolled, Failed> {
        done(
            &Command::new(cargo_bin("ackclock"))
                .args(["kernel", "load", "none", "--allow", "10.0.0.0/8"])
                .output()?,
        )?;
        Ok(Uncontrolled)
    }
}

impl Drop for Uncontrolled {
    fn drop(&mut self) {
        let _ = Command::new(cargo_bin("ackclock")).args(["kernel", "unload", "ac_none"]).output();
    }
}

fn done(output: &Output) -> Result<String, Failed> {
    let said = stdout(output);
    ensure(output.status.success(), format!("{said}\n{}", stderr(output)))?;
    Ok(said)
}

/// Times of 422 kB, ms: of each program over one connection, in bursts of two sizes, and of those that can
/// over a connection for each request.
const CLIENTS: &str = r#"
url=http://$1:8080/422k
echo "4096 2097152 2097152" > /proc/sys/net/ipv4/tcp_rmem  # half of it is the window: 1 MB
until curl -s -o body "$url"; do sleep 0.1; done
for size in 32000 128000; do
    set -- -H "Rate: $size" -H "Period: 10000"
    echo "curl $size one $(curl -s "$@" -w '%{time_total}\n' $(for i in $(seq 21); do echo "-o body $url"; done) | tail -n 20 | sort -n | awk 'NR == 10 { print 1000 * $1 }')"
    echo "curl $size each $(for i in $(seq 20); do curl -s "$@" -w '%{time_total}\n' -o body "$url"; done | sort -n | awk 'NR == 10 { print 1000 * $1 }')"
    echo "ab $size one $(ab -q -k -n 40 -c 1 "$@" "$url" | awk '$1 == "50%" { print $2 }')"
    echo "ab $size each $(ab -q -n 40 -c 1 "$@" "$url" | awk '$1 == "50%" { print $2 }')"
    echo "wrk $size one $(wrk -t 1 -c 1 -d 8s --latency "$@" "$url" | awk '$1 == "50%" { sub("ms", "", $2); print $2 }')"
    echo "h2load $size one $(h2load --h1 -n 40 -c 1 "$@" "$url" | awk '/^time for request:/ { sub("ms", "", $6); print $6 }')"
done
"#;

/// 14 bursts of 32 kB wait 130 ms, 4 of 128 kB wait 30 ms, whichever program asks. A connection of its own
/// costs a request the 67 ms of a handshake.
fn thesis() -> Checked {
    let place = Place::new()?;
    let _loaded = Uncontrolled::load()?;
    fs::write(place.path("path.toml"), listing("serve.md", "[topology.dumbbell]"))?;
    fs::write(place.path("clients.sh"), CLIENTS)?;
    let line = "ackclock emulate path.toml --serve \"ackclock serve www --listen {receiver}:8080 --control none \
                --allow 10.0.0.0/8\" -- sh clients.sh {receiver}";
    let said = done(&shell(&place.path(""), line).output()?)?;
    // The server's log is on the same output.
    let told = |line: &&str| ["curl ", "ab ", "wrk ", "h2load "].iter().any(|it| line.starts_with(it));
    said.lines().filter(told).for_each(|line| println!("{line}"));
    let time = |what: &str| -> Result<f64, Failed> {
        let line =
            said.lines().find_map(|line| line.strip_prefix(what)).ok_or_else(|| format!("no {what}"))?;
        Ok(line.trim().parse()?)
    };
    for program in ["curl", "ab", "wrk", "h2load"] {
        for (size, waits) in [(32_000, 130.0), (128_000, 30.0)] {
            // A request and an answer take a round trip. ab tells whole milliseconds.
            let waited = time(&format!("{program} {size} one "))? - 67.0;
            ensure((waited - waits).abs() <= 8.0, format!("{program}, {size} B: {waited} ms of waiting"))?;
        }
    }
    for program in ["curl", "ab"] {
        for size in [32_000, 128_000] {
            let [each, one] = ["each", "one"].map(|how| time(&format!("{program} {size} {how} ")));
            let saved = each? - one?;
            ensure((saved - 67.0).abs() <= 5.0, format!("{program}, {size} B: {saved} ms are saved"))?;
        }
    }
    Ok(())
}

/// One connection, from the page cache.
fn loopback() -> Checked {
    let place = Place::new()?;
    fs::File::create(place.path("www/large"))?.set_len(1 << 30)?;
    let server = place.serve(&[])?;
    let url = format!("http://{}/large", server.address);
    let rate = || -> Result<f64, Failed> {
        let curl = ["-s", "-o", "/dev/null", "-w", "%{speed_download}", &url];
        Ok(done(&Command::new("curl").args(curl).output()?)?.parse::<f64>()? * 8e-9)
    };
    rate()?; // only now is the file in the page cache
    let rates = [rate()?, rate()?, rate()?];
    println!("{rates:?} Gbit/s");
    ensure(rates.iter().all(|&rate| rate >= 5.0), format!("{rates:?} Gbit/s"))
}

/// So many open files, for this process and for the servers that it starts.
fn many_files(wanted: u64) -> Checked {
    let limit = getrlimit(Resource::Nofile);
    if limit.maximum.is_some_and(|most| most < wanted) {
        return Err(format!("{wanted} files are needed: raise the limit (ulimit -Hn)").into());
    }
    Ok(setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit })?)
}

fn idle() -> Checked {
    many_files(12_000)?;
    let place = Place::new()?;
    let server = place.serve(&[])?;
    // The last place is for who asks.
    let held: Vec<TcpStream> = (1..10_000).map(|_| server.connect()).collect::<Result<_, _>>()?;
    let begun = Instant::now();
    let answer = server.get("/422k", "")?;
    let took = begun.elapsed();
    ensure(answer.status == 200, "a request among them")?;
    let status = fs::read_to_string(format!("/proc/{}/status", server.child.id()))?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: u64 = resident.and_then(|it| it.split_whitespace().next()).ok_or("VmRSS")?.parse()?;
    println!("{} MiB with {} connections; a request takes {took:?}", kib / 1024, held.len());
    ensure(kib <= 200 * 1024, format!("{kib} KiB"))
}

fn half_heads() -> Checked {
    many_files(12_000)?;
    let place = Place::new()?;
    let server = place.serve(&[])?;
    let begun = Instant::now();
    let mut held = Vec::new();
    for _ in 0..8000 {
        let mut stream = server.connect()?;
        stream.write_all(b"GET /422k HTTP/1.1\r\nHost: x\r\n")?;
        held.push(stream);
    }
    let answer = server.get("/422k", "")?;
    ensure(answer.status == 200 && answer.content.len() == 422_000, "others are served")?;
    for mut stream in held {
        let mut nothing = Vec::new();
        let _ = stream.read_to_end(&mut nothing);
        ensure(nothing.is_empty(), "an answer to half a question")?;
    }
    let took = begun.elapsed();
    ensure(took < Duration::from_secs(30), format!("they are held for {took:?}"))
}
