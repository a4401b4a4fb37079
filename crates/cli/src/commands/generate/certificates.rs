//! `ackclock certificates`.

use crate::args::Certificates;
use crate::failure::Failure;
use ackclock_agent::certificates::{CONTROLLER, make};
use serde_json::json;

pub(crate) fn run(command: &Certificates) -> Result<(), Failure> {
    let mut users = command.users.clone();
    if users.is_empty() && !command.dir.join(format!("{CONTROLLER}.pem")).exists() {
        users.push(CONTROLLER.to_owned());
    }
    if users.is_empty() && command.hosts.is_empty() {
        let help = "name the hosts, for example `ackclock certificates certificates a.example b.example`";
        return Err(miette::miette!(help = help, "there is nothing to make").into());
    }
    let made = make(&command.dir, &command.hosts, &users, command.days)?;
    if command.json {
        say!("{}", json!({ "directory": command.dir, "files": made, "days": command.days }));
    } else {
        for name in &made {
            say!("{}", command.dir.join(name).display());
        }
        tell!(
            "each host needs ca.pem, HOST.pem and HOST.key; who controls them ca.pem, {CONTROLLER}.pem and \
             {CONTROLLER}.key; ca.key stays here, and whoever has it can control all of them"
        );
    }
    Ok(())
}
