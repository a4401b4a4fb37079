//! Runs the QUIC examples as programs over emulated paths, beside the simulator, and writes a page of the
//! book.
//!
//! `emulated ACKCLOCK SCENARIO PAGE`, as root: `make quic-runs`. The examples are those beside this program.

use serde_json::Value;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A path: how it differs from the scenario, what is sent over it, and by whom.
struct Case {
    title: &'static str,
    text: &'static str,
    settings: &'static [&'static str],
    megabytes: u32,
    /// The buffer in bandwidth-delay products, to which the largest queue is compared.
    buffer: f64,
    runs: &'static [(&'static str, &'static [&'static str])],
}

const BOTTLENECK: &str = "topology.dumbbell.bottleneck";
const OF_ALL: &[&str] = &["own-cubic", "own-bbr", "cubic", "compound", "layered"];
const OF_PACED: &[&str] = &["own-cubic", "own-bbr", "cubic", "compound", "layered", "bbr", "bbr3", "copa"];

const CASES: [Case; 4] = [
    Case {
        title: "A buffer of one bandwidth-delay product",
        text: "100 Mbit/s, 40 ms; nothing is lost but what the buffer drops.",
        settings: &[],
        megabytes: 100,
        buffer: 1.0,
        runs: &[
            ("quinn", &["own-cubic", "own-bbr", "cubic", "reno", "compound", "layered", "vegas"]),
            ("noq", OF_PACED),
            ("s2n-quic", OF_PACED),
        ],
    },
    Case {
        title: "A buffer of four products",
        text: "How long is the queue where the buffer does not end it?",
        settings: &["queue={ droptail = \"4 bdp\" }"],
        megabytes: 60,
        buffer: 4.0,
        runs: &[
            ("quinn", &["own-bbr", "cubic"]),
            ("noq", &["own-bbr", "bbr", "bbr3"]),
            ("s2n-quic", &["own-bbr", "bbr", "bbr3"]),
        ],
    },
    Case {
        title: "Random loss of 0.1 %",
        text: "The path of the first table; one packet in a thousand is lost on the way.",
        settings: &["loss=0.001"],
        megabytes: 20,
        buffer: 1.0,
        runs: &[("quinn", OF_ALL), ("noq", OF_PACED), ("s2n-quic", OF_PACED)],
    },
    Case {
        title: "Reordering of 1 %",
        text: "Nothing is lost; one packet in a hundred is 10 ms late. Stacks take it for lost after three later \
               packets.",
        settings: &["reorder={ share = 0.01, delay = \"10 ms\" }"],
        megabytes: 20,
        buffer: 1.0,
        runs: &[
            ("quinn", &["own-cubic", "own-bbr", "cubic", "compound"]),
            ("noq", &["own-cubic", "cubic"]),
            ("s2n-quic", &["own-cubic", "cubic"]),
        ],
    },
];

/// The packets of one bandwidth-delay product.
const BDP: f64 = 100e6 * 0.04 / 8.0 / 1500.0;

/// What one run gave.
struct Row {
    mbit: f64,
    lost: String,
    queue_mean: f64,
    queue_max: f64,
    trusted: bool,
}

/// The programs of a run.
struct Setup {
    ackclock: PathBuf,
    scenario: PathBuf,
    examples: PathBuf,
}

impl Setup {
    /// A command of ackclock with the path of `case`; its JSON document, and what else it printed.
    fn ackclock(
        &self,
        what: &str,
        case: &Case,
        settings: &[String],
        rest: &[String],
    ) -> Outcome<(Value, String)> {
        let mut command = Command::new(&self.ackclock);
        command.arg(what).arg(&self.scenario).arg("--json");
        let of_case = case.settings.iter().map(|setting| format!("{BOTTLENECK}.{setting}"));
        for setting in of_case.chain(settings.iter().cloned()) {
            command.args(["--set", &setting]);
        }
        let output = command.args(rest).output()?;
        let mut text = String::from_utf8(output.stdout)?;
        text += &String::from_utf8_lossy(&output.stderr); // what the programs print
        let document = text.lines().find(|line| line.starts_with('{'));
        let error = || format!("{what}: {text}");
        let document = serde_json::from_str(document.ok_or_else(error)?)?;
        Ok((document, text))
    }

