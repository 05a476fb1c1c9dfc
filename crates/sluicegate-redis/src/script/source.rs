//! The scripts, assembled from the parts that the sets of a call need.

use core::ops::{BitOr, BitOrAssign};
use std::sync::OnceLock;

/// The algorithms that a script contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Parts(u16);

impl Parts {
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

impl BitOr for Parts {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Parts {
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
    pub(crate) fn full(parts: Parts) -> &'static Self {
        static FULL: [OnceLock<Script>; Parts::COMBINATIONS] =
            [const { OnceLock::new() }; Parts::COMBINATIONS];
        static EVERYTHING: OnceLock<Script> = OnceLock::new();
        let kept = FULL.get(usize::from(parts.0)).unwrap_or(&EVERYTHING);
        kept.get_or_init(|| {
            let chosen = Self::PARTS.iter().filter(|(needed, _)| parts.has(*needed));
            let texts: Vec<&str> = chosen.map(|(_, text)| *text).collect();
            Self::of(&texts)
        })
    }

    /// Ordered so that every part comes after those that it uses.
    const PARTS: [(Parts, &'static str); 16] = [
        (Parts(0), include_str!("../../lua/prologue.lua")),
        (Parts::BUCKET, include_str!("../../lua/exact_time.lua")),
        (Parts::BUCKET, include_str!("../../lua/bucket.lua")),
        (Parts::QUEUE, include_str!("../../lua/queue.lua")),
        (Parts::RESCALE, include_str!("../../lua/rescale.lua")),
        (Parts::FIXED_WINDOW, include_str!("../../lua/fixed_window.lua")),
        (Parts::SLIDING_WINDOW, include_str!("../../lua/sliding_window.lua")),
        (Parts::TIMESTAMPS, include_str!("../../lua/timestamps.lua")),
        (Parts::SLIDING_LOG, include_str!("../../lua/sliding_log.lua")),
        (Parts::CONCURRENCY, include_str!("../../lua/concurrency.lua")),
        (Parts::COOLDOWN, include_str!("../../lua/cooldown.lua")),
        (Parts::COOLDOWN, include_str!("../../lua/attempts.lua")),
        (Parts(0), include_str!("../../lua/page.lua")),
        (Parts(0), include_str!("../../lua/states.lua")),
        (Parts(0), include_str!("../../lua/set.lua")),
        (Parts(0), include_str!("../../lua/epilogue.lua")),
    ];

    fn of(texts: &[&str]) -> Self {
        let text = texts.join("\n");
        let sha = sha1_smol::Sha1::from(&text).digest().to_string();
        Self { text, sha }
    }
}
