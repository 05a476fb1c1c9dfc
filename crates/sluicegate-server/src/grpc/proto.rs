//! The generated messages of `proto/`; a test keeps them up to date.

#![allow(
    clippy::pedantic,
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "generated, and only partly used"
)]

pub(super) mod envoy {
    pub(crate) mod config {
        pub(crate) mod core {
            pub(crate) mod v3 {
                include!("proto/envoy.config.core.v3.rs");
            }
        }
    }
    pub(crate) mod extensions {
        pub(crate) mod common {
            pub(crate) mod ratelimit {
                pub(crate) mod v3 {
                    include!("proto/envoy.extensions.common.ratelimit.v3.rs");
                }
            }
        }
    }
    pub(crate) mod service {
        pub(crate) mod ratelimit {
            pub(crate) mod v3 {
                include!("proto/envoy.service.ratelimit.v3.rs");
            }
        }
    }
    pub(crate) mod r#type {
        pub(crate) mod v3 {
            include!("proto/envoy.r#type.v3.rs");
        }
    }
}

pub(super) mod health {
    include!("proto/grpc.health.v1.rs");
}

/// The descriptors of all messages, for reflection.
pub(super) const DESCRIPTORS: &[u8] = include_bytes!("../../proto/descriptors.bin");
