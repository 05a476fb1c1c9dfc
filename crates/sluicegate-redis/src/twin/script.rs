//! The scripts: put together from the parts that the sets of a call need.

use core::ops::{BitOr, BitOrAssign};
use std::sync::OnceLock;

/// Which algorithms a script has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Parts(u16);

impl Parts {
    pub(crate) const BUCKET: Self = Self(1);
    pub(crate) const QUEUE: Self = Self(1 << 1);
    pub(crate) const TIER: Self = Self(1 << 2);
    pub(crate) const FIXED_WINDOW: Self = Self(1 << 3);
    pub(crate) const SLIDING_WINDOW: Self = Self(1 << 4);
    pub(crate) const STAMPS: Self = Self(1 << 5);
    pub(crate) const SLIDING_LOG: Self = Self(1 << 6);
    pub(crate) const CONCURRENCY: Self = Self(1 << 7);
    pub(crate) const COOLDOWN: Self = Self(1 << 8);
    /// How many scripts there can be.
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

/// A script, and the name under which a server that has seen it keeps it.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) text: String,
    pub(crate) sha: String,
}

impl Script {
    /// The one for plain sets in one slot.
    pub(crate) fn plain() -> &'static Self {
        static PLAIN: OnceLock<Script> = OnceLock::new();
        PLAIN.get_or_init(|| Self::of(&[include_str!("../../lua/one_slot.lua"), Self::PLAIN]))
    }

    /// The one for plain sets in several slots of a server.
    pub(crate) fn scattered() -> &'static Self {
        static SCATTERED: OnceLock<Script> = OnceLock::new();
        SCATTERED.get_or_init(|| Self::of(&[include_str!("../../lua/many_slots.lua"), Self::PLAIN]))
    }

    const PLAIN: &'static str = include_str!("../../lua/plain.lua");

    /// The one for any sets that need these parts.
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

    /// In an order in which every part comes after those that it uses.
    const PARTS: [(Parts, &'static str); 16] = [
        (Parts(0), include_str!("../../lua/begin.lua")),
        (Parts::BUCKET, include_str!("../../lua/moment.lua")),
        (Parts::BUCKET, include_str!("../../lua/bucket.lua")),
        (Parts::QUEUE, include_str!("../../lua/queue.lua")),
        (Parts::TIER, include_str!("../../lua/tier.lua")),
        (Parts::FIXED_WINDOW, include_str!("../../lua/fixed_window.lua")),
        (Parts::SLIDING_WINDOW, include_str!("../../lua/sliding_window.lua")),
        (Parts::STAMPS, include_str!("../../lua/stamps.lua")),
        (Parts::SLIDING_LOG, include_str!("../../lua/sliding_log.lua")),
        (Parts::CONCURRENCY, include_str!("../../lua/concurrency.lua")),
        (Parts::COOLDOWN, include_str!("../../lua/cooldown.lua")),
        (Parts::COOLDOWN, include_str!("../../lua/attempts.lua")),
        (Parts(0), include_str!("../../lua/page.lua")),
        (Parts(0), include_str!("../../lua/states.lua")),
        (Parts(0), include_str!("../../lua/set.lua")),
        (Parts(0), include_str!("../../lua/end.lua")),
    ];

    fn of(texts: &[&str]) -> Self {
        let text = texts.join("\n");
        let sha = sha1_smol::Sha1::from(&text).digest().to_string();
        Self { text, sha }
    }
}
