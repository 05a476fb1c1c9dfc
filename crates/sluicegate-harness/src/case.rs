//! A case: a store, nodes, a rule file, and steps on a driven clock.

use serde::{Deserialize, Serialize};

use crate::rule_file::{Algorithm, Quota, RuleFile};

/// A case, as it is generated, shrunk, written to a file and replayed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// The seed of the case; 0 for a case written by hand.
    #[serde(default)]
    pub(crate) seed: u64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) about: String,
    /// The promise that a case is known to break, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) breaks: Option<Promise>,
    pub(crate) store: StoreKind,
    pub(crate) nodes: usize,
    pub(crate) rules: RuleFile,
    pub(crate) steps: Vec<Step>,
}

/// A promise that a kept case breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Promise {
    /// Admitted units in any interval stay within the largest burst plus the largest rate.
    Envelope,
}

/// The kind of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StoreKind {
    Memory,
    Redis,
    Valkey,
    Cluster,
}

/// One action, after a move of the clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    /// The id of the step, for later steps.
    pub(crate) id: u32,
    /// Microseconds by which the clock moves before the action; negative moves it back.
    pub(crate) wait_us: i64,
    pub(crate) node: usize,
    pub(crate) action: Action,
}

/// The action of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    Check {
        via: Via,
        request: Request,
    },
    /// Requests in one call, each decided by itself, in order.
    Batch {
        via: Via,
        requests: Vec<Request>,
    },
    /// Descriptors of one gRPC call: all or nothing.
    Group {
        items: Vec<(Request, Purpose)>,
    },
    Throttle {
        via: Via,
        throttles: Vec<Throttle>,
    },
    Settle {
        of: u32,
        cost: u64,
    },
    Release {
        of: u32,
    },
    Renew {
        of: u32,
    },
    Report {
        request: Request,
        ended: Ended,
    },
    /// The rule file of all nodes is replaced.
    Edit {
        rules: RuleFile,
    },
    /// A cost-0 check of every user, address and path, and of every throttle so far.
    Look,
    Fault {
        fault: Fault,
        request: Request,
    },
    /// The last node ends, and the others stop counting it.
    Stop,
    /// A batch of looks that takes many calls, each answered within its deadline; a last step.
    Load {
        requests: Vec<Request>,
    },
}

/// The transport of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Via {
    Http,
    Authorize,
    /// As a proxy sends it whose client controls the query.
    Tricked,
    Resp,
    Grpc,
}

/// A request, as far as rules depend on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    /// A second value of the same header, which makes the identity unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) second_user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tenant: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) device: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ip: Option<String>,
    /// Empty in a descriptor that names callers alone.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) method: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cost: Option<u64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) reserve: bool,
}

impl Request {
    /// The attributes, in a fixed order.
    pub(crate) fn attributes(&self) -> Vec<(&'static str, &str)> {
        let mut out = vec![("method", self.method.as_str()), ("path", self.path.as_str())];
        out.retain(|(_, value)| !value.is_empty());
        for (name, value) in [
            ("user", &self.user),
            ("tenant", &self.tenant),
            ("device", &self.device),
            ("ip", &self.ip),
        ] {
            out.extend(value.as_deref().map(|value| (name, value)));
        }
        out
    }

    pub(crate) fn identity(&self, name: &str) -> Option<&str> {
        match name {
            "user" if self.second_user.is_some() => None,
            "user" => self.user.as_deref(),
            "room" => self.room(),
            "tenant" => self.tenant.as_deref(),
            "device" => self.device.as_deref(),
            "ip" => self.ip.as_deref(),
            _ => None,
        }
    }
}

impl Request {
    /// Returns the room in the path; paths with `..` are ambiguous upstream, so they have none.
    fn room(&self) -> Option<&str> {
        let (room, rest) = self.path.strip_prefix("/rooms/")?.split_once('/')?;
        (!rest.contains("..")).then_some(room)
    }
}

/// The purpose of a gRPC descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Purpose {
    Take,
    Charge,
    Refund,
}

/// A quota that comes with its request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Throttle {
    pub(crate) key: String,
    pub(crate) quota: Quota,
    pub(crate) algorithm: Algorithm,
    /// Units; negative units are refunded (`CL.THROTTLE` alone).
    pub(crate) cost: i64,
}

/// The end of a request that is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ended {
    Status(u16),
    Failed { failures: u64 },
    Succeeded,
}

/// The time that an outage takes on the clock: longer than a request waits for a server.
pub(crate) const OUTAGE_US: u64 = 200_000;
/// The time that a slow server takes on the clock: less than the deadline of any call.
pub(crate) const SLOW_US: u64 = 3_000;

/// A fault of the shared store while a request is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fault {
    /// The server stops answering; it goes on after the step.
    Pause,
    /// The server is killed and started again, empty.
    Kill,
    /// The server loses its data and goes on.
    Flush,
    /// The server answers after a few milliseconds, within every deadline.
    Slow,
}
