//! Policies of well-known systems, tested against their documented behaviour.

#![allow(clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod aws_api_gateway;
mod brute_force;
mod cloudflare;
mod document;
mod ec2_burst_credits;
mod endpoint_costs;
mod github;
mod layers;
mod nginx_limit_req;
mod policy_test;
mod saas_tiers;
mod shipped_files;
mod shopify;
mod soft_throttling;
mod stripe;
mod twitter;
