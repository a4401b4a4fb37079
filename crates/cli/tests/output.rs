//! What `--out` leaves behind: everything or nothing, and what an interrupted run needs to go on.

mod common;

use common::{SCENARIO, ackclock, and, stderr, stdout, with};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SWEEP: &str = "[sweep]\n\"flows.1.control\" = [\"reno\", \"cubic\"]\n";

fn home(scenario: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a directory");
    fs::write(home.path().join("case.toml"), scenario).expect("a file");
    home
}

/// Every file below a directory, relative to it, in order.
fn files(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut ahead: Vec<PathBuf> = vec![directory.to_owned()];
    while let Some(path) = ahead.pop() {
        if path.is_dir() {
            ahead.extend(
                fs::read_dir(path).expect("a directory").map(|entry| entry.expect("an entry").path()),
            );
        } else {
            let name = path.strip_prefix(directory).expect("a path below");
            found.push(name.to_str().expect("a plain name").replace('\\', "/"));
        }
    }
    found.sort();
    found
}

fn csv(path: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).expect("a CSV file");
    text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn a_single_run_leaves_a_report_and_series() {
    let home = home(SCENARIO);
    let output = ackclock(home.path(), &["run", "case.toml", "--out", "out", "--set", "seed=3", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let out = home.path().join("out");
    let expected = [
        "files.txt",
        "pictures/cwnd.svg",
        "pictures/inner-base-rtt.svg",
        "pictures/inner-diff.svg",
        "pictures/inner-dwnd.svg",
        "pictures/inner-loss-window.svg",
        "pictures/queue.svg",
        "pictures/srtt.svg",
        "pictures/throughput.svg",
        "report.html",
        "results.json",
        "scenario.toml",
        "series/flows.csv",
        "series/inner.csv",
        "series/links.csv",
        "tidy/flows.csv",
        "tidy/groups.csv",
        "tidy/links.csv",
        "timing.json",
    ];
    let (painted, others): (Vec<_>, Vec<_>) =
        files(&out).into_iter().partition(|name| name.ends_with(".png"));
    assert_eq!(others, expected);
    if cfg!(feature = "png") {
        let drawn = others.iter().filter(|name| name.ends_with(".svg"));
        assert_eq!(painted, drawn.map(|name| name.replace(".svg", ".png")).collect::<Vec<_>>());
    }
    let read = |name: &str| fs::read_to_string(out.join(name)).expect("a file");
    assert_eq!(read("scenario.toml"), SCENARIO);
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
    let (mut told, kept, timing) =
        (json(&stdout(&output)), json(&read("results.json")), json(&read("timing.json")));
    let point = told["points"][0].as_object_mut().expect("a point");
    for field in ["wall_s", "segments_per_wall_s", "engine"] {
        assert_eq!(point.remove(field).expect("it is told"), timing["points"][0][field], "{field}");
    }
    assert_eq!(told, kept);
    let page = read("report.html");
    for part in ["an example", "seed=3", "--set", "<svg", "✓ holds", "compound", "bottleneck"] {
        assert!(page.contains(part), "{part} is not in the report");
    }
    for link in ["http", "src=", "url(", "@import"] {
        // Names that nothing is fetched from: that of SVG, and where the script of the pictures is at home.
        let names = ["http://www.w3.org/2000/svg", "https://github.com/leeoniya/uPlot"];
        let own: usize = names.iter().map(|name| page.matches(name).count()).sum();
        let count =
            if link == "http" { page.matches(link).count() - own } else { page.matches(link).count() };
        assert_eq!(count, 0, "the report reaches out: {link}");
    }
}

#[test]
fn series_have_their_units_and_add_up() {
    let home = home(SCENARIO);
    let output = ackclock(home.path(), &["run", "case.toml", "--out", "out", "--json"]);
    let result: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let rows = csv(&home.path().join("out/series/flows.csv"));
    let header = "time_s,flow,label,cwnd_segments,ssthresh_segments,srtt_s,in_flight_segments,goodput_bps,throughput_bps";
    assert_eq!(rows[0].join(","), header);
    assert_eq!(rows.len(), 1 + 3 * 501, "three flows, a look every 20 ms");
    let number = |row: &[String], column: usize| row[column].parse::<f64>().expect("a number");
    let looks = rows[1..].iter().filter(|row| row[1] == "0" && number(row, 0) > 2.0);
    let goodputs: Vec<f64> = looks.map(|row| number(row, 7)).collect();
    let mean = goodputs.iter().sum::<f64>() / goodputs.len() as f64;
    let measured = result["points"][0]["flows"][0]["goodput_bps"].as_f64().expect("a number");
    assert!((mean / measured - 1.0).abs() < 0.01, "{mean} against {measured}");
    let links = csv(&home.path().join("out/series/links.csv"));
    assert_eq!(links[0].join(","), "time_s,link,queue_packets,throughput_bps");
    let inner = csv(&home.path().join("out/series/inner.csv"));
    assert_eq!(inner[0].join(","), "time_s,flow,label,variable,value");
    assert!(inner.iter().any(|row| row[2] == "first" && row[3] == "dwnd"));
}

#[test]
fn tidy_tables_have_one_row_each_and_axes_as_numbers() {
    let text = with("label = \"second\"", "label = \"=second\"\nsize = \"100 kB\"\nrepeat = 2")
        + "[sweep]\n\"topology.dumbbell.bottleneck.rate\" = [\"10 Mbit/s\", \"20 Mbit/s\"]\n";
    let home = home(&text);
    let output = ackclock(home.path(), &["run", "case.toml", "--out", "out", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let read = |name: &str| csv(&home.path().join("out/tidy").join(name));
    let (flows, groups, transfers) = (read("flows.csv"), read("groups.csv"), read("transfers.csv"));
    let axis = "topology.dumbbell.bottleneck.rate";
    assert_eq!(flows[0][..6].join(","), format!("{axis},seed,flow,label,control,recovery"));
    assert_eq!((flows.len(), groups.len(), transfers.len()), (1 + 2 * 3, 1 + 2 * 2, 1 + 2 * 2));
    assert_eq!(flows[3][..4].join(","), "10000000,7,2,'=second");
    // No cell of any file is a formula.
    let all = files(&home.path().join("out")).into_iter().filter(|name| name.ends_with(".csv"));
    let cells = all.flat_map(|name| csv(&home.path().join("out").join(name))).flatten();
    let formulas: Vec<_> = cells.filter(|cell| cell.starts_with('=')).collect();
    assert!(formulas.is_empty(), "{formulas:?}");
    assert_eq!(transfers[0][2..].join(","), "flow,label,begin_s,size_bytes,completion_s,slowdown");
    assert_eq!(transfers[1][5], "100000");
    let result: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let goodput = result["points"][1]["groups"][0]["goodput_bps"]["total"].as_f64().expect("a number");
    let column = groups[0].iter().position(|name| name == "goodput_total_bps").expect("a column");
    assert_eq!(groups[3][column].parse::<f64>().ok(), Some(goodput));
}

#[test]
fn a_sweep_has_a_folder_for_every_point() {
    let home = home(&and(SWEEP));
    let output = ackclock(home.path(), &["run", "case.toml", "--out", "out"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let found = files(&home.path().join("out"));
    for name in ["pictures/cwnd.svg", "pictures/1-reno/cwnd.svg", "series/2-cubic/flows.csv"] {
        assert!(found.contains(&name.to_owned()), "{name} is missing: {found:?}");
    }
    let points = csv(&home.path().join("out/series/points.csv"));
    assert_eq!(points[1].join(","), "1-reno,7,reno");
    assert!(found.iter().all(|name| !name.starts_with("points/")), "{found:?}");
}

#[test]
fn labels_cannot_break_the_report() {
    let home = home(&with("label = \"second\"", "label = \"<script>&\\\"'\""));
    let output = ackclock(home.path(), &["run", "case.toml", "--out", "out"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let page = fs::read_to_string(home.path().join("out/report.html")).expect("a file");
    assert!(page.contains("&lt;script&gt;&amp;") && !page.contains("<script>&"));
}

#[test]
fn foreign_directories_and_impossible_runs_are_refused_before_anything_happens() {
    let home = home(SCENARIO);
    fs::create_dir(home.path().join("mine")).expect("a directory");
    fs::write(home.path().join("mine/thesis.tex"), "").expect("a file");
    let output = ackclock(home.path(), &["run", "case.toml", "--out", "mine"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("not an ackclock output directory"), "{}", stderr(&output));
    let huge = "topology.dumbbell.bottleneck.queue={ droptail = \"1e9 packets\" }";
    let rate = "topology.dumbbell.bottleneck.rate=\"100 Tbit/s\"";
    let output = ackclock(
        home.path(),
        &["run", "case.toml", "--out", "out", "--set", huge, "--set", rate, "--set", "flows.0.rtt=\"1 h\""],
    );
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("memory") && stderr(&output).contains("GB"), "{}", stderr(&output));
    assert_eq!(files(home.path()), ["case.toml", "mine/thesis.tex"]);
    let output = ackclock(home.path(), &["run", "case.toml", "--threads", "0"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn captures_lie_beside_the_other_files() {
    let home = home(&and(SWEEP));
    let output = ackclock(home.path(), &["run", "case.toml", "--out", "out", "--capture", "bottleneck"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let found = files(&home.path().join("out/capture"));
    assert_eq!(found, ["1-reno/bottleneck.pcapng", "2-cubic/bottleneck.pcapng"]);
    for name in found {
        let bytes = fs::read(home.path().join("out/capture").join(&name)).expect("a file");
        assert!(
            bytes.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) && bytes.len() > 100_000,
            "{name}: {}",
            bytes.len()
        );
    }
    let output = ackclock(home.path(), &["run", "case.toml", "--out", "new", "--capture", "botleneck"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("did you mean \"bottleneck\"?"), "{}", stderr(&output));
    assert!(!home.path().join("new").exists() && !home.path().join("new.partial").exists());
    let output = ackclock(home.path(), &["run", "case.toml", "--capture", "bottleneck"]);
    assert_eq!(output.status.code(), Some(2), "a capture needs a place");
}

#[test]
fn the_captures_of_a_single_run_have_no_folder_of_their_own() {
    let home = home(SCENARIO);
    let output = ackclock(home.path(), &["run", "case.toml", "--out", "out", "--capture", "bottleneck"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(files(&home.path().join("out/capture")), ["bottleneck.pcapng"]);
}

/// What two runs write and print is the same to the last byte, but for the file that says how long they took.
#[test]
fn two_runs_leave_the_same_bytes() {
    let home = home(&and(SWEEP));
    let run = |out: &str| {
        let output = ackclock(home.path(), &["run", "case.toml", "--out", "out", "--capture", "bottleneck"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        fs::rename(home.path().join("out"), home.path().join(out)).expect("renamed");
        stdout(&output)
    };
    assert_eq!(run("first"), run("second"));
    let [first, second] = ["first", "second"].map(|name| home.path().join(name));
    assert_eq!(files(&first), files(&second));
    for name in files(&first).iter().filter(|name| *name != "timing.json") {
        let read = |directory: &Path| fs::read(directory.join(name)).expect("a file");
        assert!(read(&first) == read(&second), "{name}");
    }
}

/// A sweep of eight points on one thread, interrupted when the first of them is finished.
#[cfg(unix)]
#[test]
fn an_interrupted_sweep_goes_on_where_it_was() {
    let long = with("seed = 7\nduration = \"10 s\"", "seeds = 8\nduration = \"400 s\"");
    let home = home(&long);
    let arguments = ["run", "case.toml", "--out", "out", "--threads", "1"];
    let child = Command::new(env!("CARGO_BIN_EXE_ackclock"))
        .args(arguments)
        .current_dir(home.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let kept = || {
        let found = files(home.path());
        found
            .into_iter()
            .filter(|name| name.starts_with("out.partial/points") && name.ends_with(".json"))
            .count()
    };
    let begun = Instant::now();
    while kept() == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no point is ever finished");
        std::thread::sleep(Duration::from_millis(1));
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(killed.success());
    let output = child.wait_with_output().expect("the program ends");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("of 8 points are finished and kept in out.partial"), "{said}");
    assert!(said.contains("Run the same command again"), "{said}");
    assert!(!home.path().join("out").exists());
    assert!((1..8).contains(&kept()));
    let output = ackclock(home.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!home.path().join("out.partial").exists());
    let text = fs::read_to_string(home.path().join("out/results.json")).expect("results");
    let result: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(result["points"].as_array().map(Vec::len), Some(8));
    assert_eq!(stderr(&output), "wrote out/report.html\n", "no progress where nobody can see it");
}

/// Many short flows: what counts is when they were complete, not what their controllers thought.
#[test]
fn many_transfers_are_shown_by_their_completion_times() {
    let text = r#"
        duration = "10 s"
        [topology.dumbbell]
        bottleneck = { rate = "10 Mbit/s", delay = "10 ms", queue = { droptail = "1 bdp" } }
        [[flows]]
        label = "web"
        control = "compound"
        count = 20
        size = { uniform = [1, 100] }
        pause = { exponential = "500 ms" }
    "#;
    let home = home(text);
    let output = ackclock(home.path(), &["run", "case.toml", "--out", "out"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let all = files(&home.path().join("out/pictures"));
    for name in ["completion-times.svg", "slowdown-by-size.svg"] {
        assert!(all.iter().any(|known| known == name), "{name} is missing in {all:?}");
    }
    assert!(!all.iter().any(|name| name.starts_with("inner")), "{all:?}");
    let page = fs::read_to_string(home.path().join("out/report.html")).expect("a report");
    let shown = stdout(&output);
    for part in ["up to 10 kB", "up to 100 kB", "compound", "slowdown"] {
        assert!(page.contains(part), "{part} is not in the report");
        assert!(shown.contains(part), "{part} is not in the table:\n{shown}");
    }
    assert!(page.contains("Transfers complete within this time"));
    let text = fs::read_to_string(home.path().join("out/results.json")).expect("results");
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let classes = document["points"][0]["groups"][0]["transfers_by_size"].as_array().expect("a list");
    assert_eq!((classes.len(), &classes[0]["to_bytes"]), (2, &10_000.into()));
    assert!(classes[1]["slowdown"]["p99"].as_f64().is_some_and(|it| it > 1.0), "{classes:?}");
}

/// A ping is a transfer of one segment: how long each one took is drawn over the time of the run, for all
/// points in one picture, and is a table for other programs.
#[test]
fn equal_transfers_are_shown_over_time() {
    let text = r#"
        duration = "10 s"
        [topology.dumbbell]
        bottleneck = { rate = "10 Mbit/s", delay = "10 ms", queue = { droptail = "500 packets" } }
        [[flows]]
        label = "bulk"
        control = "cubic"
        start = "5 s"
        [[flows]]
        label = "ping"
        control = "reno"
        size = "1 B"
        interval = "100 ms"
        [sweep]
        "topology.dumbbell.bottleneck.queue" = [{ droptail = "500 packets" }, "fq_codel"]
    "#;
    let home = home(text);
    let output = ackclock(home.path(), &["run", "case.toml", "--out", "out"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let all = files(&home.path().join("out/pictures"));
    let drawn: Vec<_> = all.iter().filter(|name| name.ends_with("completion-over-time.svg")).collect();
    assert_eq!(drawn.len(), 3, "of both points, and of each one: {all:?}");
    let picture = fs::read_to_string(home.path().join("out/pictures/completion-over-time.svg")).expect("it");
    assert!(picture.contains("Time of a transfer of ping"), "{picture}");
    let table = fs::read_to_string(home.path().join("out/tidy/transfers.csv")).expect("a table");
    let header = table.lines().next().expect("a header");
    assert!(header.ends_with("flow,label,begin_s,size_bytes,completion_s,slowdown"), "{header}");
    assert!(table.lines().count() > 150, "one row per ping");
}

#[test]
fn tables_fit_a_width_and_name_controls_units_and_points() {
    let text = and("[sweep]\n\"flows.0.count\" = [1, 2]\n");
    let home = home(&text);
    let widest = |arguments: &[&str]| {
        let output = ackclock(home.path(), &[&["run", "case.toml"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = stdout(&output);
        for part in
            ["compound", "control", "segments", "Mbit/s", "packets", "holds  1: goodput", "holds  2: goodput"]
        {
            assert!(text.contains(part), "{part} is missing:\n{text}");
        }
        text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
    };
    let long = "flows.1.label=a label that is much too long for any column of a table that fits into this width, whatever \
                its other columns are";
    assert!(widest(&[]) <= 132);
    assert!(widest(&["--set", long]) <= 132);
    assert!(widest(&["--set", long, "--width", "0"]) > 200);
    // A word of a header is not broken, however narrow the table is to be.
    let narrow = ackclock(home.path(), &["run", "case.toml", "--set", "seeds=2", "--width", "40"]);
    assert!(stdout(&narrow).contains(" seeds "), "{}", stdout(&narrow));
    let output = ackclock(home.path(), &["show", "compound", "--width", "90"]);
    assert!(
        stdout(&output).lines().filter(|line| line.starts_with('─')).all(|line| line.chars().count() <= 90)
    );
    // Where labels and axes say it all, there is no further column.
    let swept = with("label = \"first\"\n", "")
        .replace("label = \"second\"\n", "")
        .replace("goodput('first')", "2000000");
    fs::write(home.path().join("plain.toml"), swept).expect("a file");
    let output = ackclock(home.path(), &["run", "plain.toml"]);
    assert!(!stdout(&output).contains("control"), "{}", stdout(&output));
}
