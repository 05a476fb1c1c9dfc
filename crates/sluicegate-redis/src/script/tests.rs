//! Tests of the scripts on real servers: every ruling, and every byte that is stored.

mod algorithms;
mod batches;
mod conformance;
mod garbage;
mod lifetimes;
mod page_order;
mod pages;
mod steps;
