//! `sluicegate check --health`: whether a running server is ready.

use std::net::SocketAddr;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::HOST;
use hyper::{Request, StatusCode};

use crate::args::HealthUrl;
use crate::check::pretty;
use crate::exit::CliError;
use crate::{http_client, output, runtime};

/// Requests the URL, and prints the answer if it is a 200.
///
/// Every failure ends with 1, because container engines reserve the exit code 2.
pub(crate) fn run(url: Option<&HealthUrl>, address: SocketAddr) -> Result<ExitCode, CliError> {
    let default;
    let url = if let Some(url) = url {
        url
    } else {
        default = HealthUrl::of_listener(address);
        &default
    };
    let (status, text) = runtime::run(get(url))?;
    let text = pretty(&text);
    if status != StatusCode::OK {
        return Err(anyhow!("{url} is not ready: it answered {status}: {text}").into());
    }
    output::print(&format!("{text}\n"))?;
    Ok(ExitCode::SUCCESS)
}

async fn get(url: &HealthUrl) -> Result<(StatusCode, Bytes)> {
    let request =
        Request::get(url.path()).header(HOST, url.address()).body(Full::new(Bytes::new()))?;
    let hint = "start `sluicegate serve`, or give its URL to --health";
    http_client::send(url.address(), request, hint).await
}
