//! Redaction of secret path segments in messages.

use super::context::{RequestContext, nth_segment};
use crate::request::identity::IdentitySource;

impl RequestContext<'_> {
    /// The path with the segments that are secret identities masked.
    pub(crate) fn path_shown(&mut self) -> Option<String> {
        let rules = self.rules;
        let paths = self.paths()?;
        let mut secrets: Vec<&[u8]> = Vec::new();
        for identity in rules.identities.iter().filter(|identity| identity.secret) {
            match &identity.source {
                IdentitySource::Path { pattern, name } => {
                    secrets.extend(paths.readings().filter_map(|path| pattern.capture(path, name)));
                }
                IdentitySource::Segment(number) => {
                    secrets.extend(paths.readings().filter_map(|path| nth_segment(path, *number)));
                }
                _ => {}
            }
        }
        // In another reading of the path, a secret may be part of a segment, or contain one.
        let within = |part: &[u8], whole: &[u8]| {
            !part.is_empty() && whole.windows(part.len()).any(|window| window == part)
        };
        let segments = paths.main().split(|byte| *byte == b'/');
        let shown = segments.map(|segment| {
            if secrets.iter().any(|secret| within(secret, segment) || within(segment, secret)) {
                "…".to_owned()
            } else {
                String::from_utf8_lossy(segment).escape_debug().to_string()
            }
        });
        Some(shown.collect::<Vec<_>>().join("/"))
    }
}
