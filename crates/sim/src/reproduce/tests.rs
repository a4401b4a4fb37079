//! Experiments: format, selection, verdicts.

use super::*;

#[test]
fn every_experiment_is_sound() {
    let library = Library::built_in().expect("every file can be read");
    for experiment in library.experiments() {
        if let Err(error) = check(&library, experiment) {
            panic!("{:?}", miette::Report::new(error));
        }
    }
}
