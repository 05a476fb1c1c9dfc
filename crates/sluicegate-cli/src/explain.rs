//! `sluicegate explain`: the rules that apply to a request, and its charges.

use std::collections::HashSet;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

use anyhow::anyhow;
use sluicegate::{Clock, SystemClock};
use sluicegate_rules::descriptor::attribute;
use sluicegate_rules::{AttributeValue, Attributes, Directory, Request, RuleFile};

use crate::args::ExplainArgs;
use crate::args::descriptor::DescriptorArg;
use crate::exit::CliError;
use crate::output;

pub(crate) fn run(args: &ExplainArgs) -> Result<ExitCode, CliError> {
    let mut names = HashSet::new();
    if let Some(twice) =
        args.request.attributes.iter().find(|attribute| !names.insert(&attribute.name))
    {
        return Err(CliError::usage(anyhow!(
            "the attribute `{}` is given twice\nhint: give each attribute once",
            twice.name.escape_debug()
        )));
    }
    let file = RuleFile::load(&args.file)?;
    let Some(rules) = &file.rules else {
        output::print_error(&file.report.render(args.colour.on(io::stderr().is_terminal())));
        return Ok(ExitCode::FAILURE);
    };

    let headers: Vec<_> =
        args.request.headers.iter().map(|line| (&line.name, &line.value)).collect();
    let attributes: Vec<_> = args
        .request
        .attributes
        .iter()
        .map(|attribute| (&attribute.name, attribute.value()))
        .collect();
    let mut request = Request::new().headers(&headers).attributes(&attributes);
    if let Some(method) = &args.request.method {
        request = request.method(method);
    }
    if let Some(path) = &args.request.path {
        request = request.target(path);
    }
    if let Some(host) = &args.request.host {
        request = request.host(host);
    }
    if let Some(ip) = args.request.ip {
        request = request.peer(ip);
    }
    if let Some(bytes) = args.body_size {
        request = request.body_size(bytes);
    }
    if let Some(units) = args.cost {
        request = request.cost(units);
    }
    let now = args.at.unwrap_or_else(|| SystemClock::new().now());
    let directory = Directory::new();
    let explain = |request: &Request<'_>| rules.explain(&directory, request, now).to_string();
    if args.descriptors.is_empty() {
        output::print(&explain(&request))?;
    }
    let count = args.descriptors.len();
    for (index, descriptor) in args.descriptors.iter().enumerate() {
        let attributes =
            DescriptorAttributes { domain: args.domain.as_deref().unwrap_or_default(), descriptor };
        let request = Request::new().attributes(&attributes).entries(descriptor.keys().count());
        let request = args.cost.map_or(request, |units| request.cost(units));
        if count > 1 {
            output::print(&format!("descriptor {} of {count}\n", index + 1))?;
        }
        output::print(&explain(&request))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The attributes of a descriptor.
struct DescriptorAttributes<'a> {
    domain: &'a str,
    descriptor: &'a DescriptorArg,
}

impl Attributes for DescriptorAttributes<'_> {
    fn get(&self, name: &str) -> Option<AttributeValue<'_>> {
        attribute(name, self.domain, &self.descriptor.entries())
    }
}
