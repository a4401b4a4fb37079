//! The recipes of the book (`docs/src/add-a-*.md`) work to the letter: a test applies their blocks to a copy
//! of the source, types their commands there, and compares the files that changed with those that each page
//! names.
//!
//! The copy is built beside the tests, so that other people's crates need not be compiled again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

type Files = BTreeMap<PathBuf, Vec<u8>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// Everything below `directory` but what builds and tools have put there.
fn read(directory: &Path) -> Files {
    fn add(root: &Path, directory: &Path, files: &mut Files) {
        for entry in fs::read_dir(directory).expect("a readable directory") {
            let path = entry.expect("a readable entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with('.') || ["target", "ackclock-out", "corpus", "artifacts"].contains(&&*name) {
                continue;
            } else if path.is_dir() {
                add(root, &path, files);
            } else {
                let below = path.strip_prefix(root).expect("it is below").to_path_buf();
                files.insert(below, fs::read(&path).expect("a readable file"));
            }
        }
    }
    let mut files = Files::new();
    add(directory, directory, &mut files);
    files
}

/// Makes `directory` hold these files. What is right already keeps its time, so it is not built again.
fn write(directory: &Path, files: &Files) {
    fs::create_dir_all(directory).expect("a writable directory");
    for (path, contents) in files {
        let path = directory.join(path);
        if fs::read(&path).ok().as_ref() != Some(contents) {
            fs::create_dir_all(path.parent().expect("a file has a parent")).expect("a writable directory");
            fs::write(&path, contents).expect("a writable file");
        }
    }
    for path in read(directory).keys().filter(|path| !files.contains_key(*path)) {
        fs::remove_file(directory.join(path)).expect("a writable directory");
    }
}

/// A fenced block with a name behind its language.
struct Block<'a> {
    language: &'a str,
    name: &'a str,
    lines: Vec<&'a str>,
}

/// The fenced blocks of a page.
fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(opening) = lines.by_ref().find_map(|line| line.strip_prefix("```")) {
        let (language, name) = opening.split_once(' ').unwrap_or((opening, ""));
        blocks.push(Block {
            language,
            name,
            lines: lines.by_ref().take_while(|line| *line != "```").collect(),
        });
    }
    blocks
}

/// Changes a file as a block with `+` and `-` says. The other lines of the block, and those with `-`, must be
/// in the file exactly once.
fn patched(text: &str, block: &Block<'_>) -> String {
    let side = |leave: char| {
        let kept = block.lines.iter().filter(|line| !line.starts_with(leave));
        kept.map(|line| format!("{}\n", line.get(1..).unwrap_or_default())).collect::<String>()
    };
    let (before, after) = (side('+'), side('-'));
    let places = text.match_indices(&before).filter(|&(at, _)| at == 0 || text[..at].ends_with('\n'));
    assert_eq!(places.count(), 1, "{}: these lines must be there once:\n{before}", block.name);
    text.replacen(&before, &after, 1)
}

/// The files that a page names below "## Files".
fn promised(page: &str) -> BTreeSet<PathBuf> {
    let list = page.lines().skip_while(|line| *line != "## Files").skip(1);
    let list = list.take_while(|line| !line.starts_with('#'));
    list.filter_map(|line| line.strip_prefix("- `")?.strip_suffix('`')).map(PathBuf::from).collect()
}

/// A copy of the workspace.
struct Workshop {
    tree: PathBuf,
    /// The directory of the tests' own build.
    build: PathBuf,
}

impl Workshop {
    fn new() -> Workshop {
        let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let build = temporary.parent().expect("it is in the target directory").to_path_buf();
        Workshop { tree: temporary.join("recipes/tree"), build }
    }

    fn run(&self, command: &mut Command) -> String {
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(output.status.success(), "{command:?}\n{said}");
        said
    }

    /// Cargo in the copy. What it compiles goes beside the tests' own crates, under other names, and programs
    /// go to the copy's own target directory. Cargo before 1.91 builds all of it there.
    fn cargo(&self, arguments: &[&str]) -> Command {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(arguments).current_dir(&self.tree);
        cargo.env("CARGO_TARGET_DIR", self.tree.join("../target")).env("CARGO_BUILD_BUILD_DIR", &self.build);
        cargo
    }

