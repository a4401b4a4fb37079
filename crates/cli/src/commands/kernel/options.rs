//! `ackclock kernel options`.

use crate::args::KernelOptions;
use crate::failure::Failure;
use ackclock_kernel::load::{LoadError, OptionsRequest, load_options};
use serde_json::json;

/// The options of the thesis, as a program passes them to setsockopt and getsockopt at level IPPROTO_TCP.
const OPTIONS: [(&str, u32); 3] =
    [("TCP_NO_CONGESTION", 0x5301), ("TCP_SET_CWND", 0x5302), ("TCP_TOTAL_REXMITS", 0x5303)];

pub(crate) fn run(command: &KernelOptions) -> Result<(), Failure> {
    let allow = command
        .allow
        .iter()
        .map(|prefix| prefix.parse())
        .collect::<Result<Vec<_>, _>>()
        .map_err(LoadError::from)?;
    let request = OptionsRequest { name: command.name.clone(), cgroup: command.cgroup.clone(), allow };
    let name = load_options(&request)?;
    let cgroup = command.cgroup.display();
    if command.json {
        let numbers: serde_json::Map<_, _> =
            OPTIONS.iter().map(|&(option, number)| (option.to_owned(), number.into())).collect();
        let allow: Vec<String> = request.allow.iter().map(ToString::to_string).collect();
        say!("{}", json!({"name": name, "cgroup": cgroup.to_string(), "allow": allow, "options": numbers}));
        return Ok(());
    }
    let options: Vec<String> =
        OPTIONS.iter().map(|(option, number)| format!("{option} ({number:#x})")).collect();
    say!("{name} is loaded; sockets made in {cgroup} have the options {}", options.join(", "));
    say!("they stay until ackclock kernel unload {name}");
    Ok(())
}
