//! `--only KERNEL` of a bench, once or more often.

/// True where nothing else was asked for.
pub(crate) fn is_wanted(kernel: &str) -> bool {
    let arguments: Vec<String> = std::env::args().collect();
    let mut asked = arguments
        .windows(2)
        .filter(|pair| pair[0] == "--only")
        .map(|pair| pair[1].as_str())
        .peekable();
    asked.peek().is_none() || asked.any(|name| name == kernel)
}