    /// Types a line of a page's `sh` block, in `directory` if it is for the program.
    fn type_line(&self, line: &str, directory: &Path) {
        let words = shlex::split(line).expect("words");
        let settings = words.iter().take_while(|word| word.contains('=')).count();
        let (settings, words) = words.split_at(settings);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = match &words[..] {
            ["ackclock", arguments @ ..] => self.program(arguments, directory),
            ["cargo", "run", "-q", "-p", "ackclock", "--", arguments @ ..] => {
                self.program(arguments, &self.tree)
            }
            // The whole workspace is selected, because others' crates are built for that.
            ["cargo", "test", "-p", package, kind @ ("--test" | "--lib"), arguments @ ..] => {
                let selected = if *kind == "--lib" { vec!["-p", package] } else { vec!["--workspace"] };
                let mut all = vec!["test", "--offline"];
                all.extend(selected);
                all.push(kind);
                all.extend(arguments);
                self.cargo(&all)
            }
            _ => panic!("{line}: this test does not know such a command"),
        };
        command.envs(settings.iter().filter_map(|setting| setting.split_once('=')));
        let said = self.run(&mut command);
        assert!(!said.contains(" 0 passed") || said.contains(" 1 passed"), "{line}: no test ran\n{said}");
    }

    fn program(&self, arguments: &[&str], directory: &Path) -> Command {
        let mut program = Command::new(self.tree.join("../target/debug/ackclock"));
        program.args(arguments).current_dir(directory);
        program
    }
}

#[test]
fn the_recipes_work_to_the_letter() {
    let original = read(&root());
    let pages: BTreeMap<&PathBuf, String> = original
        .iter()
        .filter(|(path, _)| path.to_string_lossy().starts_with("docs/src/add-a-"))
        .map(|(path, contents)| (path, String::from_utf8(contents.clone()).expect("UTF-8")))
        .collect();
    assert!(pages.len() >= 4, "{:?}", pages.keys());

    let scratch = tempfile::tempdir().expect("a directory");
    let mut files = original.clone();
    // Otherwise the copy's crates would have the names of ours in the common directory.
    let manifest = Path::new("Cargo.toml");
    let version = String::from_utf8(original[manifest].clone()).expect("UTF-8");
    let version = version.replacen("version = \"0.1.0\"", "version = \"0.1.0+recipes\"", 1);
    files.insert(manifest.to_path_buf(), version.into_bytes());
    for page in pages.values() {
        for block in blocks(page).iter().filter(|block| !block.name.is_empty()) {
            let text = block.lines.join("\n") + "\n";
            let path = PathBuf::from(block.name);
            match block.language {
                "diff" => {
                    let text = String::from_utf8(files[&path].clone()).expect("UTF-8");
                    files.insert(path, patched(&text, block).into_bytes());
                }
                "toml" => fs::write(scratch.path().join(path), text).expect("a writable file"),
                _ => assert!(files.insert(path, text.into_bytes()).is_none(), "{} is there", block.name),
            }
        }
    }

    let workshop = Workshop::new();
    write(&workshop.tree, &files);
    workshop.run(&mut workshop.cargo(&["test", "--offline", "--workspace", "--no-run", "--test", "errors"]));
    let mut typed = BTreeSet::new();
    for page in pages.values() {
        for block in blocks(page).iter().filter(|block| block.language == "sh") {
            for line in &block.lines {
                // What several pages say needs to be done once.
                if typed.insert(*line) {
                    workshop.type_line(line, scratch.path());
                }
            }
        }
    }

    let built = read(&workshop.tree);
    let mut changed: BTreeSet<PathBuf> = built
        .iter()
        .filter(|(path, contents)| original.get(*path) != Some(contents))
        .map(|(path, _)| path.clone())
        .collect();
    for ours in ["Cargo.toml", "Cargo.lock"] {
        changed.remove(Path::new(ours));
    }
    let all: BTreeSet<PathBuf> = pages.values().flat_map(|page| promised(page)).collect();
    assert_eq!(changed, all, "the files that changed, and those that the pages name below \"## Files\"");
    for (path, page) in &pages {
        let edited: BTreeSet<PathBuf> = blocks(page)
            .iter()
            .filter(|block| block.name.contains('/'))
            .map(|block| block.name.into())
            .collect();
        assert!(
            edited.is_subset(&promised(page)),
            "{}: not all of {edited:?} is in its list",
            path.display()
        );
    }
}
