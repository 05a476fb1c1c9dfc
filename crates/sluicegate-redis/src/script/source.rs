//! The scripts, assembled from the parts that the sets of a call need.

use core::ops::{BitOr, BitOrAssign};
use std::sync::OnceLock;

/// The algorithms that a script contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ScriptAlgorithms(u16);

impl ScriptAlgorithms {
    pub(crate) const BUCKET: Self = Self(1);
    pub(crate) const QUEUE: Self = Self(1 << 1);
    pub(crate) const RESCALE: Self = Self(1 << 2);
    pub(crate) const FIXED_WINDOW: Self = Self(1 << 3);
    pub(crate) const SLIDING_WINDOW: Self = Self(1 << 4);
    pub(crate) const TIMESTAMPS: Self = Self(1 << 5);
    pub(crate) const SLIDING_LOG: Self = Self(1 << 6);
    pub(crate) const CONCURRENCY: Self = Self(1 << 7);
    pub(crate) const COOLDOWN: Self = Self(1 << 8);
    /// The number of different scripts.
    const COMBINATIONS: usize = 1 << 9;

    const fn has(self, part: Self) -> bool {
        self.0 & part.0 == part.0
    }
}

impl BitOr for ScriptAlgorithms {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for ScriptAlgorithms {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// A script, and the digest under which a server caches it.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) text: String,
    pub(crate) sha: String,
}

impl Script {
    /// The fast path for plain sets in one slot.
    pub(crate) fn plain() -> &'static Self {
        static PLAIN: OnceLock<Script> = OnceLock::new();
        PLAIN.get_or_init(|| Self::of(&[include_str!("../../lua/single_slot.lua"), Self::PLAIN]))
    }

    /// The fast path for plain sets in several slots of a server.
    pub(crate) fn cross_slot() -> &'static Self {
        static CROSS_SLOT: OnceLock<Script> = OnceLock::new();
        CROSS_SLOT
            .get_or_init(|| Self::of(&[include_str!("../../lua/cross_slot.lua"), Self::PLAIN]))
    }

    const PLAIN: &'static str = include_str!("../../lua/fast_path.lua");

    /// The script for any sets that need these parts.
    pub(crate) fn full(parts: ScriptAlgorithms) -> &'static Self {
        static FULL: [OnceLock<Script>; ScriptAlgorithms::COMBINATIONS] =
            [const { OnceLock::new() }; ScriptAlgorithms::COMBINATIONS];
        FULL[usize::from(parts.0)].get_or_init(|| {
            let chosen = Self::PARTS.iter().filter(|(needed, _)| parts.has(*needed));
            let texts: Vec<&str> = chosen.map(|(_, text)| *text).collect();
            Self::of(&texts)
        })
    }

    /// Ordered so that every part comes after those that it uses.
    const PARTS: [(ScriptAlgorithms, &'static str); 16] = [
        (ScriptAlgorithms(0), include_str!("../../lua/prologue.lua")),
        (ScriptAlgorithms::BUCKET, include_str!("../../lua/exact_time.lua")),
        (ScriptAlgorithms::BUCKET, include_str!("../../lua/bucket.lua")),
        (ScriptAlgorithms::QUEUE, include_str!("../../lua/queue.lua")),
        (ScriptAlgorithms::RESCALE, include_str!("../../lua/rescale.lua")),
        (ScriptAlgorithms::FIXED_WINDOW, include_str!("../../lua/fixed_window.lua")),
        (ScriptAlgorithms::SLIDING_WINDOW, include_str!("../../lua/sliding_window.lua")),
        (ScriptAlgorithms::TIMESTAMPS, include_str!("../../lua/timestamps.lua")),
        (ScriptAlgorithms::SLIDING_LOG, include_str!("../../lua/sliding_log.lua")),
        (ScriptAlgorithms::CONCURRENCY, include_str!("../../lua/concurrency.lua")),
        (ScriptAlgorithms::COOLDOWN, include_str!("../../lua/cooldown.lua")),
        (ScriptAlgorithms::COOLDOWN, include_str!("../../lua/attempts.lua")),
        (ScriptAlgorithms(0), include_str!("../../lua/page.lua")),
        (ScriptAlgorithms(0), include_str!("../../lua/states.lua")),
        (ScriptAlgorithms(0), include_str!("../../lua/set.lua")),
        (ScriptAlgorithms(0), include_str!("../../lua/epilogue.lua")),
    ];

    fn of(texts: &[&str]) -> Self {
        let text = texts.join("\n");
        let sha = sha1_smol::Sha1::from(&text).digest().to_string();
        Self { text, sha }
    }
}