    /// A transfer with the example of `stack`. The programs run before others of the machine: a program that
    /// waits for a processor reads acknowledgements late.
    fn carry(&self, case: &Case, stack: &str, control: &str) -> Outcome<Result<Row, String>> {
        let program = self.examples.join(stack).display().to_string();
        let certificate = std::env::temp_dir().join(format!("emulated-{}.pem", std::process::id()));
        let first = format!("chrt -r 5 {program}");
        let certificate = certificate.display();
        let client = format!(
            "sleep 0.3; exec {first} client {{receiver}}:4433 {certificate} '{control}' {}",
            case.megabytes
        );
        let serve = format!("{first} server 0.0.0.0:4433 {certificate}");
        let rest = ["--serve", &serve, "--", "sh", "-c", &client].map(str::to_owned);
        let (document, text) = self.ackclock("emulate", case, &[], &rest)?;
        let report = text.lines().find_map(|line| line.split_once(" Mbit/s, "));
        let Some((rate, lost)) = report else {
            let error = text.lines().find(|line| line.starts_with("Error: "));
            let reason = error.and_then(|line| line.split('"').nth(1));
            return Ok(Err(reason.ok_or_else(|| format!("{stack} {control}: {text}"))?.to_owned()));
        };
        let rate = rate.rsplit(' ').next().unwrap_or_default();
        let (link, emulation) = (&document["points"][0]["links"][0], &document["points"][0]["emulation"]);
        Ok(Ok(Row {
            mbit: rate.parse()?,
            lost: lost.split(' ').next().unwrap_or_default().to_owned(),
            queue_mean: link["queue_mean"].as_f64().ok_or("a mean queue")?,
            queue_max: link["queue_max"].as_f64().ok_or("a largest queue")?,
            trusted: emulation["trusted"].as_bool().ok_or("a judgement")?,
        }))
    }

    /// The goodput of the same transfer in the simulator, Mbit/s; the stack's own controllers have none.
    fn simulate(&self, case: &Case, control: &str) -> Outcome<Option<f64>> {
        let control = match control {
            "own-cubic" => "cubic",
            own if own.starts_with("own-") => return Ok(None),
            ours => ours,
        };
        let megabytes = case.megabytes;
        let settings = [format!("flows.0.control={control}"), format!("flows.0.size={megabytes} MB")];
        let (document, _) = self.ackclock("run", case, &settings, &[])?;
        let seconds =
            document["points"][0]["flows"][0]["completion_s"].as_f64().ok_or("it does not complete")?;
        Ok(Some(f64::from(megabytes) * 8.0 / seconds))
    }

    fn table(&self, case: &Case) -> Outcome<String> {
        let mut table = format!("\n## {}\n\n{} {} MB.\n\n", case.title, case.text, case.megabytes);
        table +=
            "| stack | controller | Mbit/s | of the simulator's | lost | mean queue, BDP | largest, BDP |\n";
        table += "|---|---|---|---|---|---|---|\n";
        for (stack, controls) in case.runs {
            for control in *controls {
                let simulated = self.simulate(case, control)?;
                let row = match self.carry(case, stack, control)? {
                    Ok(row) => row,
                    Err(reason) => {
                        let line = format!("| {stack} | {control} | the peer closed it: {reason} | | | | |");
                        eprintln!("{line}");
                        let _ = writeln!(table, "{line}");
                        continue;
                    }
                };
                let ratio =
                    simulated.map_or("".to_owned(), |simulated| format!("{:.3}", row.mbit / simulated));
                let doubt = if row.trusted { "" } else { " (late)" };
                let line = format!(
                    "| {stack} | {control} | {:.1}{doubt} | {ratio} | {} | {:.2} | {:.2} |",
                    row.mbit,
                    row.lost,
                    row.queue_mean / BDP,
                    row.queue_max / BDP,
                );
                eprintln!("{line}");
                let _ = writeln!(table, "{line}");
                assert!(row.queue_max <= case.buffer * BDP + 2.0, "the queue is longer than its buffer");
            }
        }
        Ok(table)
    }
}

fn main() -> Outcome<()> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [ackclock, scenario, page] = &arguments[..] else {
        return Err("emulated ACKCLOCK SCENARIO PAGE".into());
    };
    let examples =
        std::env::current_exe()?.parent().map(Path::to_owned).ok_or("a program is in a directory")?;
    let setup = Setup { ackclock: ackclock.clone(), scenario: scenario.clone(), examples };
    let mut text = String::from(
        "<!-- Generated by `make quic-runs`; edits are lost. -->\n\n# QUIC over bad paths\n\nThe examples of \
         [In QUIC](quic.md) as programs over emulated paths, with the controllers of ackclock\nand those of the \
         stacks (`own-`). Goodput is from the first packet of the handshake to the receiver's answer.\nThe \
         simulator carries the same bytes over the same path with TCP; `own-cubic` is held against its CUBIC.\n\
         The headers of QUIC take 2 % more than those of TCP. One run each.\n",
    );
    for case in &CASES {
        text += &setup.table(case)?;
    }
    std::fs::write(page, text)?;
    Ok(())
}
