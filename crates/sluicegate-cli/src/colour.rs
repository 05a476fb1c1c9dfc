//! The option for coloured output.

use std::env;

use clap::ValueEnum;

/// When output is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Also in a file or a pipe
    Always,
    /// Without colours
    Never,
}

impl Colour {
    /// Whether to use colours, given whether the output is a terminal.
    pub(crate) fn on(self, terminal: bool) -> bool {
        let no_color = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        self.is_on(terminal, no_color)
    }

    fn is_on(self, terminal: bool, no_color: bool) -> bool {
        match self {
            Self::Auto => terminal && !no_color,
            Self::Always => true,
            Self::Never => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_colours_only_a_terminal_without_no_color() {
        for (terminal, no_color, auto) in
            [(true, false, true), (true, true, false), (false, false, false), (false, true, false)]
        {
            assert_eq!(Colour::Auto.is_on(terminal, no_color), auto);
            assert!(Colour::Always.is_on(terminal, no_color));
            assert!(!Colour::Never.is_on(terminal, no_color));
        }
    }
}
