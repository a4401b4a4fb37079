//! The names of capture files, for simulated and real packets.

/// The name of the capture file of a link.
pub fn file_name(link: &str) -> String {
    let plain = |letter: char| if letter.is_alphanumeric() || ".-_".contains(letter) { letter } else { '-' };
    format!("{}.pcapng", link.chars().map(plain).collect::<String>().trim_start_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_plain_names() {
        assert_eq!(file_name("hop 1 reverse"), "hop-1-reverse.pcapng");
        assert_eq!(file_name("../a/b"), "-a-b.pcapng");
    }
}
