//! `--only KERNEL` of a bench, once or more often.

use breakeven::kernels::NAMES;

/// What three kernels gain in a chain, beside the kernels.
const CHAIN: &str = "chain";

/// The kernels that were asked for.
pub(crate) struct Only(Vec<String>);

impl Only {
    /// What the command line says.
    ///
    /// # Errors
    ///
    /// That there is no kernel of such a name, and which there are.
    pub(crate) fn asked_for() -> Result<Self, String> {
        let mut arguments = std::env::args();
        let mut asked = Vec::new();
        while arguments.by_ref().any(|argument| argument == "--only") {
            let name = arguments.next().ok_or("--only: which kernel?")?;
            if name != CHAIN && !NAMES.contains(&name.as_str()) {
                let there_are = NAMES.join(", ");
                return Err(format!("--only: no kernel `{name}`; there are {there_are}"));
            }
            asked.push(name);
        }
        Ok(Self(asked))
    }

    /// True where nothing else was asked for.
    pub(crate) fn has(&self, kernel: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|name| name == kernel)
    }
}
