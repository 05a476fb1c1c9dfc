//! When to use colours.

use std::env;

use clap::ValueEnum;

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// For a terminal, unless `NO_COLOR` is set
    Auto,
    /// Also for a file or a pipe
    Always,
    /// Not at all
    Never,
}

impl Colour {
    /// Whether to use colours where a terminal may be looked at.
    pub(crate) fn on(self, terminal: bool) -> bool {
        let unwanted = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        self.decided(terminal, unwanted)
    }

    fn decided(self, terminal: bool, unwanted: bool) -> bool {
        match self {
            Self::Auto => terminal && !unwanted,
            Self::Always => true,
            Self::Never => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_those_who_see_them_unless_said_otherwise() {
        for (terminal, unwanted, auto) in
            [(true, false, true), (true, true, false), (false, false, false), (false, true, false)]
        {
            assert_eq!(Colour::Auto.decided(terminal, unwanted), auto);
            assert!(Colour::Always.decided(terminal, unwanted));
            assert!(!Colour::Never.decided(terminal, unwanted));
        }
    }
}
