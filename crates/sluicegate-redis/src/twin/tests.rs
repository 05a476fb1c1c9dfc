//! The twins against real servers: every ruling, and every byte that is left behind.

mod algorithms;
mod conformance;
mod dice;
mod garbage;
mod lifetimes;
mod page_order;
mod pages;
mod together;
mod twin;
